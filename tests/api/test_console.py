"""The console as the service sends it: its files, the headers that protect it, and the setting that switches it off."""

import gzip
import re
from pathlib import Path

import pytest

from magistrate.api.http.pages import list_console_pages
from tests.running import Client, running_service, settings_for

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"
FIRST = ("/console", "/console/console.js", "/console/console.css", "/console/icon.svg")
SCRIPTS = ("pages", "editor", "workbench", "tests_editor")
LATER = {f"/console/{name}.js": "text/javascript; charset=utf-8" for name in SCRIPTS}
"""Has the scripts that are loaded after the first page, or by some pages only, with their content types."""
PATHS = (*FIRST, *LATER)
MAX_FIRST_BYTES = 60_000  # gzipped, before the first answer is on the screen
MAX_BYTES = 250_000  # gzipped, all together
REFERENCE_PATHS = ("/docs/reference.js", "/docs/reference.css")
MAX_REFERENCE_BYTES = 30_000  # gzipped


def test_the_files_of_the_console_need_no_key(shared_client: Client) -> None:
    types = [shared_client.get(path, headers={"Authorization": ""}).headers["content-type"] for path in PATHS]

    assert types == [
        "text/html; charset=utf-8",
        "text/javascript; charset=utf-8",
        "text/css; charset=utf-8",
        "image/svg+xml",
        *LATER.values(),
    ]
    assert {page.path for page in list_console_pages()} == {*PATHS, *REFERENCE_PATHS}


@pytest.mark.parametrize("path", [*PATHS, *REFERENCE_PATHS])
def test_a_browser_loads_and_calls_nothing_but_the_service(shared_client: Client, path: str) -> None:
    headers = shared_client.get(path).headers

    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == policy["img-src"] == "'self'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"


def test_the_page_has_no_script_or_style_of_its_own_and_names_no_other_origin(shared_client: Client) -> None:
    html, script, style, _, *later = (shared_client.get(path).text for path in PATHS)

    assert not re.search(r"<script(?![^>]* src=)|<style| style=| on\w+=", html)
    assert not re.search(r"https?://", html + style)
    for each in (script, *later):
        assert {
            url for url in re.findall(r"https?://[\w./-]+", each) if "w3.org" not in url and ".example" not in url
        } == set()
        assert "eval(" not in each
        assert "dangerouslySetInnerHTML={" not in each


def test_a_browser_that_has_a_file_is_not_sent_it_again(shared_client: Client) -> None:
    for path in PATHS:
        first = shared_client.get(path)
        again = shared_client.get(path, headers={"If-None-Match": first.headers["etag"]})
        weak = shared_client.get(path, headers={"If-None-Match": f'W/{first.headers["etag"]}, "other"'})
        changed = shared_client.get(path, headers={"If-None-Match": '"other"'})

        assert first.headers["cache-control"] == "no-cache"
        assert [again.status_code, weak.status_code, changed.status_code] == [304, 304, 200]
        assert (again.content, changed.content) == (b"", first.content)
        assert again.headers["etag"] == first.headers["etag"]


def test_the_console_is_small(shared_client: Client) -> None:
    sizes = {path: len(gzip.compress(shared_client.get(path).content)) for path in PATHS}

    assert sum(sizes[path] for path in FIRST) < MAX_FIRST_BYTES
    assert sum(sizes.values()) < MAX_BYTES


def test_the_script_of_the_api_reference_is_small_and_names_no_other_origin(shared_client: Client) -> None:
    answers = [shared_client.get(path, headers={"Authorization": ""}) for path in REFERENCE_PATHS]

    assert [answer.headers["content-type"] for answer in answers] == [
        "text/javascript; charset=utf-8",
        "text/css; charset=utf-8",
    ]
    assert sum(len(gzip.compress(answer.content)) for answer in answers) < MAX_REFERENCE_BYTES
    assert {
        url
        for url in re.findall(r"https?://[\w./-]+", answers[0].text)
        if "w3.org" not in url and ".example" not in url
    } == set()
    assert "eval(" not in answers[0].text


def test_browsers_are_led_to_the_console_and_others_are_not(shared_client: Client) -> None:
    led = shared_client.get("/", headers={"Accept": BROWSER})
    kinds = ("*/*", "application/json", "text/plain")
    others = [shared_client.get("/", headers={"Accept": accept}) for accept in kinds]

    assert (led.status_code, led.headers["location"]) == (302, "console")
    assert led.headers["vary"] == "Accept"
    for answer in others:
        assert answer.status_code == 404
        assert answer.json() == {
            "code": "not_found",
            "message": "Endpoint / not found",
            "type": "Endpoint",
            "key": "/",
        }
    assert shared_client.post("/", headers={"Accept": BROWSER}).status_code == 404
    assert shared_client.get("/console/", headers={"Accept": BROWSER}).status_code == 301


def test_a_service_without_the_console_has_no_trace_of_it(tmp_path: Path) -> None:
    settings = settings_for(f"sqlite:///{tmp_path}/m.db", console="off")
    with running_service(settings) as url, Client(url) as client:
        for path in ("/", *PATHS):
            missing = client.get(path, headers={"Accept": BROWSER})

            assert (missing.status_code, missing.json()["type"]) == (404, "Endpoint")
        assert client.get("/docs").status_code == 200
