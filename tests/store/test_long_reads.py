"""Reads that may return many large texts are long reads: they do not delay others."""

import pytest

from benchmarks.counting import counting_store
from magistrate.engine.terms import ObjectId, Revision, TypeName, object_ref
from magistrate.store.contract import NewObject, ObjectFilter, ObjectTypeFilter, Slice, Stamp
from magistrate.store.sql_store import FEW_LARGE_ROWS

pytestmark = pytest.mark.anyio

NUMBER = FEW_LARGE_ROWS + 1


@pytest.mark.parametrize(("limit", "long_reads"), [(FEW_LARGE_ROWS - 1, 0), (FEW_LARGE_ROWS, 0), (NUMBER, 3)])
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
