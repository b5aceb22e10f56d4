"""Stores groups with many members, and lists what a query returns."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from benchmarks.counting import CountingDatabase, counting_store
from magistrate.engine.lists.language import read_query
from magistrate.engine.names import Revision
from magistrate.operations.context import Context
from magistrate.operations.lists.evaluators import QueryRequest
from magistrate.operations.lists.listings import StoredRow
from magistrate.operations.lists.query import QUERY_LIST, list_page
from magistrate.operations.models.object_types import put_object_types
from magistrate.operations.paging import Page, read_page_request
from magistrate.operations.writes.warrants import create_warrants, delete_warrants
from magistrate.store.contract.lists import Snapshot
from magistrate.store.postgres.database import PostgresDatabase
from magistrate.wiring.contexts import context_of
from tests.memory_source import model_of
from tests.operations.stored_warrants import LATEST
from tests.running import settings_for
from tests.scenario_runs import new

DRIVE: dict[str, dict[str, Any]] = {
    "user": {},
    "folder": {"parent": {}, "viewer": {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}},
    "document": {
        "parent": {},
        "blocked": {},
        "reader": {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"},
        "viewer": {
            "inheritIf": "allOf",
            "rules": [{"inheritIf": "reader"}, {"inheritIf": "noneOf", "rules": [{"inheritIf": "blocked"}]}],
        },
    },
}

SEES = "select document where user:ann is viewer"
VIEWERS = "select viewer of type user for document:d00"


@pytest.fixture
async def counted(database_url: str) -> AsyncIterator[tuple[Context, CountingDatabase]]:
    store, database = await counting_store(database_url)
    ctx = context_of(store, settings_for(database_url))
    await put_object_types(ctx, list(model_of(DRIVE).types.values()), ctx.stamp("ann"))
    yield ctx, database
    await store.close()


@pytest.fixture
def ctx(counted: tuple[Context, CountingDatabase]) -> Context:
    return counted[0]


async def grant(ctx: Context, *written: str) -> Revision:
    return (await create_warrants(ctx, [new(text) for text in written], ctx.stamp("ann"), str)).revision


async def revoke(ctx: Context, *written: str) -> Revision:
    return await delete_warrants(ctx, [new(text) for text in written], ctx.stamp("ann"))


async def page_of(ctx: Context, q: str, **parameters: str) -> Snapshot[Page[StoredRow]]:
    """Returns a page at the newest revision, so that what is read does not depend on the time that has passed."""
    wanted = read_page_request(QUERY_LIST, parameters, ctx.store.identity)
    return await list_page(ctx, QueryRequest(read_query(q), {}), wanted, LATEST)


def ids(page: Page[StoredRow]) -> list[str]:
    return [found.row.id for found in page.rows]


async def forwards(ctx: Context, q: str, **parameters: str) -> list[list[str]]:
    """The ids on all pages, checking that the last page goes back through the same ones."""
    pages = [(await page_of(ctx, q, **parameters)).value]
    while pages[-1].next_cursor is not None:
        pages.append((await page_of(ctx, q, nextCursor=pages[-1].next_cursor, **parameters)).value)
    back = pages[-1]
    for earlier in reversed(pages[:-1]):
        assert back.prev_cursor is not None
        back = (await page_of(ctx, q, prevCursor=back.prev_cursor, **parameters)).value
        assert (ids(back), back.next_cursor) == (ids(earlier), earlier.next_cursor)
    assert back.prev_cursor is None
    return [ids(page) for page in pages]


async def fill(ctx: Context, documents: int) -> list[str]:
    """A folder of ann's with so many documents, the third of them blocked for her; answers the ids that she sees."""
    names = [f"d{number:02}" for number in range(documents)]
    links = [f"document:{name}#parent@folder:f" for name in reversed(names)]
    await grant(ctx, "folder:f#viewer@user:ann", "document:d02#blocked@user:ann", *links)
    return [name for name in names if name != "d02"]


def reads_of_news(database: CountingDatabase) -> list[str]:
    """Returns the reads by which a process finds out whether anything was written."""
    return ["the changes"] if database.dialect is PostgresDatabase.dialect else []
