"""The client for TypeScript and its components for React in a real browser, with the token of a session, on a page of
another origin than the service."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.async_api import Page, expect

from tests.browser.chromium import MAX_MILLISECONDS
from tests.browser.pages import serving_pages
from tests.clients.conftest import typescript_folder as typescript_folder
from tests.clients.typescript_package import run_in
from tests.running import Client, running_service, settings_for

APPLICATION = """\
import { createRoot } from "react-dom/client";
import { Client } from "./src/index.js";
import { Can, MagistrateProvider, useCheck } from "./src/react.js";

const given = new URLSearchParams(location.hash.slice(1));
const client = new Client({ url: given.get("url")!, key: given.get("token")! });

function Page() {
  const isOwner = useCheck("owner", "document:plan");
  return (
    <Can relation="viewer" object="document:plan" fallback={<p>nothing</p>}>
      <p>{`the plan, ${isOwner ? "to edit" : "to read"}`}</p>
    </Can>
  );
}

createRoot(document.getElementById("root")!).render(
  <MagistrateProvider client={client} onError={(error) => (document.title = String(error))}>
    <Page />
  </MagistrateProvider>,
);
"""


class Served(NamedTuple):
    """Holds the origin of the page, and a client of the service that allows it."""

    origin: str
    service: Client


@pytest.fixture(scope="module")
def served(typescript_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    (typescript_folder / "application.tsx").write_text(APPLICATION)
    options = ["--bundle", "--minify", "--format=iife", "--jsx=automatic", '--define:process.env.NODE_ENV="production"']
    script = run_in(typescript_folder, "node_modules/.bin/esbuild", "application.tsx", *options)
    html = f'<!doctype html><title>Page</title><div id="root"></div><script>{script}</script>'
    folder = tmp_path_factory.mktemp("browser")
    with (
        serving_pages({"/": html}) as origin,
        running_service(settings_for(f"sqlite:///{folder}/m.db", cors_origin=origin)) as url,
        Client(url) as service,
    ):
        service.define({"document": {"owner": {}, "viewer": {}}})
        service.grant("document:plan#viewer@user:ann", "document:plan#owner@user:ann", "document:plan#viewer@user:bob")
        yield Served(origin, service)


async def show(page: Page, served: Served, token: str) -> None:
    url = str(served.service.base_url).rstrip("/")
    await page.goto(f"{served.origin}/#url={url}&token={token}")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("user", "text"), [("ann", "the plan, to edit"), ("bob", "the plan, to read"), ("eve", "nothing")]
)
async def test_a_page_shows_what_its_user_may_do(page: Page, served: Served, user: str, text: str) -> None:
    token = served.service.post("/v2/sessions", json={"type": "sess", "userId": user}).json()["token"]
    requests: list[str] = []
    page.on("request", lambda request: requests.append(f"{request.method} {request.url.rsplit('/', 1)[1]}"))

    async with page.expect_response("**/v2/check"):
        await show(page, served, token)

    await expect(page.locator("p")).to_have_text(text, timeout=MAX_MILLISECONDS)
    assert [request for request in requests if request == "POST check"] == ["POST check"]
    assert await page.title() == "Page"


@pytest.mark.anyio
async def test_a_page_with_a_token_that_is_none_shows_nothing(page: Page, served: Served) -> None:
    async with page.expect_response("**/v2/check"):
        await show(page, served, "eyJhbGciOiJIUzI1NiJ9.e30.none")

    await page.wait_for_function("document.title != 'Page'")
    assert await page.title() == "Unauthenticated: Invalid token"
    assert await page.locator("p").text_content() == "nothing"
