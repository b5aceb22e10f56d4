"""The one conformance suite: every sentence of store/contract/store.py, on every store."""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from magistrate.config.database_url import SqliteUrl, read_database_url
from magistrate.engine.names import ObjectId, PolicyName, Revision, TypeName
from magistrate.engine.terms import ObjectRef, object_ref, type_name
from magistrate.errors import (
    InvalidParameter,
    KeyReused,
    ModelChanged,
    NotFound,
    RevisionLost,
    RevisionUnavailable,
    SchemaMismatch,
    StoreUnavailable,
)
from magistrate.operations.paging import Values
from magistrate.store.contract.lists import ObjectFilter, ObjectTypeFilter, Slice
from magistrate.store.contract.new_rows import NewModel, NewObject, NewObjectType, Once, Stamp
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.store import Store
from magistrate.store.contract.stored_rows import StoredObject
from magistrate.wiring.stores import migrate_store, open_store
from tests.change_log import list_changes
from tests.running import settings_for

pytestmark = pytest.mark.anyio

NOW = 1_763_683_200_000_000
HOUR = 3_600_000_000
EVERYTHING = Slice("objectId", 1_000)
ANY_OBJECT = ObjectFilter()
ANY_TYPE = ObjectTypeFilter()


def stamp(at: int = NOW, actor: str = "ann", once: Once | None = None) -> Stamp:
    return Stamp(actor, at, once)


def new(object_id: str, meta: str | None = None, of_type: str = "document", fresh: bool = False) -> NewObject:
    return NewObject(TypeName(of_type), ObjectId(object_id), meta, fresh)


def document(object_id: str) -> ObjectRef:
    return object_ref("document", object_id)


def new_type(name: str, definition: str = '{"relations":{}}') -> NewObjectType:
    return NewObjectType(TypeName(name), definition)


def anything_goes(model: object) -> None:
    """A validation that refuses nothing."""


async def ids(
    store: Store, wanted: Slice = EVERYTHING, only: ObjectFilter = ANY_OBJECT, at: int | None = None
) -> list[str]:
    found = await store.list_objects(wanted, only, None if at is None else Revision(at))
    return [row.id for row in found.value.rows]


async def test_a_new_store_is_at_revision_0_and_empty(store: Store) -> None:
    assert await store.check() == 0
    assert (await store.get_object(document("plan"))).value is None
    assert await ids(store) == []


async def test_the_identity_is_drawn_once_and_never_changes(store: Store, database_url: str) -> None:
    again = await open_store(settings_for(database_url))
    identity = again.identity
    await again.close()

    assert identity == store.identity
    assert len(bytes.fromhex(store.identity.store_id)) == 8
    assert len(bytes.fromhex(store.identity.cursor_key)) == 16


async def test_each_write_has_the_next_revision(store: Store) -> None:
    first = await store.put_objects([new("a"), new("b")], stamp())
    second = await store.replace_meta(document("a"), '{"x":1}', stamp())
    third = await store.delete_objects([document("b")], stamp())
    fourth = await store.put_object_types([new_type("team")], anything_goes, stamp())
    fifth = await store.delete_object_type(type_name("team", "type"), stamp())

    assert [first.revision, second.revision, third, fourth.revision, fifth] == [1, 2, 3, 4, 5]
    assert await store.check() == 5


async def test_a_write_that_changes_nothing_has_a_revision_too(store: Store) -> None:
    await store.put_objects([new("a", '{"x":1}')], stamp())

    again = await store.put_objects([new("a", '{"x":1}')], stamp(NOW + 1))

    assert again.revision == 2
    assert await list_changes(store, 1) == []


async def test_a_created_object_is_read_back_as_written(store: Store) -> None:
    written = await store.put_objects([new("plan", '{"title":"Pl\u00e4n"}')], stamp())

    expected = StoredObject(TypeName("document"), ObjectId("plan"), '{"title":"Pl\u00e4n"}', NOW)
    assert written.value == (expected,)
    assert (await store.get_object(document("plan"))).value == expected


async def test_a_replaced_object_keeps_its_creation_time(store: Store) -> None:
    await store.put_objects([new("plan", '{"a":1}')], stamp())

    replaced = await store.put_objects([new("plan")], stamp(NOW + 5))

    assert replaced.value == (StoredObject(TypeName("document"), ObjectId("plan"), None, NOW),)


async def test_a_deleted_and_recreated_object_has_a_new_creation_time(store: Store) -> None:
    await store.put_objects([new("plan")], stamp())
    await store.delete_objects([document("plan")], stamp())

    recreated = await store.put_objects([new("plan")], stamp(NOW + 5))

    assert recreated.value[0].created_at == NOW + 5


async def test_of_several_with_one_reference_the_last_wins_and_all_answer_it(store: Store) -> None:
    written = await store.put_objects([new("a", '{"n":1}'), new("b"), new("a", '{"n":2}')], stamp())

    assert [(row.id, row.meta) for row in written.value] == [("a", '{"n":2}'), ("b", None), ("a", '{"n":2}')]
    assert await ids(store) == ["a", "b"]
    assert len(await list_changes(store)) == 2


async def test_the_same_id_in_two_types_is_two_objects(store: Store) -> None:
    await store.put_objects([new("x", '{"n":1}'), new("x", '{"n":2}', of_type="folder")], stamp())

    await store.delete_objects([document("x")], stamp())

    assert (await store.get_object(document("x"))).value is None
    assert (await store.get_object(object_ref("folder", "x"))).value is not None


async def test_a_fresh_object_is_stored_like_any_other(store: Store) -> None:
    await store.put_objects([new("f", fresh=True)], stamp())

    assert await ids(store) == ["f"]


async def test_replacing_the_meta_of_a_missing_object_is_not_found_and_writes_nothing(store: Store) -> None:
    with pytest.raises(NotFound) as caught:
        await store.replace_meta(document("plan"), '{"a":1}', stamp())

    assert (caught.value.kind, caught.value.key) == ("document", "plan")
    assert await store.check() == 0
    assert await ids(store) == []


@pytest.mark.parametrize("refs", [["a", "missing", "b"], ["a", "b", "a"]])
async def test_deleting_names_the_first_that_is_missing_and_deletes_none(store: Store, refs: list[str]) -> None:
    await store.put_objects([new("a"), new("b")], stamp())

    with pytest.raises(NotFound) as caught:
        await store.delete_objects([document(object_id) for object_id in refs], stamp())

    assert caught.value.key == ("missing" if "missing" in refs else "a")
    assert await ids(store) == ["a", "b"]
    assert await store.check() == 1


async def test_text_compares_bytewise(store: Store) -> None:
    names = ["a", "B", "b", "A", "aa", "a-", "a_", "a.", "a:", "a|", "a@", "Z", "z", "0", "10", "9"]
    await store.put_objects([new(name) for name in names], stamp())

    assert await ids(store) == sorted(names, key=str.encode)
    assert await ids(store, Slice("objectId", 1_000, descending=True)) == sorted(names, key=str.encode, reverse=True)


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("objectId", [("a", "y"), ("b", "x"), ("c", "x"), ("c", "y")]),
        ("objectType", [("b", "x"), ("c", "x"), ("a", "y"), ("c", "y")]),
        ("createdAt", [("c", "x"), ("b", "x"), ("c", "y"), ("a", "y")]),
    ],
)
async def test_each_sort_breaks_ties_by_what_is_unique(
    store: Store, sort: str, expected: list[tuple[str, str]]
) -> None:
    await store.put_objects([new("c", of_type="x")], stamp(NOW))
    await store.put_objects([new("c", of_type="y"), new("b", of_type="x")], stamp(NOW + 1))
    await store.put_objects([new("a", of_type="y")], stamp(NOW + 2))

    up = (await store.list_objects(Slice(sort, 10), ObjectFilter())).value.rows
    down = (await store.list_objects(Slice(sort, 10, descending=True), ObjectFilter())).value.rows

    assert [(row.id, row.type) for row in up] == expected
    assert down == tuple(reversed(up))


@pytest.mark.parametrize(
    ("wanted", "rows", "precedes", "follows"),
    [
        (Slice("objectId", 2), ["a", "b"], False, True),
        (Slice("objectId", 5), ["a", "b", "c", "d", "e"], False, False),
        (Slice("objectId", 2, boundary=("b", "document")), ["c", "d"], True, True),
        (Slice("objectId", 2, boundary=("c", "document")), ["d", "e"], True, False),
        (Slice("objectId", 2, boundary=("bb", "document")), ["c", "d"], True, True),
        (Slice("objectId", 2, boundary=("A", "document")), ["a", "b"], False, True),
        (Slice("objectId", 2, boundary=("e", "document")), [], False, False),
        (Slice("objectId", 2, boundary=("d", "document"), backwards=True), ["b", "c"], True, True),
        (Slice("objectId", 9, boundary=("d", "document"), backwards=True), ["a", "b", "c"], False, True),
        (Slice("objectId", 9, boundary=("zz", "document"), backwards=True), ["a", "b", "c", "d", "e"], False, False),
        (Slice("objectId", 2, boundary=("a", "document"), backwards=True), [], False, False),
        (Slice("objectId", 2, True), ["e", "d"], False, True),
        (Slice("objectId", 2, True, boundary=("d", "document")), ["c", "b"], True, True),
        (Slice("objectId", 2, True, boundary=("b", "document"), backwards=True), ["d", "c"], True, True),
    ],
)
@pytest.mark.parametrize("only", [ObjectFilter(), ObjectFilter(of_type="document"), ObjectFilter(text="")])
async def test_a_slice_says_what_precedes_and_follows(
    store: Store, wanted: Slice, only: ObjectFilter, rows: list[str], precedes: bool, follows: bool
) -> None:
    await store.put_objects([new(object_id) for object_id in "edcba"], stamp())

    found = (await store.list_objects(wanted, only)).value

    assert [row.id for row in found.rows] == rows
    assert (found.precedes, found.follows) == (precedes, follows)


NAMED = {
    "f": None,
    "b": '{"email":"x"}',
    "d": '{"name":null}',
    "g": '{"name":7}',
    "k": '{"name":"a\\u0000b"}',
    "l": '{"name":"ann","other":"\\u0000"}',
    "p": '{"name":"x\\\\u0000"}',
    "a": '{"name":""}',
    "h": '{"name":"Zoe"}',
    "c": '{"name":"ann"}',
    "e": '{"name":"ann","email":"y"}',
    "m": '{"name":"say \\"hi\\""}',
    "n": '{"name":"\\n"}',
    "o": '{"name":"\U0001f600"}',
}
BY_NAME = [
    ("0", "b"), ("0", "d"), ("0", "f"), ("0", "g"), ("0", "k"), ("0", "l"), ("1", "a"), ("1\n", "n"), ("1Zoe", "h"),
    ("1ann", "c"), ("1ann", "e"), ('1say "hi"', "m"), ("1x\\u0000", "p"), ("1\U0001f600", "o"),
]  # fmt: skip


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("at", [None, 1])
async def test_objects_are_sorted_by_a_member_of_their_meta(store: Store, descending: bool, at: int | None) -> None:
    await store.put_objects([new(object_id, meta=meta) for object_id, meta in NAMED.items()], stamp())
    await store.put_objects([new("x", of_type="folder", meta='{"name":"ann"}')], stamp())
    only = ObjectFilter(of_type="document")
    expected = BY_NAME[::-1] if descending else BY_NAME

    assert await ids(store, Slice("name", 100, descending), only, at) == [object_id for _, object_id in expected]
    for place, (key, object_id) in enumerate(expected):
        boundary = (key, object_id, "document")
        after = await ids(store, Slice("name", 3, descending, boundary), only, at)
        before = await ids(store, Slice("name", 3, descending, boundary, backwards=True), only, at)
        assert after == [other for _, other in expected[place + 1 : place + 4]]
        assert before == [other for _, other in expected[max(place - 3, 0) : place]]


@pytest.mark.parametrize("sort", ["objectId", "objectType", "createdAt"])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("backwards", [False, True])
async def test_a_boundary_of_another_type_than_the_filter_cuts_where_it_would_stand(
    store: Store, sort: str, descending: bool, backwards: bool
) -> None:
    await store.put_objects([new(object_id, of_type=of_type) for of_type in "bdf" for object_id in "135"], stamp())
    keys: dict[str, Callable[[StoredObject], Values]] = {
        "objectId": lambda row: (row.id, row.type),
        "objectType": lambda row: (row.type, row.id),
        "createdAt": lambda row: (row.created_at, row.id, row.type),
    }
    every = (await store.list_objects(Slice(sort, 100, descending), ObjectFilter())).value.rows
    boundaries = [(of_type, object_id) for of_type in "acdeg" for object_id in "02345"]

    for of_type, object_id in boundaries:
        boundary = keys[sort](StoredObject(TypeName(of_type), ObjectId(object_id), None, NOW))
        wanted = Slice(sort, 100, descending, boundary, backwards)
        found = (await store.list_objects(wanted, ObjectFilter(of_type="d"))).value.rows

        after = [row for row in every if (keys[sort](row) > boundary) != descending and keys[sort](row) != boundary]
        before = [row for row in every if (keys[sort](row) < boundary) != descending and keys[sort](row) != boundary]
        assert list(found) == [row for row in (before if backwards else after) if row.type == "d"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("PLAN", ["Plan-1"]),
        ("plan-", ["Plan-1"]),
        ("budget", ["b"]),
        ("title", ["b", "c"]),
        ("100%", ["c"]),
        ("0%x", []),
        ("%", ["c"]),
        ("_", ["d_d"]),
        ("!", ["e"]),
        ("\\\\", ["f"]),
        ("'", ["g"]),
        ("ä", ["h"]),
        ("Ä", []),
        ('"title":"B', ["b"]),
    ],
)
async def test_search_is_a_substring_of_id_or_meta_and_ignores_the_case_of_ascii_letters(
    store: Store, text: str, found: list[str]
) -> None:
    metas = {
        "Plan-1": None,
        "b": '{"title":"Budget"}',
        "c": '{"title":"100%"}',
        "d_d": None,
        "e": '{"k":"!"}',
        "f": '{"k":"\\\\"}',
        "g": '{"k":"\'"}',
        "h": '{"k":"ä"}',
    }
    await store.put_objects([new(object_id, meta) for object_id, meta in metas.items()], stamp())

    assert await ids(store, only=ObjectFilter(text=text)) == found
    assert await ids(store, only=ObjectFilter("document", text)) == found
    assert await ids(store, only=ObjectFilter("folder", text)) == []


async def test_a_read_as_of_a_revision_sees_what_was_alive_then(store: Store) -> None:
    await store.put_objects([new("a", '{"v":1}'), new("b", '{"v":1}')], stamp())
    await store.put_objects([new("a", '{"v":2}'), new("c", '{"v":2}')], stamp())
    await store.delete_objects([document("b"), document("c")], stamp())
    await store.put_objects([new("b", '{"v":4}')], stamp())

    async def seen(at: int) -> dict[str, str | None]:
        relation_results = (await store.list_objects(EVERYTHING, ObjectFilter(), Revision(at))).value.rows
        got = {object_id: (await store.get_object(document(object_id), Revision(at))).value for object_id in "abc"}
        assert [row for row in got.values() if row] == list(relation_results)
        return {row.id: row.meta for row in relation_results}

    assert await seen(1) == {"a": '{"v":1}', "b": '{"v":1}'}
    assert await seen(2) == {"a": '{"v":2}', "b": '{"v":1}', "c": '{"v":2}'}
    assert await seen(3) == {"a": '{"v":2}'}
    assert await seen(4) == {"a": '{"v":2}', "b": '{"v":4}'}


async def test_pages_as_of_a_revision_are_cut_like_pages_of_now(store: Store) -> None:
    await store.put_objects([new(object_id) for object_id in "abcdef"], stamp())
    await store.delete_objects([document(object_id) for object_id in "ace"], stamp())

    wanted = Slice("objectId", 2, boundary=("b", "document"))
    found = (await store.list_objects(wanted, ObjectFilter("document"), Revision(1))).value

    assert [row.id for row in found.rows] == ["c", "d"]
    assert (found.precedes, found.follows) == (True, True)


@pytest.mark.parametrize("at", [-1, 0, 3, 99])
async def test_a_revision_that_cannot_be_read_is_an_error(store: Store, at: int) -> None:
    await store.put_objects([new("a")], stamp())
    await store.put_objects([new("b")], stamp())

    with pytest.raises(RevisionUnavailable):
        await store.get_object(document("a"), Revision(at))
    with pytest.raises(RevisionUnavailable):
        await store.list_objects(EVERYTHING, ObjectFilter(), Revision(at))


async def test_seeding_writes_revision_1_only_once(store: Store) -> None:
    assert await store.seed([new_type("user")], stamp())
    assert not await store.seed([new_type("other")], stamp())

    assert await store.check() == 1
    assert (await store.get_object_type(TypeName("other"))).value is None


async def test_object_types_are_listed_by_name_and_by_creation(store: Store) -> None:
    await store.put_object_types([new_type("b"), new_type("c")], anything_goes, stamp())
    await store.put_object_types([new_type("a")], anything_goes, stamp(NOW + 1))

    async def names(sort: str, only: ObjectTypeFilter = ANY_TYPE, at: Revision | None = None) -> Sequence[str]:
        return [row.name for row in (await store.list_object_types(Slice(sort, 10), only, at)).value.rows]

    assert await names("typeId") == ["a", "b", "c"]
    assert await names("createdAt") == ["b", "c", "a"]
    assert await names("typeId", ObjectTypeFilter("B")) == ["b"]
    assert await names("typeId", at=Revision(1)) == ["b", "c"]


async def test_object_types_are_replaced_deleted_and_read_as_of_a_revision(store: Store) -> None:
    await store.put_object_types([new_type("a", '{"relations":{"x":{}}}')], anything_goes, stamp())
    await store.put_object_types(
        [new_type("a", '{"relations":{"y":{}}}')], anything_goes, stamp(NOW + 1), must_exist=True
    )
    await store.delete_object_type(TypeName("a"), stamp())

    then = (await store.get_object_type(TypeName("a"), Revision(1))).value
    later = (await store.get_object_type(TypeName("a"), Revision(2))).value

    assert (await store.get_object_type(TypeName("a"))).value is None
    assert then is not None
    assert then.definition == '{"relations":{"x":{}}}'
    assert later is not None
    assert (later.definition, later.created_at) == ('{"relations":{"y":{}}}', NOW)


async def test_updating_or_deleting_an_unknown_type_is_not_found_and_writes_nothing(store: Store) -> None:
    await store.put_object_types([new_type("a")], anything_goes, stamp())

    with pytest.raises(NotFound, match="ObjectType b not found"):
        await store.put_object_types([new_type("a", "{}"), new_type("b")], anything_goes, stamp(), must_exist=True)
    with pytest.raises(NotFound, match="ObjectType b not found"):
        await store.delete_object_type(TypeName("b"), stamp())

    assert await store.check() == 1
    unchanged = (await store.get_object_type(TypeName("a"))).value
    assert unchanged is not None
    assert unchanged.definition == '{"relations":{}}'


async def test_a_write_of_types_holds_up_nobody_while_it_is_judged(store: Store) -> None:
    others_went_on = threading.Event()
    waited: list[bool] = []

    def validate(definitions: Mapping[TypeName, str]) -> None:
        waited.append(others_went_on.wait(timeout=10))

    asyncio.get_running_loop().call_later(0.01, others_went_on.set)
    await store.put_object_types([new_type("a")], validate, stamp())

    assert waited == [True]


async def test_the_judge_sees_the_model_after_the_write_and_can_undo_it(store: Store) -> None:
    await store.put_object_types([new_type("a"), new_type("b")], anything_goes, stamp())
    seen: list[object] = []

    def validate(model: object) -> None:
        seen.append(model)
        raise InvalidParameter("relations", "no")

    with pytest.raises(InvalidParameter):
        await store.put_object_types([new_type("b", "new"), new_type("c", "more")], validate, stamp())

    assert seen[-1] == {"a": '{"relations":{}}', "b": "new", "c": "more"}
    assert await store.check() == 1


async def test_a_model_is_written_as_a_whole_unless_it_has_changed(store: Store) -> None:
    await store.put_object_types([new_type("a")], anything_goes, stamp())
    known = await store.put_model(NewModel([new_type("b")], [(PolicyName("p"), "{}")]), anything_goes, stamp())
    await store.put_objects([new("x", of_type="b")], stamp())

    written = await store.put_model(
        NewModel([new_type("c")], [(PolicyName("q"), "{}")], await store.identify(known)), anything_goes, stamp()
    )

    read = await store.read_model()
    assert read.revision == written == known + 2
    assert ([*read.value.definitions], [*read.value.policies]) == (["c"], ["q"])
    with pytest.raises(ModelChanged):
        await store.put_model(NewModel([], [], await store.identify(known)), anything_goes, stamp())
    with pytest.raises(RevisionLost):
        await store.put_model(NewModel([], [], RevisionId(Revision(written + 1), None)), anything_goes, stamp())
    assert (await store.read_model()).revision == written
    past = (await store.read_model(known)).value
    assert ([*past.definitions], [*past.policies]) == (["b"], ["p"])


async def test_a_whole_model_deletes_the_types_that_are_not_in_it_in_the_same_write(store: Store) -> None:
    await store.put_object_types([new_type("a"), new_type("b"), new_type("c")], anything_goes, stamp())
    seen: list[object] = []

    written = await store.put_object_types([new_type("b"), new_type("d")], seen.append, stamp(), is_whole_model=True)

    assert seen[-1] == {"b": '{"relations":{}}', "d": '{"relations":{}}'}
    assert [row.name for row in written.value] == ["b", "d"]
    changes = [(c.revision, c.action, c.key) for c in await list_changes(store)]
    assert changes[3:] == [(2, "created", ("d",)), (2, "deleted", ("a",)), (2, "deleted", ("c",))]
    assert (await store.get_object_type(TypeName("a"))).value is None


async def test_the_change_log_has_every_effect_in_order(store: Store) -> None:
    await store.put_object_types([new_type("document", "d1")], anything_goes, stamp(actor="ann"))
    await store.put_objects([new("a", '{"v":1}'), new("b")], stamp(NOW + 1, actor="bob"))
    await store.put_objects([new("a", '{"v":2}')], stamp(NOW + 2))
    await store.delete_objects([document("b"), document("a")], stamp(NOW + 3))

    log = [
        (c.revision, c.position, c.action, c.kind, c.key, c.before, c.after, c.actor, c.at)
        for c in await list_changes(store)
    ]

    assert log == [
        (1, 0, "created", "object-type", ("document",), None, "d1", "ann", NOW),
        (2, 0, "created", "object", ("document", "a"), None, '{"v":1}', "bob", NOW + 1),
        (2, 1, "created", "object", ("document", "b"), None, None, "bob", NOW + 1),
        (3, 0, "updated", "object", ("document", "a"), '{"v":1}', '{"v":2}', "ann", NOW + 2),
        (4, 0, "deleted", "object", ("document", "b"), None, None, "ann", NOW + 3),
        (4, 1, "deleted", "object", ("document", "a"), '{"v":2}', None, "ann", NOW + 3),
    ]


async def test_a_write_once_happens_once_and_answers_the_same(store: Store) -> None:
    once = Once("key", "request-1")
    first = await store.put_objects([new("a", '{"v":1}', fresh=True)], stamp(once=once))

    again = await store.put_objects([new("zzz", '{"v":1}', fresh=True)], stamp(NOW + HOUR, once=once))

    assert again == first
    assert await ids(store) == ["a"]
    assert await store.check() == 1


async def test_a_key_that_comes_back_with_another_request_is_refused(store: Store) -> None:
    await store.put_objects([new("a")], stamp(once=Once("key", "request-1")))

    with pytest.raises(KeyReused):
        await store.put_objects([new("b")], stamp(once=Once("key", "request-2")))

    assert await ids(store) == ["a"]


async def test_two_owners_with_one_name_may_use_the_same_key(store: Store) -> None:
    await store.put_objects([new("a")], stamp(actor="ann", once=Once("key", "request-1", "1")))

    await store.put_objects([new("b")], stamp(actor="ann", once=Once("key", "request-2", "2")))

    assert await ids(store) == ["a", "b"]


async def test_a_key_runs_out_after_24_hours(store: Store) -> None:
    await store.put_objects([new("a")], stamp(NOW, once=Once("key", "request-1")))
    just_before = stamp(NOW + 24 * HOUR - 1, once=Once("key", "request-2"))
    just_after = stamp(NOW + 24 * HOUR, once=Once("key", "request-2"))

    with pytest.raises(KeyReused):
        await store.put_objects([new("b")], just_before)
    await store.put_objects([new("b")], just_after)

    assert await ids(store) == ["a", "b"]


async def test_a_write_that_failed_leaves_its_key_unused(store: Store) -> None:
    once = Once("key", "request-1")
    with pytest.raises(NotFound):
        await store.delete_objects([document("a")], stamp(once=once))
    await store.put_objects([new("a")], stamp())

    await store.delete_objects([document("a")], stamp(once=once))

    assert await ids(store) == []


async def test_the_same_key_at_the_same_time_writes_once(store: Store) -> None:
    once = Once("key", "request-1")

    answers = await asyncio.gather(
        *(store.put_objects([new(f"id-{n}", fresh=True)], stamp(once=once)) for n in range(8))
    )

    assert len({answer.value[0].id for answer in answers}) == 1
    assert len(await ids(store)) == 1


async def test_concurrent_writers_get_revisions_in_commit_order_without_gaps(store: Store, database_url: str) -> None:
    other = await open_store(settings_for(database_url))
    seen: list[Revision] = []

    async def watch() -> None:
        while not seen or seen[-1] < 40:
            snapshot = await store.list_objects(Slice("createdAt", 1_000), ObjectFilter())
            # Every write adds one object: a revision that is visible before an earlier one would show too few.
            assert len(snapshot.value.rows) == snapshot.revision
            seen.append(snapshot.revision)
            await asyncio.sleep(0)

    async def write(to: Store, number: int) -> Revision:
        return (await to.put_objects([new(f"id-{number}")], stamp(NOW + number))).revision

    watching = asyncio.create_task(watch())
    revisions = await asyncio.gather(*(write((store, other)[n % 2], n) for n in range(40)))
    await watching
    await other.close()

    assert sorted(revisions) == list(range(1, 41))
    assert seen == sorted(seen)


async def test_a_write_that_fails_beside_others_fails_alone(store: Store) -> None:
    async def create(number: int) -> Revision:
        return (await store.put_objects([new(f"id-{number:02}")], stamp())).revision

    async def fail(number: int) -> Revision:
        return await store.delete_objects([document("missing")], stamp())

    outcomes = await asyncio.gather(*((fail if n % 3 == 0 else create)(n) for n in range(30)), return_exceptions=True)

    assert [isinstance(outcome, NotFound) for outcome in outcomes] == [n % 3 == 0 for n in range(30)]
    assert sorted(outcome for outcome in outcomes if isinstance(outcome, int)) == list(range(1, 21))
    assert await ids(store) == [f"id-{n:02}" for n in range(30) if n % 3]
    assert {change.revision for change in await list_changes(store)} == set(range(1, 21))


async def test_collecting_forgets_what_ended_and_moves_the_horizon(store: Store) -> None:
    await store.put_objects([new("a", '{"v":1}'), new("b")], stamp(NOW, once=Once("k", "f")))
    await store.put_objects([new("a", '{"v":2}')], stamp(NOW + HOUR))
    await store.delete_objects([document("b")], stamp(NOW + 2 * HOUR))
    await store.put_objects([new("a", '{"v":3}')], stamp(NOW + 3 * HOUR))

    deleted = await store.collect(NOW + 2 * HOUR, 100)

    assert deleted == 2
    assert await store.collect(NOW + 2 * HOUR, 100) == 0
    for collected in (1, 2):
        with pytest.raises(RevisionUnavailable):
            await store.get_object(document("a"), Revision(collected))
    assert await ids(store, at=3) == ["a"]
    assert await ids(store) == ["a"]
    assert (await store.get_object(document("a"), Revision(3))).value == StoredObject(
        TypeName("document"), ObjectId("a"), '{"v":2}', NOW
    )
    assert await store.collect(NOW + 24 * HOUR - 1, 100) == 1  # an older version of a; the key has not quite run out
    assert await store.collect(NOW + 24 * HOUR, 100) == 1


async def test_collecting_works_in_small_portions_oldest_first(store: Store) -> None:
    for version in range(6):
        await store.put_objects([new("a", f'{{"v":{version}}}')], stamp(NOW + version))

    assert await store.collect(NOW + 100, 2) == 2
    assert (await store.get_object(document("a"), Revision(3))).value is not None
    assert await store.collect(NOW + 100, 2) == 2
    assert await store.collect(NOW + 100, 2) == 1
    assert await store.collect(NOW + 100, 2) == 0


async def test_collecting_goes_on_behind_many_revisions_that_ended_nothing(store: Store) -> None:
    for number in range(9):
        await store.put_objects([new(f"o{number}")], stamp(NOW + number))
    await store.delete_objects([document("o0")], stamp(NOW + 9))

    portions = await collected(store, NOW + 9, 3)

    assert portions == [4, 4, 1]
    assert await ids(store, at=10) == [f"o{number}" for number in range(1, 9)]
    with pytest.raises(RevisionUnavailable):
        await ids(store, at=9)


async def test_what_ended_nothing_stays_readable_unless_it_is_more_than_one_portion(store: Store) -> None:
    for number in range(4):
        await store.put_objects([new(f"o{number}")], stamp(NOW + number))

    assert await store.collect(NOW + 9, 4) == 0
    assert await ids(store, at=1) == ["o0"]
    assert await store.collect(NOW + 1, 2) == 0
    assert await ids(store, at=1) == ["o0"]
    assert await store.collect(NOW + 2, 2) == 3
    assert await ids(store, at=3) == ["o0", "o1", "o2"]
    with pytest.raises(RevisionUnavailable):
        await ids(store, at=2)


async def collected(store: Store, before: int, most: int) -> list[int]:
    portions = []
    while found := await store.collect(before, most):
        portions.append(found)
    return portions


async def test_one_key_digest_is_kept_and_no_second(store: Store) -> None:
    assert list(await store.key_digests()) == []
    assert await store.keep_key_digest("aa", NOW)
    assert not await store.keep_key_digest("bb", NOW)

    assert list(await store.key_digests()) == ["aa"]


async def test_a_key_digest_takes_the_place_of_all_others(store: Store) -> None:
    revision = (await store.list_objects(EVERYTHING, ObjectFilter())).revision

    assert await store.replace_key_digests("aa", NOW) == 0
    assert await store.replace_key_digests("bb", NOW + 1) == 1

    assert list(await store.key_digests()) == ["bb"]
    assert not await store.keep_key_digest("cc", NOW + 2)
    assert (await store.list_objects(EVERYTHING, ObjectFilter())).revision == revision


async def test_a_closed_store_is_unavailable(store: Store) -> None:
    await store.close()

    with pytest.raises(StoreUnavailable):
        await store.get_object(document("a"))
    with pytest.raises(StoreUnavailable):
        await store.list_objects(EVERYTHING, ObjectFilter(text="a"))
    with pytest.raises(StoreUnavailable):
        await store.put_objects([new("a")], stamp())


async def test_a_database_without_schema_cannot_be_opened(empty_database_url: str) -> None:
    database = read_database_url(empty_database_url)
    if isinstance(database, SqliteUrl):
        Path(database.path).touch()  # an empty file is an empty database

    with pytest.raises(SchemaMismatch):
        await open_store(settings_for(empty_database_url))


async def test_a_database_that_cannot_be_reached_is_unavailable(tmp_path: Path) -> None:
    for url in (f"sqlite:///{tmp_path}/no/such/folder.db", "postgresql://nobody@127.0.0.1:1/nothing"):
        with pytest.raises(StoreUnavailable):
            migrate_store(settings_for(url))
        with pytest.raises(StoreUnavailable):
            await open_store(settings_for(url, store_timeout_ms=500))
