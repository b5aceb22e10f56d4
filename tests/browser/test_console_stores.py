"""The switcher of stores in the console."""

import re
from collections.abc import AsyncIterator, Iterator

import pytest
from playwright.async_api import Locator, Page, expect

from tests.browser.console_pages import Console
from tests.issuing import issue_key, wait_for_key
from tests.running import Client, running_service, settings_for

pytestmark = pytest.mark.anyio

TYPES = [{"type": "document", "relations": {"viewer": {}}}, {"type": "user", "relations": {}}]
WARRANT = {
    "objectType": "document",
    "objectId": "plan",
    "relation": "viewer",
    "subject": {"objectType": "user", "objectId": "ann"},
}
CHECK = {"subject": "user:ann", "relation": "viewer", "object": "document:plan"}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A service whose stores acme and globex have the same ids; ann reads the plan in acme only."""
    folder = tmp_path_factory.mktemp("stores")
    with running_service(settings_for(f"sqlite:///{folder}/m.db")) as url, Client(url) as client:
        for name in ("acme", "globex"):
            client.post("/v2/stores", json={"name": name, "description": f"of {name}"}).raise_for_status()
            client.put(f"/stores/{name}/v2/object-types", json=TYPES).raise_for_status()
            for object_type, object_id in (("document", "plan"), ("user", "ann")):
                body = {"objectType": object_type, "objectId": object_id, "meta": {"title": f"of {name}"}}
                client.post(f"/stores/{name}/v2/objects", json=body).raise_for_status()
        client.post("/stores/acme/v2/warrants", json=WARRANT).raise_for_status()
        yield client


@pytest.fixture
async def console(page: Page, stores: Client) -> AsyncIterator[Console]:
    """The console of the service; nothing may go wrong in it."""
    opened = Console(page, str(stores.base_url).rstrip("/"))
    yield opened
    assert opened.troubles == []


def switcher(console: Console) -> Locator:
    return console.page.get_by_role("button", name=re.compile("^Store: "))


async def choose(console: Console, name: str) -> None:
    await switcher(console).click()
    await console.field("Store").fill(name[:3])
    await console.page.get_by_role("option", name=name).click()
    await expect(switcher(console)).to_have_text(f"Store: {name}")


async def test_two_stores_with_the_same_ids_show_different_answers(console: Console) -> None:
    await console.start("why", **CHECK, store="acme")
    await expect(console.verdict).to_contain_text("Allowed")

    await choose(console, "globex")
    await expect(console.verdict).to_contain_text("Denied")
    await console.page.go_back()
    await expect(console.verdict).to_contain_text("Allowed")
    await expect(switcher(console)).to_have_text("Store: acme")
    await choose(console, "default")

    assert "store=" not in console.page.url


async def test_the_switcher_says_what_the_store_holds_and_may_hold(console: Console, stores: Client) -> None:
    limits = {"limits": {"warrants": 5_000}}
    made = stores.post("/v2/stores", json={"name": "counted", **limits}).json()
    stores.put("/stores/counted/v2/object-types", json=TYPES).raise_for_status()
    stores.post("/stores/counted/v2/warrants", json=WARRANT).raise_for_status()
    await console.start("data", store="counted")

    await switcher(console).click()

    said = console.page.get_by_role("region", name="Store").get_by_role("status")
    await expect(said).to_have_text("counted holds 2 objects and 1 warrants of at most 5,000.")
    stores.delete(f"/v2/stores/{made['id']}").raise_for_status()


async def test_every_request_is_about_the_store_in_the_address(console: Console) -> None:
    requested: list[str] = []
    console.page.on("request", lambda sent: requested.append(sent.url.removeprefix(console.url)))
    await console.start("data", store="acme")
    await expect(console.row("document:plan")).to_contain_text("of acme")
    for page in ("Queries", "History", "Model", "Tests", "Service", "Why", "Data"):
        await console.show(page)
        await expect(console.page.get_by_role("heading", level=1)).to_be_visible()
    assert "store=acme" in console.page.url
    await expect(console.row("document:plan")).to_contain_text("of acme")

    of_api = {path.partition("?")[0] for path in requested if "/v2/" in path}
    of_service = {"/v2/keys/self", "/v2/stores/acme"}
    assert of_service < of_api
    assert {path for path in of_api if not path.startswith("/stores/acme/v2/")} == of_service
    assert await console.page.title() == "Data · acme · Magistrate"


async def test_what_was_read_or_written_in_one_store_is_not_used_in_another(console: Console, stores: Client) -> None:
    await console.start("data", store="acme")
    body = {**WARRANT, "subject": {"objectType": "user", "objectId": "kim"}}
    await console.open("data", show="warrants", store="acme")
    await console.fill_warrant("user:kim", "viewer", "document:plan")
    await console.dialog.get_by_role("button", name="Create").click()
    await expect(console.row("user:kim")).to_be_visible()
    before = await console.page.locator(".top").evaluate("() => { window.isKept = true; return true; }")

    await choose(console, "globex")  # with a token of acme, its reads would be refused
    await expect(
        console.page.get_by_text("of globex").or_(console.page.get_by_role("heading", level=1))
    ).to_be_visible()

    assert before
    assert await console.page.evaluate("window.isKept") is None
    await expect(console.page.get_by_role("alert")).to_have_count(0)
    await expect(console.row("user:kim")).to_have_count(0)
    stores.request("DELETE", "/stores/acme/v2/warrants", json=body).raise_for_status()


async def test_a_switch_leaves_the_past_and_the_cursors_behind(console: Console, stores: Client) -> None:
    token = stores.get("/stores/acme/v2/model").headers["Service-Token"]
    await console.start("why", **CHECK, store="acme", at=token)
    await expect(console.page.get_by_role("region", name="Point in time")).to_contain_text("the past")

    await choose(console, "globex")

    await expect(console.verdict).to_contain_text("Denied")
    assert "at=" not in console.page.url


@pytest.mark.parametrize("place", ["default", "acme"])
async def test_a_key_without_the_scope_sees_no_switcher(console: Console, stores: Client, place: str) -> None:
    prefix = "" if place == "default" else f"/stores/{place}"
    asked: list[str] = []
    console.page.on("request", lambda sent: asked.append(sent.url) if "/v2/stores" in sent.url else None)
    if prefix:
        issued = stores.post(f"{prefix}/v2/keys", json={"name": "reader", "scopes": ["read", "query"]})
        key = issued.json()["key"]
        wait_for_key(stores, key)
    else:
        key = issue_key(stores, "reader", "read", "query")

    await console.start("why", key=key, **CHECK)

    await expect(console.page.locator(".verdict, [role=alert]").first).to_be_visible()
    await expect(switcher(console)).to_have_count(0)
    assert asked == []
    if prefix:
        await expect(console.verdict).to_contain_text("Allowed")


async def test_the_longest_name_fits_into_the_top_bar(console: Console, stores: Client) -> None:
    stores.post("/v2/stores", json={"name": "w" * 63}).raise_for_status()
    await console.start("data", store="w" * 63)
    await expect(switcher(console)).to_be_visible()

    for width in (375, 1280):
        await console.page.set_viewport_size({"width": width, "height": 700})
        header = await console.page.locator("header").evaluate("bar => bar.scrollWidth - bar.clientWidth")
        assert header <= 0, width


async def test_a_store_that_does_not_exist_is_said_to_be_missing(console: Console) -> None:
    await console.start("data", store="nothing")

    await expect(console.page.get_by_role("alert").first).to_contain_text("Store nothing not found")
    await choose(console, "acme")
    await expect(console.row("document:plan")).to_be_visible()
