"""The store behind a real PgBouncer, which gives each transaction any of its connections to the server."""

import asyncio

import psycopg
import pytest

from magistrate.engine.names import ObjectId, TypeName
from magistrate.errors import StoreUnavailable
from magistrate.store.contract.new_rows import NewObject, Stamp
from magistrate.store.contract.store import Store
from magistrate.wiring.stores import migrate_store, open_store
from tests.databases import PostgresServer
from tests.running import settings_for
from tests.store.pgbouncer import pooled

pytestmark = pytest.mark.anyio

PROCESSES, WRITES = 3, 20


async def put(store: Store, object_id: str) -> None:
    await store.put_objects([NewObject(TypeName("d"), ObjectId(object_id), None)], Stamp("ann", 1))


@pytest.mark.parametrize(
    ("pool_mode", "pooling"), [("session", "session"), ("transaction", "session"), ("transaction", "transaction")]
)
async def test_whoever_used_a_session_before_each_statement_is_the_one_that_was_meant(
    postgres: PostgresServer, pool_mode: str, pooling: str
) -> None:
    """The stores are of several processes, as far as PgBouncer knows. In sessions of their own they have one each, of
    which there are two."""
    count = 2 if pool_mode == "session" else PROCESSES
    url = postgres.new_url()
    with pooled(postgres, url, pool_mode) as pooled_url:
        migrate_store(settings_for(pooled_url))
        connections = 1 if pool_mode == "session" else 4
        settings = settings_for(pooled_url, postgres_connections=connections, database_pooling=pooling)
        stores = [await open_store(settings) for _ in range(count)]

        async def write_and_read(number: int) -> None:
            store = stores[number]
            for each in range(WRITES):
                await put(store, f"{number}-{each}")
                await asyncio.gather(store.check(), store.check())

        await asyncio.gather(*map(write_and_read, range(count)))
        if pool_mode == "transaction":
            with psycopg.connect(pooled_url) as connection:
                [prepared] = connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchone() or (None,)
            assert (prepared == 0) == (pooling == "transaction")

        for store in stores:
            await store.close()
    with psycopg.connect(url) as connection:
        found = {row[0] for row in connection.execute("SELECT object_id FROM object")}
    assert found == {f"{number}-{each}" for number in range(count) for each in range(WRITES)}


async def test_a_pooler_that_takes_no_transactions_is_refused_with_its_own_words(postgres: PostgresServer) -> None:
    refusal = "transaction blocks not allowed in statement pooling mode"
    with pooled(postgres, postgres.new_url(), "statement") as url, pytest.raises(StoreUnavailable, match=refusal):
        migrate_store(settings_for(url))
