"""The console by the tools of its own trade: it is built from its source, typed, accessible, and fits every screen."""

import json
from importlib.resources import files
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.browser.accessibility import Inspection, inspecting
from tests.browser.chromium import MAX_MILLISECONDS
from tests.browser.console_pages import Console
from tests.browser.console_places import PLACES, visit
from tests.browser.node_tools import SOURCE, run_tool
from tests.generated_docs import ROOT
from tests.running import Client

COMMITTED = ROOT / "src" / "magistrate" / "console_files"
WIDTHS = (375, pytest.param(3840, marks=pytest.mark.nightly))


def test_the_committed_files_are_those_that_the_source_builds(tools: Path, tmp_path: Path) -> None:
    run_tool(tools, "npm", "run", "build", CONSOLE_FILES=str(tmp_path / "built"))

    built = {path.name: path.read_bytes() for path in (tmp_path / "built").iterdir()}
    committed = {path.name: path.read_bytes() for path in COMMITTED.iterdir()}
    assert built.keys() == committed.keys()
    assert [name for name in built if built[name] != committed[name]] == [], "run `npm run build` in console/"


@pytest.mark.nightly
def test_the_source_is_typed(tools: Path) -> None:
    """As `./run check` shows where Node is."""
    run_tool(tools, "npm", "run", "check")


def test_the_logic_of_the_console_is_tested_by_its_own_tests(tools: Path) -> None:
    run_tool(tools, "npm", "test")


def test_packages_are_pinned_and_come_from_whichever_registry_is_configured() -> None:
    package = json.loads((SOURCE / "package.json").read_text())
    lock = json.loads((SOURCE / "package-lock.json").read_text())

    versions = {**package["dependencies"], **package["devDependencies"]}
    assert all(version[0].isdigit() for version in versions.values()), versions
    assert not [name for name, one in lock["packages"].items() if "resolved" in one]
    assert all("integrity" in one for name, one in lock["packages"].items() if name)


@pytest.mark.nightly
@pytest.mark.anyio
async def test_axe_finds_nothing_serious(tools: Path, browser: Browser, service: Client) -> None:
    async with inspecting(browser, tools, str(service.base_url).rstrip("/")) as inspection:
        console, page = inspection.console, inspection.console.page
        await console.open()
        await inspection.look("sign in")
        await console.sign_in()
        await expect(page.get_by_role("navigation", name="Pages of the console")).to_be_visible()
        for name, parameters, selector in PLACES:
            await visit(console, name, parameters, selector)
            await inspection.look(f"{name} {parameters}")
        await page.get_by_role("link", name="Data").click()
        await page.get_by_role("button", name="New warrant").click()
        await inspection.look("dialog")
        await page.get_by_role("button", name="Cancel").click()
        await page.get_by_role("button", name="look back in time").click()
        await page.get_by_role("slider").press("ArrowLeft")
        await expect(page.get_by_text("You are looking at the past")).to_be_visible()
        await inspection.look("past")
        await page.get_by_role("button", name="Back to now").click()
        await console.show("Model")
        await console.write_model("version 1.0\n\ntype user\n\ntype document\n    relation viewer [group]\n")
        await expect(page.locator(".fault-list")).to_be_visible()
        await inspection.look("model with errors")
        await console.write_model("version 1.0\n\ntype user\n\ntype document\n    relation viewer [user]\n")
        await page.get_by_role("button", name="Review and save").click()
        await expect(console.dialog.locator(".access").first).to_be_visible()
        await inspection.look("review")
        await visit(console, "service", {}, ".empty")
        await page.get_by_role("button", name="New key").click()
        await inspection.look("dialog of keys")
        url = "https://8.8.8.8/"
        made = service.post("/v2/webhooks", json={"url": url, "description": "an index", "enabled": False}).json()
        await visit(console, "service", {"show": "webhooks"}, "table")
        await inspection.look("webhooks")
        await page.get_by_role("link", name=url).click()
        await page.get_by_role("button", name="Edit").click()
        await inspection.look("dialog of webhooks")
        await page.get_by_role("button", name="Cancel").click()
        await inspection.look("webhook")
        service.delete(f"/v2/webhooks/{made['id']}").raise_for_status()
        await look_at_saved_queries(inspection, service)
        await visit(console, "tests", {}, ".empty")
        await page.get_by_role("button", name="Start with an example").click()
        await page.get_by_text("What passed").click()
        await expect(page.locator(".test-list")).to_be_visible()
        await inspection.look("tests")

    assert inspection.serious == []


async def look_at_saved_queries(inspection: Inspection, service: Client) -> None:
    q = "select document where user:ann is viewer"
    saved = {"name": "x" * 100, "q": q, "description": "of ann", "context": {"network": "office"}}
    kept = service.post("/v2/saved-queries", json=saved).json()
    await visit(inspection.console, "queries", {}, "table")
    await inspection.look("saved queries")
    await inspection.console.page.get_by_role("button", name="Edit").click()
    await inspection.look("dialog of saved queries")
    await inspection.console.page.get_by_role("button", name="Cancel").click()
    service.delete(f"/v2/saved-queries/{kept['id']}").raise_for_status()


@pytest.mark.anyio
@pytest.mark.parametrize("width", WIDTHS)
async def test_no_page_is_wider_than_the_screen(browser: Browser, service: Client, width: int) -> None:
    async with await browser.new_context(viewport={"width": width, "height": 900}) as context:
        page = await context.new_page()
        page.set_default_timeout(MAX_MILLISECONDS)
        console = Console(page, str(service.base_url).rstrip("/"))
        await console.start()
        for name, parameters, selector in PLACES:
            await visit(console, name, parameters, selector)

            assert await page.evaluate("document.documentElement.scrollWidth") <= width, (name, parameters)


def test_the_package_contains_the_console() -> None:
    names = {path.name for path in files("magistrate").joinpath("console_files").iterdir()}

    assert names == {
        "console.css",
        "console.js",
        "editor.js",
        "icon.svg",
        "index.html",
        "pages.js",
        "reference.css",
        "reference.js",
        "tests_editor.js",
        "workbench.js",
    }
