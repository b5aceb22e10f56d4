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


async def test_a_change_is_reverted_after_its_difference_is_shown(console: Console, service: Client) -> None:
    page, dialog = console.page, console.dialog
    service.grant("group:team#member@user:lea", "folder:team#viewer@group:team#member")
    service.delete("/v2/objects/group/team").raise_for_status()
    await console.start("history")
    newest = page.locator(".timeline > li").first
    await expect(newest).to_contain_text("group:team")

    await newest.get_by_role("button", name="Revert").click()
    choices = ("group:team#member@user:lea", "folder:team#viewer@group:team#member", "group:team")
    await expect(dialog.locator("label code")).to_have_text(choices)
    await expect(dialog.locator(".access")).to_contain_text(re.compile("gained.*user:lea viewer on folder:team"))
    await dialog.get_by_role("checkbox", name=choices[1]).uncheck()
    await expect(dialog.locator(".access")).not_to_contain_text("folder:team")
    service.grant("document:else#viewer@user:lea")  # another write does not matter
    await dialog.get_by_role("button", name="Revert").click()

    await expect(page.get_by_text("Reverted 2 changes.")).to_be_visible()
    await expect(page.locator(".timeline > li").first).to_contain_text("user:lea is member of group:team")
    assert service.ask("group:team#member@user:lea").json()["result"] == "Authorized"
    assert service.ask("folder:team#viewer@user:lea").json()["result"] == "Not Authorized"


async def test_a_revert_writes_nothing_if_what_it_would_revert_has_changed(console: Console, service: Client) -> None:
    service.grant("document:moved#viewer@user:max")
    await console.start("history", object="document:moved")

    await console.page.get_by_role("button", name="Revert").click()
    await expect(console.dialog.locator(".access .lost").first).to_be_visible()
    service.grant("document:moved#editor@user:max")  # so the object is named by another warrant
    await console.dialog.get_by_role("button", name="Revert").click()

    await expect(console.dialog.get_by_role("alert")).to_contain_text("Somebody else has just changed")
    assert service.ask("document:moved#viewer@user:max").json()["result"] == "Authorized"


async def test_history_is_filtered_by_object_and_actor_and_a_link_leads_to_one_change(
    console: Console, service: Client
) -> None:
    page = console.page
    service.grant("document:filtered#viewer@user:kim")
    service.grant("document:other#viewer@group:filtered#member")
    service.grant("document:other#editor@user:kim")
    await console.start("history")

    await console.field("Object").fill("document:filtered")
    await console.field("Object").press("Enter")
    await expect(page.locator(".timeline > li")).to_have_count(1)
    await expect(page.locator(".timeline > li time")).to_contain_text("UTC")
    await page.get_by_text("Who gained, who lost").click()
    await expect(page.locator(".access")).to_contain_text("viewer on document:filtered")
    await expect(page.locator(".access")).not_to_contain_text("document:other")
    await page.get_by_label("Made by").fill("nobody-like-this")
    await page.get_by_label("Made by").press("Enter")
    await expect(page.get_by_text("No change has all of this.")).to_be_visible()
    await page.get_by_role("link", name="All changes").click()
    second = page.locator(".timeline > li").nth(1)
    await expect(second).to_contain_text("group:filtered")
    await second.get_by_role("link", name="Link to this change").click()

    first = page.locator(".timeline > li").first
    await expect(first).to_have_attribute("aria-current", "time")
    await expect(first).to_contain_text("group:filtered")
    await page.reload()
    await expect(first).to_have_attribute("aria-current", "time")


async def test_a_change_of_the_model_is_shown_as_lines_and_reverted(console: Console, service: Client) -> None:
    page = console.page
    definition = service.get("/v2/object-types/folder").json()
    relations = definition["relations"] | {"auditor": {}}
    service.put("/v2/object-types/folder", json=definition | {"relations": relations}).raise_for_status()
    await console.start("history")
    newest = page.locator(".timeline > li").first

    await newest.get_by_text("What changed in the model").click()
    await expect(newest.locator(".changed-lines .added").filter(has_text="relation auditor")).to_be_visible()
    await newest.get_by_role("button", name="Revert the model").click()
    await expect(console.dialog.locator(".changed-lines .removed").filter(has_text="relation auditor")).to_be_visible()
    await console.dialog.get_by_role("button", name="Save").click()

    await expect(page.get_by_text("The definitions are as they were before.")).to_be_visible()
    assert service.get("/v2/object-types/folder").json()["relations"] == definition["relations"]
