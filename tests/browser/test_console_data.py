"""The pages Data and Object of the console: lists, inspectors and warrants."""

import pytest
from playwright.async_api import expect

from tests.browser.console_pages import Console
from tests.running import Client

pytestmark = pytest.mark.anyio


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
