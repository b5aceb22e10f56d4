"""The page History of the console, and the slider that moves every page through time."""

import re

import pytest
from playwright.async_api import expect

from tests.browser.console_pages import Console
from tests.running import Client

pytestmark = pytest.mark.anyio


async def test_history_shows_who_gained_and_leads_to_the_past(console: Console, service: Client) -> None:
    service.grant("document:roadmap#editor@user:pia")
    await console.start("history")
    newest = console.page.locator(".timeline > li").first

    await expect(newest).to_contain_text("user:pia")
    await newest.get_by_text("Who gained, who lost").click()
    await expect(newest.locator(".access")).to_contain_text("can-write")
    service.delete_json("/v2/warrants", warrant_of_pia()).raise_for_status()
    await newest.get_by_role("link", name="As of that time").click()
    await expect(console.page.get_by_text("You are looking at the past")).to_be_visible()
    await expect(console.page.get_by_role("button", name="New warrant")).to_be_disabled()
    await expect(console.page.get_by_role("button", name="The past cannot be changed").first).to_be_visible()
    await console.page.goto(f"{console.page.url}&show=warrants&subject=user:pia")
    await expect(console.row("user:pia")).to_be_visible()
    await console.page.get_by_role("button", name="Back to now").click()

    await expect(console.page.get_by_role("button", name="New warrant")).to_be_enabled()
    await expect(console.row("user:pia")).to_have_count(0)


def warrant_of_pia() -> dict[str, object]:
    subject = {"objectType": "user", "objectId": "pia"}
    return {"objectType": "document", "objectId": "roadmap", "relation": "editor", "subject": subject}


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
    await expect(page.get_by_role("button", name="Delete…").first).to_be_disabled()
    await console.show("Model")
    await expect(console.editor).to_have_attribute("aria-readonly", "true")
    await page.get_by_role("button", name="Later").click()

    await expect(page.get_by_text("You are looking at now.")).to_be_visible()
    await expect(page.get_by_role("button", name="Review and save")).to_be_visible()
