"""What is deleted when, by a clock of the test's own and by the service itself."""

import asyncio
import time
from dataclasses import replace

import pytest

from magistrate.engine.names import ObjectId, Revision, TypeName
from magistrate.engine.terms import object_ref
from magistrate.errors import RevisionUnavailable
from magistrate.operations.context import Context
from magistrate.operations.writes.retention import MICROSECONDS_PER_HOUR, delete_ended, delete_events
from magistrate.store.contract.events import EventFilter, EventsOfKind
from magistrate.store.contract.lists import Slice
from magistrate.store.contract.new_rows import NewObject, Stamp
from magistrate.store.contract.store import Store
from magistrate.wiring import service as running_service
from magistrate.wiring.contexts import context_of
from magistrate.wiring.service import open_service
from magistrate.wiring.stores import migrate_store
from tests.running import settings_for

pytestmark = pytest.mark.anyio

NOW = 1_763_683_200_000_000


def hours_ago(hours: float) -> int:
    return NOW - int(hours * MICROSECONDS_PER_HOUR)


async def write(store: Store, *at: int) -> None:
    """An object at each of these times, the last of which replaces it."""
    for version, written_at in enumerate(at):
        new = NewObject(TypeName("document"), ObjectId("a"), f'{{"v":{version}}}')
        await store.put_objects([new], Stamp("ann", written_at))


async def event_times(store: Store) -> list[int]:
    listed = await store.list_events(Slice("createdAt", 100), EventFilter([EventsOfKind("object")]))
    return [event.at for event in listed.value.rows]


@pytest.fixture
def ctx(store: Store, database_url: str) -> Context:
    return replace(context_of(store, settings_for(database_url)), now=lambda: NOW)


@pytest.mark.parametrize(("event_retention_hours", "retention_hours"), [(1, 5), (5, 1), (5, 5)])
async def test_events_are_kept_for_the_longer_of_the_two_retentions(
    ctx: Context, event_retention_hours: int, retention_hours: int
) -> None:
    await write(ctx.store, hours_ago(7), hours_ago(5.1), hours_ago(4.9), hours_ago(0.5))

    await delete_events(ctx, event_retention_hours, retention_hours)

    assert await event_times(ctx.store) == [hours_ago(4.9), hours_ago(0.5)]


async def test_rows_end_at_their_retention_when_events_have_been_deleted(ctx: Context) -> None:
    await write(ctx.store, hours_ago(9), hours_ago(7), hours_ago(6), hours_ago(4), hours_ago(2))

    await delete_events(ctx, 5, 3)
    deleted = await delete_ended(ctx, 3)

    assert deleted == 3  # the versions that were replaced four hours ago and earlier
    assert (await ctx.store.get_object(object_ref("document", "a"), Revision(4))).value is not None
    with pytest.raises(RevisionUnavailable):
        await ctx.store.get_object(object_ref("document", "a"), Revision(3))


async def test_a_write_whose_clock_is_behind_takes_nothing_newer_with_it(ctx: Context) -> None:
    young = [hours_ago(hours) for hours in (0.4, 0.3, 0.2)]
    await write(ctx.store, *young, 1_000_000)

    await delete_events(ctx, 5, 3)
    await delete_ended(ctx, 3)

    assert await event_times(ctx.store) == [*young, young[-1]]
    for revision in (1, 2, 3, 4):
        assert (await ctx.store.get_object(object_ref("document", "a"), Revision(revision))).value is not None


async def test_a_write_whose_clock_is_behind_goes_with_those_around_it(ctx: Context) -> None:
    await write(ctx.store, hours_ago(9), 1_000_000, hours_ago(8), hours_ago(0.2))

    await delete_events(ctx, 5, 3)
    await delete_ended(ctx, 3)

    assert await event_times(ctx.store) == [hours_ago(0.2)]
    with pytest.raises(RevisionUnavailable):
        await ctx.store.get_object(object_ref("document", "a"), Revision(2))
    assert (await ctx.store.get_object(object_ref("document", "a"), Revision(3))).value is not None


async def test_behind_a_write_whose_clock_is_ahead_nothing_is_deleted_until_its_time_has_come(ctx: Context) -> None:
    await write(ctx.store, hours_ago(9), hours_ago(8), hours_ago(-100), hours_ago(8), hours_ago(7))
    later = replace(ctx, now=lambda: hours_ago(-106))

    await delete_events(ctx, 5, 3)
    await delete_ended(ctx, 3)
    kept = await event_times(ctx.store)
    readable = await ctx.store.get_object(object_ref("document", "a"), Revision(2))
    await delete_events(later, 5, 3)

    assert kept == [hours_ago(-100)] * 3
    assert readable.value is not None
    assert await event_times(ctx.store) == []
    assert await delete_ended(later, 3) == 3  # the versions that revisions 3 to 5 replaced
    with pytest.raises(RevisionUnavailable):
        await ctx.store.get_object(object_ref("document", "a"), Revision(4))


async def test_the_service_deletes_expired_data_by_itself(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_service, "DELETE_EVERY_SECONDS", 0.05)
    settings = settings_for(database_url, retention_hours=1, event_retention_hours=2)
    migrate_store(settings)
    now = time.time_ns() // 1_000
    deadline = time.monotonic() + 20

    async with open_service(settings) as service:
        store = service.context.store
        await write(store, now - 3 * MICROSECONDS_PER_HOUR, now - MICROSECONDS_PER_HOUR - 1, now)
        while await event_times(store) != [now - MICROSECONDS_PER_HOUR - 1, now]:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.02)

        with pytest.raises(RevisionUnavailable):
            await store.get_object(object_ref("document", "a"), Revision(1))
