"""The sentences of store/contract/store.py about time limits, renewal and the clock, on every store."""

import asyncio
import time

import pytest
from msgspec.structs import replace

from magistrate.engine.names import ObjectId, RelationName, Revision, TypeName
from magistrate.engine.terms import object_ref
from magistrate.engine.warrants.reader import (
    AnyRead,
    ReverseWarrantRead,
    WarrantRead,
    WarrantsByObject,
    WarrantsBySubject,
)
from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import NotFound
from magistrate.store.contract.events import Event, EventFilter, EventsOfKind
from magistrate.store.contract.lists import Slice, Snapshot, WarrantFilter
from magistrate.store.contract.new_rows import ImportBatch, NewWarrant, Once, Stamp, write_outcome
from magistrate.store.contract.store import AtomicWrite, Store
from magistrate.store.postgres.database import DatabaseClock
from magistrate.wiring.stores import open_store
from tests.change_log import list_changes
from tests.running import settings_for
from tests.store.written_warrants import NOW, anything_goes, delete, new, objects, stamp

pytestmark = pytest.mark.anyio

ANN = "document:plan#viewer@user:ann"
BOB = "document:plan#viewer@user:bob"
HOUR = 3_600_000_000
EVERYTHING = Slice("createdAt", 1_000)


def limited(written: str, starts_at: int | None = None, expires_at: int | None = None) -> NewWarrant:
    return replace(new(written), starts_at=starts_at, expires_at=expires_at)


async def put(
    store: Store, *warrants: NewWarrant, at: int = NOW, once: Once | None = None
) -> Snapshot[tuple[Warrant, ...]]:
    return await store.put_warrants(warrants, anything_goes, stamp(at, once))


def outcomes(written: Snapshot[tuple[Warrant, ...]]) -> list[str]:
    return [write_outcome(row, written.revision) for row in written.value]


async def rows(store: Store, only: WarrantFilter | None = None, at: int | None = None) -> list[Warrant]:
    revision = None if at is None else Revision(at)
    return list((await store.list_warrants(EVERYTHING, only or WarrantFilter(), revision)).value.rows)


async def expired(store: Store, at: int | None = None) -> list[str]:
    return [row.render() for row in await rows(store, WarrantFilter(is_expired=True), at)]


async def unexpired(store: Store, now: int, at: int | None = None) -> list[str]:
    return [row.render() for row in await rows(store, WarrantFilter(unexpired_at=now), at)]


async def end(store: Store, at: int, most: int = 1_000) -> int:
    return await store.end_expired(Stamp("expiry", at), most)


async def events(store: Store) -> list[Event]:
    listed = await store.list_events(Slice("createdAt", 100), EventFilter([EventsOfKind("warrant")]))
    return list(listed.value.rows)


async def test_limits_are_read_back_as_written(store: Store) -> None:
    written = await put(store, limited(ANN, NOW + 1, NOW + HOUR), limited(BOB, expires_at=NOW + HOUR), new("a:a#a@a:a"))

    assert [(row.starts_at, row.expires_at) for row in written.value] == [
        (NOW + 1, NOW + HOUR),
        (None, NOW + HOUR),
        (None, None),
    ]
    assert tuple(await rows(store)) == written.value
    assert outcomes(written) == ["created"] * 3


async def test_other_limits_replace_those_of_a_stored_warrant_which_keeps_its_creation_time(store: Store) -> None:
    await put(store, limited(ANN, expires_at=NOW + 5), new(BOB))

    renewed = await put(store, limited(ANN, NOW, NOW + HOUR), new(BOB), at=NOW + 1)

    assert outcomes(renewed) == ["updated", "unchanged"]
    assert (renewed.value[0].created_at, renewed.value[0].expires_at) == (NOW, NOW + HOUR)
    assert await unexpired(store, NOW + 6) == [BOB, ANN]
    assert [(change.action, change.key[4]) for change in await list_changes(store, 1)] == [("updated", "ann")]
    [before] = [row for row in await rows(store, at=1) if row.subject_id == "ann"]
    assert before.expires_at == NOW + 5


async def test_the_same_limits_change_nothing_and_no_limits_remove_them(store: Store) -> None:
    await put(store, limited(ANN, NOW, NOW + HOUR))

    again = await put(store, limited(ANN, NOW, NOW + HOUR), at=NOW + 1)
    unlimited = await put(store, new(ANN), at=NOW + 2)

    assert (outcomes(again), outcomes(unlimited)) == (["unchanged"], ["updated"])
    assert [(row.starts_at, row.expires_at) for row in await rows(store)] == [(None, None)]
    assert await end(store, NOW + 2 * HOUR) == 0


async def test_of_several_that_are_the_same_the_last_counts(store: Store) -> None:
    written = await put(store, limited(ANN, expires_at=NOW + 1), limited(ANN, expires_at=NOW + 2))

    assert [row.expires_at for row in written.value] == [NOW + 2] * 2
    assert [row.expires_at for row in await rows(store)] == [NOW + 2]


async def test_a_repeated_write_answers_with_the_outcome_of_the_first(store: Store) -> None:
    await put(store, limited(ANN, expires_at=NOW + 5))
    once = Once("key", "fingerprint")
    first = await put(store, new(ANN), new(BOB), at=NOW + 1, once=once)

    again = await put(store, new(ANN), new(BOB), at=NOW + 2, once=once)

    assert again == first
    assert outcomes(again) == ["updated", "created"]


async def test_a_warrant_that_has_expired_ends_and_is_created_anew(store: Store) -> None:
    """Whether or not it was ended before."""
    await put(store, limited(ANN, expires_at=NOW + 5), limited(BOB, expires_at=NOW + 5))
    await put(store, limited(ANN, expires_at=NOW + HOUR), at=NOW + 4)  # a renewal just in time

    again = await put(store, limited(ANN, expires_at=NOW + 9), limited(BOB, expires_at=NOW + 9), at=NOW + 5)

    assert outcomes(again) == ["updated", "created"]
    assert [row.created_at for row in again.value] == [NOW, NOW + 5]
    assert [(change.action, change.key[4]) for change in await list_changes(store, 2)] == [
        ("updated", "ann"),
        ("expired", "bob"),
        ("created", "bob"),
    ]
    assert await end(store, NOW + 9) == 2
    assert outcomes(await put(store, limited(BOB, expires_at=NOW + 20), at=NOW + 10)) == ["created"]


async def test_a_policy_that_can_hold_no_more_is_renewed(store: Store) -> None:
    lasting = replace(new(f'{ANN}[expiresIn("1h")]'), lifetime=HOUR)
    await put(store, lasting)

    early = await put(store, lasting, at=NOW + HOUR - 1)
    late = await put(store, lasting, at=NOW + HOUR)

    assert (outcomes(early), outcomes(late)) == (["unchanged"], ["updated"])
    assert [row.created_at for row in await rows(store)] == [NOW + HOUR]


async def test_warrants_end_at_their_expiry_once_oldest_first(store: Store) -> None:
    await put(store, limited(ANN, expires_at=NOW + 9), limited(BOB, expires_at=NOW + 5), new("a:a#a@a:a"))
    assert await end(store, NOW + 4) == 0
    assert await store.check() == 1  # no revision
    assert await end(store, NOW + 5) == 1
    assert await end(store, NOW + 20) == 1
    assert await end(store, NOW + 20) == 0

    assert await store.check() == 3
    assert [(change.action, change.key[4], change.actor) for change in await list_changes(store, 1)] == [
        ("expired", "bob", "expiry"),
        ("expired", "ann", "expiry"),
    ]
    assert await unexpired(store, NOW) == ["a:a#a@a:a"]
    assert len(await objects(store)) == 4  # they stay


async def test_at_most_so_many_are_ended_at_once(store: Store) -> None:
    await put(store, *[limited(f"document:plan#viewer@user:u{n}", expires_at=NOW + 9 - n) for n in range(5)])

    assert [await end(store, NOW + 9, most=2) for _ in range(4)] == [2, 2, 1, 0]
    assert [change.key[4] for change in await list_changes(store, 1)] == ["u4", "u3", "u2", "u1", "u0"]


async def test_several_processes_end_each_warrant_once(store: Store, database_url: str) -> None:
    other = await open_store(settings_for(database_url))
    try:
        await put(store, *[limited(f"document:plan#viewer@user:u{n}", expires_at=NOW + 1) for n in range(40)])

        ended = await asyncio.gather(*[end(one, NOW + 1, most=3) for one in (store, other) * 10])
    finally:
        await other.close()

    assert sum(ended) == 40
    assert sorted(change.key[4] for change in await list_changes(store, 1)) == sorted(f"u{n}" for n in range(40))


async def test_the_expired_are_listed_by_themselves_with_every_filter_and_page(store: Store) -> None:
    many = [f"document:d{n}#viewer@user:ann" for n in range(5)]
    await put(store, *[limited(text, expires_at=NOW + 5) for text in many], new(BOB), limited(ANN, expires_at=NOW + 9))
    await end(store, NOW + 5)

    assert await expired(store) == many
    assert await expired(store, at=1) == []
    assert await expired(store, at=2) == many
    only = WarrantFilter({"object_type": "document"}, {"object_id": ("d1", "*")}, is_expired=True)
    assert [row.object_id for row in await rows(store, only)] == ["d1"]
    walked: list[str] = []
    wanted = Slice("createdAt", 2)
    for _ in range(3):
        part = (await store.list_warrants(wanted, WarrantFilter(is_expired=True))).value
        walked += [row.render() for row in part.rows]
        wanted = Slice("createdAt", 2, boundary=(part.rows[-1].created_at, part.rows[-1].number))
    assert walked == many
    assert (part.precedes, part.follows) == (True, False)


async def test_a_deleted_or_renewed_warrant_is_none_of_the_expired(store: Store) -> None:
    await put(store, limited(ANN, expires_at=NOW + 5), limited(BOB, expires_at=NOW + 5))
    await delete(store, ANN)
    await put(store, new(BOB), at=NOW + 1)

    assert await end(store, NOW + 9) == 0
    assert await expired(store) == []


async def test_a_list_leaves_out_what_has_expired_before_it_is_ended(store: Store) -> None:
    await put(store, limited(ANN, expires_at=NOW + 5), limited(BOB, NOW + 100, NOW + HOUR))

    assert await unexpired(store, NOW + 4) == [ANN, BOB]  # one that is yet to start is listed
    assert await unexpired(store, NOW + 5) == [BOB]
    assert await unexpired(store, NOW + 5, at=1) == [BOB]


async def test_what_has_expired_is_not_matched_nor_deleted_as_a_match_before_it_is_ended(store: Store) -> None:
    await put(store, limited(ANN, None, NOW + HOUR), limited(BOB, None, NOW + 2 * HOUR))
    wanted = {"object_type": "document", "relation": "viewer"}

    matched = [await store.match_warrants(wanted, 10, at) for at in (NOW, NOW + HOUR, NOW + 2 * HOUR)]
    deleted = await store.delete_matches(matched[0].value, stamp(NOW + HOUR))

    assert [[one.subject_id for one in found.value] for found in matched] == [["ann", "bob"], ["bob"], []]
    assert deleted.value.deleted == 1
    assert [row.subject_id for row in await rows(store)] == ["ann"]
    assert await end(store, NOW + HOUR) == 1
    assert await expired(store) == [ANN]


async def test_what_has_expired_can_be_read_at_earlier_revisions_until_it_is_collected(store: Store) -> None:
    await put(store, limited(ANN, expires_at=NOW + 5))
    await end(store, NOW + 5)
    assert [row.render() for row in await rows(store, at=1)] == [ANN]
    with pytest.raises(NotFound):
        await delete(store, ANN)

    assert await store.collect(NOW + 4, 100) == 0
    assert await store.collect(NOW + 5, 100) == 1

    assert await expired(store) == []


VIEWERS = WarrantsByObject(TypeName("document"), (RelationName("viewer"),), TypeName("user"))
VIEWERS_OF_ANY = WarrantRead(VIEWERS, None)
VIEWERS_OF_PLAN = WarrantRead(VIEWERS, (ObjectId("plan"), ObjectId("a"), ObjectId("b")))
ANN_VIEWS = ReverseWarrantRead(
    WarrantsBySubject(TypeName("document"), (RelationName("viewer"),), TypeName("user"), ""), (ObjectId("ann"),)
)


@pytest.mark.parametrize("read", [VIEWERS_OF_ANY, VIEWERS_OF_PLAN, ANN_VIEWS])
async def test_reads_find_the_expired_if_they_are_to_unless_they_were_written_again(
    store: Store, read: AnyRead
) -> None:
    async def found(at: int | None = None, with_expired: bool = True) -> list[int | None]:
        revision = None if at is None else Revision(at)
        [warrants] = (await store.read_warrants([read], revision, 100, with_expired)).warrants
        return [one.expires_at for one in warrants]

    await put(store, limited(ANN, expires_at=NOW + 1))  # revision 1
    await end(store, NOW + 1)
    await put(store, limited(ANN, expires_at=NOW + 3), at=NOW + 2)
    await end(store, NOW + 3)
    await put(store, new(ANN), at=NOW + 4)  # revision 5
    await delete(store, ANN)

    assert [await found(at) for at in (1, 2, 3, 4, 5, 6)] == [[NOW + 1], [NOW + 1], [NOW + 3], [NOW + 3], [None], []]
    assert [await found(at, False) for at in (1, 2, 3, 4, 5, 6)] == [[NOW + 1], [], [NOW + 3], [], [None], []]
    assert await found() == []
    await put(store, limited(ANN, expires_at=NOW + 6), at=NOW + 5)
    await end(store, NOW + 6)
    assert await found() == [NOW + 6]
    assert await found(with_expired=False) == []


async def test_expiry_is_an_event_with_its_policy_and_limits(store: Store) -> None:
    await put(store, limited(f"{ANN}[x == 1]", NOW + 1, NOW + 5))
    await put(store, limited(f"{ANN}[x == 1]", NOW + 1, NOW + 6), at=NOW + 1)
    await end(store, NOW + 6)

    assert [(one.action, one.content, one.starts_at, one.expires_at, one.at) for one in await events(store)] == [
        ("created", "x == 1", NOW + 1, NOW + 5, NOW),
        ("updated", "x == 1", NOW + 1, NOW + 6, NOW + 1),
        ("expired", "x == 1", NOW + 1, NOW + 6, NOW + 6),
    ]


@pytest.mark.parametrize("gone", ["document:plan", "user:ann"])
@pytest.mark.parametrize("is_atomic", [False, True])
async def test_what_has_expired_ends_as_expired_with_its_object(store: Store, gone: str, is_atomic: bool) -> None:
    """Even when it was not ended before."""
    await put(store, limited(f"{ANN}[x == 1]", expires_at=NOW + 5), limited(ANN, expires_at=NOW + 6), new(BOB))
    refs = [object_ref(*gone.split(":"))]

    if is_atomic:
        await store.write(AtomicWrite(objects_to_delete=refs), anything_goes, stamp(NOW + 5))
    else:
        await store.delete_objects(refs, stamp(NOW + 5))

    found = [(one.action, one.content, one.expires_at) for one in await events(store) if one.action != "created"]
    assert found == [("expired", "x == 1", NOW + 5)]
    ended = [change.action for change in await list_changes(store, 1) if change.kind == "warrant"]
    assert ended == ["expired", "deleted", "deleted"][: 3 if gone == "document:plan" else 2]
    assert await expired(store) == [f"{ANN}[x == 1]"]
    assert await end(store, NOW + 9) == 0


async def test_followers_see_renewal_and_expiry_as_changes(store: Store) -> None:
    await put(store, limited(ANN, expires_at=NOW + 5))
    renewed = await put(store, limited(ANN, expires_at=NOW + 6))
    await end(store, NOW + 6)

    for after in (Revision(1), renewed.revision):
        changes = (await store.list_warrant_changes(await store.identify(after), 10)).changes
        assert {(change.names.render(), change.exists) for change in changes or ()} == {(ANN, None)}


def imported(*warrants: NewWarrant) -> ImportBatch:
    return ImportBatch(warrants=warrants)


async def test_an_import_writes_and_replaces_limits(store: Store) -> None:
    dated = replace(limited(ANN, NOW - 9, NOW - 5), created_at=NOW - 10)
    await store.import_batch(imported(dated, limited(BOB, expires_at=NOW + 5)), anything_goes, stamp())
    assert [(row.created_at, row.starts_at, row.expires_at) for row in await rows(store)] == [
        (NOW - 10, NOW - 9, NOW - 5),
        (NOW, None, NOW + 5),
    ]
    assert await unexpired(store, NOW) == [BOB]

    same = await store.import_batch(imported(dated, limited(BOB, expires_at=NOW + 5)), anything_goes, stamp())
    longer = await store.import_batch(
        imported(replace(dated, expires_at=None), new(BOB)), anything_goes, stamp(NOW + 1)
    )

    assert (same.value.warrants, longer.value.warrants) == (0, 2)
    assert [(row.created_at, row.starts_at, row.expires_at) for row in await rows(store)] == [
        (NOW - 10, NOW - 9, None),
        (NOW, None, None),
    ]
    assert [change.action for change in await list_changes(store, 2)] == ["updated", "updated"]


async def test_an_import_with_another_creation_time_replaces_limits_too(store: Store) -> None:
    await store.import_batch(
        imported(replace(limited(ANN, expires_at=NOW + 5), created_at=NOW)), anything_goes, stamp()
    )

    await store.import_batch(imported(replace(new(ANN), created_at=NOW - 1)), anything_goes, stamp())

    assert [(row.created_at, row.expires_at) for row in await rows(store)] == [(NOW - 1, None)]
    assert [change.action for change in await list_changes(store, 1)] == ["deleted", "created"]


async def test_the_clock_of_the_store_goes_with_that_of_this_machine(store: Store) -> None:
    """Here both are the same machine."""
    before = time.time_ns() // 1_000
    await store.synchronize_clock()

    assert before - 1_000_000 < store.now() < time.time_ns() // 1_000 + 1_000_000


def test_a_clock_is_moved_only_as_far_as_it_is_wrong() -> None:
    local = 0
    clock = DatabaseClock(lambda: local)

    clock.adjust(sent_at=100, received_at=120, remote=1_000_110)
    assert clock.now() == 1_000_000  # half of the round trip each way

    clock.adjust(sent_at=200, received_at=900, remote=1_000_700)  # slow, but it may be so
    assert clock.now() == 1_000_000
    clock.adjust(sent_at=1_000, received_at=1_004, remote=1_001_009)  # at least 5 ahead
    assert clock.now() == 1_000_005
    clock.adjust(sent_at=2_000, received_at=2_004, remote=900_000)  # it was set back
    assert clock.now() == 898_000
    local = 50
    assert clock.now() == 898_050


def test_a_clock_that_was_never_measured_is_that_of_the_process() -> None:
    assert abs(DatabaseClock(lambda: 0).now() - time.time_ns() // 1_000) < 60_000_000
