"""The page Queries of the console."""

import json
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser.console_pages import Console
from tests.browser.console_places import STRANGE_ID
from tests.browser.more_pages import TestsPage, run_file
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
