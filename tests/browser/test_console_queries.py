"""The page Queries of the console."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from tests.browser.chromium import fresh_page
from tests.browser.console_pages import Console
from tests.browser.console_places import STRANGE_ID
from tests.browser.more_pages import TestsPage, run_file
from tests.issuing import issue_key
from tests.running import Client
from tests.scenario_files import warrant_body

pytestmark = pytest.mark.anyio


async def test_a_query_is_run_and_its_rows_are_saved(console: Console, tmp_path: Path) -> None:
    await console.start("queries", q="select can-read of type user for document:roadmap")
    await expect(console.row("user:bob")).to_contain_text("group:engineering")

    await console.save_csv("Results", tmp_path / "rows.csv")
    async with console.page.expect_download() as rows:
        await console.page.get_by_role("button", name="Export JSON").click()
    await (await rows.value).save_as(tmp_path / "rows.json")

    lines = (tmp_path / "rows.csv").read_text().splitlines()
    assert lines[0] == "type,id,relation,implicit,warrant"
    assert any(line.startswith("user,bob,can-read,true,") for line in lines)
    assert len(json.loads((tmp_path / "rows.json").read_text())) == len(lines) - 1


async def test_a_query_that_cannot_be_read_says_where(console: Console) -> None:
    await console.start("queries", q="select document whre user:ann is viewer")

    await expect(console.page.get_by_role("alert")).to_contain_text("whre")


async def test_queries_are_completed_word_by_word(console: Console) -> None:
    await console.start("queries")
    field = console.field("Query")
    keyboard = console.page.keyboard

    for typed, offered in (
        ("sel", "select"),
        ("select doc", "document"),
        ("select document wh", "where"),
        ("select document where user:bo", "user:bob"),
        ("select document where user:bob is can-r", "can-read"),
    ):
        await field.fill(typed)
        await expect(console.page.get_by_role("option", name=offered)).to_be_visible()
    await keyboard.press("ArrowDown")
    await keyboard.press("Enter")
    await expect(field).to_have_value("select document where user:bob is can-read")
    await keyboard.press("Enter")

    await expect(console.row("document:roadmap")).to_be_visible()


async def test_lists_of_names_are_completed_behind_each_comma(console: Console) -> None:
    await console.start("queries")
    field, options = console.field("Query"), console.page.get_by_role("option")
    keyboard = console.page.keyboard

    await field.fill("select document,fol")
    await expect(options).to_have_text(["folder"])
    await keyboard.press("ArrowDown")
    await keyboard.press("Enter")
    await field.press_sequentially(" where user:bob is can-read, v")
    await expect(options).to_have_text(["viewer"])
    await keyboard.press("ArrowDown")
    await keyboard.press("Enter")
    await expect(field).to_have_value("select document,folder where user:bob is can-read, viewer")
    await field.fill("select can-read, viewer of type gro")
    await expect(options).to_have_text(["group"])
    await field.fill("select document,folder where user:bob is can-read, viewer")
    await keyboard.press("Enter")

    await expect(console.row("folder:engineering").first).to_be_visible()


async def test_an_id_with_a_comma_is_completed_asked_and_pinned(
    console: Console, service: Client, tmp_path: Path
) -> None:
    body = warrant_body(f"document:{STRANGE_ID}#viewer@user:{STRANGE_ID}")
    service.post("/v2/warrants", json=body).raise_for_status()
    tests = TestsPage(console)
    await console.start("queries")
    field = console.field("Query")

    await field.fill("select document where user:$(a")
    await console.page.get_by_role("option", name=STRANGE_ID).click()
    await expect(field).to_have_value(f'select document where user:"{STRANGE_ID}"')
    await field.press_sequentially(" is can-read")
    await field.press("Enter")
    await tests.pin(console.row(f"document:{STRANGE_ID}"))
    await console.show("Why")
    await console.explain(f'user:"{STRANGE_ID}"', "viewer", f'document:"{STRANGE_ID}"')
    await expect(console.verdict).to_contain_text("Allowed")
    await tests.pin(console.verdict)

    await console.show("Tests")
    await tests.expect_counts(2, 0)
    assert run_file(await tests.save("Download", tmp_path)) == "2 passed, 0 failed"
    service.delete_json("/v2/warrants", body).raise_for_status()


SAVED = "/v2/saved-queries"
READERS = "select can-read of type user for document:roadmap"


def list_saved(service: Client) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = service.get(SAVED).json()["results"]
    return rows


def forget_all(service: Client) -> None:
    for row in list_saved(service):
        service.delete(f"{SAVED}/{row['id']}").raise_for_status()


async def test_what_one_saves_another_opens_from_the_list_and_the_palette(
    console: Console, service: Client, browser: Browser
) -> None:
    key = issue_key(service, "saved-reader", "read", "query")
    await console.start("queries")
    await console.field("Query").fill(READERS)
    await console.page.get_by_role("button", name="Save…").click()
    await expect(console.dialog.get_by_label("Name")).to_be_focused()
    await expect(console.dialog.get_by_label("Query")).to_have_value(READERS)
    await console.dialog.get_by_label("Name").fill("Readers of the <b>roadmap</b>")
    await console.dialog.get_by_label("What it is for").fill("before each release")
    await console.page.keyboard.press("Enter")
    await expect(console.page.get_by_text("Saved as Readers of the <b>roadmap</b>.")).to_be_visible()
    await expect(console.row("Readers of the <b>roadmap</b>")).to_contain_text(READERS)

    async with fresh_page(browser) as page:
        other = Console(page, console.url)
        await other.start("queries", key=key)
        row = other.row("Readers of the <b>roadmap</b>")
        await expect(row).to_contain_text("before each release")
        await row.get_by_role("link").click()
        await expect(other.row("user:bob")).to_contain_text("group:engineering")
        await expect(other.field("Query")).to_have_value(READERS)
        await other.show("Data")
        await page.keyboard.press("Control+k")
        palette = page.get_by_role("combobox", name="Go to or do")
        await palette.fill("ROADMAP</b>")
        await expect(other.dialog.get_by_role("option").first).to_contain_text("saved query")
        await palette.press("Enter")
        await expect(other.row("user:bob")).to_contain_text("group:engineering")
        for name in ("Save…", "Edit", "Delete"):
            await expect(page.get_by_role("button", name=name)).to_have_count(0)
        await other.show("Queries")
        await expect(row).to_be_visible()
        for name in ("Save…", "Edit", "Delete"):
            await expect(page.get_by_role("button", name=name)).to_have_count(0)
        assert other.troubles == []
    forget_all(service)


async def test_a_saved_query_has_its_context(console: Console, service: Client) -> None:
    await console.start("queries")
    await console.page.get_by_text("Context for policies").click()
    await console.page.get_by_label("JSON object").fill('{"network": "office"}')
    await console.field("Query").fill("select document where user:eve is viewer")
    await console.page.get_by_role("button", name="Save…").click()
    context = console.dialog.get_by_label("Context for policies")
    await expect(context).to_have_value('{"network": "office"}')
    await console.dialog.get_by_label("Name").fill("eve in the office")
    await context.fill("{network")
    await console.dialog.get_by_role("button", name="Save").click()
    await expect(console.dialog.get_by_role("alert")).to_contain_text("not a JSON object")
    await context.fill('{"network": "office"}')
    await console.dialog.get_by_role("button", name="Save").click()

    await console.page.get_by_role("link", name="eve in the office").click()

    await expect(console.row("document:payroll")).to_be_visible()
    await expect(console.page.get_by_label("JSON object")).to_have_value('{"network":"office"}')
    forget_all(service)


async def test_a_saved_query_is_renamed_and_deleted_after_a_confirmation(console: Console, service: Client) -> None:
    for name in ("first", "second"):
        service.post(SAVED, json={"name": name, "q": READERS}).raise_for_status()
    await console.start("queries")
    page = console.page

    await page.get_by_role("button", name="Edit first").click()
    await console.dialog.get_by_label("Name").fill("second")
    await console.dialog.get_by_role("button", name="Save").click()
    await expect(console.dialog.get_by_role("alert")).to_contain_text("the name second already")
    await console.dialog.get_by_label("Name").fill("zero")
    await console.dialog.get_by_label("Query").fill("select nothing")
    await console.dialog.get_by_role("button", name="Save").click()
    await expect(console.dialog.get_by_role("alert")).to_contain_text("must contain a 'where' clause")
    await console.dialog.get_by_label("Query").fill(f"{READERS}")
    await console.dialog.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Changed zero.")).to_be_visible()
    await expect(console.row("zero")).to_be_visible()
    await expect(console.row("first")).to_have_count(0)

    await page.get_by_role("button", name="Delete zero").click()
    await expect(console.dialog).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(console.dialog).to_have_count(0)
    assert [row["name"] for row in list_saved(service)] == ["second", "zero"]
    await page.get_by_role("button", name="Delete zero").press("Enter")
    await console.dialog.get_by_role("button", name="Delete").press("Enter")
    await expect(page.get_by_text("Deleted zero.")).to_be_visible()
    await expect(console.row("zero")).to_have_count(0)
    assert [row["name"] for row in list_saved(service)] == ["second"]
    forget_all(service)


async def test_nothing_is_saved_in_the_past_and_a_limited_key_reads_no_saved_query(
    console: Console, service: Client
) -> None:
    service.post(SAVED, json={"name": "readers", "q": READERS}).raise_for_status()
    requested: list[str] = []
    console.page.on("request", lambda sent: requested.append(sent.url))
    key = issue_key(service, "saved-limited", "read", "query", "write", objectTypes=["document"])
    await console.start("queries", key=key)
    await expect(console.field("Query")).to_be_visible()
    await console.page.keyboard.press("Control+k")
    await expect(console.dialog.get_by_role("option", name="Queries")).to_be_visible()
    await expect(console.dialog.get_by_role("option", name="readers")).to_have_count(0)
    await console.page.keyboard.press("Escape")
    await expect(console.page.get_by_role("button", name="Save…")).to_have_count(0)
    assert not [url for url in requested if SAVED in url]

    await console.page.get_by_role("button", name="Sign out").click()
    await console.start("queries", at="2999-01-01T00:00:00Z")

    for name in ("Save…", "Edit readers", "Delete readers"):
        button = console.page.get_by_role("button", name=name)
        await expect(button).to_have_attribute("aria-disabled", "true")
        await expect(button).to_contain_text("The past cannot be changed")
    forget_all(service)
