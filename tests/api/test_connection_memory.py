"""Connections hold bytes up to a bound, and requests wait for space within it."""

import asyncio
from contextlib import suppress

import pytest

from magistrate.api.http.connection_memory import ConnectionMemory, UnsentAnswers
from magistrate.errors import Overloaded

pytestmark = pytest.mark.anyio


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Connection:
    """A connection that notes that it was dropped."""

    is_dropped = False

    def drop(self) -> None:
        self.is_dropped = True


def test_those_that_have_held_some_for_longest_are_dropped() -> None:
    memory, connections = ConnectionMemory(100), [Connection() for _ in range(5)]
    for connection in connections:
        memory.hold(connection, 30)
    memory.hold(connections[0], 40)
    memory.hold(connections[1], 0)

    memory.drop_oldest()
    assert [one.is_dropped for one in connections] == [True, False, False, False, False]
    assert (memory.bytes, memory.dropped) == (90, 1)


def test_a_single_connection_may_hold_more() -> None:
    memory, connection, other = ConnectionMemory(100), Connection(), Connection()
    memory.hold(connection, 300)
    memory.drop_oldest()
    assert not connection.is_dropped

    memory.hold(other, 1)
    memory.drop_oldest()
    assert (connection.is_dropped, other.is_dropped, memory.bytes) == (True, False, 1)


async def test_a_request_waits_for_room_and_is_refused_without() -> None:
    clock = Clock()
    unsent = UnsentAnswers(100, 1.0, clock)
    first, second = unsent.open_account(), unsent.open_account()
    await first.reserve(90)

    waiting = asyncio.ensure_future(second.reserve(20))
    await asyncio.sleep(0)
    assert not waiting.done()
    first.close()
    await waiting
    assert unsent.bytes == 20

    third = unsent.open_account()
    refused = asyncio.ensure_future(third.reserve(90))
    await asyncio.sleep(0)
    clock.now += 2
    with pytest.raises(Overloaded):
        await refused
    second.close()
    assert (unsent.bytes, unsent.refused) == (0, 1)


async def test_the_oldest_request_never_waits_for_others() -> None:
    """Otherwise all could wait for each other."""
    unsent = UnsentAnswers(100, 1.0, Clock())
    first, second = unsent.open_account(), unsent.open_account()
    await first.reserve(50)
    await second.reserve(50)

    waiting = asyncio.ensure_future(second.reserve(10))
    await first.reserve(500)
    await asyncio.sleep(0)

    assert (unsent.bytes, waiting.done()) == (600, False)
    waiting.cancel()
    with suppress(asyncio.CancelledError):
        await waiting


async def test_room_is_made_of_what_was_not_read_for_longest_but_not_at_once() -> None:
    clock = Clock()
    unsent, connections = UnsentAnswers(100, 1.0, clock), [Connection() for _ in range(3)]
    for connection in connections:
        unsent.hold(connection, 30)
        clock.now += 0.4

    waiting = asyncio.ensure_future(unsent.open_account().reserve(40))
    await asyncio.sleep(0)
    assert [one.is_dropped for one in connections] == [True, False, False]

    await waiting
    assert unsent.bytes == 100


async def test_what_is_rendered_is_counted_in_place_of_what_was_read() -> None:
    unsent = UnsentAnswers(1_000, 1.0)
    account = unsent.open_account()

    await account.reserve(500)
    account.keep(500, 200)
    await account.reserve(100)
    assert unsent.bytes == 300
    account.resize(120)
    assert unsent.bytes == 120
    account.close()
    assert unsent.bytes == 0
