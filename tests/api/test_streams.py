"""Answers that are sent while they are made: in chunks, as fast as their client reads, and recognizably incomplete if
they fail. The streams are those of a route that only these tests have."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from magistrate.api.calls import Answer, Call
from magistrate.api.http import application, streams
from magistrate.api.http.streams import Stream, StreamKind
from magistrate.api.processes.server import GracefulServer
from magistrate.api.route import Route
from magistrate.api.route_table import ROUTES
from magistrate.api.used_types import list_none
from magistrate.errors import StoreUnavailable
from magistrate.operations.keys.callers import Scope
from tests.api.sockets import connect, head, read_answer, read_to_the_end
from tests.captured_log import captured_log
from tests.metrics import sum_metric
from tests.running import Client, running_server, settings_for
from tests.waiting import wait_until

PATH = "/v2/test-streams"
MAX_OPEN = 2
PIECE = b"x" * 65_536
LAST_CHUNK = b"0\r\n\r\n"
MAX_BUFFERED = 16_777_216
"""Limits what the sockets of both sides may take of an answer that nobody reads."""


class Streaming(NamedTuple):
    """A client of a service with one further route, whose streams `make` makes; `made` counts their pieces, and
    `ended` is set when one has ended."""

    client: Client
    server: GracefulServer
    source: "Source"


class Source:
    def __init__(self) -> None:
        self.make: Callable[[], AsyncGenerator[bytes, None]] = self.repeat
        self.stop: Callable[[], None] | None = None
        self.piece_timeout_ms = 60_000
        self.made = 0
        self.ended = threading.Event()

    async def answer(self, call: Call[None]) -> Answer[Stream]:
        stream = Stream(self._observe(self.make()), "application/x-ndjson", self.piece_timeout_ms, self.stop)
        return Answer(stream, await call.context.store.check())

    async def _observe(self, pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        try:
            async for piece in pieces:
                self.made += 1
                yield piece
        finally:
            self.ended.set()

    async def repeat(self) -> AsyncGenerator[bytes, None]:
        while True:
            yield PIECE

    async def wait(self) -> AsyncGenerator[bytes, None]:
        yield b"first\n"
        await asyncio.Event().wait()


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> Source:
    source = Source()
    kind = StreamKind(("application/x-ndjson",), MAX_OPEN)
    route = Route(
        "GET", PATH, source.answer, "Stream", None, None, scope=Scope.READ, list_types=list_none, stream=kind
    )  # fmt: skip
    monkeypatch.setattr(application, "ROUTES", (*ROUTES, route))
    return source


@pytest.fixture
def settings() -> dict[str, int]:
    return {}


@pytest.fixture
def streaming(source: Source, settings: dict[str, int], tmp_path: Path) -> Iterator[Streaming]:
    given = settings_for(f"sqlite:///{tmp_path}/m.db", **settings)
    with running_server(given) as (url, server), Client(url) as client:
        yield Streaming(client, server, source)


def open_stream(client: Client) -> AbstractContextManager[httpx.Response]:
    """An answer that is read as it comes."""
    return httpx.stream("GET", str(client.base_url.join(PATH)), headers=client.headers, timeout=30)


def test_pieces_are_chunks_and_the_connection_goes_on(streaming: Streaming) -> None:
    client, _, source = streaming

    async def make() -> AsyncGenerator[bytes, None]:
        for piece in (b"first\n", b"", PIECE, b"last\n"):
            yield piece

    source.make = make
    with connect(client) as connection:
        connection.sendall(head(client, "GET", PATH))
        answer = b""
        while not answer.endswith(LAST_CHUNK):
            answer += connection.recv(65_536)
        connection.sendall(head(client, "GET", "/v2/objects"))
        further = read_answer(connection)

    lines, _, chunks = answer.partition(b"\r\n\r\n")
    headers = lines.lower().split(b"\r\n")
    assert b"transfer-encoding: chunked" in headers
    assert b"content-type: application/x-ndjson" in headers
    assert [name for name in headers if name.startswith((b"content-length", b"content-encoding"))] == []
    assert any(name.startswith(b"service-token: ") for name in headers)
    assert chunks == b"6\r\nfirst\n\r\n10000\r\n" + PIECE + b"\r\n5\r\nlast\n\r\n" + LAST_CHUNK
    assert further.startswith(b"HTTP/1.1 200 ")


def test_a_piece_is_sent_before_the_next_one_is_made(streaming: Streaming) -> None:
    client, _, source = streaming
    may_go_on = threading.Event()

    async def make() -> AsyncGenerator[bytes, None]:
        yield b"first\n"
        await asyncio.to_thread(may_go_on.wait)
        yield b"second\n"

    source.make = make
    with open_stream(client) as answer:
        pieces = answer.iter_raw()
        assert next(pieces) == b"first\n"
        may_go_on.set()
        assert b"".join(pieces) == b"second\n"


@pytest.mark.parametrize("settings", [{"body_timeout_ms": 300}])
def test_a_client_that_does_not_read_holds_little_and_is_cut_off(streaming: Streaming) -> None:
    client, _, source = streaming
    with connect(client, receive_buffer=4_096) as connection:
        connection.sendall(head(client, "GET", PATH))

        assert source.ended.wait(30)
        assert source.made * len(PIECE) < MAX_BUFFERED
        answer = read_to_the_end(connection)
    assert not answer.endswith(LAST_CHUNK)
    wait_until(lambda: sum_metric(client, "magistrate_unsent_bytes") == 0)


def test_a_slow_client_gets_everything(streaming: Streaming) -> None:
    client, _, source = streaming

    async def make() -> AsyncGenerator[bytes, None]:
        for _ in range(400):
            yield PIECE

    source.make = make
    with open_stream(client) as answer:
        assert client.get("/v2/objects").status_code == 200
        assert source.made < 400  # it has not read yet
        assert len(answer.read()) == 400 * len(PIECE)


@pytest.mark.parametrize("reads", [True, False])
def test_the_work_ends_when_the_client_has_gone(streaming: Streaming, reads: bool) -> None:
    client, _, source = streaming
    source.make = source.wait
    with connect(client) as connection:
        connection.sendall(head(client, "GET", PATH))
        assert connection.recv(15) == b"HTTP/1.1 200 OK"
        while reads and b"first" not in connection.recv(65_536):
            pass
        assert not source.ended.is_set()
    assert source.ended.wait(30)


async def _fail_because_of_the_store() -> AsyncGenerator[bytes, None]:
    yield b"first\n"
    raise StoreUnavailable("the store has gone")


async def _fail() -> AsyncGenerator[bytes, None]:
    yield b"first\n"
    raise ZeroDivisionError


async def _wait() -> AsyncGenerator[bytes, None]:
    yield b"first\n"
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("make", "logged"),
    [
        pytest.param(_fail_because_of_the_store, "the store has gone", id="an error"),
        pytest.param(_fail, "ZeroDivisionError", id="a fault"),
        pytest.param(_wait, "was not answered within 100 milliseconds", id="a piece that takes too long"),
    ],
)
def test_a_stream_that_fails_has_no_last_chunk(
    streaming: Streaming,
    make: Callable[[], AsyncGenerator[bytes, None]],
    logged: str,
) -> None:
    client, _, source = streaming
    source.make, source.piece_timeout_ms = make, 100
    with captured_log(streams) as lines, connect(client) as connection:
        connection.sendall(head(client, "GET", PATH))
        answer = read_to_the_end(connection)

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"6\r\nfirst\n\r\n")
    assert source.ended.wait(30)
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.get(str(client.base_url.join(PATH)), headers=client.headers, timeout=30)
    assert client.get("/v2/objects").status_code == 200
    [line] = lines
    assert line["path"] == PATH
    assert line["request"] in answer.decode()
    assert logged in str(line)


def test_there_are_only_so_many_streams_of_a_kind(streaming: Streaming) -> None:
    client, _, source = streaming
    source.make = source.wait
    with connect(client) as first, connect(client) as second:
        for connection in (first, second):
            connection.sendall(head(client, "GET", PATH))
            assert connection.recv(15) == b"HTTP/1.1 200 OK"
        refused = client.get(PATH)
        assert refused.status_code == 503
        assert refused.json()["code"] == "unavailable"
        assert client.get("/v2/objects").status_code == 200
    wait_until(lambda: _is_answered(client))


def _is_answered(client: Client) -> bool:
    with open_stream(client) as answer:
        return answer.status_code == 200


@pytest.mark.parametrize("settings", [{"max_running_requests": 1, "max_waiting_requests": 1}])
def test_a_stream_takes_no_place_of_other_requests_of_its_scope(streaming: Streaming) -> None:
    client, _, source = streaming
    source.make = source.wait
    with connect(client) as connection:
        connection.sendall(head(client, "GET", PATH))
        assert connection.recv(15) == b"HTTP/1.1 200 OK"
        assert client.get("/v2/objects").status_code == 200


def test_head_has_the_headers_and_begins_nothing(streaming: Streaming) -> None:
    client, _, source = streaming
    for _ in range(MAX_OPEN + 1):
        answer = client.head(PATH)
        assert answer.status_code == 200
        assert answer.headers["Content-Type"] == "application/x-ndjson"
        assert answer.content == b""
    assert source.made == 0


def test_http_1_0_has_no_chunks(streaming: Streaming) -> None:
    client = streaming.client
    with connect(client) as connection:
        connection.sendall(head(client, "GET", PATH).replace(b"HTTP/1.1", b"HTTP/1.0"))
        answer = read_to_the_end(connection)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"need HTTP/1.1" in answer


def test_at_shutdown_a_stream_may_say_that_it_ends(streaming: Streaming) -> None:
    client, server, source = streaming
    stopping = asyncio.Event()

    async def make() -> AsyncGenerator[bytes, None]:
        yield b"first\n"
        await stopping.wait()
        yield b"end\n"

    source.make, source.stop = make, stopping.set
    with open_stream(client) as answer:
        pieces = answer.iter_raw()
        assert next(pieces) == b"first\n"
        server.should_exit = True
        assert b"".join(pieces) == b"end\n"


@pytest.mark.parametrize("settings", [{"stop_timeout_ms": 1_000}])
@pytest.mark.parametrize("reads", [True, False])
def test_at_shutdown_a_stream_that_goes_on_is_broken_off(
    streaming: Streaming, reads: bool, caplog: pytest.LogCaptureFixture
) -> None:
    client, server, source = streaming
    source.make = source.wait if reads else source.repeat
    with connect(client, receive_buffer=4_096) as connection:
        connection.sendall(head(client, "GET", PATH))
        assert connection.recv(15) == b"HTTP/1.1 200 OK"
        server.should_exit = True
        assert source.ended.wait(30)
        answer = read_to_the_end(connection)
    assert not answer.endswith(LAST_CHUNK)
