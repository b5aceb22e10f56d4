"""The sentences of store/contract/tickets.py, on every store."""

import asyncio
from dataclasses import replace

import pytest

from magistrate.engine.names import ObjectId, TypeName
from magistrate.errors import TooManyRequests
from magistrate.store.contract.new_rows import NewObject, Stamp
from magistrate.store.contract.store import Store
from magistrate.store.contract.stores import NewStore, StoreLimits
from magistrate.store.contract.tickets import StoredTicket
from magistrate.store.scripts.tickets import EXPIRED_AT_ONCE
from magistrate.wiring.stores import open_store, open_stores
from tests.databases import dump
from tests.running import settings_for

pytestmark = pytest.mark.anyio

MANY = 1_000
OF_A_KEY = StoredTicket("a" * 64, "billing", ("check", "events"), ("invoice",), "id", "", 7, None, 60)
OF_A_SERVICE = StoredTicket("b" * 64, "service:x", ("events",), None, None, "https://issuer.example", 1, 90, 70)


def ticket(number: int, expires_at: int) -> StoredTicket:
    return replace(OF_A_KEY, digest=f"{number:064x}", expires_at=expires_at)


async def test_a_ticket_is_redeemed_once(store: Store) -> None:
    for made in (OF_A_KEY, OF_A_SERVICE):
        await store.create_ticket(made, 0, MANY)

        assert await store.find_ticket(made.digest, 1) == made
        assert await store.redeem_ticket(made.digest, 1) == made
        assert await store.redeem_ticket(made.digest, 1) is None
        assert await store.find_ticket(made.digest, 1) is None


async def test_a_ticket_that_has_expired_is_none(store: Store) -> None:
    await store.create_ticket(OF_A_KEY, 0, MANY)

    assert await store.find_ticket(OF_A_KEY.digest, 59) == OF_A_KEY
    assert await store.find_ticket(OF_A_KEY.digest, 60) is None
    assert await store.redeem_ticket(OF_A_KEY.digest, 60) is None
    assert await store.redeem_ticket(OF_A_KEY.digest, 59) == OF_A_KEY


async def test_of_several_nodes_one_redeems_a_ticket(store: Store, database_url: str) -> None:
    other = await open_store(settings_for(database_url))
    for number in range(5):
        made = ticket(number, 60)
        await store.create_ticket(made, 0, MANY)

        redeemed = await asyncio.gather(*(one.redeem_ticket(made.digest, 1) for one in [store, other] * 10))

        assert [found for found in redeemed if found is not None] == [made]
    await other.close()


async def test_there_are_no_more_rows_than_may_be(store: Store, database_url: str) -> None:
    for number in range(3):
        await store.create_ticket(ticket(number, 60 + number), 0, 3)
    with pytest.raises(TooManyRequests, match="there are 3 tickets"):
        await store.create_ticket(ticket(3, 70), 59, 3)

    await store.create_ticket(ticket(3, 70), 60, 3)

    assert sorted(str(row[0])[-1] for row in dump(database_url)["watch_ticket"]) == ["1", "2", "3"]
    await store.redeem_ticket(ticket(3, 70).digest, 60)
    await store.create_ticket(ticket(4, 70), 60, 3)


async def test_many_that_have_expired_go_little_by_little(store: Store, database_url: str) -> None:
    for number in range(EXPIRED_AT_ONCE + 5):
        await store.create_ticket(ticket(number, 60), 0, MANY)

    for left in (5 + 1, 2):
        await store.create_ticket(ticket(MANY + left, 90), 60, MANY)
        assert len(dump(database_url)["watch_ticket"]) == left


async def test_tickets_make_no_revision_and_no_change(store: Store, database_url: str) -> None:
    written = await store.put_objects([NewObject(TypeName("d"), ObjectId("x"), None)], Stamp("ann", 9))
    before = {name: rows for name, rows in dump(database_url).items() if name in ("revision", "change")}

    assert await store.create_ticket(OF_A_KEY, 0, MANY) == written.revision
    await store.redeem_ticket(OF_A_KEY.digest, 1)

    assert {name: rows for name, rows in dump(database_url).items() if name in before} == before


async def test_those_that_have_expired_are_collected(store: Store, database_url: str) -> None:
    for number in range(3):
        await store.create_ticket(ticket(number, 60 + number), 0, MANY)
    stores = await open_stores(settings_for(database_url))

    assert await stores.list_outdated(59, 0) == []
    assert await stores.list_outdated(60, 0) == [1]
    assert await store.collect(61, 1) == 1
    assert await store.collect(61, 9) == 1
    assert await store.collect(61, 9) == 0
    assert await stores.list_outdated(61, 0) == []
    assert await store.find_ticket(ticket(2, 62).digest, 61) == ticket(2, 62)
    await stores.close()


async def test_a_store_does_not_know_those_of_others(database_url: str, store: Store) -> None:
    stores = await open_stores(settings_for(database_url))
    await store.create_ticket(OF_A_KEY, 0, MANY)
    stored = await stores.create(NewStore("other", "", StoreLimits(), "ann", 5))
    other = stores.open_store(stored)

    assert await other.find_ticket(OF_A_KEY.digest, 1) is None
    assert await other.redeem_ticket(OF_A_KEY.digest, 1) is None
    await other.create_ticket(OF_A_KEY, 0, 1)
    assert await store.redeem_ticket(OF_A_KEY.digest, 1) == OF_A_KEY
    await stores.close()
