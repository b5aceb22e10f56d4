"""The page Why of the console: checks are explained, and denials are changed."""

import asyncio
import json

import pytest
from playwright.async_api import Page, Route, expect

from tests.browser.console_pages import Console
from tests.running import Client

pytestmark = pytest.mark.anyio


async def test_a_denial_is_understood_and_changed(page: Page, stored: Client) -> None:
    console = Console(page, str(stored.base_url).rstrip("/"))
    await console.start()

    await console.explain("user:kim", "can-read", "document:roadmap")
    await expect(console.verdict).to_contain_text("Denied")
    met = console.requirement("user:kim is viewer of document:roadmap, as can-read requires")
    await expect(met).to_contain_text("group:interns")
    excluded = console.requirement("user:kim is blocked on document:roadmap, which rules out can-read")
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


async def test_a_change_is_not_made_before_the_dialog_says_what_else_it_would_do(console: Console) -> None:
    await console.start(subject="user:bob", relation="viewer", object="document:payroll")
    change = console.page.locator(".suggestion").first
    await expect(change.locator(".effect-title")).to_be_visible()
    is_shown = asyncio.Event()

    async def answer_later(route: Route) -> None:
        await is_shown.wait()
        await route.continue_()

    await console.page.route("**/v2/difference", answer_later)
    await change.get_by_role("button", name="Make this change").click()
    button = console.dialog.get_by_role("button", name="Make the change")
    await expect(console.dialog).to_contain_text("Comparing access")
    await expect(button).to_be_disabled()
    is_shown.set()

    await expect(button).to_be_enabled()
    await expect(console.dialog.locator(".effect-title")).to_be_visible()
    await console.dialog.get_by_role("button", name="Cancel").click()


TYPE_AT_ONCE = """() => new Promise((resolve) => {
    new MutationObserver((_, observer) => {
        const field = document.querySelector(".sentence input");
        if (!field) return;
        observer.disconnect();
        field.value = "user:kim";
        field.dispatchEvent(new Event("input", { bubbles: true }));
        setTimeout(() => resolve(field.value), 500);
    }).observe(document.body, { childList: true, subtree: true });
    location.hash = "#/why";
})"""
"""Types into the first field of the page as soon as it is there."""


async def test_what_is_typed_before_the_page_was_painted_stays(console: Console) -> None:
    await console.start("data")

    assert await console.page.evaluate(TYPE_AT_ONCE) == "user:kim"


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


async def test_a_mistake_in_a_name_is_named(console: Console) -> None:
    await console.start(subject="user:bob", relation="can-red", object="document:roadmap")
    await expect(console.page.get_by_text("did you mean can-read?")).to_be_visible()

    await console.open("why", subject="bob", relation="can-read", object="document:roadmap")
    await expect(console.page.get_by_role("alert")).to_contain_text("Write type:id, as in user:kim")


ROOMS = {
    "tenant": {"barred": {}},
    "room": {
        "tenant": {},
        "closed": {"inheritIf": "barred", "ofType": "tenant", "withRelation": "tenant"},
        "enter": {"inheritIf": "noneOf", "rules": [{"inheritIf": "closed"}]},
    },
}


async def test_the_first_change_to_look_at_takes_access_from_nobody_else(console: Console, service: Client) -> None:
    service.define(ROOMS)
    service.grant("room:1#tenant@tenant:acme", "tenant:acme#barred@group:late#member")
    service.grant(*(f"group:late#member@user:{name}" for name in ("kim", "bob", "eve")))
    await console.start(subject="user:kim", relation="enter", object="room:1")

    first = console.page.locator(".suggestion").filter(has=console.page.locator("button.primary"))
    await expect(first).to_have_count(1)
    await expect(first.locator(".changes")).to_contain_text("group:late#member@user:kim")
    await expect(first.locator(".effects")).to_have_text("It has no effect on others.")
    harmful = console.page.locator(".suggestion").filter(has_text="tenant:acme#barred@group:late#member")
    await expect(harmful.locator(".effects")).to_have_text("Others lose 4 permissions and gain 2 permissions.")
    await expect(console.page.get_by_text("room:1#tenant@tenant:acme", exact=True)).to_have_count(0)
