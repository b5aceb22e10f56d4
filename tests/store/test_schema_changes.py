"""Connections that have prepared statements before a migration changes the columns of their rows."""

import asyncio

import pytest

from magistrate.engine.names import ObjectId, TypeName
from magistrate.engine.terms import object_ref
from magistrate.store.contract.new_rows import NewObject, Stamp
from magistrate.store.contract.store import Store
from magistrate.wiring.stores import migrate_store, open_store
from tests.databases import PostgresServer, run_sql
from tests.running import settings_for

pytestmark = pytest.mark.anyio

PLAN = object_ref("document", "plan")
READS = 10
"""The driver prepares a statement when it has run it five times."""


async def write(store: Store, meta: str) -> None:
    await store.put_objects([NewObject(TypeName("document"), ObjectId("plan"), meta, False)], Stamp("ann", 1, None))


async def read(store: Store) -> str | None:
    snapshot = await store.get_object(PLAN)
    return snapshot.value.meta if snapshot.value else None


@pytest.mark.parametrize("connections", [1, 4])
@pytest.mark.parametrize("first", ["read", "write"])
async def test_reads_and_writes_go_on_when_the_type_of_a_column_changes(
    postgres: PostgresServer, connections: int, first: str
) -> None:
    url = postgres.new_url()
    settings = settings_for(url, postgres_connections=connections)
    migrate_store(settings)
    store = await open_store(settings)
    try:
        for number in range(READS):
            await write(store, f'{{"n":{number}}}')
            assert {*await asyncio.gather(*(read(store) for _ in range(connections)))} == {f'{{"n":{number}}}'}

        run_sql(url, 'ALTER TABLE object ALTER COLUMN meta TYPE VARCHAR COLLATE "C"')

        if first == "write":
            await write(store, "{}")
        assert len({*await asyncio.gather(*(read(store) for _ in range(connections)))}) == 1
        await write(store, "[]")
        assert await read(store) == "[]"
    finally:
        await store.close()
