"""Starts the Chromium that is installed, driven by Playwright.

See docs/decisions/0049-tests-drive-the-installed-chromium.md."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, Page, async_playwright

from tests.debian_packages import Program

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""Lists what Debian, Ubuntu and Google call it. The first, which has no windows at all, takes a third of the processor
time of the others for each page."""
OF_DEBIAN = "/usr/bin/chromium"
"""Is the one that has all libraries of the first, which need not be installed for it then."""
HEADLESS_SHELL = Program("chromium-headless-shell", ("chromium-headless-shell", "chromium-common"), "usr/lib/chromium")

MISSING = "no Chromium is installed; `apt-get install chromium` on Debian, or any package with the command `chromium`"
MAX_MILLISECONDS = 120_000  # for a step of a test: how long it takes on a busy machine is no failure


def find_chromium() -> str | None:
    """Returns the path of the first that is installed, or can be downloaded."""
    installed = next((path for name in NAMES if (path := shutil.which(name))), None)
    shell = HEADLESS_SHELL.find() if installed == OF_DEBIAN else None
    return installed if shell is None else str(shell)


@asynccontextmanager
async def running_browser(executable: str) -> AsyncIterator[Browser]:
    """Yields a browser without a window, which ends with the context."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable, timeout=MAX_MILLISECONDS)
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def fresh_page(browser: Browser) -> AsyncIterator[Page]:
    """Yields an empty page that shares no cookies, storage or cache with others."""
    async with await browser.new_context() as context:
        page = await context.new_page()
        page.set_default_timeout(MAX_MILLISECONDS)
        yield page
