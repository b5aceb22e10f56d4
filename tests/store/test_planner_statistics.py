"""A new database on PostgreSQL is analyzed as soon as it has some rows: without statistics, every index that begins
with the store looks as good as any other."""

import asyncio

import psycopg
import pytest

from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant, warrant_names
from magistrate.store.contract.backups import RestoredContents
from magistrate.store.contract.new_rows import NewWarrant, Stamp
from magistrate.store.contract.store import Store
from magistrate.store.postgres.planner_statistics import ENOUGH_ROWS, FIRST_STATEMENTS
from magistrate.store.sql.stores import TABLES
from magistrate.wiring.stores import migrate_store, open_store, open_stores
from tests.databases import PostgresServer, run_sql
from tests.running import settings_for

pytestmark = pytest.mark.anyio

STAMP = Stamp("ann", 1)
SMALL_ROWS = 300
"""Are as many warrants as make a lookup by the wrong index look cheaper."""
ROWS_READ = """
SELECT coalesce(sum(idx_tup_read), 0)::bigint FROM pg_stat_user_indexes WHERE relname = 'warrant'"""
ROWS_WHEN_ANALYZED = "SELECT reltuples::bigint FROM pg_class WHERE relname = 'warrant'"


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    """Of a database that PostgreSQL itself does not analyze."""
    url = postgres.new_url()
    migrate_store(settings_for(url))
    for table in TABLES:
        run_sql(url, f"ALTER TABLE {table} SET (autovacuum_enabled = false)")
    return url


async def write(store: Store, first: int, count: int) -> None:
    """Writes warrants, each alone, so that each is looked up."""
    for number in range(first, first + count):
        document = ObjectRef(TypeName("document"), ObjectId(f"d{number // 10}"))
        new = NewWarrant(document, RelationName("viewer"), Subject(TypeName("user"), ObjectId(f"u{number}")))
        await store.put_warrants([new], lambda _: None, STAMP)


async def read_number(url: str, query: str) -> int:
    async with await psycopg.AsyncConnection.connect(url) as connection:
        [(number,)] = await (await connection.execute(query)).fetchall()
        return int(number)


async def read_settled(url: str, query: str) -> int:
    """Returns a number that sessions report when they have been idle for a second."""
    await asyncio.sleep(1.5)
    return await read_number(url, query)


async def test_a_write_does_not_read_the_warrants_that_were_written_before(url: str) -> None:
    store = await open_store(settings_for(url))
    await write(store, 0, SMALL_ROWS)
    await store.close()
    store = await open_store(settings_for(url))  # its statements are prepared now
    await write(store, SMALL_ROWS, ENOUGH_ROWS)
    before = await read_settled(url, ROWS_READ)

    await write(store, SMALL_ROWS + ENOUGH_ROWS, 100)

    assert await read_settled(url, ROWS_READ) - before < 100 * 10
    await store.close()


@pytest.mark.nightly
async def test_tables_with_enough_rows_are_left_alone(url: str) -> None:
    store = await open_store(settings_for(url))
    await write(store, 0, 2 * ENOUGH_ROWS)
    analyzed = await read_settled(url, ROWS_WHEN_ANALYZED)

    await write(store, 2 * ENOUGH_ROWS, 2 * ENOUGH_ROWS)

    assert ENOUGH_ROWS <= analyzed < 2 * ENOUGH_ROWS
    assert await read_settled(url, ROWS_WHEN_ANALYZED) == analyzed
    await store.close()


async def test_few_writes_analyze_nothing(url: str) -> None:
    store = await open_store(settings_for(url))

    await write(store, 0, FIRST_STATEMENTS // 20)

    assert await read_settled(url, ROWS_WHEN_ANALYZED) == -1
    await store.close()


async def test_a_table_that_cannot_be_analyzed_fails_no_write(url: str) -> None:
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE object IN SHARE UPDATE EXCLUSIVE MODE")
        store = await open_store(settings_for(url))
        await write(store, 0, ENOUGH_ROWS)

        assert await read_settled(url, ROWS_WHEN_ANALYZED) > 0
        assert await read_number(url, "SELECT reltuples::bigint FROM pg_class WHERE relname = 'object'") == -1
        await store.close()


async def test_a_restored_database_is_analyzed(url: str) -> None:
    """However many statements wrote to it before: a restore is one write."""
    stores = await open_stores(settings_for(url))
    rows = [Warrant(*warrant_names("t", f"d{number}", "x", "u", "a", ""), "", 5, 0) for number in range(2_000)]
    await stores.default.restore(RestoredContents(lambda: iter([rows]), len(rows), 0), STAMP, replaces=False)

    await stores.analyze()

    assert await read_number(url, ROWS_WHEN_ANALYZED) == len(rows)
    await stores.close()
