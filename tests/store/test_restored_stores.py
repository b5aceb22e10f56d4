"""The list of stores is followed over restores: a database that is brought back to an earlier state while it is
followed, whatever was lost and whatever is written before that is noticed."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import NamedTuple

import pytest

from magistrate.engine.names import ObjectId, TypeName
from magistrate.operations.stores.contexts import StoreContexts
from magistrate.store.contract.keys import StoredKey
from magistrate.store.contract.new_rows import NewObject, Stamp
from magistrate.store.contract.store import Store
from magistrate.store.contract.stores import NewStore, StoredStore, StoreLimits, Stores
from magistrate.wiring.contexts import context_of
from magistrate.wiring.stores import migrate_store, open_stores
from tests.databases import dump, restore, run_sql
from tests.running import settings_for

pytestmark = pytest.mark.anyio

KEY = StoredKey("id", "a", "p", "d", ("check",), None, 5, "ann")


class Followed(NamedTuple):
    """Two processes on one database, of which the first follows what the second writes to two stores."""

    contexts: StoreContexts
    other: Stores
    first: StoredStore
    second: StoredStore
    url: str

    def open(self, stored: StoredStore) -> Store:
        return self.other.open_store(stored)


@pytest.fixture
async def followed(database_url: str) -> AsyncIterator[Followed]:
    settings = settings_for(database_url)
    migrate_store(settings)
    stores, other = await open_stores(settings), await open_stores(settings)
    contexts = StoreContexts(stores, lambda store: context_of(store, settings))
    first, second = await other.create(new("first")), await other.create(new("second"))
    await contexts.follow()
    yield Followed(contexts, other, first, second, database_url)
    await stores.close()
    await other.close()


def new(name: str) -> NewStore:
    return NewStore(name, "", StoreLimits(), "ann", 5)


async def put(store: Store, name: str = "a") -> None:
    await store.put_objects([NewObject(TypeName("document"), ObjectId(name), None)], Stamp("ann", 5))


async def write_to_first(followed: Followed) -> None:
    await put(followed.open(followed.first))


async def write_to_default(followed: Followed) -> None:
    await put(followed.other.default)


async def create_key(followed: Followed) -> None:
    await followed.open(followed.first).create_key(KEY, 10)


async def rename(followed: Followed) -> None:
    await followed.other.update(followed.first.number, "renamed", "", StoreLimits())


async def delete(followed: Followed) -> None:
    await followed.other.delete(followed.first.number, 50)


async def create(followed: Followed) -> None:
    await followed.other.create(new("third"))


Change = Callable[[Followed], Awaitable[None]]

CHANGES: list[Change] = [write_to_first, write_to_default, create_key, rename, delete, create]


async def do_nothing(followed: Followed) -> None:
    """Nothing is written before the restore is noticed."""


async def write_to_second(followed: Followed) -> None:
    for name in "abcde":
        await put(followed.open(followed.second), name)


async def write_to_all(followed: Followed) -> None:
    for stored in (followed.first, followed.second):
        for name in "xyz":
            await put(followed.open(stored), name)


async def create_another(followed: Followed) -> None:
    await write_to_second(followed)
    await followed.other.create(new("fourth"))


LATER: list[Change] = [do_nothing, write_to_second, write_to_all, create_another]


@pytest.mark.parametrize("later", LATER, ids=lambda later: later.__name__)
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
async def test_a_restore_is_noticed_whatever_it_undoes(followed: Followed, change: Change, later: Change) -> None:
    backup = dump(followed.url)
    await put(followed.open(followed.second), "before")
    await change(followed)
    await followed.contexts.follow()
    assert followed.contexts.stores.restores == 0

    restore(followed.url, backup)
    await later(followed)
    moved = await followed.contexts.follow()

    listed = {each.stored.name: each.stored for each in moved}
    assert listed.keys() - {"fourth"} == {"default", "first", "second"}
    assert replace(listed["first"], usage=followed.first.usage) == followed.first
    assert {name for name in ("first", "second", "third", "fourth", "renamed") if followed.contexts.find(name)} == (
        listed.keys() - {"default"}
    )
    assert followed.contexts.stores.restores == 1
    assert await followed.contexts.follow() is not None
    assert followed.contexts.stores.restores == 1


async def test_a_restore_is_noticed_after_another_read_has_noticed_it(followed: Followed) -> None:
    """Such as a check in the store `default`."""
    backup = dump(followed.url)
    await write_to_default(followed)
    await followed.contexts.follow()
    restore(followed.url, backup)
    await put(followed.other.default, "other")
    default = followed.contexts.stores.default

    await default.check()
    assert default.known.history == 1
    await followed.contexts.follow()

    assert followed.contexts.stores.restores == 1


async def test_a_restore_of_what_another_restore_has_undone_is_noticed(followed: Followed) -> None:
    early = dump(followed.url)
    await followed.other.create(new("third"))
    await followed.other.delete(followed.first.number, 50)
    await write_to_second(followed)
    late = dump(followed.url)
    restore(followed.url, early)
    await followed.contexts.follow()
    assert [followed.contexts.find(name) is None for name in ("first", "third")] == [False, True]

    restore(followed.url, late)
    await followed.contexts.follow()

    assert [followed.contexts.find(name) is None for name in ("first", "third")] == [True, False]
    assert await followed.contexts.follow() == []


async def test_a_dump_of_a_server_that_is_far_ahead_costs_nothing_when_idle(followed: Followed) -> None:
    """Such as that of a cluster with more transactions, or of a file in which more was written."""
    run_sql(followed.url, "UPDATE head SET moved = moved + 1000000000")
    contexts = StoreContexts(followed.other, lambda store: context_of(store, settings_for(followed.url)))
    await contexts.follow()

    assert await contexts.follow() == []
    await write_to_second(followed)
    assert [each.stored.name for each in await contexts.follow()] == ["second"]
    await rename(followed)
    await contexts.follow()
    assert contexts.find("renamed") is not None
    assert followed.other.restores == 0


async def test_the_number_of_a_lost_store_is_not_given_to_another(followed: Followed) -> None:
    backup = dump(followed.url)
    lost = await followed.other.create(new("third"))
    await followed.contexts.follow()
    context = followed.contexts.open_context(lost.number)
    restore(followed.url, backup)

    fourth = await followed.other.create(new("fourth"))

    assert fourth.number != lost.number
    await followed.contexts.follow()
    assert context not in [*followed.contexts]
    assert followed.contexts.find_issuer(lost.identity.store_id) is None
    assert followed.contexts.find("fourth") == fourth


async def test_no_change_is_missed_behind_the_last_rows_of_a_deleted_store(followed: Followed) -> None:
    await delete(followed)
    await followed.contexts.follow()
    while (await followed.other.delete_rows(100, 1_000)).rows:
        pass

    await followed.other.update(followed.second.number, "renamed", "", StoreLimits())
    await write_to_second(followed)
    await followed.other.create(new("third"))
    await followed.contexts.follow()

    assert followed.contexts.find("renamed") is not None
    assert followed.contexts.find("third") is not None
    assert followed.contexts.stores.restores == 0
