"""The life of the keys that session tokens are signed with, as processes on one store know them."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from magistrate.operations.sessions.session_keys import (
    KNOWN_DAYS,
    MICROSECONDS_PER_DAY,
    READ_EVERY_SECONDS,
    REVOKED_WITHIN_SECONDS,
    SIGNING_DAYS,
    SessionKeys,
)
from magistrate.store.contract.store import Store
from magistrate.wiring.stores import open_store
from tests.running import settings_for

pytestmark = pytest.mark.anyio

UNKNOWN = "0" * 16


class Clock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.days = 1_000.0
        self.seconds = 50.0

    def now(self) -> int:
        return int(self.days * MICROSECONDS_PER_DAY)

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keys(store: Store, clock: Clock) -> SessionKeys:
    return SessionKeys(store, clock.now, clock.monotonic)


@pytest.fixture
async def other_keys(database_url: str, store: Store, clock: Clock) -> AsyncIterator[SessionKeys]:
    """Those of another process on the same store."""
    other = await open_store(settings_for(database_url))
    yield SessionKeys(other, clock.now, clock.monotonic)
    await other.close()


async def test_the_first_session_makes_a_key_that_every_process_knows(
    keys: SessionKeys, other_keys: SessionKeys
) -> None:
    made = (await keys.signing()).value

    assert (await other_keys.signing()).value == made
    assert await other_keys.find(made.id) == await keys.find(made.id) == made


async def test_a_key_signs_for_thirty_days(keys: SessionKeys, clock: Clock) -> None:
    first = (await keys.signing()).value

    clock.days += SIGNING_DAYS - 0.001
    assert (await keys.signing()).value == first
    clock.days += 0.001
    second = (await keys.signing()).value

    assert second.id != first.id
    assert second.secret != first.secret


async def test_a_key_is_known_until_its_last_token_has_expired_and_then_deleted(
    keys: SessionKeys, clock: Clock, store: Store
) -> None:
    first = (await keys.signing()).value
    clock.days += SIGNING_DAYS
    second = (await keys.signing()).value
    clock.days += KNOWN_DAYS - SIGNING_DAYS - 0.001

    assert await keys.find(first.id) == first
    clock.days += 0.001
    assert await keys.find(first.id) is None
    assert await keys.find(second.id) == second
    clock.days += SIGNING_DAYS - 0.002
    third = (await keys.signing()).value
    assert (await store.session_keys()).value == (third, second)


async def test_processes_that_need_a_key_at_once_agree_on_one(keys: SessionKeys, other_keys: SessionKeys) -> None:
    made = await asyncio.gather(*(one.signing() for one in [keys, other_keys] * 10))

    assert len({one.value.id for one in made}) == 1


async def test_a_new_key_is_known_elsewhere_at_once(keys: SessionKeys, other_keys: SessionKeys, clock: Clock) -> None:
    first = (await keys.signing()).value
    assert await other_keys.find(first.id) == first
    clock.seconds += READ_EVERY_SECONDS
    clock.days += SIGNING_DAYS

    second = (await keys.signing()).value

    assert await other_keys.find(second.id) == second


async def test_keys_that_are_revoked_are_good_for_ten_seconds_more_at_the_most(
    keys: SessionKeys, other_keys: SessionKeys, clock: Clock, store: Store
) -> None:
    made = (await keys.signing()).value
    assert await other_keys.find(made.id) == made

    await store.delete_session_keys()

    clock.seconds += REVOKED_WITHIN_SECONDS
    assert await other_keys.find(made.id) == made
    clock.seconds += 0.001
    assert await other_keys.find(made.id) is None
    assert (await keys.signing()).value.id != made.id


async def test_unknown_keys_do_not_have_the_store_read_often(store: Store, clock: Clock) -> None:
    keys = SessionKeys(store, clock.now)
    made = (await keys.signing()).value
    assert await keys.find(made.id) == made
    before = store.statements

    forged = [keys.find(f"{number:016x}") for number in range(500)]
    answers = await asyncio.gather(*forged, keys.find(made.id), keys.find("no id at all"))

    assert answers == [*[None] * 500, made, None]
    assert store.statements - before == 1


async def test_a_new_key_is_found_however_many_unknown_ones_are_requested(
    store: Store, other_keys: SessionKeys, clock: Clock
) -> None:
    """Its token is good: it must not be refused because others are not."""
    keys = SessionKeys(store, clock.now)
    await keys.find(UNKNOWN)
    made = (await other_keys.signing()).value

    found = await asyncio.gather(*(keys.find(UNKNOWN) for _ in range(50)), keys.find(made.id))

    assert found[-1] == made
