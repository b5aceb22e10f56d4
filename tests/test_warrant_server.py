"""The client of the source server: which requests it repeats, when it gives up, and what it reports then."""

import asyncio
import gzip
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Any

import httpx
import pytest

from magistrate import retrying_client
from magistrate.errors import InvalidSetting, RequestRefused, ServiceUnreachable
from magistrate.operations.importing import warrant_server
from magistrate.operations.importing.warrant_server import NO_ANSWER, WarrantServer
from magistrate.retrying_client import MAX_PAUSE_SECONDS, read_retry_delay
from tests.reference_server import fault
from tests.stub_server import Answered, Sent, StubServer, stub_server

pytestmark = pytest.mark.anyio

EMPTY = b'{"results":[]}'
BUSY = fault(429, "too_many_requests", "Too many requests.")
BROKEN = fault(500, "internal_error", "Internal Server Error")
CLAIM = {"objectType": "document"}


@asynccontextmanager
async def asked(
    answer: Callable[[Sent], bytes | Answered], tries: int = 3, timeout_ms: int = 5_000
) -> AsyncIterator[tuple[WarrantServer, StubServer]]:
    with stub_server(answer) as stub:
        async with WarrantServer(stub.url + "/", "secret", timeout_ms, [0.01] * (tries - 1)) as server:
            yield server, stub


@contextmanager
def full_listener(port: int) -> Iterator[None]:
    """Nobody accepts connections there, and the queue of those that wait is full."""
    with ExitStack() as opened:
        listener = opened.enter_context(socket.socket())
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(0)
        for _ in range(3):
            waiting = opened.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.1", port))
        yield


def in_turn(*answers: bytes | Answered) -> Callable[[Sent], bytes | Answered]:
    """The last one for ever."""
    left = [*answers]
    return lambda sent: left.pop(0) if len(left) > 1 else left[0]


async def test_rows_are_given_as_they_were_written() -> None:
    async with asked(lambda sent: b'{"results":[{"meta":{"n":1.50e3}},{"a": 1}],"nextCursor":"+/="}') as (server, stub):
        page = await server.page("/v2/objects", {"sortBy": "objectType"})

        assert page == ([b'{"meta":{"n":1.50e3}}', b'{"a": 1}'], "+/=")
        await server.page("/v2/objects", {"nextCursor": "a+/="})
        assert [sent.path for sent in stub.sent] == [
            "/v2/objects?sortBy=objectType&limit=1000",
            "/v2/objects?nextCursor=a%2B%2F%3D&limit=1000",
        ]
        assert stub.sent[0].headers["Authorization"] == "ApiKey secret"


@pytest.mark.parametrize("passing", [BUSY, BROKEN, fault(503, "cache_not_ready", ""), Answered(502, b"<html>")])
async def test_a_list_that_fails_is_requested_again(passing: Answered) -> None:
    async with asked(in_turn(passing, passing, b'{"results":null}')) as (server, stub):
        assert await server.page("/v2/objects", {}) == ([], None)
        assert len(stub.sent) == 3


async def test_a_list_that_goes_on_failing_is_given_up_with_its_answer() -> None:
    async with asked(lambda sent: BROKEN) as (server, stub):
        with pytest.raises(RequestRefused, match="Internal Server Error") as raised:
            await server.page("/v2/objects", {})

        assert (raised.value.status, len(stub.sent)) == (500, 3)


async def test_a_request_to_a_server_that_hangs_up_is_repeated() -> None:
    answers = in_turn(EMPTY, b"", EMPTY)

    def answer(sent: Sent) -> bytes:
        made = answers(sent)
        if not made:
            raise ConnectionError
        assert isinstance(made, bytes)
        return made

    async with asked(answer) as (server, stub):
        for _ in range(2):
            assert await server.page("/v2/objects", {}) == ([], None)
        assert len(stub.sent) == 3


async def test_a_request_to_a_server_that_never_answered_is_not_repeated() -> None:
    async with WarrantServer("http://127.0.0.1:9", None, pauses_seconds=[60]) as server:
        with pytest.raises(ServiceUnreachable):
            await server.page("/v2/objects", {})


async def test_a_refused_request_is_not_repeated() -> None:
    async with asked(lambda sent: fault(401, "unauthorized", "Invalid API key")) as (server, stub):
        with pytest.raises(RequestRefused, match="Invalid API key"):
            await server.page("/v2/objects", {})

        assert len(stub.sent) == 1


@pytest.mark.parametrize(
    ("message", "sizes"),
    [
        ("must be an integer greater than 0 and less than or equal to 200", ["1000", "200", "200"]),
        ("must be an integer greater than 0 and less than or equal to 5000", ["1000", "100", "25", "25"]),
        ("must be less than or equal to " + "9" * 5_000, ["1000", "100", "25", "25"]),
        ("is too large", ["1000", "100", "25", "25"]),
    ],
)
async def test_pages_are_as_large_as_the_server_takes(message: str, sizes: list[str]) -> None:
    most = int(sizes[-1])

    def answer(sent: Sent) -> bytes | Answered:
        asked_for = int(sent.path.partition("limit=")[2])
        return EMPTY if asked_for <= most else fault(400, "invalid_parameter", message, parameter="limit")

    async with asked(answer) as (server, stub):
        for _ in range(2):
            await server.page("/v2/objects", {})

        assert [sent.path.partition("limit=")[2] for sent in stub.sent] == sizes


async def test_a_server_that_refuses_every_limit_is_given_up() -> None:
    refused = fault(400, "invalid_parameter", "no", parameter="limit")
    async with asked(lambda sent: refused) as (server, _):
        with pytest.raises(RequestRefused, match="no"):
            await server.page("/v2/objects", {})


DEEP = b"[" * 100_000


@pytest.mark.parametrize(
    "body", [b"<html>", b'{"results":' + DEEP, b"[]", b"{}", b'{"results":5}', b'{"results":[{]}', b"\xff"]
)
async def test_what_is_no_warrant_server_is_reported(body: bytes) -> None:
    async with asked(lambda sent: body) as (server, _):
        with pytest.raises(ServiceUnreachable, match="with status 200, is no Warrant server"):
            await server.page("/v2/objects", {})


async def test_an_answer_above_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warrant_server, "MAX_ANSWER_BYTES", len(EMPTY))
    async with asked(lambda sent: EMPTY) as (server, stub):
        assert await server.page("/v2/objects", {}) == ([], None)
    monkeypatch.setattr(warrant_server, "MAX_ANSWER_BYTES", len(EMPTY) - 1)
    async with asked(lambda sent: EMPTY) as (server, stub):
        with pytest.raises(ServiceUnreachable, match=f"an answer is larger than {len(EMPTY) - 1} bytes"):
            await server.page("/v2/objects", {})

        assert [sent.path.partition("limit=")[2] for sent in stub.sent] == ["1000", "100", "25"]


async def test_an_answer_of_very_many_values_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying_client, "MAX_ANSWER_VALUES", 3)

    async with asked(in_turn(b'{"results":[{},{},{}]}', b'{"results":[{},{},{},{}]}')) as (server, _):
        assert len((await server.page("/v2/objects", {}))[0]) == 3
        with pytest.raises(ServiceUnreachable, match="an answer has more than 3 values"):
            await server.page("/v2/objects", {})


async def test_a_smaller_page_is_requested_if_one_is_above_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warrant_server, "MAX_ANSWER_BYTES", 100)

    def answer(sent: Sent) -> bytes:
        return b'{"results":[' + b" " * int(sent.path.partition("limit=")[2]) + b"]}"

    async with asked(answer) as (server, stub):
        for _ in range(2):
            assert await server.page("/v2/objects", {}) == ([], None)
        assert [sent.path.partition("limit=")[2] for sent in stub.sent] == ["1000", "100", "25", "25"]


async def test_a_compressed_answer_is_neither_wanted_nor_unpacked() -> None:
    async with asked(lambda sent: Answered(200, gzip.compress(EMPTY), {"Content-Encoding": "gzip"})) as (server, stub):
        with pytest.raises(ServiceUnreachable, match="compressed"):
            await server.page("/v2/objects", {})

        assert [sent.headers["Accept-Encoding"] for sent in stub.sent] == ["identity"]


@pytest.mark.parametrize("asks", [lambda server: server.page("/v2/objects", {}), lambda server: server.check(CLAIM)])
async def test_an_answer_that_comes_drop_by_drop_is_given_up(
    asks: Callable[[WarrantServer], Awaitable[object]],
) -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
        while not writer.is_closing():
            writer.write(b" ")
            await asyncio.sleep(0.02)
        hung_up.set()

    hung_up = asyncio.Event()
    dripping = await asyncio.start_server(drip, "127.0.0.1", 0)
    port = dripping.sockets[0].getsockname()[1]
    async with dripping, WarrantServer(f"http://127.0.0.1:{port}", None, 100) as server:
        with pytest.raises(ServiceUnreachable, match="not answered completely within 400 ms"):
            await asks(server)
        await hung_up.wait()


def test_how_long_to_wait_is_heeded_within_bounds() -> None:
    waits = {text: read_retry_delay(httpx.Headers({"Retry-After": text})) for text in ("7", "9999", "soon")}

    assert waits == {"7": 7.0, "9999": MAX_PAUSE_SECONDS, "soon": 0.0}


async def test_a_check_shows_its_path_and_is_repeated_only_if_that_may_help() -> None:
    answers: list[Any] = []
    async with asked(in_turn(BUSY, b'{"code":200}', BROKEN, fault(404, "not_found", "x"))) as (server, stub):
        for _ in range(3):
            answers.append(await server.check(CLAIM))

        assert [status for status, _ in answers] == [200, 500, 404]
        assert answers[0][1] == {"code": 200}
        assert len(stub.sent) == 4
        assert stub.sent[0].body == {"warrants": [CLAIM], "debug": True}


async def test_a_check_that_is_not_answered_in_time_is_no_fault() -> None:
    is_over = threading.Event()

    def answer(sent: Sent) -> bytes:
        if sent.method == "POST":
            is_over.wait()
        return EMPTY

    async with asked(answer, timeout_ms=1_000) as (server, stub):
        await server.page("/v2/objects", {})
        try:
            assert await server.check(CLAIM) == (NO_ANSWER, None)
        finally:
            is_over.set()
        assert len(stub.sent) == 2


@pytest.mark.parametrize(("status", "tries"), [(401, 1), (403, 1), (429, 3), (502, 3), (503, 3)])
async def test_a_check_that_is_refused_or_not_found_is_a_fault(status: int, tries: int) -> None:
    async with asked(lambda sent: fault(status, "code", "told")) as (server, stub):
        with pytest.raises(RequestRefused, match="told"):
            await server.check(CLAIM)

        assert len(stub.sent) == tries


async def test_a_check_that_no_connection_is_to_be_had_for_is_a_fault() -> None:
    with stub_server(lambda sent: Answered(200, EMPTY, {"Connection": "close"})) as stub:
        server = WarrantServer(stub.url, None, 200, [0.01])
        await server.page("/v2/objects", {})
    with full_listener(int(stub.url.rpartition(":")[2])):
        async with server:
            with pytest.raises(ServiceUnreachable, match="no answer within 200 ms"):
                await server.check(CLAIM)


async def test_a_refusal_that_nests_too_deeply_is_of_no_warrant_server() -> None:
    async with asked(lambda sent: Answered(404, b'{"x":' + DEEP)) as (server, _):
        with pytest.raises(ServiceUnreachable, match="with status 404, is no Warrant server"):
            await server.page("/v2/objects", {})


@pytest.mark.parametrize("body", [b"oops", DEEP])
async def test_a_check_that_answers_no_json_is_a_fault_unless_the_server_failed_over_it(body: bytes) -> None:
    async with asked(in_turn(*(Answered(status, body) for status in (500, 504, 520, 200)))) as (server, _):
        assert [await server.check(CLAIM) for _ in range(2)] == [(500, None), (NO_ANSWER, None)]
        for _ in range(2):
            with pytest.raises(ServiceUnreachable, match="no Warrant server"):
                await server.check(CLAIM)


def test_what_is_no_url_of_a_server_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="not the URL of a service"):
        WarrantServer("ftp://x", None)
