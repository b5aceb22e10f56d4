"""The site has every page of the documentation, and nothing that leads out of it."""

import functools
import re
import shutil
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import anyio
import pytest
from playwright.async_api import expect

from tests.browser.chromium import MISSING, find_chromium, fresh_page, running_browser
from tests.generated_docs import ROOT

BUILD_SECONDS, SEARCH_SECONDS = 540, 60
FENCE = re.compile(r"^( *)(`{3,}).*?^\1\2", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^()\s#:]+)(?:#[^()\s]*)?\)")


def write_pages(root: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "deploy" / "site_pages.py"), str(folder)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "pages"
    written = write_pages(ROOT, folder)
    assert written.returncode == 0, written.stderr
    return folder


def named_pages(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        for value in entry.values():
            if isinstance(value, list):
                yield from named_pages(value)
            else:
                yield value


def test_the_navigation_has_every_page_of_the_documentation_once(pages: Path) -> None:
    named = [*named_pages(tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"])]

    assert sorted(named) == sorted([*(path.name for path in (ROOT / "docs").glob("*.md")), "decisions/index.md"])


def test_no_link_of_a_page_leads_out_of_the_site(pages: Path) -> None:
    written = [*pages.rglob("*.md")]

    assert len(written) > 200
    for page in written:
        for target in LINK.findall(
            re.sub(r"^( *)(`{3,}).*?^\1\2", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        ):
            linked = (page.parent / target).resolve()
            assert linked.is_relative_to(pages.resolve()), (page, target)
            assert linked.is_file(), (page, target)


def test_what_pages_link_to_beside_them_is_a_page_as_well(pages: Path) -> None:
    concepts = (pages / "concepts.md").read_text()

    assert "](repository/src/magistrate/engine/rules/arrow.py.md)" in concepts
    assert "](repository/src/magistrate/engine/rules/index.md)" in concepts
    source = (ROOT / "src/magistrate/engine/rules/arrow.py").read_text()
    assert f"````python\n{source}````\n" in (pages / "repository/src/magistrate/engine/rules/arrow.py.md").read_text()


def test_examples_stay_as_they_are(pages: Path) -> None:
    fences = re.compile(r"^```console\n.*?^```$", re.DOTALL | re.MULTILINE)

    for name in ("tutorial.md", "api.md", "difference.md"):
        assert fences.findall((pages / name).read_text()) == fences.findall((ROOT / "docs" / name).read_text())


def test_a_broken_link_of_a_built_page_is_found(tmp_path: Path) -> None:
    (tmp_path / "there.html").write_text('<h1 id="there">There</h1><a href="https://example.com/">away</a>')
    links = ("there.html#there", "there.html#here", "nowhere.html")
    (tmp_path / "index.html").write_text("".join(f'<a href="{link}">x</a>' for link in links))

    assert [*find_broken_links(tmp_path)] == [("index.html", "there.html#here"), ("index.html", "nowhere.html")]


def test_a_link_to_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "deploy").mkdir()
    shutil.copy(ROOT / "deploy" / "site_pages.py", tmp_path / "deploy")
    (tmp_path / "docs" / "decisions").mkdir(parents=True)
    (tmp_path / "docs" / "index.md").write_text("# Index\n\nSee [more](more.md).\n")

    written = write_pages(tmp_path, tmp_path / "pages")

    assert written.returncode == 1
    assert written.stderr.endswith("FileNotFoundError: docs/index.md: more.md\n")


@contextmanager
def served(folder: Path) -> Iterator[str]:
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def built_site() -> Path:
    subprocess.run([str(ROOT / "run"), "site"], check=True, timeout=BUILD_SECONDS)
    return ROOT / "build" / "site"


class BuiltPage(HTMLParser):
    """Reads the links of a page, what a browser loads with it, and the anchors that it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if "src" in values:
            self.loaded.append(values["src"])
        if "href" in values:
            is_loaded = tag == "link" and values.get("rel") in ("stylesheet", "icon", "preload")
            (self.loaded if is_loaded else self.links).append(values["href"])


def find_broken_links(site: Path) -> Iterator[tuple[str, str]]:
    """Yields the page and the link, for each that leads to nothing within the site."""
    pages = {path: BuiltPage(path) for path in site.rglob("*.html")}
    for path, page in pages.items():
        for link in [*page.links, *page.loaded]:
            url = urlsplit(link)
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            target = target / "index.html" if target.is_dir() else target
            is_there = target.exists() and (
                not url.fragment or target not in pages or unquote(url.fragment) in pages[target].anchors
            )
            if not url.netloc and url.scheme != "mailto" and not is_there:
                yield str(path.relative_to(site)), link


@pytest.mark.nightly
def test_every_link_of_the_built_site_leads_somewhere(built_site: Path) -> None:
    (built_site / "404.html").unlink(missing_ok=True)  # its links begin at the root of the server

    assert len([*built_site.rglob("*.html")]) > 200
    assert [*find_broken_links(built_site)] == []


@pytest.mark.nightly
def test_a_browser_loads_nothing_of_the_built_site_from_elsewhere(built_site: Path) -> None:
    loaded = {link for path in built_site.rglob("*.html") for link in BuiltPage(path).loaded}

    assert loaded
    assert [link for link in loaded if urlsplit(link).netloc] == []


@pytest.mark.nightly
@pytest.mark.anyio
async def test_the_built_site_is_searched_and_seen_without_another_server(built_site: Path) -> None:
    executable = find_chromium()
    if executable is None:
        pytest.skip(MISSING)
    with served(built_site) as url:
        async with running_browser(executable) as browser, fresh_page(browser) as page:
            others: list[str] = []
            page.on("request", lambda sent: others.append(sent.url) if sent.url.startswith("http") else None)
            for name in ("index", "tutorial", "concepts", "decisions/index"):
                answered = await page.goto(f"{url}/{name}.html")
                assert answered is not None
                assert answered.ok, name
            await page.keyboard.press("/")
            await page.keyboard.type("contextual warrants")
            with anyio.fail_after(SEARCH_SECONDS):  # the results are where a test cannot see them
                while page.url.startswith(f"{url}/decisions/"):
                    await page.keyboard.press("Enter")
                    await anyio.sleep(0.2)
            await expect(page.get_by_role("heading", name="Contextual warrants")).to_be_visible()
    assert [other for other in others if not other.startswith(url)] == []
