"""The sentences of store/contract/saved_queries.py, on every store."""

import asyncio

import pytest
from msgspec.structs import replace

from magistrate.engine.names import ObjectId, Revision, TypeName
from magistrate.errors import Conflict, NotFound
from magistrate.store.contract.new_rows import NewObject, Stamp
from magistrate.store.contract.saved_queries import SavedQuery
from magistrate.store.contract.store import Store
from magistrate.wiring.stores import open_store
from tests.databases import dump
from tests.running import settings_for

pytestmark = pytest.mark.anyio

MANY = 100
Q = "select document where user:ann is viewer"


def new(name: str = "a", context: str | None = None) -> SavedQuery:
    return SavedQuery(f"id-{name}", name, f"of {name}", Q, context, 5, "ann")


async def list_names(store: Store) -> list[str]:
    return [row.name for row in (await store.list_saved_queries()).value]


async def test_a_saved_query_is_stored_as_it_is(store: Store) -> None:
    await store.put_objects([NewObject(TypeName("d"), ObjectId("x"), None)], Stamp("ann", 9))
    query = new("Who? 'é' \U0001f600", '{"network":"off\\u0000ice","n":[1,2.5,null]}')

    made = await store.create_saved_query(query, MANY)

    newest = store.known.newest.revision
    assert (made.revision, made.value) == (newest, query)
    for read in (await store.find_saved_query(query.id), (await store.list_saved_queries())):
        assert read.revision == newest
        assert read.value in (query, (query,))


async def test_saved_queries_are_listed_by_name_in_the_order_of_code_points(store: Store) -> None:
    assert (await store.list_saved_queries()).value == ()
    for name in ("b", "é", "a", "B", "_", "\U0001f600", "ﬀ"):
        await store.create_saved_query(new(name), MANY)

    assert await list_names(store) == ["B", "_", "a", "b", "é", "ﬀ", "\U0001f600"]


async def test_there_are_so_many_at_most(store: Store) -> None:
    for name in "ab":
        await store.create_saved_query(new(name), 2)

    with pytest.raises(Conflict, match="has 2 saved queries"):
        await store.create_saved_query(new("c"), 2)
    await store.delete_saved_query("id-a")
    await store.create_saved_query(new("c"), 2)

    assert await list_names(store) == ["b", "c"]


async def test_a_name_is_given_once(store: Store) -> None:
    for name in "ab":
        await store.create_saved_query(new(name), MANY)

    with pytest.raises(Conflict, match="the name a already"):
        await store.create_saved_query(replace(new("a"), id="other"), MANY)
    with pytest.raises(Conflict, match="the name a already"):
        await store.update_saved_query("id-b", lambda row: replace(row, name="a"))
    await store.update_saved_query("id-b", lambda row: replace(row, name="b", q=f"{Q}, editor"))

    assert await list_names(store) == ["a", "b"]


async def test_a_change_replaces_all_but_who_made_it_and_when(store: Store) -> None:
    await store.create_saved_query(new(context='{"a":1}'), MANY)
    changed = SavedQuery("other", "b", "", f"{Q}, editor", None, 99, "bob")

    answered = await store.update_saved_query("id-a", lambda row: changed)

    expected = replace(changed, id="id-a", created_at=5, created_by="ann")
    assert answered.value == (await store.find_saved_query("id-a")).value == expected


async def test_a_change_that_is_refused_changes_nothing(store: Store) -> None:
    await store.create_saved_query(new(), MANY)

    def refuse(row: SavedQuery) -> SavedQuery:
        raise Conflict(f"not {row.name}")

    with pytest.raises(Conflict, match="not a"):
        await store.update_saved_query("id-a", refuse)

    assert (await store.find_saved_query("id-a")).value == new()


async def test_an_unknown_saved_query_is_not_found(store: Store) -> None:
    for call in (
        store.find_saved_query("id-a"),
        store.update_saved_query("id-a", lambda row: row),
        store.delete_saved_query("id-a"),
    ):
        with pytest.raises(NotFound, match="Saved query id-a not found"):
            await call


async def test_saved_queries_make_no_revision_and_no_change(store: Store, database_url: str) -> None:
    put = await store.put_objects([NewObject(TypeName("d"), ObjectId("x"), None)], Stamp("ann", 9))
    before = {name: rows for name, rows in dump(database_url).items() if name != "saved_query"}

    await store.create_saved_query(new(), MANY)
    await store.update_saved_query("id-a", lambda row: replace(row, name="b"))
    deleted = await store.delete_saved_query("id-a")

    assert deleted == put.revision == Revision(1)
    after = dump(database_url)
    assert after.pop("saved_query") == []
    assert after == before


async def test_of_two_that_give_a_name_at_once_one_does(store: Store, database_url: str) -> None:
    stores = [store, *[await open_store(settings_for(database_url)) for _ in range(3)]]
    rows = [replace(new("same"), id=str(number)) for number in range(len(stores) * 4)]

    made = await asyncio.gather(
        *(stores[number % len(stores)].create_saved_query(row, MANY) for number, row in enumerate(rows)),
        return_exceptions=True,
    )

    [first] = [each for each in made if not isinstance(each, BaseException)]
    assert {type(each) for each in made if isinstance(each, BaseException)} == {Conflict}
    assert (await store.list_saved_queries()).value == (first.value,)
    for each in stores[1:]:
        await each.close()


async def test_of_two_that_take_the_last_place_at_once_one_does(store: Store, database_url: str) -> None:
    other = await open_store(settings_for(database_url))

    made = await asyncio.gather(
        *(each.create_saved_query(new(str(number)), 1) for number, each in enumerate([store, other] * 4)),
        return_exceptions=True,
    )

    assert len([each for each in made if not isinstance(each, Conflict)]) == len(await list_names(store)) == 1
    await other.close()
