"""Every sentence of store/contract/revisions.py, on every store."""

import pytest

from magistrate.engine.names import ObjectId, RelationName, Revision, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef, type_name
from magistrate.errors import RevisionUnavailable
from magistrate.store.contract.new_rows import NewObject, NewObjectType, NewWarrant, Stamp
from magistrate.store.contract.revisions import LoggedChange, RevisionLookup, RevisionTime, Span
from magistrate.store.contract.store import Store

pytestmark = pytest.mark.anyio

SECOND = 1_000_000
NOON = 1_763_683_200_000_000


def noon(seconds: float) -> int:
    return NOON + int(seconds * SECOND)


async def write(store: Store, *seconds: float) -> None:
    """Replaces one object at each of these times, given in seconds after noon."""
    for second in seconds:
        new = NewObject(TypeName("document"), ObjectId("a"), f'{{"at":{second}}}')
        await store.put_objects([new], Stamp("ann", noon(second)))


async def revision_at(store: Store, seconds: float) -> int | None:
    found = (await store.find_revision_at(noon(seconds))).match
    return None if found is None else found.revision


def reached(revision: int, written: float, reached: float | None = None) -> RevisionTime:
    return RevisionTime(Revision(revision), noon(written), noon(written if reached is None else reached))


async def test_nothing_is_found_in_a_store_without_a_write(store: Store) -> None:
    nothing = RevisionLookup(None, Revision(0), Revision(0), None)

    assert await store.find_revision(Revision(0)) == nothing
    assert await store.find_revision(Revision(1)) == nothing
    assert await store.find_revision_at(noon(0)) == nothing


async def test_a_revision_is_found_by_its_number_with_the_time_at_which_it_was_written(store: Store) -> None:
    await write(store, 1, 2, 3)

    found = await store.find_revision(Revision(2))

    assert found == RevisionLookup(reached(2, 2), Revision(3), Revision(0), reached(1, 1))


async def test_a_revision_that_is_not_written_yet_is_not_found(store: Store) -> None:
    await write(store, 1)

    assert (await store.find_revision(Revision(2))).match is None
    assert (await store.find_revision(Revision(2**63 - 1))).match is None


async def test_the_newest_revision_by_a_time_is_found_to_the_microsecond(store: Store) -> None:
    await write(store, 1, 2, 2, 3)

    found = [await revision_at(store, seconds) for seconds in (0.999999, 1, 1.999999, 2, 2.5, 3, 1e6)]

    assert found == [None, 1, 1, 3, 3, 4, 4]


async def test_the_revision_that_last_changed_the_model_is_found_as_well(store: Store) -> None:
    await write(store, 1)
    new = NewObjectType(TypeName("document"), '{"relations":{}}')
    await store.put_object_types([new], lambda model: None, Stamp("ann", noon(2)))
    await write(store, 3)

    assert (await store.find_revision(Revision(1))).model_revision == 2
    assert (await store.find_revision_at(noon(3))).model_revision == 2


async def test_a_revision_whose_clock_was_behind_is_reached_with_the_one_before_it(store: Store) -> None:
    await write(store, 10, -1_000_000, 20)

    found = [await revision_at(store, seconds) for seconds in (-1_000_000, 9, 10, 19, 20)]

    assert found == [None, None, 2, 2, 3]
    assert (await store.find_revision(Revision(2))).match == reached(2, -1_000_000, 10)


async def test_behind_a_revision_whose_clock_was_ahead_all_are_reached_when_its_time_has_come(store: Store) -> None:
    await write(store, 10, 1_000, 20, 30, 2_000)

    found = [await revision_at(store, seconds) for seconds in (10, 25, 999, 1_000, 1_999, 2_000)]

    assert found == [1, 1, 1, 4, 4, 5]
    assert (await store.find_revision(Revision(3))).match == reached(3, 20, 1_000)


async def test_a_later_time_never_finds_an_earlier_revision(store: Store) -> None:
    await write(store, 5, 3, 9, 1, 9, 4, 12, 11)

    found = [await revision_at(store, seconds) or 0 for seconds in range(15)]

    assert found == sorted(found)


async def test_a_revision_that_was_collected_is_not_found_and_the_oldest_that_is_can_be_read(store: Store) -> None:
    await write(store, 1, 2, 3, 4)

    await store.collect(noon(2.5), 100)

    by_number = await store.find_revision(Revision(1))
    by_time = await store.find_revision_at(noon(1.5))
    assert by_number == by_time == RevisionLookup(None, Revision(4), Revision(0), reached(2, 2))
    assert by_number.oldest is not None
    assert await revision_at(store, 2) == by_number.oldest.revision
    assert await revision_at(store, 1.999999) is None


async def test_whatever_is_younger_than_the_retention_is_found(store: Store) -> None:
    await write(store, 1, 2, 7, 3, 8, 9)

    for seconds in (1.5, 2.5, 7.5, 8.5):
        while await store.collect(noon(seconds), 1):
            pass
        assert await revision_at(store, seconds) is not None


async def test_a_revision_that_is_not_listed_any_more_is_not_found_even_if_it_can_be_read(store: Store) -> None:
    for second in (1, 2, 3):
        new = NewObject(TypeName("document"), ObjectId(f"at-{second}"), None)
        await store.put_objects([new], Stamp("ann", noon(second)))

    await store.delete_events(noon(2.5), 100)

    by_number, by_time = await store.find_revision(Revision(1)), await store.find_revision_at(noon(1))
    assert by_number == by_time == RevisionLookup(None, Revision(3), Revision(0), reached(2, 2))


async def test_a_model_that_was_read_at_a_revision_has_the_span_of_its_types(store: Store) -> None:
    def new(definition: str) -> list[NewObjectType]:
        return [NewObjectType(TypeName("document"), definition)]

    stamp = Stamp("ann", NOON)
    await store.put_object_types(new('{"relations":{}}'), lambda model: None, stamp)
    await write(store, 1, 2)
    await store.put_object_types(new('{"relations":{"viewer":{}}}'), lambda model: None, stamp)
    await write(store, 3)
    await store.delete_object_type(type_name("document", "type"), stamp)

    spans = [(await store.read_model(Revision(at))).value.span for at in range(1, 7)]

    assert spans == [(1, 3), (1, 3), (1, 3), (4, 5), (4, 5), (6, 6)]
    assert (await store.read_model()).value.span is None
    await write(store, 4)
    assert (await store.read_model(Revision(6))).value.span == (6, 7)


async def test_the_span_of_a_model_never_reaches_behind_what_was_collected(store: Store) -> None:
    stamp = Stamp("ann", noon(0))
    for definition in ('{"relations":{}}', '{"relations":{"viewer":{}}}'):
        await store.put_object_types([NewObjectType(TypeName("document"), definition)], lambda model: None, stamp)
    await store.delete_object_type(type_name("document", "type"), stamp)
    await write(store, 1, 2)

    await store.collect(noon(0.5), 100)

    assert (await store.read_model(Revision(4))).value.span == (3, 5)
    assert (await store.read_model(Revision(4))).value.definitions == {}


def warrant(object_id: str, policy: str = "", starts: float | None = None, expires: float | None = None) -> NewWarrant:
    subject = Subject(TypeName("user"), ObjectId("kim"))
    limits = (None if seconds is None else noon(seconds) for seconds in (starts, expires))
    object_ref = ObjectRef(TypeName("document"), ObjectId(object_id))
    return NewWarrant(object_ref, RelationName("viewer"), subject, policy, None, *limits)


async def put(store: Store, at: float, *new: NewWarrant) -> Revision:
    return (await store.put_warrants(new, lambda model: None, Stamp("ann", noon(at)))).revision


async def test_the_changes_between_two_revisions_are_listed_in_their_order(store: Store) -> None:
    key = ("document", "a", "viewer", "user", "kim", "")
    first = await put(store, 1, warrant("a"))
    await store.delete_warrants([warrant("a")], Stamp("ann", noon(2)))
    last = await put(store, 3, warrant("a", starts=4, expires=5))
    await store.delete_objects([ObjectRef(TypeName("document"), ObjectId("a"))], Stamp("ann", noon(4)))

    changes = await store.list_changes(Revision(0), last, None, 100)

    assert [(one.place, one.action, one.kind) for one in changes] == [
        ((1, 0), "created", "warrant"),
        ((1, 1), "created", "object"),
        ((1, 2), "created", "object"),
        ((2, 0), "deleted", "warrant"),
        ((3, 0), "created", "warrant"),
    ]
    assert changes[4] == LoggedChange((3, 0), "created", "warrant", (*key, ""), "", noon(4), noon(5))
    assert await store.list_changes(Revision(0), last, (1, 1), 2) == changes[2:4]
    assert await store.list_changes(first, last, None, 100) == changes[3:]
    assert await store.list_changes(last, last, None, 100) == []
    [deleted] = (one for one in await store.list_changes(last, Revision(4), None, 9) if one.kind == "warrant")
    assert (deleted.action, deleted.key) == ("deleted", (*key, ""))


async def test_a_change_of_a_warrant_has_its_policy(store: Store) -> None:
    last = await put(store, 1, warrant("a", "x == 1"))
    await store.delete_warrants([warrant("a", "x == 1")], Stamp("ann", noon(2)))

    changes = await store.list_changes(Revision(0), Revision(last + 1), None, 100)

    assert [one.policy for one in changes if one.kind == "warrant"] == ["x == 1", "x == 1"]


async def test_changes_that_are_deleted_are_not_listed_in_part(store: Store) -> None:
    last = [await put(store, seconds, warrant(str(seconds))) for seconds in (1, 2, 3)][-1]
    while await store.delete_events(noon(2), 100):
        pass

    with pytest.raises(RevisionUnavailable):
        await store.list_changes(Revision(1), last, None, 100)
    with pytest.raises(RevisionUnavailable):
        await store.list_changes(Revision(2), Revision(last + 1), None, 100)
    assert await store.list_changes(Revision(2), last, None, 100)


async def test_a_limit_counts_timed_warrants_once(store: Store) -> None:
    both = [warrant(f"both-{number}", starts=5, expires=6) for number in range(10)]
    last = await put(store, 1, *both, *[warrant(f"expires-{number}", expires=6) for number in range(5)])

    found = await store.list_timed_warrants(Span(last, last, noon(2), noon(9)), 16)
    some = await store.list_timed_warrants(Span(last, last, noon(2), noon(9)), 12)

    assert (len(found), len(some)) == (15, 12)


async def timed(store: Store, first: Revision, last: Revision, since: float, until: float) -> list[str]:
    found = await store.list_timed_warrants(Span(first, last, noon(since), noon(until)), 100)
    return sorted(one.object_id for one in found)


async def test_the_warrants_that_may_count_at_one_time_only_are_listed(store: Store) -> None:
    last = await put(
        store,
        1,
        warrant("always"),
        warrant("policy", "x == 1"),
        warrant("starts", starts=5),
        warrant("expires", expires=6),
        warrant("both", starts=5, expires=6),
        warrant("now", 'now > date("2025-11-21")'),
        warrant("for-an-hour", 'expiresIn("1h")'),
    )

    clock = ["for-an-hour", "now"]
    assert await timed(store, last, last, 2, 2) == []
    assert await timed(store, last, last, 2, 4) == clock
    assert await timed(store, last, last, 4, 5) == sorted(["both", "starts", *clock])
    assert await timed(store, last, last, 5, 6) == sorted(["both", "expires", *clock])
    assert await timed(store, last, last, 6, 7) == clock
    assert await timed(store, last, last, 7, 4) == sorted(["both", "expires", "starts", *clock])


async def test_a_timed_warrant_is_listed_only_if_it_exists_at_both_revisions(store: Store) -> None:
    new = [warrant("limits", starts=5, expires=6), warrant("policy", "now == now")]
    before = await put(store, 1, warrant("other"))
    written = await put(store, 2, *new)
    later = await put(store, 3, warrant("another"))
    deleted = await store.delete_warrants(new, Stamp("ann", noon(4)))

    assert await timed(store, before, written, 4, 7) == []
    assert await timed(store, written, later, 4, 7) == ["limits", "policy"]
    assert await timed(store, later, deleted, 4, 7) == []
    with pytest.raises(RevisionUnavailable):
        await timed(store, later, Revision(deleted + 1), 4, 7)
