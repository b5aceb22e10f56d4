"""Takes pictures of every page of the console, for people to look at, or those of the README:

./run python -m tests.browser.take_screenshots FOLDER
./run python -m tests.browser.take_screenshots --readme
"""

import asyncio
import re
import sys
import tempfile
from pathlib import Path

from playwright.async_api import Browser, ViewportSize, expect

from tests.browser.accessibility import SCHEMES, Scheme
from tests.browser.chromium import MISSING, find_chromium, running_browser
from tests.browser.console_pages import Console
from tests.browser.console_places import DENIED, PLACES, load_example, visit
from tests.generated_docs import ROOT
from tests.running import Client, running_service, settings_for, wait_for_stopped_services

WIDTHS = (390, 900, 1280)
"""Lists those of a phone, of a tablet or half a screen, and of a small laptop."""
PICTURES = ROOT / "docs" / "pictures"
OF_README = {
    "console-why": ("why", DENIED, ".suggestion .effect", 960),
    "console-model": ("model", {"of": "document#can-read"}, ".graph .chosen", 780),
    "console-access": ("object", {"name": "user:bob", "group": "because"}, "table", 640),
}
"""Has the pictures of the README by their names: page, parameters, what is shown once it has loaded, and the height."""

LONG_ID = "long-" + "x" * 1019
RIGHT_TO_LEFT_ID = "\u0645\u0633\u062a\u0646\u062f-\u0627\u0644\u062e\u0637\u0629"
"""Names an object with right-to-left text: "document of the plan" in Arabic."""
STRANGE_PLACES: tuple[tuple[str, dict[str, str], str], ...] = (
    ("data", {"q": LONG_ID[:9]}, "table"),
    ("data", {"show": "warrants", "subject": f"user:{LONG_ID}"}, "table"),
    ("object", {"name": f"document:{LONG_ID}"}, "table"),
    ("object", {"name": f"document:{RIGHT_TO_LEFT_ID}"}, "table"),
    ("why", {"subject": f"user:{LONG_ID}", "relation": "can-read", "object": f"document:{LONG_ID}"}, ".path"),
    ("why", {"subject": "user:ann", "relation": "can-read", "object": f"document:{RIGHT_TO_LEFT_ID}"}, ".path"),
)
"""Lists pages about ids of the most characters, and in a script that is written from right to left."""
DIALOGS: tuple[tuple[str, dict[str, str], str], ...] = (
    ("data", {}, "New warrant"),
    ("data", {}, "New object"),
    ("data", {}, "Import a file"),
    ("data", {"show": "warrants"}, "Delete"),
    ("object", {"name": "document:roadmap"}, "Edit meta"),
    ("object", {"name": "document:roadmap"}, "Rename"),
    ("object", {"name": "document:roadmap"}, "Delete"),
    ("object", {"name": f"document:{LONG_ID}"}, "Rename"),
    ("history", {}, "Revert…"),
    ("model", {}, "Import"),
    ("service", {}, "New key"),
    ("service", {"show": "webhooks"}, "New webhook"),
    ("why", DENIED, "Make this change"),
    ("queries", {"q": "select document where user:ann is *"}, "Save…"),
)
"""Lists the pages with the buttons that open a dialog."""


async def take_all(url: str, folder: Path) -> None:
    executable = find_chromium()
    if executable is None:
        raise SystemExit(MISSING)
    async with running_browser(executable) as browser:
        for width in WIDTHS:
            for scheme in SCHEMES:
                await take(browser, url, folder, width, scheme)


async def take(browser: Browser, url: str, folder: Path, width: int, scheme: Scheme) -> None:
    viewport: ViewportSize = {"width": width, "height": 900}
    async with await browser.new_context(viewport=viewport, color_scheme=scheme) as context:
        page = await context.new_page()
        console = Console(page, url)
        await console.open()
        await page.screenshot(path=folder / f"sign-in-{width}-{scheme}.png")
        await console.start()
        for number, (name, parameters, selector) in enumerate((*PLACES, *STRANGE_PLACES)):
            await visit(console, name, parameters, selector)
            await page.screenshot(path=folder / f"{number}-{name}-{width}-{scheme}.png", full_page=True)
        for number, (place, parameters, button) in enumerate(DIALOGS):
            await visit(console, place, parameters, "main h1")
            await page.get_by_role("button", name=button).first.click()
            await expect(console.dialog.locator(".busy")).to_have_count(0)
            await page.screenshot(path=folder / f"dialog-{number}-{place}-{width}-{scheme}.png")
        await visit(console, "tests", {}, ".empty")
        await page.get_by_role("button", name="Start with an example").click()
        await expect(page.get_by_text(re.compile("passed, .* failed"))).to_be_visible()
        await page.screenshot(path=folder / f"tests-{width}-{scheme}.png", full_page=True)


async def take_for_readme(url: str, folder: Path) -> None:
    executable = find_chromium()
    if executable is None:
        raise SystemExit(MISSING)
    async with running_browser(executable) as browser:
        for file, (name, parameters, selector, height) in OF_README.items():
            viewport: ViewportSize = {"width": 1180, "height": height}
            async with await browser.new_context(viewport=viewport, color_scheme="light") as context:
                console = Console(await context.new_page(), url)
                await console.start()
                await visit(console, name, parameters, selector)
                await console.page.screenshot(path=folder / f"{file}.png")


def load_strange_ids(client: Client) -> None:
    client.grant(f"document:{LONG_ID}#viewer@user:{LONG_ID}", f"document:{RIGHT_TO_LEFT_ID}#viewer@user:ann")


def main() -> None:
    is_readme = sys.argv[1] == "--readme"
    folder = PICTURES if is_readme else Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as data:
        with running_service(settings_for(f"sqlite:///{data}/m.db")) as url, Client(url) as client:
            if is_readme:
                client.clear()  # without the types of v1, which belong to another story
            load_example(client)
            if not is_readme:
                load_strange_ids(client)
            asyncio.run(take_for_readme(url, folder) if is_readme else take_all(url, folder))
        wait_for_stopped_services()


if __name__ == "__main__":
    main()
