"""How soon the pages of the console show something useful, in the Chromium that is installed: with 1,000,000 warrants,
and beside it with 10,000."""

import asyncio
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlencode

from playwright.async_api import Browser, Page, async_playwright

from benchmarks.cores import ALL_CORES
from benchmarks.databases import NewDatabase, sqlite_databases
from benchmarks.datasets import DATASETS
from benchmarks.datasets.lines import lines
from benchmarks.server import API_KEY, serving
from benchmarks.table import markdown_table

DATASET = "drive"
SMALL, LARGE = 10_000, 1_000_000
SEED = 1
ROUNDS = 5
TARGET_MS = 1_000
CHROMIUM = "chromium"
FIRST_MS = 60_000
"""How long the first page may take, with the start of the browser."""

CHECK = {"subject": "user:user-404", "relation": "reader", "object": "document:doc-461"}
PAGES: Mapping[str, tuple[str, Mapping[str, str], str]] = {
    "Why, no check": ("why", {}, ".empty"),
    "Why, a check": ("why", CHECK, ".verdict"),
    "Data, objects": ("data", {}, "tbody tr"),
    "Data, warrants": ("data", {"show": "warrants"}, "tbody tr"),
    "Data, a search": ("data", {"q": "doc-12", "type": "document"}, "tbody tr"),
    "an object": ("object", {"name": CHECK["object"]}, "tbody tr"),
    "a subject": ("object", {"name": CHECK["subject"]}, "tbody tr, .empty"),
    "Queries": ("queries", {"q": f"select document where {CHECK['subject']} is *"}, "tbody tr, .empty"),
    "History": ("history", {}, ".timeline li"),
    "Live": ("live", {}, ".mark.yes"),
    "Model": ("model", {}, ".graph .type-box"),
    "Tests": ("tests", {}, ".empty"),
    "Service, keys": ("service", {}, ".empty"),
    "Service, your key": ("service", {"show": "own"}, "tbody tr"),
    "Service, sessions": ("service", {"show": "sessions"}, "form"),
    "Service, webhooks": ("service", {"show": "webhooks"}, ".empty"),
    "Service, integrations": ("service", {"show": "integrations"}, "[aria-label=OpenFGA] .mark"),
    "Service, metrics": ("service", {"show": "metrics"}, ".figure"),
}
"""Says by the name of a page where it is, and what is useful on it: an element that it shows once it has an answer."""

# It runs in the page, from its beginning: the frame after the first one that has the element has painted it.
WATCH = """selector => {
  window.shown = new Promise(resolve => {
    const look = () => document.querySelector(selector)
      ? requestAnimationFrame(() => resolve(performance.now()))
      : requestAnimationFrame(look);
    requestAnimationFrame(look);
  });
}"""

Times = dict[str, list[float]]
"""Milliseconds from the beginning of a navigation, by page."""


def measure_console(seconds: int) -> str:
    """Returns a table. Loading takes a minute; `seconds` has no effect."""
    with ExitStack() as stack:
        new_database = stack.enter_context(sqlite_databases())
        databases = {size: _import(new_database, size) for size in (SMALL, LARGE)}
        urls = {size: stack.enter_context(serving(url, cores=ALL_CORES)).url for size, url in databases.items()}
        times = asyncio.run(_measure(urls))
    return table(times)


def table(times: Mapping[int, Times]) -> str:
    header = ("page", f"{SMALL:,} warrants, ms", f"{LARGE:,} warrants, ms", "slowest of these", "times", "target")
    rows = [_row(page, times[SMALL][page], times[LARGE][page]) for page in PAGES]
    return markdown_table(f"First content of the pages of the console ({DATASET}, SQLite)", header, rows)


def _row(page: str, small: Sequence[float], large: Sequence[float]) -> Sequence[str]:
    times = statistics.median(own / other for own, other in zip(large, small, strict=True))
    medians = [f"{statistics.median(one):,.0f}" for one in (small, large)]
    return (page, *medians, f"{max(large):,.0f}", f"{times:.2f}", f"< {TARGET_MS:,} ms")


def _import(new_database: NewDatabase, size: int) -> str:
    """Makes a database as the command `import` does, so that there are objects and a history, and returns its URL."""
    url = new_database(f"console_{size}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "lines.jsonl")
        with file.open("wb") as written:
            written.writelines(lines(DATASETS[DATASET](size, SEED)))
        command = (sys.executable, "-m", "magistrate", "import", "--database-url", url, str(file))
        subprocess.run(command, check=True, capture_output=True)
    return url


async def _measure(urls: Mapping[int, str]) -> Mapping[int, Times]:
    """Visits every page of both services alternately; the first round, in which nothing is cached, does not count."""
    times: dict[int, Times] = {size: {page: [] for page in PAGES} for size in urls}
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=_find_chromium())
        opened = {size: await _sign_in(browser, url) for size, url in urls.items()}
        for number in range(ROUNDS + 1):
            for name in PAGES:
                for size, page in opened.items():
                    taken = await _visit(page, urls[size], name)
                    if number > 0:
                        times[size][name].append(taken)
        await browser.close()
    return times


def _find_chromium() -> str:
    found = shutil.which(CHROMIUM)
    if found is None:
        raise SystemExit(f"{CHROMIUM} is not installed: this benchmark needs it")
    return found


async def _sign_in(browser: Browser, url: str) -> Page:
    page = await (await browser.new_context(viewport={"width": 1280, "height": 900})).new_page()
    page.set_default_timeout(FIRST_MS)
    await page.goto(f"{url}/console")
    await page.get_by_label("API key").fill(API_KEY)
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_selector(".empty")
    return page


async def _visit(page: Page, url: str, name: str) -> float:
    place, parameters, selector = PAGES[name]
    await page.goto("about:blank")
    await page.goto(f"{url}/console#/{place}?{urlencode(parameters)}", wait_until="commit")
    await page.evaluate(WATCH, selector)
    taken: float = await page.evaluate("window.shown")
    return taken
