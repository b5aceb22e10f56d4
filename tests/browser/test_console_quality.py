"""The console by the tools of its own trade: it is built from its source, typed, accessible, and fits every screen."""

import json
import os
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.chromium import MOST_MILLISECONDS
from tests.browser.console_pages import Console
from tests.browser.console_places import PLACES, SCHEMES, visit
from tests.generated_docs import ROOT
from tests.running import Client

SOURCE = ROOT / "console"
COMMITTED = ROOT / "src" / "magistrate" / "console_files"
EXAMPLES = ROOT / "src" / "magistrate" / "examples"
"""The console contains one of them."""
DEADLINE_SECONDS = 120
SERIOUS = ("serious", "critical")
WIDTHS = (375, 3840)


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the source of the console, with its tools as package-lock.json has them."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed; building the console needs node 20.19 or newer, and npm")
    folder = tmp_path_factory.mktemp("tools") / "console"
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("node_modules"))
    shutil.copytree(EXAMPLES, folder.parent / EXAMPLES.relative_to(ROOT))
    run(folder, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
    return folder


def run(folder: Path, *command: str, **environment: str) -> None:
    ran = subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=DEADLINE_SECONDS
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_committed_files_are_those_that_the_source_builds(tools: Path, tmp_path: Path) -> None:
    run(tools, "npm", "run", "build", CONSOLE_FILES=str(tmp_path / "built"))

    built = {path.name: path.read_bytes() for path in (tmp_path / "built").iterdir()}
    committed = {path.name: path.read_bytes() for path in COMMITTED.iterdir()}
    assert built.keys() == committed.keys()
    assert [name for name in built if built[name] != committed[name]] == [], "run `npm run build` in console/"


def test_the_source_is_typed(tools: Path) -> None:
    run(tools, "npm", "run", "check")


def test_the_logic_of_the_console_is_tested_by_its_own_tests(tools: Path) -> None:
    run(tools, "npm", "test")


def test_packages_are_pinned_and_come_from_whichever_registry_is_configured() -> None:
    package = json.loads((SOURCE / "package.json").read_text())
    lock = json.loads((SOURCE / "package-lock.json").read_text())

    versions = {**package["dependencies"], **package["devDependencies"]}
    assert all(version[0].isdigit() for version in versions.values()), versions
    assert not [name for name, one in lock["packages"].items() if "resolved" in one]
    assert all("integrity" in one for name, one in lock["packages"].items() if name)


@pytest.mark.anyio
@pytest.mark.parametrize("scheme", SCHEMES)
async def test_axe_finds_nothing_serious(
    tools: Path, browser: Browser, service: Client, scheme: Literal["light", "dark"]
) -> None:
    axe = (tools / "node_modules" / "axe-core" / "axe.min.js").read_text()
    # Only here may a script be added to the page.
    async with await browser.new_context(color_scheme=scheme, bypass_csp=True) as context:
        page = await context.new_page()
        page.set_default_timeout(MOST_MILLISECONDS)
        console = Console(page, str(service.base_url).rstrip("/"))
        await console.open()
        found = [("sign in", await list_serious(page, axe, scheme))]
        await console.sign_in()
        await expect(page.get_by_role("navigation", name="Pages of the console")).to_be_visible()
        for name, parameters, selector in PLACES:
            await visit(console, name, parameters, selector)
            found.append((f"{name} {parameters}", await list_serious(page, axe, scheme)))
        await page.get_by_role("link", name="Data").click()
        await page.get_by_role("button", name="New warrant").click()
        found.append(("dialog", await list_serious(page, axe, scheme)))
        await page.get_by_role("button", name="Cancel").click()
        await page.get_by_role("button", name="look back in time").click()
        await page.get_by_role("slider").press("ArrowLeft")
        await expect(page.get_by_text("You are looking at the past")).to_be_visible()
        found.append(("past", await list_serious(page, axe, scheme)))
        await page.get_by_role("button", name="Back to now").click()
        await console.show("Model")
        await console.write_model("version 1.0\n\ntype user\n\ntype document\n    relation viewer [group]\n")
        await expect(page.locator(".fault-list")).to_be_visible()
        found.append(("model with errors", await list_serious(page, axe, scheme)))
        await console.write_model("version 1.0\n\ntype user\n\ntype document\n    relation viewer [user]\n")
        await page.get_by_role("button", name="Review and save").click()
        await expect(console.dialog.locator(".access").first).to_be_visible()
        found.append(("review", await list_serious(page, axe, scheme)))
        await visit(console, "service", {}, ".empty")
        await page.get_by_role("button", name="New key").click()
        found.append(("dialog of keys", await list_serious(page, axe, scheme)))
        await visit(console, "tests", {}, ".empty")
        await page.get_by_role("button", name="Start with an example").click()
        await expect(page.locator(".test-list")).to_be_visible()
        found.append(("tests", await list_serious(page, axe, scheme)))

    assert [(place, serious) for place, serious in found if serious] == []


async def list_serious(page: Page, axe: str, scheme: str) -> list[Any]:
    """Runs all rules, but only those of colours again when the page is dark: nothing else differs."""
    await page.evaluate(axe)
    only = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] if scheme == "light" else ["color-contrast"]
    result = await page.evaluate("only => axe.run(document, {runOnly: only})", only)
    return [
        (one["id"], [node["html"] for node in one["nodes"]]) for one in result["violations"] if one["impact"] in SERIOUS
    ]


@pytest.mark.anyio
@pytest.mark.parametrize("width", WIDTHS)
async def test_no_page_is_wider_than_the_screen(browser: Browser, service: Client, width: int) -> None:
    async with await browser.new_context(viewport={"width": width, "height": 900}) as context:
        page = await context.new_page()
        page.set_default_timeout(MOST_MILLISECONDS)
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
        "icon.svg",
        "index.html",
        "reference.css",
        "reference.js",
        "workbench.js",
    }
