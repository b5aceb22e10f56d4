"""The sentences of store/contract/store.py about atomic writes and deletes by filter, on every store."""

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from magistrate.engine.names import ObjectId, Revision, TypeName
from magistrate.engine.terms import ObjectRef, object_ref
from magistrate.errors import InvalidParameter, KeyReused, NotFound, PreconditionFailed, RevisionLost
from magistrate.store.contract.events import EventFilter, EventsOfKind
from magistrate.store.contract.lists import Slice, Snapshot, WarrantFilter
from magistrate.store.contract.new_rows import NewObject, NewWarrant, Once, Stamp
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.store import AtomicWrite, Precondition, Store, WriteCounts
from tests.change_log import list_changes
from tests.store.written_warrants import NOW, anything_goes, delete, new, objects, put, relation_results, stamp

pytestmark = pytest.mark.anyio


def thing(ref: str, meta: str | None = None) -> NewObject:
    return NewObject(*named(ref), meta)


def named(ref: str) -> tuple[TypeName, ObjectId]:
    of_type, object_id = ref.split(":")
    return TypeName(of_type), ObjectId(object_id)


def exists(what: str) -> Precondition:
    return Precondition(required(what))


def absent(what: str) -> Precondition:
    return Precondition(required(what), is_absent=True)


def required(what: str) -> ObjectRef | NewWarrant:
    return new(what) if "@" in what else ObjectRef(*named(what))


async def write(store: Store, wanted: AtomicWrite, once: Once | None = None) -> Snapshot[WriteCounts]:
    return await store.write(wanted, anything_goes, stamp(NOW + 1, once))


async def test_a_write_deletes_and_creates_in_one_revision(store: Store) -> None:
    await put(store, "document:a#viewer@user:ann", "document:b#viewer@user:ann", "document:b#owner@user:bob")
    wanted = AtomicWrite(
        warrants_to_delete=[new("document:a#viewer@user:ann")],
        objects_to_delete=[object_ref("document", "b")],
        objects=[thing("team:eng", '{"x":1}'), thing("user:ann"), thing("user:bob", '{"y":1}')],
        warrants=[new("document:c#viewer@team:eng#member"), new("document:a#owner@user:bob")],
    )

    written = await write(store, wanted)

    assert (written.revision, await store.check()) == (2, 2)
    assert written.value == WriteCounts(created=4, deleted=2, unchanged=1)
    assert await relation_results(store) == ["document:c#viewer@team:eng#member", "document:a#owner@user:bob"]
    assert await objects(store) == ["document:a", "document:c", "team:eng", "user:ann", "user:bob"]
    eng = (await store.get_object(object_ref("team", "eng"))).value
    assert eng is not None
    assert eng.meta == '{"x":1}'


async def test_deletions_come_first_so_what_is_deleted_can_be_created_anew(store: Store) -> None:
    await put(store, "document:a#viewer@user:ann")

    renewed = AtomicWrite(
        warrants_to_delete=[new("document:a#viewer@user:ann")],
        objects_to_delete=[object_ref("document", "a")],
        objects=[thing("document:a", '{"new":1}')],
        warrants=[new("document:a#viewer@user:ann")],
    )
    written = await write(store, renewed)

    assert written.value == WriteCounts(created=2, deleted=2, unchanged=0)
    [row] = (await store.list_warrants(Slice("createdAt", 9), WarrantFilter())).value.rows
    assert (row.render(), row.created_at) == ("document:a#viewer@user:ann", NOW + 1)
    assert await relation_results(store, at=1) == ["document:a#viewer@user:ann"]


async def test_what_is_stored_already_is_unchanged(store: Store) -> None:
    await put(store, "document:a#viewer@user:ann")
    again = AtomicWrite(
        objects=[thing("user:ann"), thing("user:new"), thing("user:new")],
        warrants=[new("document:a#viewer@user:ann"), new("document:b#viewer@user:ann")] * 2,
    )

    written = await write(store, again)

    assert written.value == WriteCounts(created=2, deleted=0, unchanged=5)


async def test_a_write_of_absent_warrants_alone_is_refused_for_the_first_that_exists(store: Store) -> None:
    await put(store, "document:a#viewer@user:ann")
    created = ["document:b#viewer@user:ann", "document:a#viewer@user:ann", "document:c#viewer@user:ann"]

    with pytest.raises(PreconditionFailed) as refused:
        await write(store, AtomicWrite(warrants=[*map(new, created)], creates_only_absent=True))

    assert refused.value.index == 1
    assert "the warrant document:a#viewer@user:ann exists" in refused.value.message
    assert await relation_results(store) == ["document:a#viewer@user:ann"]


async def test_warrants_that_have_expired_another_policy_or_are_deleted_before_are_absent(store: Store) -> None:
    await put(store, "document:a#viewer@user:ann", "document:b#viewer@user:ann[x == 1]")
    expired = msgspec.structs.replace(new("document:c#viewer@user:ann"), expires_at=NOW + 1)
    await store.put_warrants([expired], anything_goes, stamp(NOW))
    created = ["document:a#viewer@user:ann", "document:b#viewer@user:ann", "document:c#viewer@user:ann"]

    written = await write(
        store,
        AtomicWrite(
            warrants_to_delete=[new("document:a#viewer@user:ann")],
            warrants=[*map(new, created)],
            creates_only_absent=True,
        ),
    )

    assert written.value == WriteCounts(created=3, deleted=1, unchanged=0)


HOLD = [
    exists("document:a#viewer@user:ann"),
    absent("document:a#viewer@user:ann[x == 1]"),
    absent("document:a#viewer@user:bob"),
    exists("document:a"),
    absent("document:z"),
    Precondition(RevisionId(Revision(1), None)),
]
FAIL = [
    (absent("document:a#viewer@user:ann"), "the warrant document:a#viewer@user:ann exists"),
    (exists("document:a#viewer@user:bob"), "the warrant document:a#viewer@user:bob does not exist"),
    (absent("document:a"), "the object document:a exists"),
    (exists("document:new"), "the object document:new does not exist"),
    (Precondition(RevisionId(Revision(0), None)), "the store is at another revision"),
]


@pytest.mark.parametrize("object_id", [RevisionId(Revision(2), None), RevisionId(Revision(2), 7)])
async def test_a_precondition_on_a_revision_that_does_not_exist_is_named_first(
    store: Store, object_id: RevisionId
) -> None:
    await put(store, "document:a#viewer@user:ann")

    with pytest.raises(RevisionLost):
        await write(
            store, AtomicWrite([absent("document:a"), Precondition(object_id)], objects=[thing("document:new")])
        )


async def test_a_precondition_on_a_revision_with_other_bits_is_named_first(store: Store) -> None:
    await put(store, "document:a#viewer@user:ann")
    revision, bits = await store.identify(Revision(1))
    assert bits is not None

    lost = Precondition(RevisionId(revision, bits ^ 1))
    with pytest.raises(RevisionLost):
        await write(store, AtomicWrite([absent("document:a"), lost], objects=[thing("document:new")]))


async def test_a_write_is_made_if_all_preconditions_hold_before_it(store: Store) -> None:
    await put(store, "document:a#viewer@user:ann")
    wanted = AtomicWrite(
        preconditions=[*HOLD, absent("document:new")],
        warrants_to_delete=[new("document:a#viewer@user:ann")],
        objects=[thing("document:new")],
    )

    assert (await write(store, wanted)).value == WriteCounts(created=1, deleted=1, unchanged=0)


@pytest.mark.parametrize(("failing", "reason"), FAIL)
async def test_the_first_precondition_that_does_not_hold_is_named_and_nothing_is_written(
    store: Store, failing: Precondition, reason: str
) -> None:
    await put(store, "document:a#viewer@user:ann")
    preconditions = [*HOLD, failing, *(one for one, _ in FAIL)]

    with pytest.raises(PreconditionFailed) as caught:
        # It is looked at before the warrant is missed that is to be deleted.
        await write(
            store,
            AtomicWrite(preconditions, warrants_to_delete=[new("a:b#c@d:e")], objects=[thing("document:new")]),
        )

    assert caught.value.index == len(HOLD)
    assert caught.value.message == f"preconditions[{len(HOLD)}] does not hold: {reason}; nothing was written"
    assert await store.check() == 1
    assert await objects(store) == ["document:a", "user:ann"]


@pytest.mark.parametrize(
    ("wanted", "missing"),
    [
        (AtomicWrite(warrants_to_delete=[new("document:a#viewer@user:bob")]), "document:a#viewer@user:bob"),
        (AtomicWrite(warrants_to_delete=[new("document:a#viewer@user:ann")] * 2), "document:a#viewer@user:ann"),
        (AtomicWrite(objects_to_delete=[object_ref("document", "z")]), "z"),
        (
            AtomicWrite(objects_to_delete=[object_ref("document", "b")], warrants=[new("document:b#viewer@user:ann")]),
            "b",
        ),
    ],
)
async def test_what_is_to_be_deleted_must_exist(store: Store, wanted: AtomicWrite, missing: str) -> None:
    await put(store, "document:a#viewer@user:ann")

    with pytest.raises(NotFound) as caught:
        await write(store, wanted)

    assert caught.value.key == missing
    assert await relation_results(store) == ["document:a#viewer@user:ann"]


async def test_what_the_judge_raises_undoes_the_deletions(store: Store) -> None:
    await put(store, "document:a#viewer@user:ann")

    def refuse(definitions: object) -> None:
        raise InvalidParameter("objectType", "no")

    wanted = AtomicWrite(
        warrants_to_delete=[new("document:a#viewer@user:ann")], warrants=[new("document:b#viewer@user:ann")]
    )
    with pytest.raises(InvalidParameter):
        await store.write(wanted, refuse, stamp())

    assert await relation_results(store) == ["document:a#viewer@user:ann"]


async def test_a_write_that_is_repeated_by_its_key_looks_at_no_precondition(store: Store) -> None:
    await put(store, "document:a#viewer@user:ann")
    once = Once("key", "fingerprint")
    wanted = AtomicWrite([Precondition(RevisionId(Revision(1), None))], objects=[thing("document:new")])

    first = await write(store, wanted, once)
    again = await write(store, wanted, once)

    assert again == first
    assert await store.check() == 2
    with pytest.raises(KeyReused):
        await write(store, wanted, Once("key", "another"))


async def test_of_many_writers_that_expect_one_revision_one_wins(store: Store) -> None:
    for round_number in range(5):
        newest = await store.check()
        expected = Precondition(RevisionId(newest, None))
        writes = [
            write(
                store,
                AtomicWrite([expected], objects=[thing(f"document:{round_number}-{one}")]),
            )
            for one in range(16)
        ]

        outcomes = await asyncio.gather(*writes, return_exceptions=True)

        assert sum(isinstance(outcome, PreconditionFailed) for outcome in outcomes) == 15
        [winner] = [outcome for outcome in outcomes if isinstance(outcome, Snapshot)]
        assert winner.revision == newest + 1


async def events(store: Store) -> Sequence[str]:
    """`deleted warrant document:b`, in the order of writing."""
    kinds = (EventsOfKind("object"), EventsOfKind("warrant"))
    found = await store.list_events(Slice("createdAt", 100), EventFilter(kinds, since=NOW + 1))
    return [f"{event.action} {event.kind} {event.key[0]}:{event.key[1]}" for event in found.value.rows]


async def test_a_write_makes_the_events_of_its_parts(store: Store) -> None:
    """A warrant that ends with its object is not reported; one that is deleted in the same write is."""
    await put(store, *(f"document:{object_id}#viewer@user:ann" for object_id in "abcd"))
    wanted = AtomicWrite(
        warrants_to_delete=[new("document:b#viewer@user:ann"), new("document:a#viewer@user:ann")],
        objects_to_delete=[object_ref("document", "b"), object_ref("document", "c")],
        objects=[thing("document:d", '{"x":1}')],
        warrants=[new("document:e#viewer@user:bob")],
    )

    await write(store, wanted)

    assert await events(store) == [
        "deleted warrant document:b",
        "deleted warrant document:a",
        "deleted object document:b",
        "deleted object document:c",
        "updated object document:d",
        "created warrant document:e",
        "created object document:e",
        "created object user:bob",
    ]
    ended = [change.key[1] for change in await list_changes(store, 1) if change.kind == "warrant"]
    assert ended == ["b", "a", "c", "e"]


MATCHED = [
    "document:a#viewer@user:ann",
    "document:a#editor@user:ann",
    "document:*#viewer@user:bob",
    "folder:a#viewer@user:ann[x == 1]",
    "document:b#viewer@team:eng#member",
    "document:b#viewer@user:*",
]


@pytest.mark.parametrize(
    ("equal", "expected"),
    [
        ({"object_type": "document"}, [0, 1, 2, 4, 5]),
        ({"object_type": "document", "relation": "viewer"}, [0, 2, 4, 5]),
        ({"object_type": "document", "relation": "viewer", "subject_type": "user"}, [0, 2, 5]),
        ({"relation": "editor"}, [1]),
        ({"object_id": "a"}, [0, 1, 3]),
        ({"object_id": "*"}, [2]),
        ({"subject_id": "ann", "object_type": "folder"}, [3]),
        ({"subject_id": "*"}, [5]),
        ({"object_id": "a", "subject_id": "ann", "relation": "viewer"}, [0, 3]),
        ({"subject_type": "team", "subject_relation": "member"}, [4]),
        ({"object_type": "doc"}, []),
    ],
)
async def test_warrants_match_by_the_exact_values_of_columns(
    store: Store, equal: dict[str, str], expected: list[int]
) -> None:
    stored = await put(store, *MATCHED, "document:a#viewer@user:gone")
    await delete(store, "document:a#viewer@user:gone")

    found = await store.match_warrants(equal, 100, NOW)

    assert found.revision == 2
    assert sorted(found.value, key=lambda one: one.number) == [stored[place] for place in expected]


async def test_no_more_match_than_are_wanted(store: Store) -> None:
    await put(store, *MATCHED)

    assert len((await store.match_warrants({"object_type": "document"}, 3, NOW)).value) == 3


async def test_what_was_written_after_a_revision_does_not_match_up_to_it(store: Store) -> None:
    await put(store, "document:a#viewer@user:ann")
    await put(store, "document:a#viewer@user:bob")

    found = await store.match_warrants({"object_id": "a"}, 10, NOW, up_to=Revision(1))

    assert [one.subject_id for one in found.value] == ["ann"]


async def test_more_match_than_are_built_at_once(store: Store) -> None:
    await put(store, *[f"document:a#viewer@user:{number}" for number in range(4_321)])

    assert len((await store.match_warrants({"object_id": "a"}, 10_000, NOW)).value) == 4_321


async def test_matches_are_deleted_in_one_revision_with_their_events(store: Store) -> None:
    await put(store, *MATCHED)
    found = (await store.match_warrants({"object_id": "a"}, 100, NOW)).value

    deleted = await store.delete_matches(found, Stamp("ann", NOW + 1))

    assert (deleted.revision, deleted.value.deleted) == (2, 3)
    assert await relation_results(store) == [MATCHED[place] for place in (2, 4, 5)]
    assert await relation_results(store, at=1) == MATCHED
    assert sorted(await events(store)) == ["deleted warrant document:a"] * 2 + ["deleted warrant folder:a"]
    assert {(change.key[0], change.before) for change in await list_changes(store, 1)} == {
        ("document", None),
        ("folder", "x == 1"),
    }


async def test_a_match_that_was_deleted_since_is_skipped_and_its_successor_stays(store: Store) -> None:
    await put(store, *MATCHED)
    found = (await store.match_warrants({"object_id": "a"}, 100, NOW)).value
    await delete(store, MATCHED[0], MATCHED[1])
    await put(store, MATCHED[0])

    deleted = await store.delete_matches(found, stamp())

    assert deleted.value.deleted == 1
    assert await relation_results(store) == [*(MATCHED[place] for place in (2, 4, 5)), MATCHED[0]]
    again = await store.delete_matches(found, stamp())
    assert (again.revision, again.value.deleted) == (deleted.revision, 0)
