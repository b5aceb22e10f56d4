"""Reads that may return very much are long reads, or go in steps: they do not delay others."""

import asyncio
import gc
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.counting import counting_store
from magistrate.engine.names import ObjectId, RelationName, Revision, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import object_ref
from magistrate.engine.warrants.reader import WarrantRead, WarrantsByObject
from magistrate.store.contract.lists import ObjectFilter, ObjectTypeFilter, Slice
from magistrate.store.contract.new_rows import NewObject, NewWarrant, Stamp
from magistrate.store.sql_reads import MAX_ROWS
from magistrate.store.sql_store import MAX_LARGE_ROWS
from magistrate.store.sqlite.database import MAX_LOOKUP_STEPS
from tests.databases import new_migrated_file

pytestmark = pytest.mark.anyio

NUMBER = MAX_LARGE_ROWS + 1


@pytest.mark.parametrize(("limit", "long_reads"), [(MAX_LARGE_ROWS - 1, 0), (MAX_LARGE_ROWS, 0), (NUMBER, 3)])
async def test_a_list_of_many_large_rows_is_a_long_read(database_url: str, limit: int, long_reads: int) -> None:
    store, database = await counting_store(database_url)
    new = [NewObject(TypeName("d"), ObjectId(f"id-{number:03}"), "{}") for number in range(NUMBER)]
    await store.put_objects(new, Stamp("ann", 1))
    refs = [object_ref("d", f"id-{number:03}") for number in range(limit)]

    relation_results = await store.list_objects(Slice("objectId", limit), ObjectFilter())
    await store.list_object_types(Slice("typeId", limit), ObjectTypeFilter())
    found = await store.find_objects(refs, Revision(1))

    assert (len(relation_results.value.rows), len(found.value)) == (limit, limit)
    assert database.long_reads == long_reads
    await store.close()


async def test_the_model_is_a_long_read(database_url: str) -> None:
    """It is read seldom, and each of its rows would make the event loop wait for threads that run Python."""
    store, database = await counting_store(database_url)

    await store.read_model()
    await store.put_objects([NewObject(TypeName("d"), ObjectId("id"), "{}")], Stamp("ann", 1))
    await store.read_model(Revision(1))

    assert database.long_reads == 2
    await store.close()


COUNTED = (
    "WITH RECURSIVE counted (n) AS (SELECT 1 UNION SELECT n + 1 FROM counted WHERE n < {}) SELECT max(n) FROM counted"
)


@pytest.mark.parametrize(("rows", "has_turns"), [(10, False), (MAX_LOOKUP_STEPS, True)])
async def test_a_lookup_that_looks_at_very_much_becomes_a_long_read(tmp_path: Path, rows: int, has_turns: bool) -> None:
    store, database = await counting_store(new_migrated_file(tmp_path / "m.db"))

    async with counted_turns() as turns:
        found = await database.read(COUNTED.format(rows), ())

    assert [*found] == [(rows,)]
    assert bool(turns) == has_turns
    await store.close()


async def test_lookups_that_look_at_little_stay_lookups_however_often_they_are_made(tmp_path: Path) -> None:
    """SQLite counts the steps of a prepared statement over all its executions."""
    store, database = await counting_store(new_migrated_file(tmp_path / "m.db"))
    small = COUNTED.format(100)

    async with counted_turns() as turns:
        for _ in range(MAX_LOOKUP_STEPS // 100):
            await database.read(small, ())

    assert not turns
    await store.close()


async def test_the_newest_revision_is_read_however_often_and_whatever_was_looked_up_before(tmp_path: Path) -> None:
    store, database = await counting_store(new_migrated_file(tmp_path / "m.db"))
    await database.read(COUNTED.format(MAX_LOOKUP_STEPS), ())

    for _ in range(MAX_LOOKUP_STEPS):
        assert database.is_newest(database.mark())
    await store.close()


async def test_others_have_turns_between_the_statements_of_one_read(database_url: str) -> None:
    store, database = await counting_store(database_url)
    request = WarrantsByObject(TypeName("d"), (RelationName("viewer"),), TypeName("user"), False, False)
    reads = [WarrantRead(request, (ObjectId(f"id-{number}"),)) for number in range(1_000)]
    await store.put_objects([NewObject(TypeName("d"), ObjectId("id"), "{}")], Stamp("ann", 1))
    database.reads = 0

    async with counted_turns() as turns:
        await store.read_warrants(reads, None, 10)

    assert len(turns) >= database.reads - 1 > 2
    await store.close()


@asynccontextmanager
async def counted_turns() -> AsyncIterator[list[None]]:
    """A list that gets an element in each iteration of the event loop."""
    turns: list[None] = []

    async def count() -> None:
        while True:
            await asyncio.sleep(0)
            turns.append(None)

    counting = asyncio.create_task(count())
    await asyncio.sleep(0)  # it has begun
    turns.clear()
    yield turns
    counting.cancel()


async def test_the_rows_of_a_long_read_are_freed_in_steps(database_url: str) -> None:
    """While their warrants are made: all at once, 60,000 rows took five milliseconds."""
    store, database = await counting_store(database_url)
    many = 12 * MAX_ROWS
    warrants = [
        NewWarrant(object_ref("d", "plan"), RelationName("viewer"), Subject(TypeName("user"), ObjectId(f"u{number}")))
        for number in range(many)
    ]
    await store.put_warrants(warrants, lambda definitions: None, Stamp("ann", 1))
    read = WarrantRead(WarrantsByObject(TypeName("d"), (RelationName("viewer"),), TypeName("user"), False, False), None)
    allocated = [0]

    async def observe() -> None:
        while True:
            if not database.rows:
                time.sleep(0.001)  # an event loop that never waits keeps the interpreter from the thread that reads
            allocated.append(sys.getallocatedblocks())
            await asyncio.sleep(0)

    gc.collect()  # what earlier tests left is not freed meanwhile
    observing = asyncio.create_task(observe())
    found = (await store.read_warrants([read], None, 10 * many)).warrants
    allocated.append(sys.getallocatedblocks())
    observing.cancel()
    await store.close()

    assert len(found[0]) == many
    assert len(allocated) > 10
    assert max(before - after for before, after in pairwise(allocated)) < many // 2


async def test_objects_of_very_many_types_are_found(database_url: str) -> None:
    """SQLite accepts 500 parts of a statement."""
    store, _ = await counting_store(database_url)
    new = [NewObject(TypeName(f"type-{number}"), ObjectId("id"), None) for number in range(600)]
    await store.put_objects(new, Stamp("ann", 1))
    refs = [object_ref(one.type, one.id) for one in new]

    found = await store.find_objects([*refs, object_ref("type-7", "nowhere")], Revision(1))

    assert (found.revision, {object_ref(one.type, one.id) for one in found.value}) == (1, {*refs})
    await store.close()


async def test_others_have_turns_while_a_large_model_is_built(database_url: str) -> None:
    store, database = await counting_store(database_url)
    for start in range(0, 5 * MAX_ROWS, 1_000):
        warrants = [
            NewWarrant(object_ref("d", "plan"), RelationName("r"), Subject(TypeName(f"type-{number}"), ObjectId("u")))
            for number in range(start, start + 1_000)
        ]
        await store.put_warrants(warrants, lambda definitions: None, Stamp("ann", 1))
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += database.rows > 0  # they have been read
            if not database.rows:
                time.sleep(0.001)  # see above
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    model = (await store.read_model()).value
    counting.cancel()
    await store.close()

    assert len(model.patterns) == 5 * MAX_ROWS
    assert turns >= 4


@pytest.mark.parametrize(("reads", "statements"), [(10, 1), (11, 2), (21, 3)])
async def test_a_statement_has_a_limited_number_of_ids(database_url: str, reads: int, statements: int) -> None:
    store, database = await counting_store(database_url)
    await store.put_objects([NewObject(TypeName("d"), ObjectId("plan"), None)], Stamp("ann", 1))
    ids = tuple(ObjectId(f"plan{number}") for number in range(1_000))
    request = WarrantsByObject(TypeName("d"), (RelationName("viewer"),), TypeName("user"), False, False)

    found = await store.read_warrants([WarrantRead(request, ids)] * reads, None, 100)

    assert [*found.warrants] == [[]] * reads
    assert database.reads == statements
    await store.close()
