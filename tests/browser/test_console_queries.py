"""The page Queries of the console."""

import json
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser.console_pages import Console

pytestmark = pytest.mark.anyio


async def test_a_query_is_run_and_its_rows_are_saved(console: Console, tmp_path: Path) -> None:
    await console.start("queries", q="select can-read of type user for document:roadmap")
    await expect(console.row("user:bob")).to_contain_text("group:engineering")

    async with console.page.expect_download() as csv:
        await console.page.get_by_role("button", name="Export CSV").click()
    await (await csv.value).save_as(tmp_path / "rows.csv")
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
