"""The sentences of store/contract/keys.py, on every store."""

import asyncio
from dataclasses import replace

import pytest

from magistrate.engine.names import ObjectId, Revision, TypeName
from magistrate.errors import Conflict, NotFound
from magistrate.store.contract.keys import NewSecret, StoredKey
from magistrate.store.contract.new_rows import NewObject, Stamp
from magistrate.store.contract.store import Store
from magistrate.store.scripts.keys import KEYS_AT_ONCE
from magistrate.wiring.stores import open_store
from tests.databases import dump
from tests.running import settings_for

pytestmark = pytest.mark.anyio

MANY = 100
SECOND = 1_000_000


def key(name: str, **others: object) -> StoredKey:
    """With an id that follows from the name."""
    made = StoredKey(f"id-{name}", name, "magistrate_abc", name * 8, ("check", "query"), None, 5, "ann")
    return replace(made, **others)  # type: ignore[arg-type]  # members of it


async def stored(store: Store) -> list[StoredKey]:
    return [*(await store.list_keys()).keys]


async def test_a_new_store_has_no_keys(store: Store) -> None:
    found = await store.list_keys()

    assert (found.revision, found.version, found.keys) == (0, 0, ())
    assert await store.keys_version() == 0


async def test_keys_are_listed_by_id_as_they_were_created(store: Store) -> None:
    limited = key("b", object_types=("document", "folder"), expires_at=9, scopes=("admin",))
    for new in (limited, key("a")):
        await store.create_key(new, MANY)

    assert await stored(store) == [key("a"), limited]


async def test_a_name_is_taken_once(store: Store) -> None:
    await store.create_key(key("a"), MANY)

    with pytest.raises(Conflict, match="name a already"):
        await store.create_key(key("a", id="other"), MANY)
    assert await stored(store) == [key("a")]


async def test_there_are_so_many_keys_at_most(store: Store) -> None:
    for name in "ab":
        await store.create_key(key(name), 2)

    with pytest.raises(Conflict, match="there are 2 keys"):
        await store.create_key(key("c"), 2)


async def test_of_concurrent_callers_one_gets_the_name(store: Store, database_url: str) -> None:
    other = await open_store(settings_for(database_url))
    stores = [store, other] * 5

    outcomes = await asyncio.gather(
        *(one.create_key(key("a", id=f"id-{place}"), MANY) for place, one in enumerate(stores)), return_exceptions=True
    )
    await other.close()

    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == len(stores) - 1
    assert len(await stored(store)) == 1


async def test_a_rotation_replaces_the_secret_and_keeps_the_one_before(store: Store) -> None:
    await store.create_key(key("a"), MANY)

    first = await store.rotate_key("id-a", NewSecret("magistrate_x", "first", 50))
    second = await store.rotate_key("id-a", NewSecret("magistrate_y", "second", 60))

    once = key("a", prefix="magistrate_x", digest="first", previous_digest=key("a").digest, previous_until=50)
    assert first.value == once
    assert second.value == replace(
        once, prefix="magistrate_y", digest="second", previous_digest="first", previous_until=60
    )
    assert await stored(store) == [second.value]


async def test_a_key_that_is_not_there_is_neither_rotated_nor_deleted(store: Store) -> None:
    with pytest.raises(NotFound, match="Key id-a not found"):
        await store.rotate_key("id-a", NewSecret("p", "d", 5))
    with pytest.raises(NotFound, match="Key id-a not found"):
        await store.delete_key("id-a")
    assert await store.keys_version() == 0


async def test_nothing_stays_of_a_deleted_key(store: Store, database_url: str) -> None:
    await store.create_key(key("a"), MANY)
    await store.rotate_key("id-a", NewSecret("magistrate_x", "first", 50))

    await store.delete_key("id-a")

    assert await stored(store) == []
    assert key("a").digest not in repr(dump(database_url))
    assert "first" not in repr(dump(database_url)["caller_key"])


async def test_the_version_grows_with_each_change_but_not_with_uses(store: Store) -> None:
    versions = [await store.keys_version()]
    for change in (
        lambda: store.create_key(key("a"), MANY),
        lambda: store.rotate_key("id-a", NewSecret("p", "d", 5)),
        lambda: store.keep_key_digest("one", 5),
        lambda: store.replace_key_digests("two", 5),
        lambda: store.delete_key("id-a"),
    ):
        await change()
        versions.append(await store.keys_version())
    await store.create_key(key("a"), MANY)
    before = await store.keys_version()
    await store.note_key_uses({"id-a": 5}, 0)

    assert versions == [0, 1, 2, 3, 4, 5]
    assert await store.keys_version() == before == (await store.list_keys()).version


async def test_keys_make_no_revision_and_no_change(store: Store, database_url: str) -> None:
    await store.put_objects([NewObject(TypeName("d"), ObjectId("a"), None)], Stamp("ann", 5))
    before = {name: rows for name, rows in dump(database_url).items() if name in ("revision", "change")}

    revisions = [await store.create_key(key("a"), MANY)]
    revisions.append((await store.rotate_key("id-a", NewSecret("p", "d", 5))).revision)
    revisions.append((await store.list_keys()).revision)
    revisions.append(await store.delete_key("id-a"))

    assert revisions == [Revision(1)] * 4
    assert {name: rows for name, rows in dump(database_url).items() if name in before} == before


async def test_uses_are_recorded_once_in_a_pause(store: Store) -> None:
    for name in "ab":
        await store.create_key(key(name), MANY)
    seen = []
    for at in (100 * SECOND, 130 * SECOND, 160 * SECOND):
        await store.note_key_uses({"id-a": at, "id-unknown": at}, 60 * SECOND)
        seen.append([one.last_used_at for one in await stored(store)])

    assert seen == [[100 * SECOND, None], [100 * SECOND, None], [160 * SECOND, None]]


async def test_more_keys_than_are_built_at_once_are_all_listed(store: Store) -> None:
    names = [f"k{number:03}" for number in range(2 * KEYS_AT_ONCE + 5)]
    for name in names:
        await store.create_key(key(name), len(names))

    assert [one.name for one in await stored(store)] == names
