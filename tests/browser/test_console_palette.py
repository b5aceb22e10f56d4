"""What the console offers everywhere: the command palette, shortcuts, and links that open signed in."""

import pytest
from playwright.async_api import Locator, expect

from tests.browser.chromium import MAX_MILLISECONDS
from tests.browser.console_pages import Console
from tests.running import Client

pytestmark = pytest.mark.anyio


def palette_of(console: Console) -> Locator:
    return console.page.get_by_role("combobox", name="Go to or do")


async def test_the_palette_leads_to_objects_pages_checks_queries_and_actions(console: Console) -> None:
    page = console.page
    await console.start("data")
    palette = palette_of(console)

    await page.keyboard.press("Control+k")
    await palette.fill("roadm")
    await expect(console.dialog.get_by_role("option").first).to_contain_text("document:roadmap")
    await palette.press("Enter")
    await expect(page.get_by_role("heading", name="document:roadmap")).to_be_visible()
    await expect(palette).to_have_count(0)
    await page.keyboard.press("Control+k")
    await palette.fill("document:roadmap#can-read@user:kim")
    await expect(console.dialog.get_by_role("option")).to_contain_text(["explain this check"])
    await palette.press("Enter")
    await expect(console.verdict).to_contain_text("Denied")
    await page.keyboard.press("Control+k")
    await palette.fill("document#can-sh")
    await console.dialog.get_by_role("option", name="document#can-share").click()
    await expect(page.locator(".graph .chosen")).to_contain_text("can-share")
    await page.get_by_role("button", name="Go to or do").click()
    await palette.fill("new warr")
    await expect(console.dialog.get_by_role("option")).to_have_count(1)
    await palette.press("Enter")

    await expect(console.dialog.get_by_role("heading", name="New warrant")).to_be_visible()
    await console.dialog.get_by_role("button", name="Cancel").click()
    await page.reload()
    await expect(page.get_by_role("heading", name="Data")).to_be_visible()
    await expect(console.dialog).to_have_count(0)


async def test_a_question_mark_lists_the_shortcuts_but_not_while_somebody_writes(console: Console) -> None:
    page = console.page
    await console.open()
    await expect(page.get_by_label("API key")).to_be_focused()
    await console.start("why")
    await console.field("Subject").press("?")
    await expect(console.field("Subject")).to_have_value("?")
    await expect(console.dialog).to_have_count(0)
    await page.get_by_role("main").press("?")

    await expect(console.dialog.get_by_role("heading", name="Shortcuts")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(console.dialog).to_have_count(0)


async def test_a_key_that_only_reads_is_offered_nothing_that_it_may_not(console: Console, service: Client) -> None:
    body = {"name": "palette-reader", "scopes": ["read"]}
    key: str = service.post("/v2/keys", json=body).json()["key"]
    await console.start("data", key=key)
    await console.page.keyboard.press("Control+k")
    await expect(console.dialog.get_by_role("option", name="Objects")).to_be_visible()

    for name in ("New warrant", "History", "Queries"):
        await expect(console.dialog.get_by_role("option", name=name)).to_have_count(0)


async def test_a_link_in_a_new_tab_is_signed_in_and_other_tabs_are_not(console: Console) -> None:
    page = console.page
    await console.start("data")
    link = page.get_by_role("link", name="document:roadmap")
    await expect(link).to_be_visible()
    async with page.context.expect_page() as opening:
        await link.click(modifiers=["Control"])
    opened = await opening.value
    opened.set_default_timeout(MAX_MILLISECONDS)

    await expect(opened.get_by_role("heading", name="document:roadmap")).to_be_visible()
    other = await page.context.new_page()
    await other.goto(f"{console.url}/console#/data")
    await expect(other.get_by_label("API key")).to_be_visible()
    await other.wait_for_timeout(1_000)  # longer than a tab waits for an answer
    await expect(other.get_by_label("API key")).to_be_visible()
