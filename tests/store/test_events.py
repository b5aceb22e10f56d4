"""The part of the conformance suite that is about events: every sentence of store/contract/events.py, on every
store."""

import random
from dataclasses import replace
from itertools import accumulate

import msgspec
import pytest

from magistrate.engine.names import ObjectId, RelationName, Revision, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import object_ref
from magistrate.store.contract.events import DecisionRecord, Event, EventFilter, EventsOfKind, LogPage, LogPart
from magistrate.store.contract.keys import SessionKey
from magistrate.store.contract.lists import Slice, Snapshot
from magistrate.store.contract.new_rows import Stamp
from magistrate.store.contract.revisions import Presence, RevisionId
from magistrate.store.contract.store import Store
from magistrate.store.scripts.events import DELETED_AT_ONCE
from magistrate.wiring.stores import open_store
from tests.change_log import list_changes
from tests.databases import dump
from tests.running import settings_for
from tests.store.written_events import EVERYTHING, KINDS, NOW, anything_goes, decided, fill, new, stamp, viewer

pytestmark = pytest.mark.anyio

NEWEST_FIRST = Slice("createdAt", 1_000, descending=True)


async def events(store: Store, only: EventFilter = EVERYTHING, wanted: Slice = NEWEST_FIRST) -> list[Event]:
    return list((await store.list_events(wanted, only)).value.rows)


async def told(store: Store, *kinds: EventsOfKind) -> list[str]:
    """`created object document a`, the newest first."""
    found = await events(store, EventFilter(kinds or KINDS))
    return [" ".join([event.action, event.kind, *event.key[:2]]) for event in found]


async def test_events_are_what_was_written_and_decided_the_newest_first(store: Store) -> None:
    await fill(store)

    found = await store.list_events(NEWEST_FIRST, EVERYTHING)

    definition = '{"relations":{"viewer":{}}}'
    claim = ("document", "a", "viewer", "user", "ann", "")
    without, digest = (*claim, ""), next(e.key[6] for e in found.value.rows if e.kind == "warrant" and e.key[6])
    for event in found.value.rows:
        written = await store.identify(event.revision or Revision(0)) if event.kind != "decision" else None
        assert event.bits == (written and written.bits)
    assert [msgspec.structs.replace(event, bits=None) for event in found.value.rows] == [
        Event("deleted", "object-type", ("document",), definition, (7, 0, 0), NOW + 50, Revision(7), actor="key"),
        Event("allowed", "decision", claim, None, (6, 1, 4), NOW + 40, Revision(1)),
        Event("allowed", "decision", claim, None, (6, 1, 3), NOW + 7, Revision(1)),
        Event("deleted", "object", ("document", "a"), '{"v":2}', (6, 0, 0), NOW + 30, Revision(6), actor="key"),
        Event("denied", "decision", ("document", "b", *claim[2:]), '{"x":1}', (5, 1, 2), NOW + 10, Revision(1)),
        Event("allowed", "decision", claim, None, (5, 1, 1), NOW + 10, Revision(1)),
        Event("deleted", "warrant", without, None, (5, 0, 0), NOW + 20, Revision(5), actor="key"),
        Event("updated", "object", ("document", "a"), '{"v":2}', (4, 0, 0), NOW + 10, Revision(4), actor="key"),
        Event("created", "object", ("user", "ann"), None, (3, 0, 2), NOW + 10, Revision(3), actor="key"),
        Event("created", "warrant", (*claim, digest), "x == 1", (3, 0, 1), NOW + 10, Revision(3), actor="key"),
        Event("created", "warrant", without, None, (3, 0, 0), NOW + 10, Revision(3), actor="key"),
        Event("created", "object", ("document", "b"), None, (2, 0, 1), NOW + 10, Revision(2), actor="key"),
        Event("created", "object", ("document", "a"), '{"v":1}', (2, 0, 0), NOW + 10, Revision(2), actor="key"),
        Event("created", "object-type", ("document",), definition, (1, 0, 0), NOW, Revision(1), actor="key"),
    ]
    assert found.revision == 7


async def test_warrants_that_end_with_their_object_are_not_reported(store: Store) -> None:
    group = Subject(TypeName("document"), ObjectId("a"), RelationName("viewer"))
    await store.put_warrants([viewer("a"), viewer("b", subject=group), viewer("c")], anything_goes, stamp(NOW))

    await store.delete_objects([object_ref("document", "a"), object_ref("document", "b")], stamp(NOW + 1))
    await store.delete_warrants([viewer("c")], stamp(NOW + 2))

    assert (await told(store))[:3] == [
        "deleted warrant document c",
        "deleted object document b",
        "deleted object document a",
    ]
    assert len([change for change in await list_changes(store, 1) if change.kind == "warrant"]) == 3
    assert len(await told(store)) == 3 + 3 + 4


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([EventsOfKind("object", "updated")], ["updated object document a"]),
        ([EventsOfKind("object", None, {0: "user"})], ["created object user ann"]),
        ([EventsOfKind("object", "deleted", {0: "document", 1: "a"})], ["deleted object document a"]),
        ([EventsOfKind("object", None, {1: "nobody"})], []),
        (
            [EventsOfKind("object", None, {1: "b"}), EventsOfKind("object-type", "deleted")],
            ["deleted object-type document", "created object document b"],
        ),
        (
            [EventsOfKind("warrant", None, {5: ""}), EventsOfKind("decision", "denied")],
            [
                "denied decision document b",
                "deleted warrant document a",
                "created warrant document a",
                "created warrant document a",
            ],
        ),
        ([EventsOfKind("decision", None, {1: "b", 3: "user"})], ["denied decision document b"]),
        ([EventsOfKind("warrant", None, {5: "member"})], []),
    ],
)
async def test_filters_leave_what_they_say(store: Store, kinds: list[EventsOfKind], expected: list[str]) -> None:
    await fill(store)

    assert await told(store, *kinds) == expected


async def test_without_a_kind_there_is_no_event(store: Store) -> None:
    await fill(store)

    found = await store.list_events(NEWEST_FIRST, EventFilter(()))

    assert (found.revision, found.value.rows, found.value.follows) == (7, (), False)


async def test_both_ends_of_a_span_of_time_are_in_it(store: Store) -> None:
    await fill(store)
    every = await events(store)
    times = sorted({event.at for event in every})

    for since in (None, *times, times[0] - 1, times[-1] + 1, 0):
        for until in (None, *times, times[0] - 1, times[-1] + 1, 0):
            expected = [e for e in every if (since or 0) <= e.at <= (times[-1] + 9 if until is None else until)]
            assert await events(store, EventFilter(KINDS, since, until)) == expected


@pytest.mark.parametrize("descending", [True, False])
async def test_pages_of_any_size_hold_every_event_once_in_both_directions(store: Store, descending: bool) -> None:
    await fill(store)
    filters = [
        EVERYTHING,
        EventFilter(KINDS, NOW + 5, NOW + 20),
        EventFilter((KINDS[2], KINDS[3])),
        EventFilter(KINDS[:2]),
    ]

    for only in filters:
        every = await events(store, only, replace(NEWEST_FIRST, descending=descending))
        assert every == sorted(every, key=lambda event: event.place, reverse=descending)
        for limit in range(1, len(every) + 1):
            wanted = Slice("createdAt", limit, descending)
            for start in range(len(every)):
                forwards = await store.list_events(replace(wanted, boundary=every[start].place), only)
                backwards = await store.list_events(replace(wanted, boundary=every[start].place, backwards=True), only)
                assert list(forwards.value.rows) == every[start + 1 : start + 1 + limit]
                assert list(backwards.value.rows) == every[max(start - limit, 0) : start]
                rest, before = len(every) - start - 1, start
                assert (forwards.value.precedes, forwards.value.follows) == (rest > 0, rest > limit)
                assert (backwards.value.precedes, backwards.value.follows) == (before > limit, before > 0)


async def test_a_boundary_need_not_be_an_event(store: Store) -> None:
    await fill(store)
    every = await events(store)

    for boundary in [
        *((revision, 0, position) for revision in range(9) for position in (-1, 1, 9)),
        (5, 1, 0),
        (8, 1, 9),
    ]:
        found = await store.list_events(Slice("createdAt", 100, True, boundary), EVERYTHING)
        assert list(found.value.rows) == [event for event in every if event.place < boundary]
        assert found.value.precedes == (0 < len(found.value.rows) < len(every))


async def test_decisions_make_no_revision(store: Store) -> None:
    await store.put_objects([new("a")], stamp(NOW))

    await store.keep_decisions([decided(NOW)], 10)

    assert await store.check() == 1
    assert len(await events(store)) == 2


async def test_what_makes_no_revision_makes_nothing_stale(store: Store, database_url: str) -> None:
    other = await open_store(settings_for(database_url))
    await store.put_objects([new("a")], stamp(NOW))
    _, before = store.mark()  # behind the time, which makes stale on PostgreSQL

    for opened in (store, other):
        await opened.keep_decisions([decided(NOW)], 10)
        await opened.delete_events(NOW, 10)
        await opened.collect(NOW, 10)
        await opened.keep_session_key(SessionKey("5f0c", "9d1e", NOW), unless_after=NOW, delete_by=0)
        await opened.delete_session_keys()
        await opened.keep_key_digest("aa", NOW)
    await other.close()

    assert store.mark()[1] == before
    await store.put_objects([new("b")], stamp(NOW))
    assert store.mark()[1] != before


async def test_a_decision_is_found_by_the_place_of_its_event(store: Store) -> None:
    first, second = decided(NOW), decided(NOW + 1, False, "b", '{"x":1}')
    second = msgspec.structs.replace(second, contextual_warrants='[["a"]]', is_partial=True)
    await store.keep_decisions([first, second], 10)
    places = [event.place for event in await events(store, EventFilter([EventsOfKind("decision")]))]

    found = [(await store.find_decision(number, at)).value for at, _, number in places]

    assert found == [second, first]
    assert (await store.find_decision(1, 1)).value is None
    assert await store.find_decision(2**62, 2**62) == Snapshot(Revision(0), None)


async def test_of_all_decisions_the_last_stay(store: Store) -> None:
    for first in range(0, 12, 3):
        await store.keep_decisions(
            [decided(NOW + number, object_id=f"d{number}") for number in range(first, first + 3)], 5
        )

    assert await told(store) == [f"allowed decision document d{number}" for number in (11, 10, 9, 8, 7)]

    await store.keep_decisions([decided(NOW + number, object_id=f"d{number}") for number in range(20, 30)], 2)

    assert await told(store) == ["allowed decision document d29", "allowed decision document d28"]


async def test_of_far_too_many_decisions_some_are_deleted_with_each_call(store: Store) -> None:
    await store.keep_decisions([decided(NOW + number) for number in range(2 * DELETED_AT_ONCE)], 1_000_000)

    await store.keep_decisions([decided(NOW)], 10)
    left = len(await events(store, wanted=Slice("createdAt", 10_000)))
    await store.keep_decisions([decided(NOW)], 10)
    await store.keep_decisions([decided(NOW)], 10)

    assert left == DELETED_AT_ONCE + 1
    assert len(await events(store)) == 10


async def write_each_hour(store: Store, hours: int) -> None:
    """Two changes at the full hour, one of them a warrant, and a decision at half past."""
    hour = 3_600_000_000
    for number in range(hours):
        await store.put_objects([new(f"o{number}")], stamp(NOW + number * hour))
        await store.put_warrants([viewer(f"o{number}")], anything_goes, stamp(NOW + number * hour))
        await store.keep_decisions([decided(NOW + number * hour + hour // 2, object_id=f"o{number}")], 100)


async def forget(store: Store, before: int, most: int) -> list[int]:
    deleted = []
    while found := await store.delete_events(before, most):
        deleted.append(found)
    return deleted


@pytest.mark.parametrize("most", [1, 2, 3, 1_000])
async def test_what_is_older_is_deleted_in_batches_and_the_rest_stays(
    store: Store, database_url: str, most: int
) -> None:
    await write_each_hour(store, 4)
    every = await events(store)
    second_hour = NOW + 3_600_000_000

    portions = await forget(store, second_hour, most)

    assert await events(store) == [event for event in every if event.at > second_hour]
    assert max(portions) <= 3 * most
    assert len(portions) >= 5 // most
    rows = dump(database_url)
    assert [row[0] for row in rows["revision"]] == [4, 5, 6, 7, 8]  # 4 is the newest by then
    assert await store.delete_events(second_hour, most) == 0


async def test_what_is_left_of_a_revision_is_not_reported(store: Store) -> None:
    await store.put_objects([new("a"), new("b"), new("c")], stamp(NOW))
    await store.put_objects([new("d")], stamp(NOW + 1))

    assert await store.delete_events(NOW, 2) == 2

    assert await told(store) == ["created object document d"]


async def test_readable_revisions_stay_readable(store: Store) -> None:
    await write_each_hour(store, 3)

    await forget(store, NOW + 3_600_000_000 * 10, 1_000)

    assert (await store.get_object(object_ref("document", "o0"), Revision(1))).value is not None
    assert await store.collect(NOW + 3_600_000_000 * 20, 10) == 0
    await store.delete_objects([object_ref("document", "o0")], stamp(NOW + 3_600_000_000 * 11))
    assert await store.collect(NOW + 3_600_000_000 * 20, 10) == 2


async def test_changes_behind_deleted_changes_cannot_be_listed(store: Store) -> None:
    await write_each_hour(store, 3)

    await forget(store, NOW + 3_600_000_000, 1_000)

    forgotten = await store.identify(Revision(3))
    for after in (await store.identify(Revision(0)), forgotten):
        assert (await store.list_warrant_changes(after, 100)).changes is None
    assert len((await store.list_warrant_changes(await store.identify(Revision(4)), 100)).changes or ()) == 1
    assert [change.revision for change in await list_changes(store, 4)] == [5, 6]


async def test_with_nothing_to_delete_everything_can_be_listed(store: Store) -> None:
    await write_each_hour(store, 1)

    assert await store.delete_events(NOW - 1, 1_000) == 0

    assert (await store.list_warrant_changes(await store.identify(Revision(0)), 100)).changes is not None
    assert len(await list_changes(store)) == 3


async def test_events_of_random_writes_are_those_of_the_log(store: Store) -> None:
    chosen = random.Random(5)
    there: set[str] = set()
    for number in range(60):
        name = chosen.choice("abcdef")
        at = stamp(NOW + chosen.randint(0, 20))
        if name in there and chosen.random() < 0.5:
            await store.delete_objects([object_ref("document", name)], at)
            there.remove(name)
        elif chosen.random() < 0.5:
            await store.put_objects([new(name, f'{{"v":{number}}}')], at)
            there.add(name)
        else:
            await store.put_warrants([viewer(name, f"x == {number}")], anything_goes, at)
            there.add(name)
    log = await list_changes(store)
    by_object = {change.revision for change in log if change.action == "deleted" and change.kind == "object"}

    reached = dict(
        zip((change.revision for change in log), accumulate((change.at for change in log), max), strict=True)
    )
    expected = [
        (change.revision, change.position, reached[change.revision], change.action, change.key)
        for change in log
        if not (change.kind == "warrant" and change.revision in by_object)
    ]

    found = [(e.place[0], e.place[2], e.at, e.action, e.key) for e in await events(store)]
    assert found == sorted(expected, key=lambda row: row[:2], reverse=True)


async def test_another_process_sees_the_same(store: Store, database_url: str) -> None:
    await fill(store)

    other = await open_store(settings_for(database_url))
    seen = await events(other)
    await other.close()

    assert seen == await events(store)


async def test_events_name_who_made_the_request_and_which_it_was(store: Store) -> None:
    await store.put_objects([new("a")], Stamp("ann", NOW, request_id="request-1"))
    await store.put_objects([new("b")], Stamp("bob", NOW + 1))
    await store.keep_decisions([replace_origin(decided(NOW + 2), "eve", "request-2"), decided(NOW + 3)], 100)

    found = [(event.actor, event.request_id) for event in await events(store)]

    assert found == [(None, None), ("eve", "request-2"), ("bob", None), ("ann", "request-1")]


def replace_origin(decision: DecisionRecord, actor: str, request_id: str) -> DecisionRecord:
    return msgspec.structs.replace(decision, actor=actor, request_id=request_id)


def log_of(page: LogPage) -> list[str]:
    """`6 deleted warrant a`, in the order of the log."""
    return [
        f"{event.revision} {event.action} {event.kind} {event.key[-1 if len(event.key) == 1 else 1]}"
        for event in page.rows
    ]


async def test_the_log_has_all_changes_after_a_revision(store: Store) -> None:
    await fill(store)
    third = await store.identify(Revision(3))

    page = await store.read_log(LogPart(third, 100, 1_000))

    assert log_of(page) == [
        "4 updated object a",
        "5 deleted warrant a",
        "6 deleted object a",
        "6 deleted warrant a",
        "7 deleted object-type document",
    ]
    assert page.rows[3].content == "x == 1"
    assert page.following is None
    assert (page.presence, page.after_at) == (Presence.STORED, NOW + 10)
    assert (page.newest, page.newest_at) == (await store.identify(Revision(7)), NOW + 50)
    assert page.deleted == 0


async def test_parts_of_the_log_are_limited_by_changes_and_by_bytes(store: Store) -> None:
    await fill(store)
    first = await store.identify(Revision(1))

    by_number = await store.read_log(LogPart(first, 3, 1_000))
    by_size = await store.read_log(LogPart(first, 100, 7))
    behind = await store.read_log(LogPart(first._replace(revision=Revision(2), bits=None), 1, 1_000, behind=0))

    assert log_of(by_number) == ["2 created object a", "2 created object b", "3 created warrant a"]
    assert by_number.following == 3
    assert log_of(by_size) == ["2 created object a"]  # the length of its meta is the limit
    assert by_size.following == 2
    assert log_of(behind) == ["2 created object b"]


async def test_the_changes_of_one_revision_are_read_by_kind_and_action(store: Store) -> None:
    await fill(store)
    third = RevisionId(Revision(3), None)

    page = await store.read_log(LogPart(third, 100, 1_000, behind=-1, within=("warrant", "created")))
    rest = await store.read_log(LogPart(third, 100, 1_000, behind=0, within=("warrant", "created")))

    assert log_of(page) == ["3 created warrant a", "3 created warrant a"]
    assert log_of(rest) == ["3 created warrant a"]
    assert page.following is None


async def test_the_log_tells_where_a_revision_is(store: Store) -> None:
    await fill(store)
    third = await store.identify(Revision(3))

    other = await store.read_log(LogPart(third._replace(bits=(third.bits or 0) ^ 1), 1, 1_000))
    ahead = await store.read_log(LogPart(RevisionId(Revision(8), 1), 1, 1_000))
    beyond = await store.read_log(LogPart(RevisionId(Revision(2**64 - 1), 1), 1, 1_000))

    assert other.presence is Presence.REPLACED
    assert ahead.presence is beyond.presence is Presence.AHEAD
    assert not ahead.rows


async def test_the_log_tells_up_to_where_it_is_deleted(store: Store) -> None:
    await fill(store)
    await store.delete_events(NOW + 10, 100)

    page = await store.read_log(LogPart(RevisionId(Revision(1), None), 100, 1_000))

    assert page.deleted >= 3
    assert page.deleted_at == NOW + 10
    assert log_of(page)[0].startswith(f"{page.deleted + 1} ")


async def test_those_who_observe_writes_are_called(store: Store) -> None:
    calls: list[Revision] = []
    store.known.write_observers.add(lambda: calls.append(store.known.newest.revision))

    await fill(store)

    assert calls[-1] == 7
