"""Fixtures for tests in a browser. One browser serves all tests of a process, each in a page of its own.

Playwright runs in the event loop of the tests, so tests that use `page` are `async`. What blocks the loop, such as
`running_service`, belongs in a fixture that is not.
"""

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page

from tests.browser import node_tools
from tests.browser.chromium import MISSING, find_chromium, fresh_page, running_browser
from tests.browser.console_pages import Console
from tests.browser.console_places import load_example
from tests.built_folders import build_once
from tests.conftest import STORES, new_database_url
from tests.running import Client, running_service, settings_for


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


@pytest.fixture(scope="module", params=STORES)
def stored(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a service with the example, on each store in turn at night: the console is a client of the API."""
    url = new_database_url(request.param, tmp_path_factory.mktemp("stored"), request)
    with running_service(settings_for(url)) as service, Client(service) as client:
        load_example(client)
        yield client


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a service with the example, on SQLite: for what does not depend on the store."""
    folder = tmp_path_factory.mktemp("service")
    with running_service(settings_for(f"sqlite:///{folder}/m.db")) as url, Client(url) as client:
        load_example(client)
        yield client


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the source of the console, with its tools."""
    for program in node_tools.PROGRAMS:
        if shutil.which(program) is None:
            pytest.skip(node_tools.MISSING.format(program))
    return build_once(tmp_path_factory, "tools", node_tools.install_tools) / "console"


@pytest.fixture
async def console(page: Page, service: Client) -> AsyncIterator[Console]:
    """The console of the service; nothing may go wrong in it."""
    opened = Console(page, str(service.base_url).rstrip("/"))
    yield opened
    assert opened.troubles == []
