"""The keys that a service accepts are those of its stores, although the database is restored, or fails in between."""

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import NamedTuple

import pytest

from magistrate.api.auth.callers import KeyRing
from magistrate.errors import Unauthenticated
from magistrate.operations.keys.caller_keys import key_digest
from magistrate.operations.stores.contexts import StoreContexts
from magistrate.store.contract.keys import StoredKey
from magistrate.store.contract.stores import NewStore, StoredStore, StoreLimits, Stores
from magistrate.wiring.api_keys import ServiceKeys
from magistrate.wiring.contexts import context_of
from magistrate.wiring.stores import migrate_store, open_stores
from tests.databases import dump, restore
from tests.running import settings_for

pytestmark = pytest.mark.anyio


class Service(NamedTuple):
    """The keys of a process, and another process that writes keys of two stores."""

    keys: ServiceKeys
    ring: KeyRing
    other: Stores
    first: StoredStore
    second: StoredStore
    url: str

    async def create(self, stored: StoredStore, secret: str) -> None:
        key = StoredKey(f"id-{secret}", secret, "p", key_digest(secret), ("check",), None, 1, "ann")
        await self.other.open_store(stored).create_key(key, 10)

    async def delete(self, stored: StoredStore, secret: str) -> None:
        await self.other.open_store(stored).delete_key(f"id-{secret}")

    def list_accepted(self, *secrets: str) -> dict[str, int]:
        """The number of the store of each of these keys that is accepted."""
        accepted = {}
        for secret in secrets:
            with suppress(Unauthenticated):
                accepted[secret] = self.ring.identify(f"ApiKey {secret}").store
        return accepted


@pytest.fixture
async def service(database_url: str) -> AsyncIterator[Service]:
    settings = settings_for(database_url)
    migrate_store(settings)
    stores, other = await open_stores(settings), await open_stores(settings)
    first, second = [await other.create(NewStore(name, "", StoreLimits(), "ann", 5)) for name in ("first", "second")]
    keys = ServiceKeys(settings, StoreContexts(stores, lambda store: context_of(store, settings)))
    yield Service(keys, await keys.open(), other, first, second, database_url)
    await stores.close()
    await other.close()


async def test_keys_follow_a_restore(service: Service) -> None:
    await service.create(service.first, "kept")
    await service.create(service.first, "back")
    await service.create(service.second, "old")
    backup = dump(service.url)
    await service.delete(service.first, "back")
    third = await service.other.create(NewStore("third", "", StoreLimits(), "ann", 5))
    await service.create(third, "lost")
    await service.create(service.second, "undone")
    await service.keys.take_over()
    first, second = service.first.number, service.second.number
    every = ("kept", "back", "old", "undone", "lost", "new")
    assert service.list_accepted(*every) == {"kept": first, "old": second, "undone": second, "lost": third.number}

    restore(service.url, backup)
    await service.create(service.second, "new")  # the version of these keys is the same as before
    await service.keys.take_over()

    assert service.list_accepted(*every) == {"kept": first, "back": first, "old": second, "new": second}


async def test_keys_that_could_not_be_read_are_read_at_the_next_attempt(service: Service) -> None:
    await service.create(service.first, "one")
    stores = service.keys._contexts.stores
    read = stores.list_keys

    async def hang(number: int | None = None) -> None:
        raise TimeoutError

    stores.list_keys = hang  # type: ignore[assignment, method-assign]
    await service.keys.take_over()
    assert service.list_accepted("one") == {}
    stores.list_keys = read  # type: ignore[method-assign]

    await service.keys.take_over()

    assert service.list_accepted("one") == {"one": service.first.number}


async def test_keys_of_a_deleted_store_are_not_accepted_although_its_rows_are_there(service: Service) -> None:
    await service.create(service.first, "one")
    await service.other.delete(service.first.number, 50)

    assert dict(await service.other.list_keys()) == dict(await service.other.list_keys(service.first.number)) == {}
