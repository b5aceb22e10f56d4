"""The part of the conformance suite that is about following events, on every store."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack

import pytest

from magistrate.engine.names import Revision
from magistrate.errors import EventsNotKept
from magistrate.store.contract.events import Event, EventFilter, EventPosition, EventsOfKind, build_position
from magistrate.store.contract.lists import Slice
from magistrate.store.contract.store import Store
from magistrate.wiring.stores import migrate_store, open_store
from tests.running import settings_for
from tests.store.written_events import EVERYTHING, NOW, anything_goes, decided, fill, new, stamp, viewer

pytestmark = pytest.mark.anyio

CHANGES = EventFilter([EventsOfKind("object"), EventsOfKind("warrant")])
HOUR = 3_600_000_000


async def follow(
    store: Store, after: EventPosition | None = None, only: EventFilter = EVERYTHING, limit: int = 1_000
) -> tuple[Sequence[Event], EventPosition]:
    found = (await store.follow_events(after, limit, only)).value
    return found.rows, found.position


async def list_all(store: Store) -> list[Event]:
    return list((await store.list_events(Slice("createdAt", 1_000), EVERYTHING)).value.rows)


@pytest.mark.parametrize("limit", [1, 2, 3, 14, 15])
async def test_followed_from_the_beginning_each_event_is_shown_once_in_order(store: Store, limit: int) -> None:
    await fill(store)
    every = await list_all(store)
    shown: list[Event] = []
    position = None

    for _ in range(len(every) // limit + 2):
        rows, position = await follow(store, position, limit=limit)
        shown += rows

    assert shown == every == sorted(every, key=lambda event: event.place)
    await store.keep_decisions([decided(NOW)], 100)
    await store.put_objects([new("z")], stamp(NOW - 9))
    rows, position = await follow(store, position)
    assert [(row.kind, row.place) for row in rows] == [("decision", (7, 1, 5)), ("object", (8, 0, 0))]
    assert (await follow(store, position))[0] == ()


@pytest.mark.parametrize("revision", range(8))
async def test_behind_a_revision_come_the_decisions_that_were_stored_at_it(store: Store, revision: int) -> None:
    await fill(store)

    rows, _ = await follow(store, build_position(Revision(revision)))

    assert rows == tuple(event for event in await list_all(store) if event.place > (revision, 0, 2**62))
    assert not rows or rows[0].place[0] > revision or rows[0].kind == "decision"


@pytest.mark.parametrize("only", [EventFilter(()), EventFilter([EventsOfKind("object", None, {1: "nobody"})])])
async def test_what_matches_nothing_moves_the_position_to_the_end(store: Store, only: EventFilter) -> None:
    await fill(store)

    rows, position = await follow(store, None, only)

    assert (rows, position.place) == ((), (7, 1, 4))
    assert (await follow(store, position))[0] == ()


async def test_events_are_followed_within_a_span_of_time(store: Store) -> None:
    await fill(store)

    rows, position = await follow(store, None, EventFilter(EVERYTHING.kinds, NOW + 10, NOW + 20))

    assert rows == tuple(event for event in await list_all(store) if NOW + 10 <= event.at <= NOW + 20)
    assert position.place == (7, 1, 4)


async def write_each_hour(store: Store, hours: int) -> None:
    """A change at the full hour, and a decision at half past."""
    for number in range(hours):
        await store.put_objects([new(f"o{number}")], stamp(NOW + number * HOUR))
        await store.keep_decisions([decided(NOW + number * HOUR + HOUR // 2, object_id=f"o{number}")], 100)


async def delete_until(store: Store, at: int, most: int = 1_000) -> None:
    while await store.delete_events(at, most):
        pass


@pytest.mark.parametrize("most", [1, 2, 1_000])
async def test_a_follower_that_is_too_late_is_told_and_can_begin_again(store: Store, most: int) -> None:
    await write_each_hour(store, 5)
    [_], early = await follow(store, limit=1)
    _, late = await follow(store)

    await delete_until(store, NOW + 2 * HOUR, most)

    for behind in (early, build_position(Revision(0)), build_position(Revision(2))):
        with pytest.raises(EventsNotKept):
            await follow(store, behind)
    assert (await follow(store, late))[0] == ()
    kept = await list_all(store)
    assert [event.place for event in kept] == [(3, 1, 3), (4, 0, 0), (4, 1, 4), (5, 0, 0), (5, 1, 5)]
    position = None
    shown: list[Event] = []
    for _ in range(6):
        rows, position = await follow(store, position, limit=1)
        shown += rows
    assert shown == kept


async def test_a_follower_that_began_behind_a_gap_misses_nothing_more(store: Store) -> None:
    """Decisions are deleted by their number, so older changes may be kept."""
    await write_each_hour(store, 3)
    await store.keep_decisions([decided(NOW + 9 * HOUR) for _ in range(4)], 2)
    rows, position = await follow(store, limit=1)

    assert [event.place for event in rows] == [(1, 0, 0)]
    assert [event.place for event in (await follow(store, position))[0]] == [(2, 0, 0), (3, 0, 0), (3, 1, 6), (3, 1, 7)]
    with pytest.raises(EventsNotKept):
        await follow(store, build_position(Revision(1)))
    await store.keep_decisions([decided(NOW + 9 * HOUR)], 2)
    with pytest.raises(EventsNotKept):
        await follow(store, position)
    assert [event.place for event in (await follow(store, position, CHANGES))[0]] == [(2, 0, 0), (3, 0, 0)]


async def test_deleted_changes_are_not_missed_by_who_follows_decisions(store: Store) -> None:
    await write_each_hour(store, 3)
    only = EventFilter([EventsOfKind("decision")])

    await delete_until(store, NOW + HOUR // 4)

    assert len((await follow(store, build_position(Revision(0)), only))[0]) == 3
    with pytest.raises(EventsNotKept):
        await follow(store, build_position(Revision(0)), CHANGES)


async def test_numbers_of_decisions_do_not_come_again_when_all_were_deleted(store: Store) -> None:
    await write_each_hour(store, 1)
    _, position = await follow(store)
    await delete_until(store, NOW + 5 * HOUR)

    await store.keep_decisions([decided(NOW + 9 * HOUR)], 100)

    assert [event.place for event in (await follow(store, position))[0]] == [(1, 1, 2)]


async def test_nothing_is_missed_or_shown_twice_while_several_processes_write(database_url: str) -> None:
    """With clocks that differ by more than it takes to write."""
    settings = settings_for(database_url)
    migrate_store(settings)
    async with AsyncExitStack() as stack:
        stores = []
        for _ in range(3):
            stores.append(await open_store(settings))
            stack.push_async_callback(stores[-1].close)

        async def write(number: int) -> None:
            store = stores[number]
            for turn in range(40):
                at = NOW + 1_000 * turn - 50_000 * number
                await store.put_warrants([viewer(f"d{number}-{turn}")], anything_goes, stamp(at))
                await store.keep_decisions([decided(at, object_id=f"d{number}-{turn}")], 10_000)

        shown: list[Event] = []
        position = None
        writing = [asyncio.create_task(write(number)) for number in range(2)]
        while not all(task.done() for task in writing):
            rows, position = await follow(stores[2], position, limit=7)
            shown += rows
            await asyncio.sleep(0)
        await asyncio.gather(*writing)
        shown += (await follow(stores[2], position))[0]
        every = await list_all(stores[2])

    assert shown == every
    assert len([event for event in every if event.kind != "object"]) == 160
    assert [event.at for event in every if event.kind != "decision"] == sorted(
        event.at for event in every if event.kind != "decision"
    )
