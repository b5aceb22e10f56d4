"""Pages of other origins, in a real browser: only a browser refuses what the headers of an answer do not allow.

`tests/api/test_cors.py` compares those headers one by one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.async_api import Page

from tests.browser.chromium import find_chromium
from tests.browser.pages import serving_pages
from tests.running import KEY, Client, running_service, settings_for

PAGE = """<!doctype html>
<title>A page that sends requests to a service of another origin</title>
<script>
  async function send(url, authorization, body) {
    const headers = {Authorization: authorization, "Content-Type": "application/json"};
    try {
      const answer = await fetch(url, body ? {method: "POST", headers, body: JSON.stringify(body)} : {headers});
      return {status: answer.status, token: answer.headers.get("Service-Token"), body: await answer.json()};
    } catch (error) {
      return {error: error.name};  // all that a page learns of an answer that it may not read
    }
  }
</script>
"""
CHECK = {
    "warrants": [
        {
            "objectType": "document",
            "objectId": "plan",
            "relation": "viewer",
            "subject": {"objectType": "user", "objectId": "ann"},
        }
    ]
}
CREDENTIALS = ("session token", "API key", "API key as bearer")
HIDDEN = {"error": "TypeError"}

Answer = dict[str, Any]


class Origins(NamedTuple):
    """Holds the origins of two servers of the same page, of which the service allows one."""

    allowed: str
    refused: str


@pytest.fixture(scope="module")
def origins() -> Iterator[Origins]:
    with serving_pages({"/": PAGE}) as allowed, serving_pages({"/": PAGE}) as refused:
        yield Origins(allowed, refused)


@contextmanager
def serving(folder: Path, **given: str | int) -> Iterator[Client]:
    with running_service(settings_for(f"sqlite:///{folder}/m.db", **given)) as url, Client(url) as client:
        client.define({"document": {"viewer": {}}})
        client.grant("document:plan#viewer@user:ann")
        yield client


@pytest.fixture(scope="module")
def service(origins: Origins, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(tmp_path_factory.mktemp("cors"), cors_origin=origins.allowed) as client:
        yield client


@pytest.fixture(scope="module")
def open_service(origins: Origins, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A service that opens all routes to the allowed origin."""
    with serving(tmp_path_factory.mktemp("open"), cors_origin=origins.allowed, cors_all_routes=1) as client:
        yield client


def authorization_of(service: Client, credentials: str) -> str:
    if credentials == "session token":
        session = service.post("/v2/sessions", json={"type": "sess", "userId": "ann"})
        return f"Bearer {session.json()['token']}"
    return f"{'ApiKey' if credentials == 'API key' else 'Bearer'} {KEY}"


async def send(page: Page, origin: str, service: Client, path: str, authorization: str, body: object = None) -> Answer:
    """Sends a request from the page of an origin, and returns what its script learns of the answer."""
    await page.goto(f"{origin}/")
    given = [str(service.base_url.join(path)), authorization, body]
    answer: Answer = await page.evaluate("given => send(...given)", given)
    return answer


@pytest.mark.anyio
@pytest.mark.parametrize("path", ["/v2/check", "/v2/authorize"])
@pytest.mark.parametrize("credentials", CREDENTIALS)
async def test_a_page_of_an_allowed_origin_checks(
    page: Page, origins: Origins, service: Client, credentials: str, path: str
) -> None:
    authorization = authorization_of(service, credentials)

    answer = await send(page, origins.allowed, service, path, authorization, CHECK)

    assert answer["status"] == 200
    assert answer["body"]["result"] == "Authorized"
    assert answer["token"]


@pytest.mark.anyio
@pytest.mark.parametrize("credentials", CREDENTIALS)
async def test_a_page_of_another_origin_learns_nothing(
    page: Page, origins: Origins, service: Client, open_service: Client, credentials: str
) -> None:
    for one in (service, open_service):
        answer = await send(page, origins.refused, one, "/v2/check", authorization_of(one, credentials), CHECK)

        assert answer == HIDDEN


@pytest.mark.anyio
async def test_an_allowed_page_reads_errors(page: Page, origins: Origins, service: Client) -> None:
    wrong_key = await send(page, origins.allowed, service, "/v2/check", "ApiKey no-such-key-at-all", CHECK)
    nothing_checked = await send(page, origins.allowed, service, "/v2/check", f"ApiKey {KEY}", {"warrants": []})

    assert (wrong_key["status"], wrong_key["body"]["code"]) == (401, "unauthorized")
    assert nothing_checked["status"] == 400


@pytest.mark.anyio
async def test_routes_for_keys_alone_are_opened_by_a_setting(
    page: Page, origins: Origins, service: Client, open_service: Client
) -> None:
    closed = await send(page, origins.allowed, service, "/v2/warrants", f"ApiKey {KEY}")
    opened = await send(page, origins.allowed, open_service, "/v2/warrants", f"ApiKey {KEY}")
    refused = await send(page, origins.refused, open_service, "/v2/warrants", f"ApiKey {KEY}")

    assert closed == refused == HIDDEN
    assert [row["relation"] for row in opened["body"]["results"]] == ["viewer"]


def test_no_chromium_is_found_where_none_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_chromium() is None

    (tmp_path / "chromium").write_text("#!/bin/sh\n")
    (tmp_path / "chromium").chmod(0o755)
    assert find_chromium() == f"{tmp_path}/chromium"
