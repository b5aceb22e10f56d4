"""How connections end: the client can read its last answer, whatever it is sending meanwhile."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from magistrate.api.http import connection as protocol
from magistrate.api.http.connection import Connection
from magistrate.api.http.incoming_bytes import IncomingBytes
from magistrate.config.settings import read_settings
from tests.api.sockets import connect, head, is_hung_up, read_answer, read_to_the_end
from tests.running import KEY, Client, running_server, running_service, settings_for, wait_for_stopped_services

MUCH = b"x" * 20_000_000
MAX_HELD = 65_536

CHUNKED = (b"%x\r\n" % len(MUCH), MUCH, b"\r\n0\r\n\r\n")


def sent(start: str, *headers: str, body: bytes = b"", key: str = KEY) -> bytes:
    lines = [f"{start} HTTP/1.1", "Host: x", f"Authorization: ApiKey {key}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


LENGTH = f"Content-Length: {len(MUCH)}"
IN_CHUNKS = "Transfer-Encoding: chunked"


REFUSED = [
    pytest.param([sent("POST /v2/objects", LENGTH), MUCH], 413, id="a body that is announced too large"),
    pytest.param([sent("POST /v2/check", LENGTH), MUCH], 413, id="a check that is announced too large"),
    pytest.param([sent("POST /v2/objects", IN_CHUNKS), *CHUNKED], 413, id="a body too large in chunks"),
    pytest.param([sent("POST /v2/objects", LENGTH, key="wrong"), MUCH], 401, id="a wrong key"),
    pytest.param([sent("POST /nope", LENGTH), MUCH], 404, id="no such endpoint"),
    pytest.param([sent("GET /v2/objects", LENGTH), MUCH], 200, id="a body nobody asked for"),
    pytest.param([sent("POST /v2/objects")[:-2] + b"X-Filler: ", MUCH, b"\r\n\r\n"], 431, id="a large head"),
    pytest.param([b"\x00\x01\x02", MUCH], 400, id="no HTTP"),
    pytest.param([sent("POST /v2/objects", "Transfer-Encoding: gzip"), MUCH], 501, id="an unknown transfer coding"),
    pytest.param([sent("POST /v2/objects", IN_CHUNKS, body=b"no chunk\r\n"), MUCH], 400, id="no chunk"),
]
"""Requests of 20 MB that are answered before they have arrived, in parts."""


@pytest.mark.parametrize(("parts", "status"), REFUSED)
def test_who_sends_everything_before_reading_still_gets_the_answer(
    shared_client: Client, parts: Sequence[bytes], status: int
) -> None:
    with connect(shared_client) as connection:
        for part in parts:
            connection.sendall(part)  # on a connection that is reset, this fails
        answer = read_answer(connection)
        assert connection.recv(1) == b""

    assert int(answer.split(b" ")[1]) == status
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes each connection holds that its client has sent since the answer that ends it."""
    sizes: list[int] = []

    receive, parse_slice = Connection.data_received, IncomingBytes.parse_slice

    def observe(incoming: IncomingBytes) -> None:
        if incoming._transport.is_lingering:
            sizes.append(len(incoming.waiting))

    def receive_and_observe(connection: Connection, data: bytes) -> None:
        receive(connection, data)
        observe(connection._incoming)

    def parse_and_observe(incoming: IncomingBytes) -> None:
        parse_slice(incoming)
        observe(incoming)

    monkeypatch.setattr(Connection, "data_received", receive_and_observe)
    monkeypatch.setattr(IncomingBytes, "parse_slice", parse_and_observe)
    return sizes


@pytest.mark.parametrize(("parts", "status"), REFUSED)
def test_little_is_held_of_what_is_read_only_to_be_discarded(
    shared_client: Client, held: list[int], parts: Sequence[bytes], status: int
) -> None:
    with connect(shared_client) as connection:
        for part in parts:
            connection.sendall(part)
        assert int(read_answer(connection).split(b" ")[1]) == status

    assert held
    assert max(held) <= MAX_HELD


@pytest.mark.parametrize(
    "request_bytes",
    [
        pytest.param(sent("POST /nope", "Content-Length: 600000", body=b""), id="a long body"),
        pytest.param(sent("POST /nope", "Transfer-Encoding: chunked", body=b"5\r\nabc"), id="chunks"),
    ],
)
def test_an_answer_that_does_not_wait_for_the_body_announces_the_end_of_the_connection(
    shared_client: Client, request_bytes: bytes
) -> None:
    with connect(shared_client) as connection:
        connection.sendall(request_bytes)
        answer = read_answer(connection)

    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"\r\nconnection: close\r\n" in answer


@pytest.mark.parametrize(
    ("start", "length", "status"),
    [
        pytest.param("POST /nope", 60_000, 404, id="a short body that is not read"),
        pytest.param("POST /v2/objects", 600_000, 400, id="a long body that is read"),
    ],
)
def test_a_connection_goes_on_after_a_body_that_has_arrived(
    shared_client: Client, start: str, length: int, status: int
) -> None:
    with connect(shared_client) as connection:
        for _ in range(3):
            connection.sendall(sent(start, f"Content-Length: {length}", body=b"x" * length))
            answer = read_answer(connection)

            assert int(answer.split(b" ")[1]) == status
            assert b"\r\nconnection: close\r\n" not in answer


@pytest.fixture
def hurried(tmp_path: Path) -> Iterator[Client]:
    settings = settings_for(f"sqlite:///{tmp_path}/m.db", max_body_bytes=1_024, body_timeout_ms=500)
    with running_service(settings) as url, Client(url) as client:
        yield client


@pytest.mark.parametrize("pause_seconds", [0.0, 0.05])
def test_what_is_discarded_has_a_limit_in_bytes_and_in_time(hurried: Client, pause_seconds: float) -> None:
    deadline = time.monotonic() + 30
    with connect(hurried) as connection:
        connection.sendall(head(hurried, "POST", "/v2/objects", "Content-Length: 1000000000"))
        assert read_answer(connection).startswith(b"HTTP/1.1 413 ")
        with pytest.raises(ConnectionError):  # noqa: PT012  # whichever send is the first after the end
            while time.monotonic() < deadline:
                connection.sendall(b"x" if pause_seconds else MUCH)
                time.sleep(pause_seconds)


def test_there_are_no_more_connections_than_may_be(tmp_path: Path) -> None:
    settings = settings_for(f"sqlite:///{tmp_path}/m.db", max_connections=4)
    with running_service(settings) as url, Client(url) as client, ExitStack() as stack:
        kept = [stack.enter_context(connect(client)) for _ in range(4)]
        for connection in kept:
            connection.sendall(head(client, "GET", "/healthz"))
            assert read_answer(connection).startswith(b"HTTP/1.1 200 ")
        for _ in range(4 + protocol.MAX_REFUSED):
            refused = stack.enter_context(connect(client))
            answer = read_to_the_end(refused)
            assert answer.startswith(b"HTTP/1.1 503 ") or not answer
            if answer:
                assert b"\r\nconnection: close\r\n" in answer
                assert b"\r\nretry-after: 1\r\n" in answer
                assert b'"code":"unavailable"' in answer
        for connection in kept:
            connection.sendall(head(client, "GET", "/healthz"))
            assert read_answer(connection).startswith(b"HTTP/1.1 200 ")
        stack.close()

        assert _is_answered_in_the_end(client)


def _is_answered_in_the_end(client: Client) -> bool:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with connect(client) as connection:
            connection.sendall(head(client, "GET", "/healthz"))
            with suppress(ConnectionError):
                if read_answer(connection).startswith(b"HTTP/1.1 200 "):
                    return True
        time.sleep(0.05)
    return False


def test_an_idle_connection_is_kept_for_as_long_as_is_set(tmp_path: Path) -> None:
    settings = settings_for(f"sqlite:///{tmp_path}/m.db", keep_alive_timeout_ms=200)
    with running_service(settings) as url, Client(url) as client, connect(client) as connection:
        connection.sendall(head(client, "GET", "/healthz"))

        assert read_answer(connection).startswith(b"HTTP/1.1 200 ")
        assert is_hung_up(connection)


def test_idle_connections_are_kept_longer_than_proxies_keep_them() -> None:
    assert read_settings({}, {}).keep_alive_timeout_ms == 75_000


def wait_until_nobody_listens(client: Client) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            connect(client).close()
        except ConnectionRefusedError:
            return
        time.sleep(0.01)
    raise AssertionError("the service still listens")


@pytest.mark.parametrize("fast_path", [0, 1])
def test_a_service_that_stops_answers_one_more_request_on_each_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fast_path: int
) -> None:
    monkeypatch.setattr(protocol, "GRACE_SECONDS", 25.0)  # so that it does not matter how busy the machine is
    settings = settings_for(f"sqlite:///{tmp_path}/m.db", fast_path=fast_path)
    with running_server(settings) as (url, server), Client(url) as client, ExitStack() as stack:
        idle, new, pipelining = (stack.enter_context(connect(client)) for _ in range(3))
        for connection in (idle, pipelining):
            connection.sendall(head(client, "GET", "/healthz"))
            assert read_answer(connection).startswith(b"HTTP/1.1 200 ")
        server.should_exit = True
        wait_until_nobody_listens(client)
        request = head(client, "GET", "/healthz")
        for connection, count in ((idle, 1), (new, 1), (pipelining, 5)):
            connection.sendall(request * count)
            answers = read_to_the_end(connection)

            assert answers.count(b"HTTP/1.1 200 ") == count
            assert answers.count(b"connection: close") == 1
            assert b"connection: close" in answers.split(b"HTTP/1.1 ")[-1]


def test_a_request_in_flight_and_those_behind_it_are_answered_when_the_service_stops(tmp_path: Path) -> None:
    body = b'{"objectType":"d","objectId":"x"}'
    settings = settings_for(f"sqlite:///{tmp_path}/m.db")
    with running_server(settings) as (url, server), Client(url) as client, connect(client) as connection:
        connection.sendall(head(client, "POST", "/v2/objects", f"Content-Length: {len(body)}", "Expect: 100-continue"))
        assert connection.recv(100).startswith(b"HTTP/1.1 100 ")
        server.should_exit = True
        wait_until_nobody_listens(client)
        connection.sendall(body + head(client, "GET", "/v2/objects/d/x") * 2)

        answers = read_to_the_end(connection)

    assert answers.count(b"HTTP/1.1 200 ") == 3
    assert answers.count(b"connection: close") == 1
    assert b"connection: close" in answers.split(b"HTTP/1.1 ")[-1]


def test_an_idle_connection_does_not_keep_a_service_from_stopping(tmp_path: Path) -> None:
    settings = settings_for(f"sqlite:///{tmp_path}/m.db")
    with running_server(settings) as (url, server), Client(url) as client, connect(client) as connection:
        connection.sendall(head(client, "GET", "/healthz"))
        assert read_answer(connection).startswith(b"HTTP/1.1 200 ")
        server.should_exit = True

        assert is_hung_up(connection)


def test_a_stop_ends_the_connections_that_are_open_at_its_timeout(tmp_path: Path) -> None:
    """A warning about a connection that is open when the event loop is closed makes the test fail."""
    settings = settings_for(f"sqlite:///{tmp_path}/magistrate.db", stop_timeout_ms=1_000)
    with ExitStack() as stack:
        with running_server(settings) as (url, server), Client(url) as client:
            connection = stack.enter_context(connect(client))
            connection.sendall(sent("POST /v2/objects", "Content-Length: 100", body=b"{"))
            client.get("/v2/objects").raise_for_status()
            server.should_exit = True
            answer = read_answer(connection)
        wait_for_stopped_services()

    assert answer.startswith(b"HTTP/1.1 503 ")
