"""Writes to several stores of one database: on SQLite they share commits, on PostgreSQL none waits for another."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
import pytest

from magistrate.config.database_url import PostgresUrl, read_database_url
from magistrate.engine.names import ObjectId, Revision, TypeName
from magistrate.errors import Conflict
from magistrate.store.contract.lists import ObjectFilter, Slice
from magistrate.store.contract.new_rows import NewObject, NewObjectType, Stamp
from magistrate.store.contract.stores import NewStore, StoreLimits
from magistrate.store.database import Execute, Observer, Script, observe_nothing
from magistrate.store.sql.dialect import COMMIT
from magistrate.store.sql_store import SqlStore
from magistrate.wiring.stores import migrate_store, open_stores
from tests.conftest import new_database_url
from tests.running import settings_for

pytestmark = pytest.mark.anyio

STAMP = Stamp("ann", 5)
STORES = 8


@asynccontextmanager
async def eight_stores(url: str, observer: Observer = observe_nothing) -> AsyncIterator[list[SqlStore]]:
    migrate_store(settings_for(url))
    stores = await open_stores(settings_for(url), observer)
    types = (NewObjectType(TypeName("document"), "{}"),)
    made = [
        await stores.create(NewStore(f"store-{number}", "", StoreLimits(), "ann", 5, types=types))
        for number in range(STORES)
    ]
    opened = [stores.open_store(stored) for stored in made]
    yield [store for store in opened if isinstance(store, SqlStore)]
    await stores.close()


async def put(store: SqlStore, name: str) -> None:
    await store.put_objects([NewObject(TypeName("document"), ObjectId(name), None)], STAMP)


async def list_ids(store: SqlStore) -> list[str]:
    return [stored.id for stored in (await store.list_objects(Slice("objectId", 100), ObjectFilter())).value.rows]


class HeldCommits:
    """Counts commits. Each waits until `release` is set, so that the writes that come meanwhile share the next."""

    def __init__(self) -> None:
        self.count = 0
        self.release = threading.Event()
        self.release.set()
        self.waits = threading.Event()

    def __call__(self, sql: str) -> None:
        if sql == COMMIT:
            self.count += 1
            self.waits.set()
            assert self.release.wait(10)


async def write_together(commits: HeldCommits, first: Awaitable[None], *others: Awaitable[None]) -> list[object]:
    """Makes the others wait for the commit of the first. Returns what each raised."""
    commits.count = 0
    commits.waits.clear()
    commits.release.clear()
    beginning = asyncio.ensure_future(first)
    await asyncio.to_thread(commits.waits.wait, 10)
    following = [asyncio.ensure_future(other) for other in others]
    await asyncio.sleep(0.01)
    commits.release.set()
    return list(await asyncio.gather(beginning, *following, return_exceptions=True))


async def test_writes_to_several_stores_share_a_commit_on_sqlite(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    commits = HeldCommits()
    async with eight_stores(new_database_url("sqlite", tmp_path, request), commits) as stores:
        results = await write_together(commits, put(stores[0], "a"), *(put(store, "b") for store in stores))

        assert (results, commits.count) == ([None] * (STORES + 1), 2)
        assert [await list_ids(store) for store in stores] == [["a", "b"], *[["b"]] * (STORES - 1)]
        assert [await store.check() for store in stores] == [3, *[2] * (STORES - 1)]


@pytest.mark.parametrize("has_changed", [False, True])
async def test_a_write_that_fails_in_one_store_leaves_the_others_of_its_group_on_sqlite(
    tmp_path: Path, request: pytest.FixtureRequest, has_changed: bool
) -> None:
    """It fails before its first change, or after it."""
    commits = HeldCommits()
    async with eight_stores(new_database_url("sqlite", tmp_path, request), commits) as stores:

        def fail(head: Revision) -> Script[None]:
            if has_changed:
                yield Execute("DELETE FROM object WHERE store = :store", [()])
            raise Conflict("refused")

        failing = stores[3].database.transact(fail)
        results = await write_together(commits, put(stores[0], "a"), *(put(s, "b") for s in stores), failing)

        assert isinstance(results.pop(), Conflict)
        assert (results, commits.count) == ([None] * (STORES + 1), 2)
        assert [await list_ids(store) for store in stores] == [["a", "b"], *[["b"]] * (STORES - 1)]
        assert [await store.check() for store in stores] == [3, *[2] * (STORES - 1)]


async def test_a_write_waits_for_none_to_another_store_on_postgresql(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Another process holds the head of one store all the time."""
    url = new_database_url("postgres", tmp_path, request)
    database = read_database_url(url)
    assert isinstance(database, PostgresUrl)
    async with eight_stores(url) as stores:
        with psycopg.connect(database.conninfo) as connection:
            connection.execute(
                "SELECT 1 FROM head h JOIN store s ON h.store = s.number WHERE s.name = 'store-0' FOR UPDATE OF h"
            )
            held = asyncio.ensure_future(put(stores[0], "a"))

            await asyncio.wait_for(asyncio.gather(*(put(store, "b") for store in stores[1:])), 5)

            assert not held.done()
        await held  # what held the head is gone
        assert [await list_ids(store) for store in stores] == [["a"], *[["b"]] * (STORES - 1)]
