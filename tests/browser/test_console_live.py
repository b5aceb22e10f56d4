"""The page Live of the console: what is written, as it is written, also over connections that are cut."""

import re
from collections.abc import AsyncIterator, Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.async_api import Locator, Page, expect

from tests.browser.breakable_line import BreakableLine
from tests.browser.console_pages import Console
from tests.issuing import issue_key
from tests.running import KEY, Client

pytestmark = pytest.mark.anyio


@pytest.fixture
def line(service: Client) -> Iterator[BreakableLine]:
    """A connection to the service that a test may cut."""
    line = BreakableLine(service.base_url.port or 0)
    yield line
    line.close()


@pytest.fixture
async def cut_console(page: Page, line: BreakableLine) -> AsyncIterator[Console]:
    opened = Console(page, line.url)
    yield opened
    assert opened.troubles == []


def entries(console: Console) -> Locator:
    return console.page.locator(".timeline > li")


async def expect_connected(console: Console) -> None:
    await expect(console.page.get_by_text("Connected", exact=True)).to_be_visible()


async def test_a_write_is_listed_with_who_made_it_and_who_gained(console: Console, service: Client) -> None:
    opened: list[str] = []
    console.page.on("request", lambda sent: opened.append(sent.url) if "/v2/watch" in sent.url else None)
    await console.start("history")
    await console.page.get_by_role("link", name="Live").click()
    await expect_connected(console)

    with Client(str(service.base_url), issue_key(service, "billing", "write")) as billing:
        billing.grant("document:roadmap#editor@user:lin")

    newest = entries(console).first
    await expect(newest).to_contain_text("billing")
    await expect(newest).to_contain_text("user:lin is editor of document:roadmap")
    said = "created document:roadmap#editor@user:lin and 1 more, by billing"
    await expect(console.page.locator("p.sr[role=status]")).to_have_text(said)
    await newest.get_by_text("Who gained, who lost").click()
    await expect(newest.locator(".access")).to_contain_text("can-write")
    await newest.get_by_role("link", name="user:lin").first.click()
    await expect(console.page.get_by_role("heading", name="user:lin")).to_be_visible()
    assert [urlsplit(url).path for url in opened] == ["/v2/watch/tickets", "/v2/watch"]
    assert KEY not in "".join(opened)


async def test_what_is_written_while_the_connection_is_cut_is_listed_once(
    cut_console: Console, line: BreakableLine, service: Client
) -> None:
    console = cut_console
    opened: list[str] = []
    console.page.on("request", lambda sent: opened.append(sent.url))
    await console.start("live")
    await expect_connected(console)
    service.grant("document:cut-0#viewer@user:ann")
    await expect(entries(console)).to_have_count(1)

    line.cut()
    await expect(console.page.get_by_text("Not connected")).to_be_visible()
    for number in (1, 2, 3):
        service.grant(f"document:cut-{number}#viewer@user:ann")
    line.mend()
    await expect(entries(console)).to_have_count(4)
    service.grant("document:cut-4#viewer@user:ann")

    tickets = [parse_qs(urlsplit(url).query)["ticket"][0] for url in opened if "ticket=" in url]
    assert len(set(tickets)) == len(tickets) > 1
    await expect(entries(console)).to_contain_text([f"document:cut-{number}" for number in (4, 3, 2, 1, 0)])
    await expect_connected(console)


async def test_a_page_that_is_paused_goes_on_where_it_was(console: Console, service: Client) -> None:
    await console.start("live")
    await expect_connected(console)
    service.grant("document:paused-0#viewer@user:ann")
    await expect(entries(console)).to_have_count(1)

    await console.page.get_by_role("button", name="Pause").press("Enter")
    await expect(console.page.get_by_text("Paused", exact=True)).to_be_visible()
    service.grant("document:paused-1#viewer@user:ann")
    await console.page.get_by_role("button", name="Continue").press("Enter")
    await expect(entries(console)).to_contain_text(["document:paused-1", "document:paused-0"])
    await console.page.get_by_role("button", name="Clear").click()

    await expect(entries(console)).to_have_count(0)


async def test_only_what_matches_the_filters_is_listed(console: Console, service: Client) -> None:
    await console.start("live")
    await console.page.get_by_label("Object types").fill("folder, tenant")
    await console.page.get_by_role("button", name="Filter").click()
    await expect_connected(console)
    assert "objectType=folder" in console.page.url

    service.grant("document:unseen#viewer@user:ann", "folder:seen#viewer@user:ann")
    service.grant("document:unseen#editor@user:ann")
    service.grant("tenant:seen#member@user:ann")

    await expect(entries(console)).to_contain_text(["tenant:seen", "folder:seen"])
    await expect(console.page.get_by_text("document:unseen")).to_have_count(0)
    await console.page.get_by_label("Relations").fill("$")
    await console.page.get_by_role("button", name="Filter").click()
    await expect(console.page.get_by_role("alert")).to_contain_text("Relation can only contain")


async def test_a_key_that_is_limited_to_types_sees_what_is_written_of_these(console: Console, service: Client) -> None:
    key = issue_key(service, "limited", "read", "events", objectTypes=["folder"])
    await console.start("live", key=key)
    await expect_connected(console)

    service.grant("document:unseen-too#viewer@user:ann", "folder:limited#viewer@user:ann")

    await expect(entries(console)).to_contain_text(["folder:limited"])
    await expect(console.page.get_by_text("document:unseen-too")).to_have_count(0)


async def test_nothing_is_followed_in_the_past(console: Console, service: Client) -> None:
    token = service.get("/v2/model").headers["Service-Token"]
    opened: list[str] = []
    console.page.on("request", lambda sent: opened.append(sent.url) if "/v2/watch" in sent.url else None)

    await console.start("live", at=token)
    await expect(console.page.get_by_text("The past does not change.")).to_be_visible()
    assert opened == []
    await console.page.get_by_role("button", name="Back to now").click()

    await expect_connected(console)


async def test_a_change_of_the_model_is_listed(console: Console, service: Client) -> None:
    await console.start("live")
    await expect_connected(console)

    service.define({"plan": {"viewer": {}}})

    await expect(entries(console).first).to_contain_text(re.compile("created.*object type plan"))
    service.delete("/v2/object-types/plan").raise_for_status()


async def test_access_that_is_gained_and_lost_is_listed_with_its_cause(console: Console, service: Client) -> None:
    page = console.page
    await console.start("live")
    await page.get_by_label("Show").select_option("who gains and loses access")
    await expect(page.get_by_text("Which access?")).to_be_visible()
    await page.get_by_label("Access", exact=True).fill("document#can-read@user")
    await page.get_by_role("button", name="Filter").click()
    await expect_connected(console)

    service.grant("document:gained#viewer@user:gus")
    service.grant("document:gained#blocked@user:gus")

    lost, gained = (
        entries(console).locator(f".{change}").filter(has_text="on document:gained") for change in ("lost", "gained")
    )
    await expect(lost).to_contain_text("because user:gus is blocked on document:gained was created")
    await expect(gained).to_contain_text("because user:gus is viewer of document:gained was created")
    await gained.get_by_role("link", name="Why").click()
    await expect(console.verdict).to_contain_text("Allowed")
    await page.get_by_role("button", name="Back to now").click()
    await expect(console.verdict).to_contain_text("Denied")
