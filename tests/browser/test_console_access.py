"""Signing in to the console, and what it does with keys that may not do everything."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import pytest
from playwright.async_api import Page, expect

from tests.browser.console_pages import Console
from tests.browser.console_places import PLACES, visit
from tests.issuing import issue_key
from tests.running import Client, running_service, settings_for

pytestmark = pytest.mark.anyio


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


async def test_a_key_that_reads_changes_nothing(console: Console, service: Client) -> None:
    key = issue_key(service, "reader", "read", "query", "events")
    await console.start(key=key, subject="user:kim", relation="can-read", object="document:roadmap")

    await expect(console.verdict).to_contain_text("Denied")
    await expect(console.page.get_by_text("Your key lacks the scope write, so it cannot make this")).to_be_visible()
    await expect_disabled(console, "Make this change", "Your key lacks the scope write")
    for page in ("Data", "Queries", "History", "Model"):
        await console.show(page)
        await expect(console.page.get_by_role("heading", name=page, exact=True)).to_be_visible()
        await expect(console.page.get_by_role("alert")).to_have_count(0)

    await expect_disabled(console, "Review and save", "Your key lacks the scope model")
    await console.show("Data")
    await expect_disabled(console, "Import a file", "Your key lacks the scope write")
    await expect_disabled(console, "New warrant", "Your key lacks the scope write")
    await console.open("object", name="document:roadmap", tab="on")
    await expect_disabled(console, "Delete…", "Your key lacks the scope write")


async def expect_disabled(console: Console, button: str, reason: str) -> None:
    """Expects a button that does nothing, and says why, also to those who neither see nor point."""
    found = console.page.get_by_role("button", name=button).first
    await expect(found).to_be_disabled()
    await expect(found).to_have_accessible_name(re.compile(re.escape(reason)))
    await expect(found).to_have_attribute("title", reason)
    await found.focus()
    await console.page.keyboard.press("Enter")
    await expect(console.dialog).to_have_count(0)


OBSTACLES = {
    "read": {
        "queries": "Your key lacks the scope query",
        "history": "Your key lacks the scope events",
        "live": "Your key lacks the scope events",
        "object": "Your key lacks the scope query",
        "service keys": "Your key lacks the scope keys",
        "service sessions": "Your key lacks the scope check",
        "service webhooks": "Your key lacks the scope webhooks",
        "service metrics": "Your key lacks the scope metrics",
    },
    "read of documents": {
        "why": "Your key lacks the scope check",
        "queries": "Your key lacks the scope query",
        "history": "Your key lacks the scope events",
        "live": "Your key lacks the scope events",
        "model": "Your key is limited to document",
        "tests": "Your key is limited to document",
        "object": "Your key lacks the scope query",
        "service keys": "Your key lacks the scope keys",
        "service sessions": "Your key lacks the scope check",
        "service webhooks": "Your key lacks the scope webhooks",
        "service metrics": "Your key lacks the scope metrics",
    },
    "all but changes, of documents": {
        "model": "Your key is limited to document",
        "tests": "Your key is limited to document",
        "service keys": "Your key is limited to document",
        "service sessions": "Your key is limited to document",
        "service webhooks": "Your key is limited to document",
    },
}
"""Says which pages a key does not open, and why: a page that is not listed is shown."""
SCOPES = {"all but changes": ("check", "query", "read", "events", "metrics", "keys", "webhooks")}


NIGHTLY = "read"
"""Has no obstacle that the same key for documents alone does not have."""


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.nightly] * (kind == NIGHTLY)) for kind in OBSTACLES]
)
async def test_a_page_that_a_key_may_not_read_says_why_and_asks_for_nothing(
    console: Console, service: Client, kind: str
) -> None:
    limits = {"objectTypes": ["document"]} if kind.endswith("documents") else {}
    scopes = SCOPES.get(kind.partition(",")[0], ("read",))
    refused: list[str] = []
    console.page.on("response", lambda one: refused.append(one.url) if one.status == 403 else None)
    await console.start(key=issue_key(service, "few", *scopes, **limits))
    await expect(console.page.get_by_role("heading", level=1)).to_be_visible()

    said: dict[str, str] = {}
    for name, parameters, _ in PLACES:
        await visit(console, name, parameters, "h1")
        if name != "live":  # which goes on loading as long as it is shown
            await console.page.wait_for_load_state("networkidle")
        title = console.page.locator(".empty .title").filter(has_text="Your key")
        place = f"{name} {parameters.get('show', 'keys')}" if name == "service" else name
        if await title.count():
            said[place] = (await title.inner_text()).rstrip(".")
    await console.page.get_by_role("button", name="look back in time").click()
    await console.page.wait_for_load_state("networkidle")

    assert said == OBSTACLES[kind]
    # The page of integrations finds out by these whether they are on.
    assert {urlsplit(url).path for url in refused} <= {"/stores", "/authz"}


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
    with anyio.fail_after(30):
        while not (log.exists() and log.read_text()):
            await anyio.sleep(0.02)

    assert [json.loads(line)["path"] for line in log.read_text().splitlines()] == ["/v2/warrants"]
