"""The console in a browser, on real services: what people do with it."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.browser.console_pages import Console
from tests.browser.console_places import load_example
from tests.conftest import STORES, new_database_url
from tests.issuing import issue_key
from tests.running import Client, running_service, settings_for

MARKUP = "<img src=x onerror=window.ran=1><script>window.ran=1</script>"
STRANGE_ID = "$(a,b);~!&|c@d.e{}"
pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module", params=STORES)
def stored(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A service on each store."""
    url = new_database_url(request.param, tmp_path_factory.mktemp("console"), request)
    with running_service(settings_for(url)) as service, Client(service) as client:
        load_example(client)
        yield client


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("console")
    with running_service(settings_for(f"sqlite:///{folder}/m.db")) as url, Client(url) as client:
        load_example(client)
        yield client


@pytest.fixture
async def console(page: Page, service: Client) -> AsyncIterator[Console]:
    """The console of the service; nothing may go wrong in it."""
    opened = Console(page, str(service.base_url).rstrip("/"))
    yield opened
    assert opened.troubles == []


async def test_a_denial_is_understood_and_changed(page: Page, stored: Client) -> None:
    console = Console(page, str(stored.base_url).rstrip("/"))
    await console.start()

    await console.explain("user:kim", "can-read", "document:roadmap")
    await expect(console.verdict).to_contain_text("Denied")
    met = console.requirement("user:kim is viewer of document:roadmap, as can-read requires")
    await expect(met).to_contain_text("group:interns")
    excluded = console.requirement("user:kim is blocked of document:roadmap, which rules out can-read")
    change = excluded.locator(".suggestion")
    await expect(change).to_contain_text("document:roadmap#blocked@user:kim")
    await expect(change.locator(".effect")).to_contain_text("lost")
    await change.get_by_role("button", name="Make this change").click()
    await expect(console.dialog).to_contain_text("document:roadmap#blocked@user:kim")
    await console.dialog.get_by_role("button", name="Make the change").click()

    await expect(console.verdict).to_contain_text("Allowed")
    for name in ("user:kim", "group:interns", "group:engineering", "folder:engineering", "document:roadmap"):
        await expect(console.path).to_contain_text(name)
    assert stored.ask("document:roadmap#can-read@user:kim").json()["result"] == "Authorized"
    assert "subject=user" in page.url
    assert console.troubles == []


async def test_a_wrong_key_is_refused_with_what_to_do(console: Console) -> None:
    await console.open("why", subject="user:bob", relation="can-read", object="document:roadmap")

    await console.sign_in("a-key-that-nobody-has")
    await expect(console.page.get_by_role("alert")).to_contain_text("Sign in with a key that this service knows")
    await console.sign_in()

    await expect(console.verdict).to_contain_text("Allowed")


async def test_the_key_stays_in_the_tab_and_out_of_urls(console: Console) -> None:
    await console.start()
    await console.page.reload()
    await expect(console.field("Subject")).to_be_visible()

    stored = await console.page.evaluate("[sessionStorage.length, document.cookie, location.href]")
    await console.page.get_by_role("button", name="Sign out").click()

    assert stored == [1, "", f"{console.url}/console#/why"]
    await expect(console.page.get_by_label("API key")).to_be_visible()
    assert await console.page.evaluate("sessionStorage.length") == 0


async def test_names_are_completed_by_keyboard(console: Console) -> None:
    await console.start()
    keyboard = console.page.keyboard

    await console.field("Subject").fill("user:ki")
    await expect(console.page.get_by_role("option", name="user:kim")).to_be_visible()
    await keyboard.press("ArrowDown")
    await keyboard.press("Enter")
    await expect(console.field("Subject")).to_have_value("user:kim")
    await console.field("Object").fill("document:road")
    await expect(console.page.get_by_role("option", name="document:roadmap")).to_be_visible()
    await keyboard.press("ArrowDown")
    await keyboard.press("Enter")
    await console.field("Relation").fill("view")
    await expect(console.page.get_by_role("option", name="viewer")).to_be_visible()
    await keyboard.press("ArrowDown")
    await keyboard.press("Enter")

    await expect(console.verdict).to_contain_text("Allowed")


async def test_a_policy_that_does_not_hold_is_tried_with_another_context(console: Console) -> None:
    context = json.dumps({"network": "cafe"})
    await console.start(subject="user:eve", relation="can-read", object="document:payroll", context=context)

    await expect(console.verdict).to_contain_text("Denied")
    await expect(console.page.locator(".requirement")).to_contain_text('network is "cafe"')
    await console.page.get_by_role("button", name="Check with this context").first.click()

    await expect(console.verdict).to_contain_text("Allowed")
    await expect(console.field("Subject")).to_have_value("user:eve")


async def test_a_key_that_reads_changes_nothing(console: Console, service: Client) -> None:
    key = issue_key(service, "reader", "read", "query", "events")
    await console.start(key=key, subject="user:kim", relation="can-read", object="document:roadmap")

    await expect(console.verdict).to_contain_text("Denied")
    await expect(console.page.get_by_text("it lacks the scope write").first).to_be_visible()
    await expect(console.page.get_by_role("button", name="Make this change")).to_have_count(0)
    for page in ("Data", "Queries", "History", "Model"):
        await console.show(page)
        await expect(console.page.get_by_role("heading", name=page, exact=True)).to_be_visible()
        await expect(console.page.get_by_role("alert")).to_have_count(0)


async def test_a_mistake_in_a_name_is_named(console: Console) -> None:
    await console.start(subject="user:bob", relation="can-red", object="document:roadmap")
    await expect(console.page.get_by_text("did you mean can-read?")).to_be_visible()

    await console.open("why", subject="bob", relation="can-read", object="document:roadmap")
    await expect(console.page.get_by_role("alert")).to_contain_text("write type:id, as in user:kim")


async def test_hostile_names_and_metas_are_shown_as_text(console: Console, service: Client) -> None:
    meta = {"name": MARKUP, MARKUP: MARKUP}
    body = {"objectType": "document", "objectId": STRANGE_ID, "meta": meta}
    service.post("/v2/objects", json=body).raise_for_status()
    warrant = {
        "objectType": "document",
        "objectId": STRANGE_ID,
        "relation": "viewer",
        "subject": {"objectType": "user", "objectId": STRANGE_ID},
        "policy": f'name == "{MARKUP}"',
    }
    service.post("/v2/warrants", json=warrant).raise_for_status()
    try:
        await console.start("object", name=f"document:{STRANGE_ID}", tab="on")
        await expect(console.page.locator("dd").first).to_have_text(MARKUP)
        await expect(console.row(STRANGE_ID)).to_contain_text(MARKUP)
        await console.open("data", q="onerror")
        await expect(console.row(STRANGE_ID)).to_contain_text(MARKUP)
        await console.open("why", subject=f"user:{STRANGE_ID}", relation="viewer", object=f"document:{STRANGE_ID}")
        await expect(console.verdict).to_contain_text("Denied")
        await expect(console.page.locator(".requirement")).to_contain_text(MARKUP)
        await console.open("why", subject=MARKUP, relation=MARKUP, object=MARKUP)
        await expect(console.page.get_by_role("alert")).to_contain_text(MARKUP)
        await console.open("queries", q=MARKUP)
        await expect(console.page.get_by_role("alert")).to_be_visible()
        await console.open("history", at=MARKUP)
        await expect(console.page.get_by_text("You are looking at the past")).to_be_visible()

        assert await console.page.evaluate("window.ran") is None
    finally:
        service.delete_json("/v2/objects", [{"objectType": "document", "objectId": STRANGE_ID}])


async def test_a_warrant_is_created_and_deleted(console: Console, service: Client) -> None:
    await console.start("data", show="warrants")

    await console.page.get_by_role("button", name="New warrant").click()
    for name, text in (("Subject", "user:zoe"), ("Relation", "viewer"), ("Object", "folder:finance")):
        await console.dialog.get_by_role("combobox", name=name).fill(text)
    await console.dialog.get_by_role("button", name="What would it change?").click()
    await expect(console.dialog.locator(".access")).to_contain_text("document:payroll")
    await console.dialog.get_by_role("button", name="Create").click()
    await expect(console.page.get_by_text("Created folder:finance#viewer@user:zoe")).to_be_visible()
    await console.row("user:zoe").get_by_role("button", name="Delete").click()
    await expect(console.dialog.locator(".access")).to_contain_text("lost")
    await console.dialog.get_by_role("button", name="Delete").click()

    await expect(console.page.get_by_text("Deleted folder:finance#viewer@user:zoe")).to_be_visible()
    await expect(console.row("user:zoe")).to_have_count(0)
    assert service.ask("folder:finance#viewer@user:zoe").json()["result"] == "Not Authorized"


async def test_an_object_shows_who_has_access_and_a_subject_what_it_may_do(console: Console) -> None:
    await console.start("object", name="document:handbook")
    await expect(console.row("user:root").filter(has_text="can-share")).to_contain_text("by rules")

    await console.open("object", name="user:eve")
    await console.row("document:roadmap").filter(has_text="can-read").get_by_role("link", name="Why").click()

    await expect(console.verdict).to_contain_text("Allowed")


async def test_lists_are_paged_and_filtered(console: Console, service: Client) -> None:
    names = [f"page-{number:03}" for number in range(60)]
    service.post("/v2/objects", json=[{"objectType": "note", "objectId": name} for name in names]).raise_for_status()
    await console.start("data", type="note")

    await expect(console.row("note:page-049")).to_be_visible()
    await expect(console.row("note:page-050")).to_have_count(0)
    await console.page.get_by_role("button", name="Next").click()
    await expect(console.row("note:page-059")).to_be_visible()
    await console.page.go_back()
    await expect(console.row("note:page-000")).to_be_visible()
    await console.page.get_by_label("Contains").fill("page-042")
    await console.page.get_by_label("Contains").press("Enter")

    await expect(console.row("note:page-042")).to_be_visible()
    await expect(console.row("note:page-041")).to_have_count(0)


async def test_a_query_is_run_and_its_rows_are_saved(console: Console, tmp_path: Path) -> None:
    await console.start("queries", q="select can-read of type user for document:roadmap")
    await expect(console.row("user:bob")).to_contain_text("group:engineering")

    async with console.page.expect_download() as csv:
        await console.page.get_by_role("button", name="Export CSV").click()
    await (await csv.value).save_as(tmp_path / "rows.csv")
    async with console.page.expect_download() as rows:
        await console.page.get_by_role("button", name="Export JSON").click()
    await (await rows.value).save_as(tmp_path / "rows.json")

    lines = (tmp_path / "rows.csv").read_text().splitlines()
    assert lines[0] == "type,id,relation,implicit,warrant"
    assert any(line.startswith("user,bob,can-read,true,") for line in lines)
    assert len(json.loads((tmp_path / "rows.json").read_text())) == len(lines) - 1


async def test_a_query_that_cannot_be_read_says_where(console: Console) -> None:
    await console.start("queries", q="select document whre user:ann is viewer")

    await expect(console.page.get_by_role("alert")).to_contain_text("whre")


async def test_history_shows_who_gained_and_leads_to_the_past(console: Console, service: Client) -> None:
    service.grant("document:roadmap#editor@user:pia")
    await console.start("history")
    newest = console.page.locator(".timeline > li").first

    await expect(newest).to_contain_text("user:pia")
    await newest.get_by_text("Who gained, who lost").click()
    await expect(newest.locator(".access")).to_contain_text("can-write")
    service.delete_json("/v2/warrants", warrant_of_pia()).raise_for_status()
    await newest.get_by_role("link", name="As of then").click()
    await expect(console.page.get_by_text("You are looking at the past")).to_be_visible()
    await expect(console.page.get_by_role("button", name="New warrant")).to_have_count(0)
    await console.page.goto(f"{console.page.url}&show=warrants&subject=user:pia")
    await expect(console.row("user:pia")).to_be_visible()
    await console.page.get_by_role("button", name="Back to now").click()

    await expect(console.page.get_by_role("button", name="New warrant")).to_be_visible()
    await expect(console.row("user:pia")).to_have_count(0)


def warrant_of_pia() -> dict[str, object]:
    subject = {"objectType": "user", "objectId": "pia"}
    return {"objectType": "document", "objectId": "roadmap", "relation": "editor", "subject": subject}


async def test_a_mistake_in_the_model_is_shown_at_its_line(console: Console) -> None:
    await console.start("model")
    editor = console.page.get_by_label("Model", exact=True)
    await expect(console.page.get_by_text("Valid", exact=True)).to_be_visible()

    text = await editor.input_value()
    await editor.fill(text.replace("type group", "typ group"))
    line = text.splitlines().index("type group") + 1

    await expect(console.page.get_by_text("Not valid")).to_be_visible()
    await expect(console.page.get_by_role("button", name=f"Line {line},")).to_be_visible()
    await expect(console.page.locator(".gutter .bad")).to_contain_text(str(line))


@pytest.fixture
def empty_service(tmp_path: Path) -> Iterator[str]:
    with running_service(settings_for(f"sqlite:///{tmp_path}/m.db")) as url, Client(url) as client:
        client.clear()
        yield url


async def test_an_empty_service_says_what_to_do_first(page: Page, empty_service: str) -> None:
    console = Console(page, empty_service)
    await console.start()

    await expect(page.get_by_text("This service has no model yet.")).to_be_visible()
    await console.show("Data")
    await expect(page.get_by_text("There are no objects yet.")).to_be_visible()
    await console.show("Queries")
    await expect(page.get_by_text("There is nothing to query yet")).to_be_visible()
