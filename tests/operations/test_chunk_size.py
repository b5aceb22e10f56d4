"""How the chunks of a delete by filter follow the speed of the store."""

import asyncio

import pytest

from magistrate.engine.names import ObjectId, TypeName
from magistrate.operations.writes import warrants as chunk_size
from magistrate.operations.writes.warrants import (
    FIRST_CHUNK,
    MAX_CHUNK,
    MIN_CHUNK,
    TARGET_HOLD_SECONDS,
    ChunkSize,
    delete_matching,
    pause_seconds,
)
from magistrate.store.contract.events import EventFilter, EventsOfKind
from magistrate.store.contract.lists import Slice
from magistrate.store.contract.new_rows import NewObject
from tests.operations.node import Node


def sizes(seconds_per_row: list[float]) -> list[int]:
    """The sizes of chunks, each of which takes so long for each row."""
    size, found = ChunkSize(), []
    for seconds in seconds_per_row:
        found.append(size.rows)
        size.adapt(size.rows, size.rows * seconds)
    return [*found, size.rows]


def test_a_chunk_has_as_many_rows_as_can_be_written_in_the_time() -> None:
    assert sizes([TARGET_HOLD_SECONDS / 150] * 3) == [FIRST_CHUNK, 150, 150, 150]


def test_chunks_of_a_fast_store_double_up_to_the_largest() -> None:
    assert sizes([0, 0, 0]) == [100, 200, 250, 250]
    assert MAX_CHUNK == 250


def test_a_store_that_becomes_slow_gets_the_smallest_chunk_at_once_and_larger_ones_when_it_recovers() -> None:
    fast, slow = TARGET_HOLD_SECONDS / 1_000, TARGET_HOLD_SECONDS
    assert sizes([fast, fast, slow, slow, fast, fast]) == [100, 200, 250, MIN_CHUNK, MIN_CHUNK, 40, 80]


def test_the_pause_is_as_long_as_the_chunk_but_not_longer_than_one_should_be() -> None:
    assert pause_seconds(TARGET_HOLD_SECONDS / 2) == TARGET_HOLD_SECONDS / 2
    assert pause_seconds(1.0) == TARGET_HOLD_SECONDS


@pytest.mark.anyio
@pytest.mark.parametrize(("hold_seconds", "writes"), [(0.0, 3), (3_600.0, 2)])
async def test_a_delete_by_filter_is_written_in_chunks_of_that_size(
    node: Node, monkeypatch: pytest.MonkeyPatch, hold_seconds: float, writes: int
) -> None:
    """At first 4 rows; then 2 if nothing is fast enough, or 8 if everything is."""
    monkeypatch.setattr(chunk_size, "TARGET_HOLD_SECONDS", hold_seconds)
    monkeypatch.setattr(chunk_size, "FIRST_CHUNK", 4)
    monkeypatch.setattr(chunk_size, "MIN_CHUNK", 2)
    monkeypatch.setattr(chunk_size, "MAX_CHUNK", 8)
    await node.grant(*(f"folder:{number}#viewer@user:ann" for number in range(8)))
    before = await node.ctx.store.check()

    deleted = await delete_matching(node.ctx, {"relation": "viewer"}, 100, lambda: node.ctx.stamp("ann"))

    assert deleted.value == (8, False)
    assert deleted.revision == before + writes == await node.ctx.store.check()
    only = EventFilter([EventsOfKind("warrant", "deleted")])
    assert len((await node.ctx.store.list_events(Slice("createdAt", 100), only)).value.rows) == 8


@pytest.mark.anyio
async def test_another_writer_waits_for_one_chunk_at_a_time(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("FIRST_CHUNK", "MAX_CHUNK", "MIN_CHUNK"):
        monkeypatch.setattr(chunk_size, limit, 5)
    store, stamp = node.ctx.store, node.ctx.stamp("ann")
    await node.grant(*(f"folder:{number}#viewer@user:ann" for number in range(200)))

    equal = {"object_type": "folder"}
    deletion = asyncio.create_task(delete_matching(node.ctx, equal, 1_000, lambda: stamp))
    chunks: list[int] = []
    while not deletion.done():
        before = await store.check()
        note = NewObject(TypeName("note"), ObjectId(str(len(chunks))), None)
        written = await store.put_objects([note], stamp)
        chunks.append(written.revision - before - 1)

    assert (await deletion).value.deleted == 200
    # One that is being written when the other writer comes, and one that came between its two statements.
    assert max(chunks) <= 2
    assert sum(chunks) > 0
