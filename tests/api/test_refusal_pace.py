"""Refusals are spread over time, and a connection whose refusal is held sends nothing else meanwhile."""

import asyncio
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import pytest

from magistrate.api.http.admission import (
    MAX_TICKS,
    REFUSED_PER_TICK,
    TICK_SECONDS,
    Admission,
    Admissions,
    RefusalPace,
    RequestBodies,
)
from magistrate.api.http.fast_path import RefusableRoutes
from magistrate.api.route_table import ROUTES
from magistrate.operations.keys.callers import Scope
from tests.api.overloading import LONG_MS, overloaded
from tests.api.sockets import read_answer, read_to_the_end
from tests.running import KEY, Client

pytestmark = pytest.mark.anyio

MANY = 3 * REFUSED_PER_TICK


async def test_the_first_refusals_are_sent_at_once_and_the_others_in_order() -> None:
    pace, sent = RefusalPace(), list[int]()

    for number in range(MANY):
        pace.schedule(lambda number=number: sent.append(number))  # type: ignore[misc]  # mypy infers no lambda default
    at_once = list(sent)
    while pace.waiting:
        await asyncio.sleep(TICK_SECONDS)

    assert at_once == [*range(REFUSED_PER_TICK)]
    assert sent == [*range(MANY)]


async def test_a_pause_makes_refusals_immediate_again() -> None:
    pace, sent = RefusalPace(), list[int]()
    waits = [asyncio.create_task(pace.wait()) for _ in range(MANY)]
    await asyncio.gather(*waits)
    await asyncio.sleep(3 * TICK_SECONDS)

    pace.schedule(lambda: sent.append(1))

    assert sent == [1]


async def test_no_refusal_is_held_for_more_ticks_than_the_limit() -> None:
    pace, sent = RefusalPace(), list[int]()
    count = 2 * REFUSED_PER_TICK * MAX_TICKS
    for _ in range(count):
        pace.schedule(lambda: sent.append(1))

    ticks = 0
    while pace.waiting:
        before = len(sent)
        while len(sent) == before:
            await asyncio.sleep(0)
        ticks += 1

    assert ticks <= MAX_TICKS
    assert len(sent) == count


async def test_a_cancelled_wait_keeps_nothing_from_being_refused() -> None:
    pace = RefusalPace()
    waits = [asyncio.create_task(pace.wait()) for _ in range(MANY)]
    await asyncio.sleep(0)

    waits[-2].cancel()
    outcomes = await asyncio.gather(*waits, return_exceptions=True)

    assert [type(one) for one in outcomes].count(asyncio.CancelledError) == 1
    assert pace.waiting == 0


async def test_full_routes_are_found_by_literals_and_variables() -> None:
    by_scope = {scope: Admission(1, 1, LONG_MS) for scope in Scope}
    admissions, routes = Admissions(by_scope, RefusalPace(), RequestBodies(0)), RefusableRoutes(ROUTES)
    requests = [
        ("POST", "/v2/objects"),
        ("PUT", "/v2/objects/d/x"),
        ("GET", "/v2/objects/d/x"),
        ("PUT", "/v2/objects//x"),
        ("PUT", "/v2/objects/d/x/y"),
        ("POST", "/v2/keys/some/rotate"),
    ]
    before = [routes.find_full(admissions, *request) for request in requests]
    held = [asyncio.create_task(occupy(by_scope[Scope.WRITE])) for _ in range(2)]
    while not by_scope[Scope.WRITE].is_full:
        await asyncio.sleep(0)

    found = [routes.find_full(admissions, *request) for request in requests]
    for task in held:
        task.cancel()
    await asyncio.gather(*held, return_exceptions=True)

    assert before == [None] * len(requests)
    assert [one and one.route.path for one in found] == [
        "/v2/objects",
        "/v2/objects/{objectType}/{objectId}",
        *[None] * 4,
    ]


async def occupy(admission: Admission) -> None:
    async with admission:
        await asyncio.Event().wait()


def connect(client: Client) -> socket.socket:
    return socket.create_connection((client.base_url.host, client.base_url.port or 0), timeout=20)


WRITE = (
    b"POST /v2/objects HTTP/1.1\r\nHost: x\r\nAuthorization: ApiKey "
    + KEY.encode()
    + b"\r\nContent-Length: 2\r\n\r\n{}"
)
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
REFUSED, HEALTHY = b"HTTP/1.1 503 ", b"HTTP/1.1 200 "


EXPECTED = ([503, 200], [503, 200, 503], [503], [503])


def read_statuses(connection: socket.socket, expected: list[int]) -> list[int]:
    """The statuses of as many answers as are expected."""
    with connection.makefile("rb") as stream:
        return [read_status(stream) for _ in expected]


def read_status(stream: BinaryIO) -> int:
    """The status of an answer, which is read to its end."""
    status, length = int(stream.readline().split()[1]), 0
    while line := stream.readline().strip():
        name, _, value = line.partition(b": ")
        length = int(value) if name == b"content-length" else length
    stream.read(length)
    return status


def test_connections_with_held_refusals_get_their_answers_in_order(tmp_path: Path) -> None:
    """More requests than are refused at once: half of the connections send the next one without waiting, in the same
    segment or in another."""
    with overloaded(tmp_path) as client, ExitStack() as stack:
        connections = [stack.enter_context(connect(client)) for _ in range(MANY)]
        for number, connection in enumerate(connections):
            connection.sendall(WRITE + HEALTH if number % 4 == 0 else WRITE)
        for number, connection in enumerate(connections):
            if number % 4 == 1:
                connection.sendall(HEALTH + WRITE)
        statuses = [read_statuses(connection, EXPECTED[number % 4]) for number, connection in enumerate(connections)]

    assert statuses == [EXPECTED[number % 4] for number in range(MANY)]


def test_connections_with_held_refusals_may_end_in_any_way(tmp_path: Path) -> None:
    with overloaded(tmp_path) as client, ExitStack() as stack:
        connections = [stack.enter_context(connect(client)) for _ in range(MANY)]
        for connection in connections:
            connection.sendall(WRITE)
        for number, connection in enumerate(connections):
            if number % 3 == 0:
                connection.close()
            elif number % 3 == 1:
                connection.shutdown(socket.SHUT_WR)
            else:
                connection.sendall(b"\x00 this is not HTTP\r\n\r\n")
        half_closed = [read_to_the_end(one) for number, one in enumerate(connections) if number % 3 == 1]
        invalid = [read_to_the_end(one) for number, one in enumerate(connections) if number % 3 == 2]
        with connect(client) as other:
            other.sendall(HEALTH)
            assert read_answer(other).startswith(HEALTHY)

    assert all(one.startswith(REFUSED) for one in half_closed)
    assert all(one.startswith(REFUSED) and one.count(b"HTTP/1.1 400 ") == 1 for one in invalid)
