"""Objects in the console: they are created, described, renamed and deleted, after saying what that changes."""

import re
from typing import Any

import pytest
from playwright.async_api import expect

from tests.browser.console_pages import Console
from tests.running import Client
from tests.scenario_files import warrant_body

pytestmark = pytest.mark.anyio


async def press(console: Console, name: str) -> None:
    await console.page.get_by_role("button", name=name).click()


async def confirm(console: Console, name: str) -> None:
    await console.dialog.get_by_role("button", name=name, exact=True).click()


async def test_an_object_is_created_and_its_meta_is_edited(console: Console, service: Client) -> None:
    page, dialog = console.page, console.dialog
    await console.start("data", type="folder")

    await press(console, "New object")
    await expect(dialog.get_by_role("combobox", name="Type")).to_have_value("folder")
    await dialog.get_by_label("Id").fill("plans")
    await dialog.get_by_label("Meta").fill("{name: 1}")
    await confirm(console, "Create")
    await expect(dialog.get_by_role("alert")).to_contain_text("The meta is not JSON")
    await dialog.get_by_label("Meta").fill('{"name": "Plans"}')
    await confirm(console, "Create")
    await expect(page.get_by_role("heading", name="folder:plans")).to_be_visible()
    await press(console, "Edit meta")
    await expect(dialog.get_by_label("Meta")).to_have_value('{\n  "name": "Plans"\n}')
    await dialog.get_by_label("Meta").fill('{"name": "Plans of 2027"}')
    await confirm(console, "Save")

    await expect(page.locator("dd")).to_have_text("Plans of 2027")
    assert service.get("/v2/objects/folder/plans").json()["meta"] == {"name": "Plans of 2027"}


async def test_an_object_that_exists_is_not_replaced_and_nor_is_a_meta_that_others_changed(
    console: Console, service: Client
) -> None:
    dialog = console.dialog
    service.post("/v2/objects", json={"objectType": "folder", "objectId": "taken", "meta": {"n": 1}}).raise_for_status()
    await console.start("data", type="folder")

    await press(console, "New object")
    await dialog.get_by_label("Id").fill("taken")
    await confirm(console, "Create")
    await expect(dialog.get_by_role("alert")).to_contain_text("folder:taken exists already")
    await confirm(console, "Cancel")
    await console.open("object", name="folder:taken")
    await press(console, "Edit meta")
    await dialog.get_by_label("Meta").fill('{"n": 3}')
    service.put("/v2/objects/folder/taken", json={"meta": {"n": 2}}).raise_for_status()
    await confirm(console, "Save")

    await expect(dialog.get_by_role("alert")).to_contain_text("Somebody else has just changed folder:taken")
    assert service.get("/v2/objects/folder/taken").json()["meta"] == {"n": 2}


async def test_a_renamed_object_keeps_its_meta_and_every_warrant_that_names_it(
    console: Console, service: Client
) -> None:
    page, dialog = console.page, console.dialog
    service.post("/v2/objects", json={"objectType": "group", "objectId": "old", "meta": {"name": "All"}})
    until = {"expiresAt": "2999-01-01T00:00:00Z"}
    service.write(
        [
            warrant_body("group:old#member@user:rae"),
            warrant_body("folder:x#viewer@group:old#member") | until,
            warrant_body("document:x#viewer@group:old#member") | {"policy": 'network == "office"'},
        ]
    )
    await console.start("object", name="group:old")

    await press(console, "Rename")
    await dialog.get_by_label("New id").fill("new")
    await press(console, "What would it change?")
    await expect(dialog.locator(".access .lost").first).to_be_visible()
    service.grant("document:other#viewer@user:rae")  # another write does not matter
    await confirm(console, "Rename")

    await expect(page.get_by_role("heading", name="group:new")).to_be_visible()
    assert service.get("/v2/objects/group/old").status_code == 404
    assert service.get("/v2/objects/group/new").json()["meta"] == {"name": "All"}
    rows = list_warrants(service, {"subjectType": "group"})
    assert {row["objectType"]: row.get("expiresAt") or row.get("policy") for row in rows} == {
        "folder": until["expiresAt"],
        "document": 'network == "office"',
    }
    assert {row["subject"]["objectId"] for row in rows} == {"new"}
    assert service.ask("folder:x#viewer@user:rae").json()["result"] == "Authorized"


async def test_who_loses_access_is_shown_before_an_object_is_deleted(console: Console, service: Client) -> None:
    service.grant("group:gone#member@user:sal", "folder:y#viewer@group:gone#member")
    await console.start("object", name="group:gone")

    await press(console, "Delete…")
    await expect(console.dialog).to_contain_text("2 warrants name it and end with it")
    await expect(console.dialog.locator(".access")).to_contain_text(re.compile("lost.*user:sal viewer on folder:y"))
    service.grant("group:gone#member@user:new")
    await confirm(console, "Delete")
    await expect(console.dialog.get_by_role("alert")).to_contain_text("Somebody else has just changed group:gone")
    await confirm(console, "Cancel")
    await press(console, "Delete…")
    await expect(console.dialog).to_contain_text("3 warrants name it")
    await confirm(console, "Delete")

    await expect(console.page.get_by_text("Deleted group:gone.")).to_be_visible()
    assert service.get("/v2/objects/group/gone").status_code == 404
    assert list_warrants(service, {"subjectType": "group", "subjectId": "gone"}) == []


def list_warrants(service: Client, only: dict[str, str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = service.get("/v2/warrants", params=only).json()["results"]
    return [row for row in rows if row["objectId"] in ("x", "y")]
