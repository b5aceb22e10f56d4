"""The rows of deleted stores are removed in small transactions with pauses, by one process at a time."""

import gc
import time
from collections.abc import AsyncIterator
from weakref import ref

import pytest

from magistrate.engine.names import ObjectId, TypeName
from magistrate.errors import StoreDeleted
from magistrate.operations.stores import removal
from magistrate.operations.stores.contexts import StoreContexts
from magistrate.operations.stores.removal import (
    FIRST_SIZE,
    MAX_SIZE,
    MIN_SIZE,
    PAUSES,
    TARGET_SECONDS,
    choose_pause,
    choose_size,
    remove_deleted,
)
from magistrate.store.contract.new_rows import NewObject, Stamp
from magistrate.store.contract.stores import NewStore, RemovedRows, StoredStore, StoreLimits, Stores
from magistrate.wiring.contexts import context_of
from magistrate.wiring.stores import migrate_store, open_stores
from tests.databases import dump, run_sql
from tests.running import Client, running_service, settings_for

pytestmark = pytest.mark.anyio

MOST_SECONDS = 0.01
"""For which a transaction may keep others from writing."""


@pytest.fixture
async def stores(database_url: str) -> AsyncIterator[Stores]:
    migrate_store(settings_for(database_url))
    opened = await open_stores(settings_for(database_url))
    yield opened
    await opened.close()


async def delete_one_of(stores: Stores, objects: int) -> StoredStore:
    """A store with so many objects that was deleted long ago."""
    stored = await stores.create(NewStore("first", "", StoreLimits(), "ann", 5))
    new = [NewObject(TypeName("document"), ObjectId(str(number)), None) for number in range(objects)]
    await stores.open_store(stored).put_objects(new, Stamp("ann", 5))
    await stores.delete(stored.number, 50)
    return stored


@pytest.mark.parametrize("row_microseconds", [1, 7, 40, 900])
def test_the_size_follows_how_long_rows_take(row_microseconds: int) -> None:
    sizes, size = [], FIRST_SIZE
    for _ in range(50):
        sizes.append(size)
        size = choose_size(size, size * row_microseconds / 1_000_000)

    assert min(sizes) >= MIN_SIZE
    assert max(sizes) <= MAX_SIZE
    assert max(sizes[5:]) * row_microseconds / 1_000_000 <= MOST_SECONDS
    assert sizes[-1] >= min(MAX_SIZE, TARGET_SECONDS / 2 / (row_microseconds / 1_000_000))


def test_a_transaction_that_takes_too_long_is_followed_by_a_small_one() -> None:
    assert choose_size(MAX_SIZE, 0.2) == MAX_SIZE / 10
    assert choose_size(MIN_SIZE, 5.0) == MIN_SIZE


def test_most_of_the_time_is_left_to_others() -> None:
    assert choose_pause(0.02) == 0.02 * PAUSES
    assert choose_pause(0.0) > TARGET_SECONDS


async def test_all_rows_are_removed_in_transactions_of_chosen_sizes(
    stores: Stores, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = await delete_one_of(stores, 1_000)
    contexts = StoreContexts(stores, lambda store: context_of(store, settings_for(database_url)))
    removed: list[tuple[int, RemovedRows]] = []
    delete_rows = stores.delete_rows

    async def record(before: int, most: int) -> RemovedRows:
        rows = await delete_rows(before, most)
        removed.append((most, rows))
        return rows

    monkeypatch.setattr(stores, "delete_rows", record)
    await contexts.follow()
    await remove_deleted(contexts)

    assert all(rows.rows <= most <= MAX_SIZE for most, rows in removed)
    assert sum(rows.rows for _, rows in removed) == 2_003  # objects and the log of them, two revisions, and the store
    assert not contexts.may_have_deleted
    tables = dump(database_url)
    assert not [row for name in tables.keys() - {"store"} for row in tables[name] if row[0] == stored.number]


async def test_without_deleted_stores_it_runs_no_statement(stores: Stores, database_url: str) -> None:
    contexts = StoreContexts(stores, lambda store: context_of(store, settings_for(database_url)))
    await contexts.follow()
    statements = stores.default.statements

    await remove_deleted(contexts)

    assert stores.default.statements == statements


async def test_one_process_removes_rows_and_another_goes_on_if_it_stops(stores: Stores, database_url: str) -> None:
    await delete_one_of(stores, 20)
    other = await open_stores(settings_for(database_url))

    assert (await stores.delete_rows(100, 5)).rows == 5
    assert (await other.delete_rows(100, 5))[::2] == (0, True)
    assert (await stores.delete_rows(100, 5)).rows == 5
    earlier = time.time_ns() // 1_000 - 4_000_000
    run_sql(database_url, f"UPDATE head SET removed_at = {earlier} WHERE deleted_at IS NOT NULL")
    assert (await other.delete_rows(100, 5)).rows == 5
    assert (await stores.delete_rows(100, 5))[::2] == (0, True)
    assert [(await other.delete_rows(100, 100)).rows for _ in range(2)] == [28, 0]
    assert await stores.delete_rows(100, 5) == RemovedRows(0, may_be_more=False)
    await other.close()


def test_a_service_removes_the_rows_of_deleted_stores(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "REMOVE_AFTER_SECONDS", 0.5)
    with running_service(settings_for(database_url)) as url, Client(url) as client:
        client.post("/v2/stores", json={"name": "first"}).raise_for_status()
        client.delete("/v2/stores/first").raise_for_status()
        assert client.post("/v2/stores", json={"name": "first"}).status_code == 409

        deadline = time.monotonic() + 20
        while client.post("/v2/stores", json={"name": "first"}).status_code == 409:
            assert time.monotonic() < deadline
            time.sleep(0.1)

        assert len(client.get("/v2/stores").json()["results"]) == 2


async def test_what_a_process_holds_of_a_deleted_store_is_freed(
    stores: Stores, database_url: str, no_collection: None
) -> None:
    contexts = StoreContexts(stores, lambda store: context_of(store, settings_for(database_url)))
    stored = await stores.create(NewStore("first", "", StoreLimits(), "ann", 5))
    await contexts.follow()
    context = contexts.open_context(stored.number)
    new = [NewObject(TypeName("document"), ObjectId("a"), None)]
    await context.store.put_objects(new, Stamp("ann", 5))
    statements = stores.default.statements
    kept = ref(context.store)

    await stores.delete(stored.number, 50)
    await contexts.follow()
    with pytest.raises(StoreDeleted):
        contexts.open_context(stored.number)
    with pytest.raises(StoreDeleted):
        await context.store.put_objects(new, Stamp("ann", 5))
    del context
    await stores.default.put_objects(new, Stamp("ann", 5))  # the writer holds the last write until the next

    gc.collect()
    assert kept() is None
    assert stores.default.statements > statements
