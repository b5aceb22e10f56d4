"""Signing in to the console, and what it does with keys that may not do everything."""

import json
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from playwright.async_api import Page, expect

from tests.browser.console_pages import Console
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
    await expect(console.page.get_by_text("it lacks the scope write").first).to_be_visible()
    await expect(console.page.get_by_role("button", name="Make this change")).to_have_count(0)
    for page in ("Data", "Queries", "History", "Model"):
        await console.show(page)
        await expect(console.page.get_by_role("heading", name=page, exact=True)).to_be_visible()
        await expect(console.page.get_by_role("alert")).to_have_count(0)


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
