"""The sentences of store/contract/stores.py, on every database."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from magistrate.engine.names import ObjectId, Revision, TypeName
from magistrate.engine.terms import object_ref
from magistrate.engine.warrants.warrant import warrant_names
from magistrate.errors import Conflict, NotFound, StoreDeleted, StoreUnavailable
from magistrate.store import sql_stores
from magistrate.store.contract.events import DecisionRecord
from magistrate.store.contract.keys import StoredKey
from magistrate.store.contract.lists import ObjectFilter, Slice
from magistrate.store.contract.new_rows import NewObject, NewObjectType, NewWarrant, Once, Stamp, build_new_warrant
from magistrate.store.contract.store import Store
from magistrate.store.contract.stores import (
    DEFAULT_STORE,
    NewStore,
    StoredStore,
    StoreLimits,
    Stores,
    generate_ulid,
    read_ulid,
)
from magistrate.store.sql.sqlite import SQLITE
from magistrate.store.sql.stores import list_stored_rows
from magistrate.wiring.stores import migrate_store, open_stores
from tests.databases import dump
from tests.running import settings_for

pytestmark = pytest.mark.anyio

STAMP = Stamp("ann", 5)
DEFINITION = '{"relations":{"viewer":{}}}'
DOCUMENT = NewObjectType(TypeName("document"), DEFINITION)


@pytest.fixture
async def stores(database_url: str) -> AsyncIterator[Stores]:
    migrate_store(settings_for(database_url))
    opened = await open_stores(settings_for(database_url))
    yield opened
    await opened.close()


def new(name: str, model_of: int | None = None) -> NewStore:
    types = (DOCUMENT,) if model_of is None else ()
    return NewStore(name, f"of {name}", StoreLimits(warrants=3), "ann", 5, types=types, model_of=model_of)


async def put(store: Store, *ids: str) -> None:
    await store.put_objects([NewObject(TypeName("document"), ObjectId(name), None) for name in ids], STAMP)


async def list_ids(store: Store) -> list[str]:
    return [stored.id for stored in (await store.list_objects(Slice("objectId", 100), ObjectFilter())).value.rows]


async def list_names(stores: Stores, prefix: str = "") -> list[str]:
    return [stored.name for stored in (await stores.list_stores(Slice("name", 100), prefix)).rows]


async def remove_rows(stores: Stores, most: int = 1_000) -> list[int]:
    """How many rows each call has removed, until none was left."""
    removed = []
    while count := (await stores.delete_rows(100, most)).rows:
        removed.append(count)
    return removed


async def test_a_store_has_the_id_that_is_wanted_unless_another_had_it(stores: Stores) -> None:
    first = await stores.create(replace(new("one"), wanted_id="01ARZ3NDEKTSV4RRFFQ69G5FAV"))
    second = await stores.create(replace(new("two"), wanted_id=first.id))
    await stores.delete(second.number, 7)
    third = await stores.create(replace(new("three"), wanted_id=second.id))

    assert first.id == "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    assert len({first.id, second.id, third.id}) == 3
    assert (await stores.find_store(first.id)) == first


async def test_the_store_default_is_there_from_the_beginning(stores: Stores) -> None:
    [stored] = (await stores.list_stores(Slice("name", 100), "")).rows

    assert (stored.number, stored.name) == (DEFAULT_STORE, "default")
    assert stored.identity == stores.default.identity


async def test_no_store_sees_rows_of_another(stores: Stores) -> None:
    first = stores.open_store(await stores.create(new("first")))
    second = stores.open_store(await stores.create(new("second")))

    await put(first, "a", "b")
    await put(second, "c")

    assert [await list_ids(store) for store in (stores.default, first, second)] == [[], ["a", "b"], ["c"]]
    assert [await store.check() for store in (stores.default, first, second)] == [0, 2, 2]
    assert (await second.get_object(object_ref("document", "a"))).value is None


async def test_a_new_store_has_its_model_as_revision_1(stores: Stores) -> None:
    stored = await stores.create(new("first"))
    store = stores.open_store(stored)

    model = await store.read_model()
    assert (model.revision, dict(model.value.definitions)) == (1, {"document": DEFINITION})
    assert (await store.find_revision_at(5)).match is not None
    assert stored.limits == StoreLimits(warrants=3)


async def test_a_new_store_can_have_the_model_of_another(stores: Stores) -> None:
    first = await stores.create(new("first"))
    await stores.open_store(first).put_policies([("hours", "{}")], STAMP)  # type: ignore[list-item]  # a name is a text

    second = stores.open_store(await stores.create(new("second", model_of=first.number)))

    model = (await second.read_model()).value
    assert (dict(model.definitions), dict(model.policies)) == ({"document": DEFINITION}, {"hours": "{}"})
    with pytest.raises(NotFound):
        await stores.create(new("third", model_of=99))
    assert await list_names(stores) == ["default", "first", "second"]


async def test_a_name_is_taken_once(stores: Stores) -> None:
    first = await stores.create(new("first"))
    await stores.create(new("second"))

    with pytest.raises(Conflict, match="first already"):
        await stores.create(new("first"))
    with pytest.raises(Conflict, match="second already"):
        await stores.update(first.number, "second", "", StoreLimits())
    assert await list_names(stores) == ["default", "first", "second"]


async def test_what_a_store_is_called_can_be_changed(stores: Stores) -> None:
    first = await stores.create(new("first"))

    changed = await stores.update(first.number, "renamed", "more", StoreLimits(objects=7))

    assert changed == replace(first, name="renamed", description="more", limits=StoreLimits(objects=7))
    assert await list_names(stores) == ["default", "renamed"]
    with pytest.raises(NotFound):
        await stores.update(99, "other", "", StoreLimits())


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_stores_are_listed_page_by_page_in_both_directions(stores: Stores, limit: int) -> None:
    for name in ("ab", "aa", "b", "a-c"):
        await stores.create(new(name))
    pages, boundary = [], None
    while True:
        page = await stores.list_stores(Slice("name", limit, boundary=boundary), "a")
        pages.append([stored.name for stored in page.rows])
        assert page.precedes == bool(boundary)
        boundary = (page.rows[-1].name,)
        if not page.follows:
            break
    backwards = await stores.list_stores(Slice("name", limit, boundary=("b",), backwards=True), "a")

    assert [name for names in pages for name in names] == ["a-c", "aa", "ab"]
    assert [stored.name for stored in backwards.rows] == ["a-c", "aa", "ab"][-limit:]
    assert (backwards.precedes, backwards.follows) == (limit < 3, False)


async def test_nothing_is_read_from_a_store_that_was_deleted_or_written_to_it(stores: Stores) -> None:
    first = await stores.create(new("first"))
    store = stores.open_store(first)
    await put(store, "a")

    await stores.delete(first.number, 50)

    for refused in (store.check(), store.read_model(), store.get_object(object_ref("document", "a")), put(store, "b")):
        with pytest.raises(StoreDeleted):
            await refused
    with pytest.raises(NotFound):
        await stores.delete(first.number, 60)
    assert await list_names(stores) == ["default"]


async def test_the_store_default_cannot_be_deleted(stores: Stores) -> None:
    with pytest.raises(Conflict):
        await stores.delete(DEFAULT_STORE, 50)

    assert await stores.default.check() == 0


@pytest.mark.parametrize("most", [1, 3, 1_000])
async def test_the_rows_of_a_deleted_store_are_removed_in_chunks_and_its_name_is_free_then(
    stores: Stores, database_url: str, most: int
) -> None:
    before = dump(database_url)
    first, second = await stores.create(new("first")), await stores.create(new("second"))
    store = stores.open_store(first)
    await put(store, "a", "b")
    await store.create_key(StoredKey("id", "a", "p", "d", ("check",), None, 5, "ann"), 10)
    await put(stores.open_store(second), "kept")
    await stores.delete(first.number, 50)
    with pytest.raises(Conflict, match="until just now"):
        await stores.create(new("first"))

    assert (await stores.delete_rows(49, most)).rows == 0
    removed = await remove_rows(stores, most)

    assert max(removed) <= most
    assert await list_ids(stores.open_store(second)) == ["kept"]
    assert (await stores.create(new("first"))).number > second.number
    rows = [row for table in dump(database_url).values() for row in table]
    assert not [row for row in rows if row[0] == first.number]
    assert dump(database_url).keys() == before.keys()


async def test_a_number_is_never_given_twice(stores: Stores) -> None:
    first = await stores.create(new("first"))
    await stores.delete(first.number, 50)
    await remove_rows(stores)

    second = await stores.create(new("first"))

    assert (second.number, second.id) != (first.number, first.id)
    assert second.number > first.number


async def test_rows_of_every_table_are_removed(database_url: str) -> None:
    migrate_store(settings_for(database_url))
    tables = {name for name in dump(database_url) if name not in ("migration", "store", "head")}

    assert {rows.delete.split()[2] for rows in list_stored_rows(SQLITE)} == tables


async def test_all_changes_of_stores_are_followed_by_one_statement(stores: Stores) -> None:
    since, moved = await stores.list_moved(0)
    assert [store.stored.name for store in moved] == ["default"]
    first, second = await stores.create(new("first")), await stores.create(new("second"))

    async def list_moved() -> dict[str, tuple[int, int | None]]:
        nonlocal since
        statements = stores.default.statements
        since, moved = await stores.list_moved(since)
        assert stores.default.statements == statements + 1
        return {store.stored.name: (store.newest.revision, store.stored.deleted_at) for store in moved}

    assert await list_moved() == {"first": (1, None), "second": (1, None)}
    assert await list_moved() == {}
    await put(stores.open_store(second), "a")
    assert await list_moved() == {"second": (2, None)}
    await stores.update(first.number, "renamed", "", StoreLimits())
    await stores.delete(second.number, 50)
    assert await list_moved() == {"renamed": (1, None), "second": (2, 50)}


async def test_changes_of_keys_are_followed(stores: Stores) -> None:
    first = await stores.create(new("first"))
    since, _ = await stores.list_moved(0)
    key = StoredKey("id", "a", "p", "d", ("check",), None, 5, "ann")

    await stores.open_store(first).create_key(key, 10)

    since, [moved] = await stores.list_moved(since)
    assert moved.keys_version == 1
    assert dict(await stores.list_keys(first.number)) == dict(await stores.list_keys()) == {first.number: [key]}
    assert dict(await stores.list_keys(DEFAULT_STORE)) == {}


def limited(expires_at: int | None, name: str = "ann") -> NewWarrant:
    names = warrant_names("document", "plan", "viewer", "user", name, "")
    return build_new_warrant(names, "", starts_at=None, expires_at=expires_at)


async def grant(store: Store, *warrants: NewWarrant, at: int = 5) -> None:
    await store.put_warrants(list(warrants), lambda definitions: None, Stamp("ann", at))


async def test_stores_are_found_in_which_warrants_have_expired(stores: Stores) -> None:
    made = [await stores.create(new(name)) for name in ("first", "second", "third")]
    numbers = [stored.number for stored in made]
    first, second, third = map(stores.open_store, made)
    await grant(first, limited(90), limited(60, "bob"))
    await grant(second, limited(70))
    await grant(second, limited(80, "bob"))
    await grant(third, limited(None))

    assert await stores.list_expired(59) == []
    assert await stores.list_expired(65) == numbers[:1]
    assert await stores.list_expired(75) == numbers[:2]
    assert await first.end_expired(Stamp("expiry", 75), 10) == 1
    assert await stores.list_expired(85) == numbers[1:2]
    assert await second.end_expired(Stamp("expiry", 85), 1) == 1
    assert await stores.list_expired(95) == [numbers[1], numbers[0]]


async def test_what_has_not_expired_after_all_is_not_found_twice(stores: Stores) -> None:
    stored = await stores.create(new("first"))
    store = stores.open_store(stored)
    await grant(store, limited(60))
    await grant(store, limited(90))
    found = await stores.list_expired(65)

    assert await store.end_expired(Stamp("expiry", 65), 10) == 0
    assert (found, await stores.list_expired(65), await stores.list_expired(90)) == (
        [stored.number],
        [],
        [stored.number],
    )
    await stores.delete(stored.number, 50)
    assert await stores.list_expired(90) == []


HOUR = 3_600_000_000


async def test_stores_are_found_that_have_rows_past_their_retention(stores: Stores) -> None:
    made = [await stores.create(new(name)) for name in ("first", "second", "third")]
    numbers = [stored.number for stored in made]
    first, second, _ = opened = [stores.open_store(stored) for stored in made]
    await grant(first, limited(None), at=10)
    await first.delete_warrants([limited(None)], Stamp("ann", 20))
    await grant(second, limited(None), at=30)

    assert await stores.list_outdated(19, 0) == []
    assert await stores.list_outdated(20, 0) == numbers[:1]
    while await first.collect(20, 10):
        pass
    assert await stores.list_outdated(40, 0) == []
    assert await stores.list_outdated(40, 7) == numbers  # their first changes
    for store in opened:
        while await store.delete_events(40, 10):
            pass
    assert await stores.list_outdated(40, 40) == []
    await grant(second, limited(None), at=50)
    assert await stores.list_outdated(60, 40) == []
    assert await stores.list_outdated(60, 60) == numbers[1:2]


async def test_stores_are_found_with_old_decisions_and_results_of_requests(stores: Stores) -> None:
    made = [await stores.create(new(name)) for name in ("first", "second")]
    first, second = map(stores.open_store, made)
    decision = DecisionRecord(50, True, ("document", "plan", "viewer", "user", "ann", ""), None, Revision(1))
    await first.keep_decisions([decision], 10)
    once = Once("key", "fingerprint", "ann")
    await second.put_objects([NewObject(TypeName("document"), ObjectId("a"), None)], Stamp("ann", 60, once))

    assert await stores.list_outdated(0, 4) == []
    assert await stores.list_outdated(4, 50) == [stored.number for stored in made]
    assert await stores.list_outdated(60 + 24 * HOUR, 4) == [made[1].number]


async def test_more_stores_than_one_statement_searches_are_searched(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_stores, "STORES_AT_ONCE", 2)
    numbers = [(await stores.create(new(name))).number for name in ("a", "b", "c", "d")]
    await stores.delete(numbers.pop(1), 50)

    assert await stores.list_outdated(0, 10) == numbers


async def test_after_it_is_closed_nothing_works(database_url: str) -> None:
    migrate_store(settings_for(database_url))
    stores = await open_stores(settings_for(database_url))
    store = stores.open_store(await stores.create(new("first")))

    await stores.close()

    for refused in (stores.create(new("second")), put(store, "a")):
        with pytest.raises(StoreUnavailable):
            await refused


def test_ulids_sort_by_time_and_are_read_back() -> None:
    early, late = generate_ulid(1_000_000), generate_ulid(2_000_000)

    assert (len(early), early < late) == (26, True)
    assert int.from_bytes(read_ulid(early), "big") >> 80 == 1_000
    assert len({generate_ulid(5) for _ in range(100)}) == 100


def test_the_identity_of_a_store_follows_from_its_id() -> None:
    stored = StoredStore(2, generate_ulid(1_000_000), "a", "", StoreLimits(), "00" * 16, 1)

    assert stored.identity.store_id == read_ulid(stored.id)[8:].hex()
