"""What arrives at once is parsed in slices, with the same answers."""

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from magistrate.api.http.connection import Connection
from magistrate.api.http.incoming_bytes import PARSED_AT_ONCE
from tests.api.sockets import connect, head, read_answer
from tests.running import Client, running_service, settings_for
from tests.scenario_files import warrant_body

CHECK = "folder:a#viewer@user:ann"
BODY = msgspec.json.encode({"warrants": [warrant_body(CHECK)]})


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of what is parsed at once, in order. What connections of other tests discard is not parsed."""
    sizes: list[int] = []
    receive = Connection.receive

    def observe(protocol: Connection, data: bytes) -> None:
        if not protocol.transport.is_lingering:
            sizes.append(len(data))
        receive(protocol, data)

    monkeypatch.setattr(Connection, "receive", observe)
    return sizes


@pytest.fixture
def client(received: list[int], tmp_path: Path) -> Iterator[Client]:
    with running_service(settings_for(f"sqlite:///{tmp_path}/m.db")) as url, Client(url) as client:
        client.define({"folder": {"viewer": {}}})
        client.grant(CHECK)
        yield client


def test_a_chunked_body_is_parsed_in_slices(client: Client, received: list[int]) -> None:
    padded = BODY + b" " * 100_000
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in padded) + b"0\r\n\r\n"
    with connect(client) as connection:
        for _ in range(2):  # the connection goes on
            connection.sendall(head(client, "POST", "/v2/check", "Transfer-Encoding: chunked") + chunks)
            assert b'"Authorized"' in read_answer(connection)
            assert max(received) <= PARSED_AT_ONCE


def test_pipelined_requests_are_parsed_in_slices_and_answered_in_order(client: Client, received: list[int]) -> None:
    check = head(client, "POST", "/v2/check", f"Content-Length: {len(BODY)}") + BODY
    missing = head(client, "GET", "/v2/objects/folder/missing")
    with connect(client) as connection:
        connection.sendall((check + missing) * 300)
        answers = b""
        while answers.count(b"HTTP/1.1 ") < 600 or not answers.endswith(b"}\n"):
            answers += connection.recv(65_536)

    statuses = [answer[:3] for answer in answers.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200", b"404"] * 300
    assert max(received) <= PARSED_AT_ONCE


def test_a_plain_body_is_parsed_in_slices(client: Client, received: list[int]) -> None:
    padded = BODY + b" " * 400_000
    with connect(client) as connection:
        connection.sendall(head(client, "POST", "/v2/check", f"Content-Length: {len(padded)}") + padded)
        assert b'"Authorized"' in read_answer(connection)

    assert max(received) <= PARSED_AT_ONCE
    assert sum(received) > len(padded)


def test_a_client_that_leaves_in_the_middle_harms_nobody(client: Client, received: list[int]) -> None:
    for _ in range(5):
        with connect(client) as connection:
            start = head(client, "POST", "/v2/check", "Transfer-Encoding: chunked")
            connection.sendall(start + b"1\r\n \r\n" * 40_000)
    deadline = time.monotonic() + 20
    while sum(received) == 0 and time.monotonic() < deadline:
        time.sleep(0.01)

    assert client.ask(CHECK).json()["result"] == "Authorized"
