"""The sentences of store/contract/store.py about imports, on every store."""

from collections.abc import Mapping, Sequence

import msgspec
import pytest
from msgspec import structs

from magistrate.engine.names import ObjectId, Revision, TypeName
from magistrate.engine.terms import ObjectRef, object_ref
from magistrate.engine.warrants.warrant import policy_digest
from magistrate.errors import InvalidParameter
from magistrate.store.contract.lists import ObjectFilter, Slice, WarrantFilter
from magistrate.store.contract.new_rows import (
    ImportBatch,
    Imported,
    ImportProgress,
    NewObject,
    NewObjectType,
    NewWarrant,
    Stamp,
)
from magistrate.store.contract.store import Store
from tests.change_log import list_changes
from tests.databases import dump
from tests.scenario_files import claim, stored_warrant

pytestmark = pytest.mark.anyio

STAMP = Stamp("ann", 1_763_683_200_000_000)
FAR = 10**16
VIEWER = '{"relations":{"viewer":{}}}'
PROGRESS = ImportProgress("/data/all.jsonl", 20_000, 2_519_000, "9f86d0")


def anything_goes(model: object) -> None:
    """A validation that refuses nothing."""


def new_object(written: str, meta: str | None = None) -> NewObject:
    of_type, _, written_id = written.partition(":")
    return NewObject(TypeName(of_type), ObjectId(written_id), meta)


def new_warrant(written: str) -> NewWarrant:
    object_type, object_id, relation, subject = claim(written)
    return NewWarrant(ObjectRef(object_type, object_id), relation, subject, stored_warrant(written, 0, 0).policy)


def batch(types: Mapping[str, str], objects: Sequence[NewObject] = (), warrants: Sequence[str] = ()) -> ImportBatch:
    new_types = [NewObjectType(TypeName(name), definition) for name, definition in types.items()]
    return ImportBatch(new_types, objects, [new_warrant(written) for written in warrants])


async def imported(store: Store, given: ImportBatch, progress: ImportProgress | None = None) -> Imported:
    return (await store.import_batch(given, anything_goes, STAMP, progress)).value


async def test_types_objects_and_warrants_are_written_as_one_revision_and_logged(store: Store) -> None:
    await store.put_objects([new_object("user:ann")], STAMP)
    given = batch(
        {"document": VIEWER},
        [new_object("document:plan", '{"title":"Plan"}')],
        ["document:plan#viewer@user:ann", "document:*#viewer@team:eng#member[x == 1]"],
    )

    written = await store.import_batch(given, anything_goes, STAMP)

    digest = policy_digest("x == 1")
    assert (written.revision, written.value) == (2, Imported(1, 2, 2))
    assert [
        (change.position, change.action, change.kind, change.key, change.before, change.after)
        for change in await list_changes(store, 1)
    ] == [
        (0, "created", "object-type", ("document",), None, VIEWER),
        (1, "created", "object", ("document", "plan"), None, '{"title":"Plan"}'),
        (2, "created", "object", ("team", "eng"), None, None),
        (3, "created", "warrant", ("document", "plan", "viewer", "user", "ann", "", ""), None, None),
        (4, "created", "warrant", ("document", "*", "viewer", "team", "eng", "member", digest), None, "x == 1"),
    ]


async def test_what_is_imported_reads_like_what_is_written_otherwise(store: Store) -> None:
    warrants = ["document:plan#viewer@user:ann", "document:*#viewer@team:eng#member[x == 1]"]

    await imported(store, batch({"document": VIEWER}, [], warrants))

    model = await store.read_model()
    relation_results = await store.list_warrants(Slice("createdAt", 10), WarrantFilter())
    objects = await store.list_objects(Slice("objectType", 10), ObjectFilter())
    assert [row.render() for row in relation_results.value.rows] == warrants
    assert [f"{row.type}:{row.id}" for row in objects.value.rows] == ["document:plan", "team:eng", "user:ann"]
    assert (model.value.written_at, dict(model.value.definitions)) == (1, {"document": VIEWER})
    assert model.value.patterns == {
        ("document", "", "viewer", "user", "", ""),
        ("document", "*", "viewer", "team", "", "member"),
    }
    assert (await store.list_warrant_changes(await store.identify(Revision(0)), 10)).changes is not None


def dated(written: str, created_at: int | None) -> NewWarrant:
    return msgspec.structs.replace(new_warrant(written), created_at=created_at)


async def creation_times(store: Store, at: Revision | None = None) -> list[tuple[str, int]]:
    relation_results = await store.list_warrants(Slice("createdAt", 10), WarrantFilter(), at)
    return [(row.subject_id, row.created_at) for row in relation_results.value.rows]


async def test_a_new_warrant_is_as_old_as_it_says(store: Store) -> None:
    types = [NewObjectType(TypeName("document"), VIEWER)]
    ann, bob = "document:plan#viewer@user:ann", "document:plan#viewer@user:bob"

    await imported(store, ImportBatch(types, [], [new_warrant(bob), dated(ann, 5)]))

    assert await creation_times(store) == [("ann", 5), ("bob", STAMP.at)]


@pytest.mark.parametrize("at_once", [True, False])
async def test_of_equal_warrants_the_last_counts_wherever_batches_end(store: Store, at_once: bool) -> None:
    ann, bob = "document:plan#viewer@user:ann", "document:plan#viewer@user:bob"
    limited = [structs.replace(dated(ann, 5), expires_at=expires_at) for expires_at in (FAR, FAR + 1)]
    warrants = [*limited, dated(bob, 6), new_warrant(bob)]

    for some in [warrants] if at_once else [[one] for one in warrants]:
        await imported(store, ImportBatch([NewObjectType(TypeName("document"), VIEWER)], [], some))

    rows = (await store.list_warrants(Slice("createdAt", 10), WarrantFilter())).value.rows
    assert [(row.subject_id, row.created_at, row.expires_at) for row in rows] == [("ann", 5, FAR + 1), ("bob", 6, None)]


async def test_a_warrant_that_states_another_creation_time_ends_the_stored_one(store: Store) -> None:
    ann, bob, eve = (f"document:plan#viewer@user:{written_id}" for written_id in ("ann[x == 1]", "bob", "eve"))
    first = await store.import_batch(
        ImportBatch([], [], [dated(ann, 5), dated(bob, 6), dated(eve, 7)]), anything_goes, STAMP
    )

    again = await store.import_batch(
        ImportBatch([], [], [dated(ann, 9), dated(bob, 6), new_warrant(eve)]), anything_goes, STAMP
    )

    key = ("document", "plan", "viewer", "user", "ann", "", policy_digest("x == 1"))
    assert again.value == Imported(0, 0, 1)
    assert await creation_times(store) == [("bob", 6), ("eve", 7), ("ann", 9)]
    assert await creation_times(store, first.revision) == [("ann", 5), ("bob", 6), ("eve", 7)]
    assert [
        (change.action, change.key, change.before, change.after) for change in await list_changes(store, first.revision)
    ] == [("deleted", key, "x == 1", None), ("created", key, None, "x == 1")]


async def test_importing_again_changes_and_logs_nothing(store: Store) -> None:
    given = batch(
        {"document": VIEWER},
        [new_object("document:plan", '{"title":"Plan"}'), new_object("document:b")],
        ["document:plan#viewer@user:ann", "document:b#viewer@user:*[x == 1]"],
    )
    await imported(store, given)

    again = await store.import_batch(given, anything_goes, Stamp("bob", STAMP.at + 5))

    assert again.value == Imported(0, 0, 0)
    assert await list_changes(store, 1) == []
    assert (await store.read_model()).value.written_at == 1


async def test_objects_and_types_that_are_stored_otherwise_are_replaced(store: Store) -> None:
    await imported(store, batch({"document": VIEWER}, [new_object("document:a", '{"v":1}'), new_object("document:b")]))

    counted = await imported(store, batch({"document": '{"relations":{}}'}, [new_object("document:a", '{"v":2}')]))

    assert counted == Imported(1, 1, 0)
    assert [(change.action, change.before, change.after) for change in await list_changes(store, 1)] == [
        ("updated", VIEWER, '{"relations":{}}'),
        ("updated", '{"v":1}', '{"v":2}'),
    ]
    assert (await store.read_model()).value.written_at == 2


async def test_an_object_a_warrant_names_keeps_its_meta(store: Store) -> None:
    await imported(store, batch({}, [new_object("document:a", '{"v":1}')], ["document:a#viewer@document:b"]))
    await imported(store, batch({}, [], ["document:a#editor@document:b"]))

    found = await store.get_object(object_ref("document", "a"))

    assert found.value is not None
    assert found.value.meta == '{"v":1}'


async def test_new_rows_among_stored_ones_are_distinguished(store: Store) -> None:
    await imported(store, batch({}, [], ["document:a#viewer@user:ann"]))

    counted = await imported(
        store, batch({}, [], [f"document:{written_id}#viewer@user:ann" for written_id in "cab"] * 2)
    )

    keys = [change.key[1] for change in await list_changes(store, 1) if change.kind == "warrant"]
    assert counted == Imported(0, 2, 2)
    assert keys == ["c", "b"]


async def test_a_warrant_that_was_deleted_is_written_again(store: Store) -> None:
    given = batch({}, [], ["document:a#viewer@user:ann"])
    await imported(store, given)
    await store.delete_warrants(given.warrants, STAMP)

    assert await imported(store, given) == Imported(0, 0, 1)


async def test_the_judge_is_given_all_types_as_they_will_be(store: Store) -> None:
    judged: list[dict[TypeName, str]] = []
    await imported(store, batch({"document": "{}", "folder": "{}"}))

    given = batch({"document": VIEWER}, [], ["document:a#viewer@user:ann"])
    await store.import_batch(given, lambda model: judged.append(dict(model)), STAMP)

    assert judged == [{"document": VIEWER, "folder": "{}"}]


async def test_what_the_judge_refuses_leaves_nothing(store: Store, database_url: str) -> None:
    def refuse(model: object) -> None:
        raise InvalidParameter("relation", "no")

    await imported(store, batch({}), PROGRESS)
    before = dump(database_url)

    with pytest.raises(InvalidParameter):
        await store.import_batch(batch({"t": VIEWER}, [new_object("t:a")], ["t:a#viewer@user:b"]), refuse, STAMP)

    assert dump(database_url) == before


async def test_progress_is_kept_by_source_until_it_is_done(store: Store) -> None:
    other = ImportProgress("/data/other.jsonl", 1, 2, "3")
    further = ImportProgress(PROGRESS.source, 30_000, 3_600_000, "60303a")
    kept = []

    for progress in (PROGRESS, other, further, ImportProgress(PROGRESS.source, 31_000, 3_700_000, "fd61a0", True)):
        await imported(store, batch({}), progress)
        kept.append([await store.import_progress(source) for source in (PROGRESS.source, other.source)])

    assert kept == [[PROGRESS, None], [PROGRESS, other], [further, other], [None, other]]


async def test_more_rows_than_a_statement_takes(store: Store) -> None:
    objects = [new_object(f"document:{number}", '{"v":1}') for number in range(10_000)]
    warrants = [f"document:{number}#viewer@user:{number}" for number in range(10_000)]
    given = batch({}, objects, warrants)

    first = await imported(store, given)
    again = await imported(store, given)
    changed = await imported(store, batch({}, [new_object(f"document:{number}") for number in range(10_000)]))

    assert (first, again, changed) == (Imported(0, 20_000, 10_000), Imported(0, 0, 0), Imported(0, 10_000, 0))
