"""The console shows the names of OpenFGA in a store that its API writes, and sends ours."""

from collections.abc import AsyncIterator, Iterator
from typing import NamedTuple

import pytest
from playwright.async_api import Page, expect

from tests.browser.console_pages import Console
from tests.conftest import STORES, new_database_url
from tests.openfga.conversation import OpenFga, but_not, computed, define, model, this, union
from tests.openfga.requests import write
from tests.running import Client, running_service, settings_for

pytestmark = pytest.mark.anyio

MODEL = model(
    define("user"),
    define("Team", member=(this(), ["user"])),
    define(
        "Paper",
        viewer=(this(), ["user", "Team#member"]),
        blocked=(this(), ["user"]),
        **{"can.read": (but_not(union(this(), computed("viewer")), computed("blocked")), ["user"])},
    ),
)
TUPLES = ["Team:core member user:ann", "Paper:a* viewer Team:core#member", "Paper:a* blocked user:bob"]


class Stored(NamedTuple):
    """What is in the store, and what type and relation are called here."""

    openfga: OpenFga
    paper: str
    can_read: str


@pytest.fixture(scope="module", params=STORES)
def stored(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stored]:
    url = new_database_url(request.param, tmp_path_factory.mktemp("stored"), request)
    with running_service(settings_for(url)) as service, Client(service) as client:
        openfga = OpenFga.create(client)
        openfga.write_model(MODEL)
        write(openfga, *TUPLES).raise_for_status()
        types = openfga.get("v2/object-types").json()["results"]
        [paper] = [row for row in types if row["type"].startswith("paper-")]
        [can_read] = [relation for relation in paper["relations"] if relation.startswith("relation_can__read-")]
        yield Stored(openfga, paper["type"], can_read)


@pytest.fixture
async def console(page: Page, stored: Stored) -> AsyncIterator[Console]:
    """The console of the service; nothing may go wrong in it."""
    opened = Console(page, str(stored.openfga.client.base_url).rstrip("/"))
    yield opened
    assert opened.troubles == []


async def test_an_explanation_has_the_names_of_openfga(console: Console, stored: Stored) -> None:
    check = {"subject": "user:ann", "relation": stored.can_read, "object": f"{stored.paper}:a%2A"}
    await console.start("why", **check, store=stored.openfga.store_id, steps="all")

    await expect(console.verdict).to_contain_text("user:ann has can.read on Paper:a*")
    await expect(console.path).to_contain_text("Team:core")
    await expect(console.path).to_contain_text("Paper:a*")
    tree = console.page.locator(".tree")
    await expect(tree).to_contain_text("user:ann can.read on Paper:a*")
    await expect(tree).to_contain_text("user:ann member (direct) on Team:core")
    for text in (stored.paper, stored.can_read, "direct_", "%2A"):
        await expect(tree).not_to_contain_text(text)
        await expect(console.path).not_to_contain_text(text)


async def test_a_suggested_change_has_both_names_and_is_made_with_ours(console: Console, stored: Stored) -> None:
    check = {"subject": "user:zoe", "relation": stored.can_read, "object": f"{stored.paper}:a%2A"}
    await console.start("why", **check, store=stored.openfga.store_id)

    await expect(console.verdict).to_contain_text("user:zoe does not have can.read on Paper:a*")
    wanted = f"{stored.paper}:a%2A#direct_viewer@user:zoe"
    change = console.page.locator(".suggestion").filter(has_text=wanted)
    await expect(change).to_contain_text("in OpenFGA: Paper:a*#viewer@user:zoe")
    await change.get_by_role("button", name="Make this change").click()
    await console.dialog.get_by_role("button", name="Make the change").click()

    await expect(console.verdict).to_contain_text("Allowed")
    read = stored.openfga.post("read", {"tuple_key": {"object": "Paper:a*", "user": "user:zoe"}}).json()["tuples"]
    assert [row["key"]["relation"] for row in read] == ["viewer"]


async def test_lists_have_the_names_of_openfga(console: Console, stored: Stored) -> None:
    await console.start("data", show="warrants", store=stored.openfga.store_id)

    table = console.page.get_by_role("region", name="Warrants")
    await expect(table).to_contain_text("Team:core#member")
    await expect(table).to_contain_text("Paper:a*")
    await expect(table).not_to_contain_text("direct_")
    await console.open("object", name=f"{stored.paper}:a%2A", store=stored.openfga.store_id)
    await expect(console.page.get_by_role("heading", name="Paper:a*")).to_be_visible()
    await expect(console.page.locator(".matrix").first).to_contain_text("can.read")
    await console.page.get_by_role("link", name="user:ann").first.click()
    await expect(console.page.get_by_role("heading", name="user:ann")).to_be_visible()
