"""The pages Data and Object of the console: lists, inspectors and warrants."""

import csv
import re
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser.console_pages import Console
from tests.running import Client
from tests.scenario_files import warrant_body

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
    await expect(console.line("user:root").get_by_role("link", name="can-share of user:root, by rules")).to_be_visible()

    await console.open("object", name="user:eve")
    await console.line("document:roadmap").get_by_role("link", name="can-read of document:roadmap, by rules").click()

    await expect(console.verdict).to_contain_text("Allowed")


async def test_a_matrix_has_few_columns_until_more_are_wanted_and_counts_each(console: Console) -> None:
    await console.start("object", name="document:roadmap")

    names = ("parent", "blocked", "editor", "viewer", "can-read", "can-write", "can-share")
    await expect(console.columns).to_have_text(["Subject", *(re.compile(rf"^{name} [1-9]\d*$") for name in names)])
    await expect(console.columns.filter(has_text=re.compile("^owner"))).to_have_count(0)
    await console.page.get_by_role("button", name="more: ").click()

    await expect(console.columns.filter(has_text=re.compile("^owner"))).to_have_count(1)


async def test_a_matrix_is_filtered_and_grouped_by_the_warrants_that_give_access(console: Console) -> None:
    await console.start("object", name="document:roadmap")
    await expect(console.line("user:root")).to_be_visible()

    await console.page.get_by_label("Contains").fill("BO")
    await expect(console.line("user:root")).to_have_count(0)
    await console.page.get_by_label("Group by").select_option("because of")

    await expect(console.reasons.first).to_contain_text(" is ")
    await expect(console.line("user:bob").first).to_be_visible()
    await console.page.reload()
    await expect(console.page.get_by_label("Contains")).to_have_value("BO")
    await expect(console.line("user:root")).to_have_count(0)


async def test_a_matrix_says_what_is_conditional_and_until_when(console: Console, service: Client) -> None:
    warrant = warrant_body("document:terms#viewer@user:tim")
    service.write([warrant | {"expiresAt": "2999-01-01T00:00:00Z"}])
    service.write([warrant_body("document:terms#viewer@user:tom") | {"policy": 'network == "office"'}])
    context = '{"network": "office"}'
    await console.start("object", name="document:terms", context=context)

    await expect(
        console.line("user:tim").get_by_role("link", name="viewer of user:tim, by warrant until")
    ).to_be_visible()
    conditional = console.line("user:tom").get_by_role("link", name="viewer of user:tom, by warrant if")
    await conditional.click()

    await expect(console.verdict).to_contain_text("Allowed")


async def test_more_access_is_read_when_it_is_wanted(console: Console, service: Client) -> None:
    members = [warrant_body(f"group:many#member@user:m{number:04}") for number in range(1_100)]
    for start in range(0, len(members), 500):
        service.write(members[start : start + 500])
    await console.start("object", name="group:many")

    await expect(console.line("user:m0999")).to_be_visible()
    await expect(console.line("user:m1000")).to_have_count(0)
    await console.page.get_by_role("button", name="Show more").click()

    await expect(console.line("user:m1099")).to_be_visible()
    await expect(console.page.get_by_role("button", name="Show more")).to_have_count(0)


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


async def test_a_table_is_saved_with_all_its_pages_and_names_that_are_no_formula(
    console: Console, service: Client, tmp_path: Path
) -> None:
    rows = [{"objectType": "document", "objectId": f"={number}+1", "meta": {"name": "=1,2"}} for number in range(60)]
    service.post("/v2/objects", json=rows).raise_for_status()
    await console.start("data", type="document", q="+1")

    await console.save_csv("Objects", tmp_path / "objects.csv")

    lines = [*csv.reader((tmp_path / "objects.csv").read_text().splitlines())]
    assert lines[0] == ["object", "meta", "created"]
    assert {line[0] for line in lines[1:]} == {f"document:={number}+1" for number in range(60)}
    assert {line[1] for line in lines[1:]} == {'{"name":"=1,2"}'}
    service.delete_json("/v2/objects", [{k: row[k] for k in ("objectType", "objectId")} for row in rows])


async def test_a_matrix_is_saved_as_it_is_shown(console: Console, tmp_path: Path) -> None:
    await console.start("object", name="document:roadmap")
    await expect(console.line("user:ann")).to_be_visible()

    await console.save_csv("Who has access", tmp_path / "access.csv")

    lines = [*csv.reader((tmp_path / "access.csv").read_text().splitlines())]
    assert lines[0][0] == "Subject"
    marks = {line[0]: dict(zip(lines[0][1:], line[1:], strict=True)) for line in lines[1:]}
    assert (marks["user:ann"]["editor"], marks["user:ann"]["viewer"]) == ("by warrant", "by rules")


async def test_numbers_by_type_are_counted_when_they_are_opened_and_not_before(
    console: Console, service: Client
) -> None:
    counted: list[str] = []
    console.page.on("request", lambda sent: counted.append(sent.url) if "limit=1000" in sent.url else None)
    await console.start("data")
    await expect(console.page.get_by_role("table")).to_be_visible()
    assert [url for url in counted if "objectType" in url] == []

    await console.page.get_by_text("Numbers by type", exact=True).click()

    row = console.page.get_by_role("region", name="Numbers by type").get_by_role("row").filter(has_text="group")
    groups = service.get("/v2/objects", params={"objectType": "group", "limit": 1000}).json()["results"]
    await expect(row.get_by_role("link").first).to_have_text(re.compile(f"^{len(groups)} objects of type group"))
    await expect(console.page.get_by_text("In all: ")).to_be_visible()
    await row.get_by_role("link").last.click()
    await expect(console.field("Object")).to_have_value("group:")
