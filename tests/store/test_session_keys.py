"""The sentences of store/contract/keys.py, on every store."""

import asyncio

import pytest

from magistrate.engine.names import ObjectId, Revision, TypeName
from magistrate.errors import StoreUnavailable
from magistrate.store.contract.keys import KeptKeys, SessionKey
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import NewObject, Stamp
from magistrate.store.contract.store import Store
from magistrate.wiring.stores import open_store
from tests.databases import dump
from tests.running import settings_for

pytestmark = pytest.mark.anyio


def key(number: int) -> SessionKey:
    """Created at this time."""
    return SessionKey(f"{number:016x}", f"{number:064x}", number)


def kept(*keys: SessionKey, revision: int = 0) -> KeptKeys:
    return Snapshot(Revision(revision), keys)


async def test_a_new_store_keeps_no_key(store: Store) -> None:
    assert await store.session_keys() == kept()


async def test_keys_are_kept_the_newest_first(store: Store) -> None:
    for number in (5, 7):
        answered = await store.keep_session_key(key(number), unless_after=number - 1, delete_by=0)

    assert answered == kept(key(7), key(5))
    assert await store.session_keys() == answered


async def test_no_key_is_kept_if_there_is_one_that_is_new_enough(store: Store) -> None:
    await store.keep_session_key(key(5), unless_after=0, delete_by=0)

    assert await store.keep_session_key(key(6), unless_after=4, delete_by=5) == kept(key(5))
    assert await store.keep_session_key(key(6), unless_after=5, delete_by=0) == kept(key(6), key(5))


async def test_old_keys_are_deleted_when_a_new_one_is_kept(store: Store) -> None:
    for number in (1, 2, 3):
        await store.keep_session_key(key(number), unless_after=number - 1, delete_by=0)

    assert await store.keep_session_key(key(9), unless_after=8, delete_by=2) == kept(key(9), key(3))


async def test_of_several_processes_at_a_time_one_has_its_key_kept(store: Store, database_url: str) -> None:
    other = await open_store(settings_for(database_url))
    stores = [store, other] * 10

    answers = await asyncio.gather(
        *(one.keep_session_key(key(100 + place), unless_after=50, delete_by=0) for place, one in enumerate(stores))
    )
    await other.close()

    assert len({answer.value for answer in answers}) == 1
    assert len(answers[0].value) == 1


async def test_all_keys_are_deleted_at_once(store: Store) -> None:
    for number in (5, 7):
        await store.keep_session_key(key(number), unless_after=number - 1, delete_by=0)

    assert await store.delete_session_keys() == 2
    assert await store.delete_session_keys() == 0
    assert await store.session_keys() == kept()


async def test_keys_make_no_revision_and_come_with_the_newest(store: Store, database_url: str) -> None:
    await store.put_objects([NewObject(TypeName("d"), ObjectId("x"), None)], Stamp("ann", 1))

    answered = await store.keep_session_key(key(5), unless_after=0, delete_by=0)
    await store.delete_session_keys()

    assert answered == kept(key(5), revision=1)
    assert await store.session_keys() == kept(revision=1)
    assert len(dump(database_url)["revision"]) == len(dump(database_url)["change"]) == 1


async def test_a_closed_store_gives_no_keys(store: Store) -> None:
    await store.close()

    for call in (store.session_keys, store.delete_session_keys):
        with pytest.raises(StoreUnavailable):
            await call()


def test_the_secret_is_not_in_the_representation() -> None:
    assert SessionKey("5f0c", "9d1e", 1).secret not in repr(SessionKey("5f0c", "9d1e", 1))
