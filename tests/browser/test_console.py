"""The console in a browser, on real services: what people do with it."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import pytest
from playwright.async_api import Page, expect

from tests.browser.console_pages import Console
from tests.browser.console_places import DENIED, PLACES, load_example, visit
from tests.issuing import issue_key
from tests.running import Client, running_service, settings_for
from tests.scenario_files import warrant_body

MARKUP = "<img src=x onerror=window.ran=1><script>window.ran=1</script>"
STRANGE_ID = "$(a,b);~!&|c@d.e{}"
pytestmark = pytest.mark.anyio


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

    await console.fill_warrant("user:zoe", "viewer", "folder:finance")
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


async def test_a_mistake_in_the_model_is_shown_at_its_line(console: Console, service: Client) -> None:
    await console.start("model")
    await expect(console.page.get_by_text("Valid", exact=True)).to_be_visible()
    text = model_of(service)
    line = text.splitlines().index("type group") + 1

    await console.write_model(text.replace("type group", "typ group"))

    await expect(console.page.get_by_text("Not valid")).to_be_visible()
    await console.page.get_by_role("button", name=f"Line {line},").click()
    await expect(console.page.locator(".cm-gutterElement.bad")).to_contain_text(str(line))
    await expect(console.page.locator(".fault-error")).to_have_text("typ")
    await expect(console.page.get_by_role("button", name="Review and save")).to_be_disabled()


def model_of(service: Client) -> str:
    return service.get("/v2/model", headers={"Accept": "text/plain"}).text


async def test_the_graph_follows_the_cursor_and_leads_to_lines(console: Console) -> None:
    await console.start("model", of="document#can-read")
    chosen = console.page.locator(".graph .chosen")
    await expect(chosen).to_contain_text("can-read")
    assert {"viewer", "blocked"} <= {*await console.page.locator(".graph .needed text").all_text_contents()}

    await console.editor.press("Control+Home")
    await expect(chosen).to_have_count(0)
    await console.page.locator(".graph .row").filter(has_text="can-share").click()

    await expect(chosen).to_contain_text("can-share")
    await expect(console.page.locator(".cm-activeLine")).to_contain_text("relation can-share")


async def test_the_model_is_completed_and_formatted(console: Console) -> None:
    await console.start("model")
    await console.write_model("version 1.0\ntype user\ntype team // of people\n  relation ")
    await console.page.keyboard.type("member [us")

    await console.page.get_by_role("option", name="user:*").click()
    await console.page.keyboard.type("]")
    await console.page.get_by_role("button", name="Format").click()

    lines = console.page.locator(".cm-line")
    wanted = ["version 1.0", "", "type user", "", "type team // of people", "    relation member [user:*]", ""]
    await expect(lines).to_have_text(wanted, use_inner_text=False)
    await console.page.get_by_role("button", name="Back to the stored model").click()
    await expect(console.page.get_by_role("button", name="Back to the stored model")).to_have_count(0)


BLOCKED = "    relation blocked\n"


async def test_warrants_that_a_model_does_not_allow_are_kept_only_if_that_is_chosen(
    console: Console, service: Client
) -> None:
    page, text = console.page, model_of(service)
    service.grant("document:roadmap#blocked@user:kim")
    await console.start("model")
    await console.write_model(text.replace(BLOCKED, "    relation blocked [group#member]\n", 1))

    await page.get_by_role("button", name="Review and save").click()
    await expect(console.dialog).to_contain_text("1 warrant is not allowed by this model")
    await expect(console.dialog.locator(".notice code")).to_have_text("document:roadmap#blocked@user:kim")
    await expect(console.dialog.locator(".access")).to_contain_text("can-read")
    await expect(console.dialog.get_by_role("button", name="Save")).to_be_disabled()
    await console.dialog.get_by_label("Keep them without effect").check()
    await console.dialog.get_by_role("button", name="Save").click()

    await expect(page.get_by_text("The model was saved.")).to_be_visible()
    assert "relation blocked [group#member]" in model_of(service)
    service.put("/v2/model", content=text).raise_for_status()


async def test_a_model_that_somebody_else_changed_is_not_overwritten_unseen(console: Console, service: Client) -> None:
    page, text = console.page, model_of(service)
    await console.start("model")
    await console.write_model(f"{text}\ntype mine // of my own\n")
    save = page.get_by_role("button", name="Review and save")
    await expect(save).to_be_enabled()
    await save.click()
    await expect(console.dialog.locator(".added").filter(has_text="type mine")).to_be_visible()
    await expect(console.dialog).to_contain_text("Comments (//) are not stored")

    service.put("/v2/model", content=f"{text}\ntype theirs\n").raise_for_status()
    await console.dialog.get_by_role("button", name="Save").click()

    await expect(console.dialog.get_by_role("alert")).to_contain_text("Somebody else has just changed the model")
    await expect(console.dialog.get_by_text("Somebody else has changed the model since you opened it")).to_be_visible()
    await expect(console.dialog.locator(".removed").filter(has_text="type theirs")).to_be_visible()
    await console.dialog.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("The model was saved.")).to_be_visible()
    assert "type mine" in model_of(service)
    assert "type theirs" not in model_of(service)
    service.put("/v2/model", content=text).raise_for_status()


async def test_what_was_written_stays_while_other_pages_are_open(console: Console) -> None:
    await console.start("model")
    await console.write_model("version 1.0\n\ntype draft\n")
    await expect(console.page.locator(".type-name")).to_have_text(["draft"])

    await console.show("Data")
    await console.show("Model")

    await expect(console.page.locator(".type-name")).to_have_text(["draft"])


async def test_a_key_that_is_limited_to_types_sees_these(console: Console, service: Client) -> None:
    key = issue_key(service, "limited", "read", "query", "events", "check", objectTypes=["document"])
    page = console.page
    await console.start(key=key, subject="user:bob", relation="can-read", object="document:roadmap")

    await expect(console.verdict).to_contain_text("Allowed")
    await expect(page.get_by_text("it may learn the decision, not why")).to_be_visible()
    await console.show("Data")
    await expect(console.row("document:roadmap")).to_be_visible()
    await expect(console.row("folder:")).to_have_count(0)
    await console.show("History")
    await expect(page.locator(".timeline li").first).to_contain_text("document:")
    await console.show("Model")
    await expect(page.get_by_text("Your key is limited to document.")).to_be_visible()
    await console.open("object", name="user:eve")
    await expect(console.row("document:roadmap").first).to_be_visible()
    await page.reload()
    await expect(console.row("document:roadmap").first).to_be_visible()
    await expect(page.get_by_role("alert")).to_have_count(0)


@pytest.fixture
def audited_service(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    log = tmp_path / "audit.jsonl"
    with running_service(settings_for(f"sqlite:///{tmp_path}/m.db", audit_log=str(log))) as url:
        yield url, log


async def test_signing_in_leaves_nothing_in_the_audit_log(page: Page, audited_service: tuple[str, Path]) -> None:
    url, log = audited_service
    console = Console(page, url)
    await console.start("data")
    await expect(page.get_by_role("button", name="New warrant")).to_be_visible()

    await console.fill_warrant("user:ann", "member", "tenant:acme")
    await console.dialog.get_by_role("button", name="Create").click()
    await expect(console.row("tenant:acme")).to_be_visible()
    while not (log.exists() and log.read_text()):
        await anyio.sleep(0.02)

    assert [json.loads(line)["path"] for line in log.read_text().splitlines()] == ["/v2/warrants"]


async def test_the_slider_moves_every_page_through_time(console: Console, service: Client) -> None:
    page = console.page
    service.grant("document:roadmap#editor@user:old")
    service.delete_json(
        "/v2/warrants",
        {**warrant_of_pia(), "subject": {"objectType": "user", "objectId": "old"}},
    ).raise_for_status()
    await console.start("data", show="warrants", subject="user:old")
    await expect(page.get_by_role("table")).to_be_visible()
    await expect(console.row("user:old")).to_have_count(0)

    await page.get_by_role("button", name="look back in time").click()
    await expect(page.get_by_text("You are looking at now.")).to_be_visible()
    await page.get_by_role("slider").focus()
    await page.keyboard.press("ArrowLeft")
    await expect(console.row("user:old")).to_be_visible()
    created = "created document:roadmap#editor@user:old"
    await expect(page.get_by_text("You are looking at the past")).to_contain_text(created)
    await expect(page.get_by_role("slider")).to_have_attribute("aria-valuetext", re.compile(created))
    await expect(page.get_by_role("button", name="Delete…")).to_have_count(0)
    await console.show("Model")
    await expect(console.editor).to_have_attribute("aria-readonly", "true")
    await page.get_by_role("button", name="Later").click()

    await expect(page.get_by_text("You are looking at now.")).to_be_visible()
    await expect(page.get_by_role("button", name="Review and save")).to_be_visible()


LISTS = ("objects", "warrants", "object-types", "resource-events", "access-events", "query", "difference")
MANY = 1200


@pytest.fixture
def large_service(tmp_path: Path) -> Iterator[str]:
    """A service with more rows of everything than a page has, in few revisions."""
    with running_service(settings_for(f"sqlite:///{tmp_path}/m.db")) as url, Client(url) as client:
        load_example(client)
        for start in range(0, MANY, 600):
            warrants = [warrant_body(f"document:d{n}#viewer@user:u{n}") for n in range(start, start + 600)]
            client.post("/v2/writes", json={"create": {"warrants": warrants}}).raise_for_status()
        client.grant("document:roadmap#viewer@user:late")
        yield url


async def test_no_page_loads_more_than_a_page_of_any_list(page: Page, large_service: str) -> None:
    """However much is stored: counted by requests, so that it does not depend on time."""
    console = Console(page, large_service)
    sent: list[str] = []
    page.on("request", lambda one: sent.append(f"{one.method} {one.url} {one.post_data or ''}"))
    await console.start()
    for name, parameters, selector in (*PLACES, ("object", {"name": "user:u7"}, "table")):
        await page.wait_for_load_state("networkidle")
        sent.clear()
        await visit(console, name, parameters, selector)

        lists = [one for one in sent if urlsplit(one.split(" ")[1]).path.removeprefix("/v2/") in LISTS]
        assert len(lists) == len({*lists}), (name, parameters, lists)
        assert not [one for one in lists if "Cursor" in one], (name, parameters, lists)
        rows = await page.locator("tbody tr, .timeline > li").count()
        assert rows <= 50, (name, parameters, rows)

    sent.clear()
    await page.get_by_role("button", name="look back in time").click()
    await expect(page.get_by_role("slider")).to_be_visible()
    assert sum("-events?" in one for one in sent) == 3  # one page of each list


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


async def test_the_story_of_a_denial_from_the_example_to_the_past(page: Page, empty_service: str) -> None:
    console = Console(page, empty_service)
    await console.start()
    await page.get_by_role("button", name="Load the example").click()
    await expect(page.get_by_text("Choose a subject, a relation and an object.")).to_be_visible()

    # Why can kim not read the roadmap?
    await console.explain("user:kim", "can-read", "document:roadmap")
    await expect(console.verdict).to_contain_text("Denied")
    await expect(console.requirement("which rules out can-read")).to_be_visible()
    await page.get_by_role("button", name="Make this change").first.click()
    await console.dialog.get_by_role("button", name="Make the change").click()
    await expect(console.verdict).to_contain_text("Allowed")
    await expect(console.path).to_contain_text("group:interns")

    # A mistake in the model is shown at its line.
    with Client(empty_service) as client:
        text = model_of(client)
    await console.show("Model")
    await console.write_model(text.replace("any_of", "anyof", 1))
    await expect(page.get_by_text("Not valid")).to_be_visible()
    line = next(number for number, one in enumerate(text.splitlines(), 1) if "any_of" in one)
    await page.get_by_role("button", name=f"Line {line},").click()
    await expect(page.locator(".fault-error")).to_have_text("anyof")

    # Who would lose access is shown before the model is saved.
    inherited = """    inherit viewer if
        any_of
            relation editor
            relation viewer on parent [folder]
"""
    assert inherited in text.partition("type folder")[0]
    await console.write_model(text.replace(inherited, "    inherit viewer if relation editor\n", 1))
    await page.get_by_role("button", name="Review and save").click()
    lost = console.dialog.locator(".access .lost")
    await expect(lost.filter(has_text="user:kim can-read on document:roadmap")).to_be_visible()
    await console.dialog.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("The model was saved.")).to_be_visible()
    await console.open("why", **DENIED)
    await expect(console.verdict).to_contain_text("Denied")

    # It was otherwise before.
    await page.get_by_role("button", name="look back in time").click()
    await page.get_by_role("button", name="Earlier").click()
    await expect(page.get_by_text("You are looking at the past")).to_contain_text("deleted document:roadmap#blocked")
    await expect(console.verdict).to_contain_text("Allowed")
    assert console.troubles == []
