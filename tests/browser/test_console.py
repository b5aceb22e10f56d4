"""The console as a whole: the story of its users, hostile data, much data, and none."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Page, expect

from tests.browser.console_pages import Console
from tests.browser.console_places import DENIED, PLACES, STRANGE_ID, load_example, model_of, visit
from tests.running import Client, running_service, settings_for
from tests.scenario_files import warrant_body

pytestmark = pytest.mark.anyio
MARKUP = "<img src=x onerror=window.ran=1><script>window.ran=1</script>"


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


async def test_a_page_that_cannot_be_loaded_says_so(console: Console) -> None:
    await console.page.route("**/pages.js", lambda route: route.abort())
    await console.start("data")

    await expect(console.page.get_by_role("alert")).to_contain_text("This page could not be loaded")
    await console.page.unroute("**/pages.js")
    await console.page.get_by_role("button", name="Try again").click()

    await expect(console.page.get_by_role("heading", name="Data")).to_be_visible()


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
    place = ""
    for name, parameters, selector in (*PLACES, ("object", {"name": "user:u7"}, "table")):
        if place != "live":  # which goes on loading as long as it is shown
            await page.wait_for_load_state("networkidle")
        place = name
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
    events = [one for one in sent if "-events?" in one]
    assert len(events) == 3  # one page of each list
    # The others are read only as far back as the first: the service would search everything for rare ones.
    assert ["since=" in one for one in events] == [False, True, True]


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
    await console.show("Data")
    await page.get_by_role("button", name="Load the example Shared documents").click()
    await expect(console.row("document:roadmap")).to_be_visible()


@pytest.fixture
def new_service(tmp_path: Path) -> Iterator[str]:
    with running_service(settings_for(f"sqlite:///{tmp_path}/m.db")) as url:
        yield url


async def test_an_example_takes_the_place_of_the_types_that_a_service_begins_with(page: Page, new_service: str) -> None:
    console = Console(page, new_service)
    await console.start()
    await expect(page.get_by_text("only the six types that it begins with")).to_be_visible()
    await expect(page.get_by_role("link", name="Write a warrant")).to_be_visible()

    await page.get_by_role("button", name="Load the example Shared documents").click()

    await expect(page.get_by_text("Choose a subject, a relation and an object.")).to_be_visible()
    with Client(new_service) as client:
        types = [row["type"] for row in client.get("/v2/object-types").json()["results"]]
    assert "pricing-tier" not in types
    assert {"user", "document"} <= {*types}


async def test_first_steps_are_ticked_from_an_empty_store_to_the_first_check(page: Page, empty_service: str) -> None:
    console = Console(page, empty_service)
    done = page.get_by_role("region", name="First steps").locator(".tick.done")
    await console.start()
    await expect(page.get_by_role("button", name="Load the example")).to_have_count(4)
    await expect(done).to_have_count(0)

    with Client(empty_service) as client:
        client.define({"user": {}, "document": {"viewer": {}}})
    await page.reload()
    await expect(done).to_have_count(1)
    await page.get_by_role("link", name="Write a warrant").click()
    for name, text in (("Subject", "user:kim"), ("Relation", "viewer"), ("Object", "document:plan")):
        await console.dialog.get_by_role("combobox", name=name).fill(text)
    await console.dialog.get_by_role("button", name="Create").click()
    await expect(page.get_by_text("Created document:plan#viewer@user:kim")).to_be_visible()
    await console.show("Why")
    await expect(done).to_have_count(2)
    await console.explain("user:kim", "viewer", "document:plan")
    await expect(console.verdict).to_contain_text("Allowed")
    await page.get_by_text("Copy as").click()
    await page.get_by_role("button", name="a command").click()
    await expect(page.locator(".copy-as pre")).to_contain_text(
        "magistrate check 'document:plan#viewer@user:kim' --explain"
    )
    await console.open("why")

    await expect(page.get_by_text("Choose a subject, a relation and an object.")).to_be_visible()
    await expect(page.get_by_role("region", name="First steps")).to_have_count(0)


async def test_the_story_of_a_denial_from_an_empty_store_to_a_revert(page: Page, empty_service: str) -> None:
    console = Console(page, empty_service)
    await console.start()
    await page.get_by_role("button", name="Load the example Shared documents").click()
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
    await page.get_by_role("button", name="Back to now").click()

    # Both changes are reverted, after it has been shown what that changes.
    await console.show("History")
    await page.get_by_role("button", name="Revert the model").first.click()
    await expect(console.dialog.locator(".changed-lines .added").first).to_be_visible()
    await console.dialog.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("The definitions are as they were before.")).to_be_visible()
    deletion = page.locator(".timeline > li").filter(has_text="user:kim is blocked on document:roadmap").first
    await deletion.get_by_role("button", name="Revert").click()
    await expect(console.dialog.locator(".access .lost").filter(has_text="user:kim can-read")).to_be_visible()
    await console.dialog.get_by_role("button", name="Revert").click()
    await expect(page.get_by_text("Reverted one change.")).to_be_visible()
    await console.open("why", **DENIED)
    await expect(console.requirement("which rules out can-read")).to_be_visible()
    assert console.troubles == []
