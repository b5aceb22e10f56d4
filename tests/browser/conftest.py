"""Fixtures for tests in a browser. One browser serves all tests of a process, each in a page of its own.

Playwright runs in the event loop of the tests, so tests that use `page` are `async`. What blocks the loop, such as
`running_service`, belongs in a fixture that is not.
"""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, Page

from tests.browser.chromium import MISSING, find_chromium, fresh_page, running_browser


@pytest.fixture(scope="session")
async def browser(anyio_backend: str) -> AsyncIterator[Browser]:
    executable = find_chromium()
    if executable is None:
        pytest.skip(MISSING)
    async with running_browser(executable) as browser:
        yield browser


@pytest.fixture
async def page(browser: Browser) -> AsyncIterator[Page]:
    """An empty page, which shares nothing with those of other tests."""
    async with fresh_page(browser) as page:
        yield page
