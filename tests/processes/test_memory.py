"""What clients make a worker hold is bounded in bytes: the worst they can do, with its memory read from the kernel."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.api.sockets import connect, head, is_hung_up
from tests.processes.service_process import ServiceProcess
from tests.running import KEY, Client

MEGABYTE = 1_000_000
META_BYTES = 50_000
OBJECTS = 200
PAGE_BYTES = META_BYTES * OBJECTS
READERS = 40
MOST_UNSENT = 24 * MEGABYTE
PAGES = {"objects": "/v2/objects?limit=200", "query": "/v2/query?q=select+*+where+user:ann+is+*&limit=200"}


@contextmanager
def serving(folder: Path, **settings: object) -> Iterator[tuple[ServiceProcess, Client]]:
    given = {name: str(value) for name, value in settings.items()}
    with ServiceProcess(folder, api_key=KEY, **given) as service, service.client() as client:
        yield service, client


def fill(client: Client) -> None:
    client.define({"document": {"viewer": {}}})
    for start in range(0, OBJECTS, 50):
        bodies = [
            {"objectType": "document", "objectId": str(number), "meta": {"text": "x" * (META_BYTES - 100)}}
            for number in range(start, start + 50)
        ]
        client.post("/v2/objects", json=bodies).raise_for_status()
    client.grant(*(f"document:{number}#viewer@user:ann" for number in range(OBJECTS)))


@contextmanager
def slow_readers(client: Client, path: str, count: int, pause: float = 0.0) -> Iterator[list[socket.socket]]:
    """Connections that ask for a page and read nothing of it."""
    with ExitStack() as stack:
        connections = []
        for _ in range(count):
            connection = stack.enter_context(connect(client, receive_buffer=4_096))
            connection.sendall(head(client, "GET", path))
            connections.append(connection)
            time.sleep(pause)
        yield connections


def watch_memory(service: ServiceProcess, seconds: float) -> int:
    """The most memory that the worker has within so many seconds."""
    most, ends_at = 0, time.monotonic() + seconds
    while time.monotonic() < ends_at:
        most = max(most, service.resident_bytes())
        time.sleep(0.005)
    return most


def read_metric(client: Client, name: str) -> float:
    lines = client.get("/metrics").text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"magistrate_{name}"))


@pytest.mark.parametrize("kind", PAGES)
@pytest.mark.parametrize("pause", [0.0, 0.05], ids=["at once", "one after another"])
def test_answers_that_nobody_reads_take_no_more_than_they_may(tmp_path: Path, kind: str, pause: float) -> None:
    with serving(tmp_path, max_unsent_bytes=MOST_UNSENT, wait_timeout_ms=200, kept_query_entries=0) as (
        service,
        client,
    ):
        fill(client)
        for _ in range(3):
            assert len(client.get(PAGES[kind]).content) > PAGE_BYTES
        before = service.resident_bytes()

        with slow_readers(client, PAGES[kind], READERS, pause):
            grown = watch_memory(service, 3) - before
            held = read_metric(client, "unsent_bytes")
            page = client.get(PAGES[kind])
            dropped = read_metric(client, "unsent_dropped_total")

    assert grown < MOST_UNSENT + 6 * PAGE_BYTES < READERS * PAGE_BYTES
    assert PAGE_BYTES <= held <= MOST_UNSENT
    assert page.status_code in (200, 503)
    assert dropped > 0


def test_the_client_that_has_left_an_answer_unread_for_longest_is_dropped(tmp_path: Path) -> None:
    with serving(tmp_path, max_unsent_bytes=MOST_UNSENT, wait_timeout_ms=200) as (_, client):
        fill(client)
        with (
            slow_readers(client, PAGES["objects"], 1) as [oldest],
            slow_readers(client, PAGES["objects"], 1, 0.6) as [second],
        ):
            answers = [client.get(PAGES["objects"]).status_code for _ in range(3)]
            assert is_hung_up(oldest)
            second.settimeout(1)
            assert second.recv(65_536)

    assert answers == [200, 200, 200]
