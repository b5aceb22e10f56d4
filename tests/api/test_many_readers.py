"""A thousand readers of a watch cost the store what one does, at the head and behind it."""

import re
import selectors
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from magistrate.operations.watch import revision_feed
from magistrate.operations.watch.revision_log import MAX_CHANGES
from tests.running import Client, running_service, settings_for
from tests.scenario_files import warrant_body

READERS, WRITES = 300, 10
WITHIN_SECONDS = 60
OF_OTHERS = READERS // 2
"""Allows for statements that a service runs eight times a second, whoever reads. Readers that share nothing run at
least one statement each."""
REVISION = b'{"event":"revision"'


@pytest.fixture
def own_service(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A service that looks for writes of others on PostgreSQL once an hour, so that the time does not count."""
    monkeypatch.setattr(revision_feed, "POLL_SECONDS", 3_600.0)
    with running_service(settings_for(database_url)) as url, Client(url) as client:
        client.define({"document": {"viewer": {}}})
        yield client


@contextmanager
def reading(client: Client, count: int, since: str = "") -> Iterator[Sequence[socket.socket]]:
    """So many streams, of which one begins after the other."""
    address = (client.base_url.host, client.base_url.port or 80)
    head = f"GET /v2/watch?since={since} HTTP/1.1\r\nHost: localhost\r\nAccept: application/x-ndjson\r\n"
    request = f"{head}Authorization: {client.headers['Authorization']}\r\n\r\n".encode()
    opened: list[socket.socket] = []
    try:
        for _ in range(count):
            opened.append(socket.create_connection(address, WITHIN_SECONDS))
            opened[-1].sendall(request)
            assert opened[-1].recv(12) == b"HTTP/1.1 200"
        yield opened
    finally:
        for stream in opened:
            stream.close()


def read_revisions(streams: Sequence[socket.socket], count: int) -> None:
    """Reads until each stream has had so many revisions."""
    deadline = time.monotonic() + WITHIN_SECONDS
    received = {stream: b"" for stream in streams}
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            assert time.monotonic() < deadline
            for key, _ in selector.select(1):
                stream = next(stream for stream in [key.fileobj] if isinstance(stream, socket.socket))
                piece = stream.recv(262_144)
                assert piece, "a stream has ended"
                received[stream] += piece
                if received[stream].count(REVISION) == count and received[stream].endswith(b"\n\r\n"):
                    selector.unregister(stream)


def grant(client: Client, number: int) -> None:
    client.write([warrant_body(f"document:{number}#viewer@user:ann")])


def count_statements(client: Client) -> int:
    [count] = re.findall(r"^magistrate_statements_total (\S+)$", client.get("/metrics").text, re.MULTILINE)
    return int(float(count))


def read_token(client: Client) -> str:
    return str(client.get("/v2/objects", headers={"Service-Token": "latest"}).headers["Service-Token"])


def test_many_readers_at_the_head_take_the_statements_of_one(own_service: Client) -> None:
    def measure(readers: int) -> int:
        with reading(own_service, readers) as streams:
            before = count_statements(own_service)
            for number in range(WRITES):
                grant(own_service, readers * WRITES + number)
            read_revisions(streams, WRITES)
            return count_statements(own_service) - before

    single = measure(1)

    assert measure(READERS) <= single + OF_OTHERS


def test_many_readers_behind_the_head_share_what_they_read_of_the_log(own_service: Client) -> None:
    """They are behind what is kept for the first reader, which began after the writes, and begin one after another."""
    since = read_token(own_service)
    bodies = [warrant_body(f"document:{number}#viewer@user:ann") for number in range(2 * MAX_CHANGES)]
    own_service.write(bodies)

    def measure(readers: int) -> int:
        with reading(own_service, 1):
            before = count_statements(own_service)
            with reading(own_service, readers, since) as streams:
                read_revisions(streams, len(bodies) // 100)
            return count_statements(own_service) - before

    single = measure(1)

    assert measure(READERS) <= single + OF_OTHERS
