"""The sentences of store/contract/store.py about warrants, on every store."""

import asyncio
from collections.abc import Mapping

import pytest

from benchmarks.counting import counting_store
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, Revision, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import object_ref
from magistrate.engine.warrants.read_ahead import AheadResult, ReadsAhead, outline_reads
from magistrate.engine.warrants.reader import (
    AnyRead,
    ReverseWarrantRead,
    WarrantRead,
    WarrantsByObject,
    WarrantsBySubject,
)
from magistrate.engine.warrants.warrant import ChangedWarrant, Warrant, policy_digest, warrant_names
from magistrate.errors import InvalidParameter, NotFound, RevisionUnavailable, StoreUnavailable
from magistrate.store.contract.lists import Slice, Snapshot, WarrantFilter
from magistrate.store.contract.new_rows import NewObject, NewObjectType, Once
from magistrate.store.contract.revisions import AGING_MS, STALE_MS, Staleness
from magistrate.store.contract.store import Store
from magistrate.store.contract.stored_rows import StoredObject
from magistrate.store.sql_reads import MAX_ROWS, MAX_SHORT_IDS
from magistrate.wiring.stores import open_store
from tests.change_log import list_changes
from tests.memory_source import model_of, rows_of
from tests.running import settings_for
from tests.scenario_files import claim, stored_warrant
from tests.store.written_warrants import (
    EVERYTHING,
    NOW,
    anything_goes,
    delete,
    new,
    objects,
    put,
    relation_results,
    stamp,
)

pytestmark = pytest.mark.anyio

MOST = 1_000


async def test_a_warrant_is_read_back_as_written(store: Store) -> None:
    [written] = await put(store, "document:plan#viewer@team:eng#member[amount < 10]")

    assert written == Warrant(
        TypeName("document"),
        ObjectId("plan"),
        RelationName("viewer"),
        TypeName("team"),
        ObjectId("eng"),
        "member",
        "amount < 10",
        NOW,
        written.number,
    )
    assert (await store.list_warrants(EVERYTHING, WarrantFilter())).value.rows == (written,)


async def test_writing_a_warrant_again_answers_the_first(store: Store) -> None:
    first = await put(store, "document:plan#viewer@user:ann")

    again = await put(store, "document:plan#viewer@user:ann", at=NOW + 5)

    assert again == first
    assert await store.check() == 2
    assert await list_changes(store, 1) == []


async def test_warrants_that_differ_in_anything_are_different(store: Store) -> None:
    written = [
        "document:plan#viewer@team:eng",
        "document:plan#viewer@team:eng#member",
        "document:plan#viewer@team:eng#member[a == 1]",
        "document:plan#viewer@team:eng#member[a  == 1]",
        "document:plan#editor@team:eng",
        "document:plan#viewer@team:*",
        "document:*#viewer@team:eng",
        "folder:plan#viewer@team:eng",
        "document:plan#viewer@user:eng",
        "document:PLAN#viewer@team:eng",
    ]
    await put(store, *written)

    assert await relation_results(store) == written


async def test_of_several_that_are_the_same_one_is_stored_and_all_answer_it(store: Store) -> None:
    written = await put(store, "document:a#viewer@user:ann", "document:b#viewer@user:ann", "document:a#viewer@user:ann")

    assert written[0] == written[2]
    assert await relation_results(store) == ["document:a#viewer@user:ann", "document:b#viewer@user:ann"]


async def test_missing_objects_and_subjects_are_created_and_others_left_as_they_are(store: Store) -> None:
    await store.put_objects([NewObject(TypeName("user"), ObjectId("ann"), '{"x":1}')], stamp())

    await put(store, "document:plan#viewer@user:ann", "document:*#viewer@user:*", "team:eng#member@team:ops#member")

    assert await objects(store) == ["document:plan", "team:eng", "team:ops", "user:ann"]
    kept = await store.get_object(object_ref("user", "ann"))
    assert kept.value is not None
    assert kept.value.meta == '{"x":1}'


async def test_writes_of_warrants_are_logged_with_what_they_created(store: Store) -> None:
    await put(store, "document:plan#viewer@user:ann[a == 1]")
    await delete(store, "document:plan#viewer@user:ann[a == 1]")

    changes = [(one.action, one.kind, one.key, one.before, one.after) for one in await list_changes(store)]
    key = ("document", "plan", "viewer", "user", "ann", "", policy_digest("a == 1"))
    assert changes == [
        ("created", "warrant", key, None, "a == 1"),
        ("created", "object", ("document", "plan"), None, None),
        ("created", "object", ("user", "ann"), None, None),
        ("deleted", "warrant", key, "a == 1", None),
    ]


async def test_the_judge_is_given_the_types_of_the_objects_and_what_it_raises_undoes_the_write(store: Store) -> None:
    await store.put_object_types(
        [NewObjectType(TypeName(name), '{"relations":{}}') for name in ("document", "user")], anything_goes, stamp()
    )
    given: list[Mapping[TypeName, str]] = []

    def refuse(definitions: Mapping[TypeName, str]) -> None:
        given.append(definitions)
        raise InvalidParameter("objectType", "no")

    with pytest.raises(InvalidParameter):
        await store.put_warrants([new("document:a#viewer@user:ann"), new("ghost:a#viewer@user:ann")], refuse, stamp())

    assert given == [{"document": '{"relations":{}}'}]
    assert await relation_results(store) == []
    assert await objects(store) == []


async def test_deleting_a_warrant_leaves_its_objects(store: Store) -> None:
    await put(store, "document:plan#viewer@user:ann", "document:plan#editor@user:ann")

    await delete(store, "document:plan#viewer@user:ann")

    assert await relation_results(store) == ["document:plan#editor@user:ann"]
    assert await objects(store) == ["document:plan", "user:ann"]


@pytest.mark.parametrize(
    ("named", "missing"),
    [
        (["document:a#viewer@user:ann", "document:x#viewer@user:ann"], "document:x#viewer@user:ann"),
        (["document:a#viewer@user:ann", "document:a#viewer@user:ann"], "document:a#viewer@user:ann"),
        (["document:a#viewer@user:ann[p]"], f"document:a#viewer@user:ann[{policy_digest('p')}]"),
        (["document:a#viewer@user:ann#m"], "document:a#viewer@user:ann#m"),
    ],
)
async def test_deleting_warrants_names_the_first_that_is_missing_and_deletes_none(
    store: Store, named: list[str], missing: str
) -> None:
    await put(store, "document:a#viewer@user:ann")

    with pytest.raises(NotFound) as caught:
        await delete(store, *named)

    assert (caught.value.kind, caught.value.key) == ("Warrant", missing)
    assert await relation_results(store) == ["document:a#viewer@user:ann"]


async def test_a_deleted_warrant_can_be_written_again(store: Store) -> None:
    await put(store, "document:a#viewer@user:ann")
    await delete(store, "document:a#viewer@user:ann")

    [again] = await put(store, "document:a#viewer@user:ann", at=NOW + 5)

    assert again.created_at == NOW + 5
    assert await relation_results(store, at=1) == await relation_results(store, at=3) == ["document:a#viewer@user:ann"]
    assert await relation_results(store, at=2) == []


async def test_deleting_an_object_ends_its_warrants_in_the_same_revision(store: Store) -> None:
    await put(
        store,
        "team:eng#member@user:ann",
        "document:plan#viewer@team:eng#member[a == 1]",
        "team:eng#parent@team:eng",
        "team:*#member@user:root",
        "document:plan#viewer@team:*#member",
        "document:eng#viewer@user:eng",
    )

    revision = await store.delete_objects([object_ref("team", "eng")], stamp())

    assert revision == 2
    assert await relation_results(store) == [
        "team:*#member@user:root",
        "document:plan#viewer@team:*#member",
        "document:eng#viewer@user:eng",
    ]
    assert len(await relation_results(store, at=1)) == 6
    ended = [(one.kind, one.key[0], one.before) for one in await list_changes(store, 1)]
    assert ended == [
        ("object", "team", None),
        ("warrant", "team", None),
        ("warrant", "team", None),
        ("warrant", "document", "a == 1"),
    ]


async def test_deleting_an_object_ends_more_warrants_than_are_read_at_once(store: Store) -> None:
    await put(store, *[f"team:eng#member@user:{number}" for number in range(2_345)])

    await store.delete_objects([object_ref("team", "eng")], stamp())

    assert await relation_results(store) == []
    assert len(await list_changes(store, 1)) == 2_346


async def test_warrants_are_listed_in_order_of_creation_forwards_and_back(store: Store) -> None:
    written = [f"document:{number}#viewer@user:ann" for number in (5, 3, 9, 1, 7)]
    await put(store, *written[:2], at=NOW + 1)
    await put(store, *written[2:], at=NOW + 1)
    rows = (await store.list_warrants(EVERYTHING, WarrantFilter())).value.rows
    middle = (rows[2].created_at, rows[2].number)

    assert [row.render() for row in rows] == written
    assert await relation_results(store, Slice("createdAt", 2, boundary=middle)) == written[3:]
    assert await relation_results(store, Slice("createdAt", 9, boundary=middle, backwards=True)) == written[:2]
    assert await relation_results(store, Slice("createdAt", 9, descending=True)) == written[::-1]


async def test_an_earlier_clock_does_not_lose_a_warrant_from_the_list(store: Store) -> None:
    await put(store, "document:1#viewer@user:ann", at=NOW + 9)
    await put(store, "document:2#viewer@user:ann", at=NOW)

    assert await relation_results(store) == ["document:2#viewer@user:ann", "document:1#viewer@user:ann"]


ROWS = [
    "document:a#viewer@user:ann",
    "document:a#editor@user:ann",
    "document:*#viewer@user:bob",
    "folder:a#viewer@user:ann",
    "document:b#viewer@team:eng#member",
    "document:b#viewer@user:*",
]


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        (WarrantFilter({"object_type": "document"}), [0, 1, 2, 4, 5]),
        (WarrantFilter({"relation": "viewer"}), [0, 2, 3, 4, 5]),
        (WarrantFilter({"subject_type": "team"}), [4]),
        (WarrantFilter({"subject_relation": "member"}), [4]),
        (WarrantFilter({}, {"object_id": ("a", "*")}), [0, 1, 2, 3]),
        (WarrantFilter({"object_type": "document"}, {"object_id": ("b", "*")}), [2, 4, 5]),
        (WarrantFilter({}, {"subject_id": ("ann", "*")}), [0, 1, 3, 5]),
        (WarrantFilter({}, {"subject_id": ("*",)}), [5]),
        (WarrantFilter({"relation": "viewer"}, {"object_id": ("a", "*"), "subject_id": ("ann", "*")}), [0, 3]),
        (WarrantFilter({"relation": "owner"}), []),
    ],
)
@pytest.mark.parametrize("at", [None, 1])
async def test_a_list_of_warrants_is_filtered_by_columns(
    store: Store, only: WarrantFilter, expected: list[int], at: int | None
) -> None:
    await put(store, *ROWS)
    if at is not None:
        await delete(store, *ROWS[::2])

    assert await relation_results(store, only=only, at=at) == [ROWS[place] for place in expected]


def request(relations: str, subjects: str | None) -> WarrantsByObject:
    """`subjects`: `user:ann` or `team:eng#member` for that subject, `user` for a type, None for any group."""
    names = tuple(RelationName(name) for name in relations.split())
    if subjects is None or ":" not in subjects:
        return WarrantsByObject(TypeName("document"), names, None if subjects is None else TypeName(subjects))
    return WarrantsByObject(TypeName("document"), names, claim(f"document:x#x@{subjects}").subject)


def reverse(relations: str, subjects: str) -> WarrantsBySubject:
    """`subjects`: `user`, or `team#member` for groups."""
    of_type, _, relation = subjects.partition("#")
    names = tuple(RelationName(name) for name in relations.split())
    return WarrantsBySubject(TypeName("document"), names, TypeName(of_type), relation)


READS: list[AnyRead] = [
    WarrantRead(request("viewer", "user:ann"), (ObjectId("a"), ObjectId("b"), WILDCARD)),
    WarrantRead(request("viewer editor", "user:ann"), (ObjectId("a"), ObjectId("nowhere"))),
    WarrantRead(request("viewer", "user:bob"), None),
    WarrantRead(request("viewer", "team:eng#member"), (ObjectId("b"),)),
    WarrantRead(request("viewer editor", None), (ObjectId("a"), ObjectId("b"), WILDCARD)),
    WarrantRead(request("viewer", None), None),
    WarrantRead(request("viewer editor", "team"), (ObjectId("b"),)),
    WarrantRead(request("viewer", "user"), (ObjectId("b"), WILDCARD)),
    WarrantRead(request("viewer", "user"), None),
    ReverseWarrantRead(reverse("viewer", "user"), (ObjectId("ann"), ObjectId("nobody"), WILDCARD)),
    ReverseWarrantRead(reverse("viewer editor", "user"), (ObjectId("ann"),)),
    ReverseWarrantRead(reverse("viewer editor", "team#member"), tuple(map(ObjectId, ("eng", "ops", "x", "*")))),
    ReverseWarrantRead(reverse("viewer", "team#member"), None),
    ReverseWarrantRead(reverse("viewer", "user"), None),
    WarrantRead(
        WarrantsByObject(TypeName("folder"), (RelationName("viewer"),), Subject(TypeName("user"), WILDCARD)),
        (ObjectId("a"),),
    ),
]


@pytest.mark.parametrize("at", [None, 1])
async def test_a_row_is_read_only_if_there_are_more_than_so_many(store: Store, at: int | None) -> None:
    await put(
        store,
        *(f"document:{object_id}#viewer@team:eng#member" for object_id in "abc"),
        "document:a#editor@team:eng#member",
    )
    if at is not None:
        await delete(store, "document:c#viewer@team:eng#member")
    wanted = reverse("viewer editor", "team#member"), (ObjectId("eng"),)

    reads = [ReverseWarrantRead(*wanted), *(ReverseWarrantRead(*wanted, beyond) for beyond in (0, 3, 4, 5))]
    reading = await store.read_warrants(reads, None if at is None else Revision(at), MOST)

    assert list(map(len, reading.warrants)) == [4, 1, 1, 0, 0]
    assert {row.subject_id for rows in reading.warrants for row in rows} == {"eng"}


@pytest.mark.parametrize("at", [None, 1])
async def test_a_batch_of_reads_answers_each_of_them(store: Store, at: int | None) -> None:
    stored = await put(store, *ROWS, "document:b#viewer@team:eng", "document:a#viewer@user:ann[a == 1]")
    if at is not None:
        await delete(store, *ROWS[::2])
        await put(store, "document:a#viewer@user:ann", "document:b#editor@user:ann")

    reading = await store.read_warrants(READS, None if at is None else Revision(at), MOST)

    assert reading.revision == 1
    assert [sorted(rows, key=lambda row: row.number) for rows in reading.warrants] == [
        rows_of(stored, read) for read in READS
    ]


def outline_of(*written: str) -> ReadsAhead:
    """For ann, with the plans of a document's viewers in a model with these warrants."""
    model = model_of(FOLDERS, [stored_warrant(text, 1, 0) for text in written])
    for of_type, relation in (("document", "viewer"), ("folder", "viewer"), ("team", "member")):
        model.plan(TypeName(of_type), RelationName(relation))
    ann = Subject(TypeName("user"), ObjectId("ann"))
    return outline_reads(model, model.plan(TypeName("document"), RelationName("viewer")), ann).name_subject(ann)


async def ahead_of(
    store: Store, ahead: ReadsAhead, object_id: str = "a", at: int | None = None, most: int = MOST
) -> tuple[AheadResult, list[str]]:
    reads = ahead.outline.begin_on((ObjectId(object_id),))
    result = await store.read_ahead(reads, ahead, None if at is None else Revision(at), most)
    return result, sorted(warrant.render() for _, warrant in result.warrants)


FOLDERS: dict[str, dict[str, dict[str, object]]] = {
    "user": {},
    "team": {"member": {}},
    "folder": {"parent": {}, "viewer": {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}},
    "document": {"parent": {}, "viewer": {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}},
}
LED_TO = (
    "document:a#parent@folder:1",
    "folder:1#parent@folder:2",
    "folder:2#parent@folder:1",
    "folder:2#viewer@team:eng#member[x == 1]",
    "team:eng#member@team:ops#member",
    "team:ops#member@user:ann",
)
LEADING_NOWHERE = (
    "document:b#parent@folder:3",
    "folder:3#viewer@user:ann",
    "folder:2#viewer@user:bob",
    "team:hr#member@user:ann",
)


@pytest.mark.parametrize("at", [None, 1])
async def test_reading_ahead_follows_links_and_groups_once_each(store: Store, at: int | None) -> None:
    await put(store, *LED_TO, *LEADING_NOWHERE)
    if at is not None:
        await delete(store, LED_TO[1])
        await put(store, "folder:1#viewer@user:ann")

    result, written = await ahead_of(store, outline_of(*LED_TO, *LEADING_NOWHERE), at=at)

    assert written == sorted(LED_TO)
    assert (result.revision, result.newest) == (1, 1 if at is None else 3)


async def test_reading_ahead_of_many_objects_and_with_wildcards(store: Store) -> None:
    to_all = ("folder:*#viewer@team:all#member", "team:all#member@user:*", "team:hr#member@user:ann")
    await put(store, *LED_TO, *to_all)
    ahead = outline_of(*LED_TO, *to_all)
    some = tuple(ObjectId(object_id) for object_id in ("x", "a", "y", "z"))

    result = await store.read_ahead(ahead.outline.begin_on(some), ahead, None, MOST)

    assert sorted(warrant.render() for _, warrant in result.warrants) == sorted([*LED_TO, *to_all[:2]])


async def test_no_more_rows_are_read_ahead_than_requested(store: Store) -> None:
    await put(store, *LED_TO)
    ahead = outline_of(*LED_TO)

    assert [len((await ahead_of(store, ahead, most=most))[1]) for most in (1, 5, 6, 7)] == [1, 5, 6, 6]
    assert (await ahead_of(store, ahead, "nowhere"))[1] == []
    with pytest.raises(RevisionUnavailable):
        await ahead_of(store, ahead, at=2)


async def test_reads_that_find_nothing_answer_nothing(store: Store) -> None:
    reading = await store.read_warrants(READS, None, MOST)

    assert (reading.revision, reading.warrants) == (0, [[]] * len(READS))


async def test_without_a_read_the_revisions_are_reported(store: Store) -> None:
    await put(store, "document:a#viewer@user:ann")
    await put(store, "document:b#viewer@user:ann")

    newest = await store.read_warrants([], None, MOST)
    earlier = await store.read_warrants([], Revision(1), MOST)

    assert (newest.revision, newest.newest, newest.model_revision, newest.warrants) == (2, 2, 1, [])
    assert (earlier.revision, earlier.newest, earlier.model_revision) == (1, 2, 1)


async def test_objects_are_found_as_they_were(store: Store) -> None:
    refs = [object_ref("document", "a"), object_ref("document", "b"), object_ref("user", "ann")]
    await store.put_objects([NewObject(TypeName("document"), ObjectId("a"), '{"v":1}')], stamp())
    await put(store, "document:b#viewer@user:ann")
    await store.put_objects([NewObject(TypeName("document"), ObjectId("a"), '{"v":2}')], stamp())
    await store.delete_objects([refs[1]], stamp())

    def known(found: Snapshot[tuple[StoredObject, ...]]) -> set[tuple[str, str | None]]:
        return {(f"{row.type}:{row.id}", row.meta) for row in found.value}

    assert known(await store.find_objects(refs, Revision(1))) == {("document:a", '{"v":1}')}
    then, now = await store.find_objects(refs, Revision(2)), await store.find_objects(refs, Revision(4))
    assert known(then) == {("document:a", '{"v":1}'), ("document:b", None), ("user:ann", None)}
    assert known(now) == {("document:a", '{"v":2}'), ("user:ann", None)}
    assert (await store.find_objects([object_ref("document", "nowhere")], Revision(4))).value == ()
    with pytest.raises(RevisionUnavailable):
        await store.find_objects(refs, Revision(5))


async def test_the_names_of_objects_are_listed_in_batches_as_they_were(store: Store) -> None:
    await put(store, *[f"document:{object_id}#viewer@user:ann" for object_id in "bCaD"])
    await store.delete_objects([object_ref("document", "a")], stamp())

    async def names(of_type: str | None, after: str | None, limit: int, at: int) -> str:
        only = None if of_type is None else TypeName(of_type)
        behind = None if after is None else (TypeName("document"), ObjectId(after))
        return "".join(object_id for _, object_id in (await store.list_names(only, behind, limit, Revision(at))).value)

    async def ids(after: str | None, limit: int, at: int) -> str:
        return await names("document", after, limit, at)

    assert await ids(None, 9, at=1) == "CDab"
    assert await ids(None, 9, at=2) == "CDb"
    assert await ids("D", 1, at=1) == "a"
    assert await ids("E", 9, at=2) == "b"
    assert await ids("b", 9, at=2) == ""
    assert await names(None, None, 9, at=1) == "CDabann"
    assert await names(None, "D", 2, at=2) == "bann"


async def test_no_more_rows_are_read_than_requested(store: Store) -> None:
    await put(store, *[f"document:a#viewer@team:{number}#member" for number in range(11)])
    read = WarrantRead(request("viewer", None), (ObjectId("a"),))

    found = [len((await store.read_warrants([read], None, most)).warrants[0]) for most in (10, 11, 12)]

    assert found == [10, 11, 11]


async def test_a_read_of_many_objects_is_one_statement_however_many_rows_it_has(database_url: str) -> None:
    store, database = await counting_store(database_url)
    ids = tuple(ObjectId(f"d{number}") for number in range(MAX_SHORT_IDS + 1))
    await put(
        store,
        *[f"document:{object_id}#viewer@team:{team}#member" for object_id in ids for team in ("eng", "ops", "hr")],
    )
    database.reads = 0

    reading = await store.read_warrants([WarrantRead(request("viewer", None), ids)], None, 10 * MAX_SHORT_IDS)

    assert (len(reading.warrants[0]), database.reads) == (3 * len(ids), 1)
    assert len(reading.warrants[0]) > MAX_ROWS
    await store.close()


async def test_a_read_at_a_revision_that_is_not_there_is_refused(store: Store) -> None:
    with pytest.raises(RevisionUnavailable):
        await store.read_warrants(READS, Revision(1), MOST)


async def test_the_model_is_all_definitions_and_the_revision_that_last_wrote_one(store: Store) -> None:
    await store.put_object_types([NewObjectType(TypeName("document"), '{"relations":{}}')], anything_goes, stamp())
    await put(store, "document:a#viewer@user:ann")
    await store.put_object_types([NewObjectType(TypeName("team"), '{"relations":{}}')], anything_goes, stamp())
    await put(store, "document:b#viewer@user:ann")
    model = await store.read_model()
    reading = await store.read_warrants(READS, None, MOST)
    await store.delete_object_type(TypeName("team"), stamp())

    assert (model.revision, model.value.written_at) == (4, 3)
    assert (reading.revision, reading.model_revision) == (4, 3)
    assert model.value.definitions == {"document": '{"relations":{}}', "team": '{"relations":{}}'}
    assert (await store.read_model()).value.written_at == 5
    assert list((await store.read_model()).value.definitions) == ["document"]
    assert list((await store.read_model(Revision(4))).value.definitions) == ["document", "team"]


async def test_the_model_has_the_patterns_that_warrants_ever_had(store: Store) -> None:
    await put(store, "document:a#viewer@user:ann")
    await put(store, "document:*#viewer@user:ann", "document:b#viewer@user:bob", "folder:*#owner@team:*#member")
    first = (await store.read_model()).value
    await put(store, "document:*#viewer@user:bob", "document:b#viewer@user:cy[a == 1]")
    await delete(store, "document:*#viewer@user:ann", "document:*#viewer@user:bob")

    assert first.patterns == {
        ("document", "", "viewer", "user", "", ""),
        ("document", "*", "viewer", "user", "", ""),
        ("folder", "*", "owner", "team", "*", "member"),
    }
    assert first.written_at == 2
    assert (await store.read_model()).value == first
    assert (await store.read_model(Revision(1))).value.patterns == first.patterns


async def test_a_write_of_warrants_with_a_key_happens_once(store: Store) -> None:
    once = Once("key", "request-1")
    warrants = [new("document:a#viewer@user:ann[a == 1]")]
    first = await store.put_warrants(warrants, anything_goes, stamp(once=once))

    again = await store.put_warrants(warrants, anything_goes, stamp(NOW + 9, once=once))

    assert again == first
    assert await store.check() == 1


async def test_ended_warrants_are_collected_and_living_ones_kept(store: Store) -> None:
    await put(store, "document:a#viewer@user:ann", "document:b#viewer@user:ann")
    await delete(store, "document:a#viewer@user:ann")

    assert await store.collect(NOW, 100) == 1

    assert await relation_results(store) == ["document:b#viewer@user:ann"]
    with pytest.raises(RevisionUnavailable):
        await relation_results(store, at=1)


async def test_changes_are_the_warrants_that_came_or_went(store: Store) -> None:
    await put(store, "document:plan#viewer@user:ann[a == 1]", "team:eng#member@team:ops#member")
    await store.put_objects([NewObject(TypeName("document"), ObjectId("plan"), '{"x":1}')], stamp())
    await delete(store, "document:plan#viewer@user:ann[a == 1]")
    plan = warrant_names("document", "plan", "viewer", "user", "ann", "")
    eng = warrant_names("team", "eng", "member", "team", "ops", "member")

    everything = await store.list_warrant_changes(await store.identify(Revision(0)), 10)
    since_the_object = await store.list_warrant_changes(await store.identify(Revision(2)), 10)

    with_policy = ChangedWarrant(plan, None)
    assert everything.changes == [with_policy, ChangedWarrant(eng, exists=True), with_policy]
    assert (everything.revision, since_the_object.revision) == (3, 3)
    assert since_the_object.changes == [with_policy]
    assert (await store.list_warrant_changes(await store.identify(Revision(3)), 10)).changes == []
    assert everything.model_revision == (await store.read_model()).value.written_at


async def test_more_changes_than_were_requested_are_not_reported(store: Store) -> None:
    await put(store, *[f"document:{number}#viewer@user:ann" for number in range(3)])

    assert len((await store.list_warrant_changes(await store.identify(Revision(0)), 3)).changes or ()) == 3
    assert (await store.list_warrant_changes(await store.identify(Revision(0)), 2)).changes is None


def any_staleness(store: Store, age_ms: int) -> Staleness:
    """Of what was read so long ago. A busy machine may let more time go by, but hardly each of a hundred times."""
    for _ in range(100):
        marked_at, writes = store.mark()
        found = store.staleness((marked_at - age_ms / 1_000, writes))
        if found == (Staleness.CURRENT if not age_ms else Staleness.AGING):
            break
    return found


async def test_a_write_of_any_process_makes_what_was_read_before_stale(store: Store, database_url: str) -> None:
    other = await open_store(settings_for(database_url))
    is_sqlite = database_url.startswith("sqlite")

    assert any_staleness(store, 0) == Staleness.CURRENT
    fresh = store.mark()
    await put(store, "document:1#viewer@user:ann")
    assert store.staleness(fresh) == Staleness.STALE

    after = store.mark()
    await put(other, "document:2#viewer@user:ann")
    if is_sqlite:
        assert store.staleness(after) == Staleness.STALE
    await asyncio.sleep((STALE_MS + 1) / 1_000)
    assert store.staleness(after) == Staleness.STALE
    await other.close()


async def test_what_was_read_a_moment_ago_is_aging_on_postgresql_and_current_on_sqlite(
    store: Store, database_url: str
) -> None:
    if database_url.startswith("sqlite"):
        mark = store.mark()
        await asyncio.sleep(2 * STALE_MS / 1_000)
        assert store.staleness(mark) == Staleness.CURRENT
    else:
        assert any_staleness(store, AGING_MS + 1) == Staleness.AGING


async def test_a_closed_store_has_no_mark(store: Store) -> None:
    mark = store.mark()
    await store.close()

    with pytest.raises(StoreUnavailable):
        store.mark()
    with pytest.raises(StoreUnavailable):
        store.staleness(mark)
