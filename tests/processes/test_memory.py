"""What clients make a worker hold is bounded in bytes: the worst they can do, with its memory read from the kernel."""

import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.api.sockets import connect, head, is_hung_up
from tests.conftest import list_by_day
from tests.processes.service_process import ServiceProcess
from tests.running import KEY, Client

MEGABYTE = 1_000_000
META_BYTES = 50_000
OBJECTS = 200
PAGE_BYTES = META_BYTES * OBJECTS
READERS = 40
MAX_UNSENT = 24 * MEGABYTE
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
    """Connections that request a page and read nothing of it."""
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


@pytest.mark.parametrize(
    ("kind", "pause"),
    [
        pytest.param("objects", 0.0, id="objects at once", marks=pytest.mark.nightly),
        pytest.param("query", 0.05, id="query one after another"),
        pytest.param("objects", 0.05, id="objects one after another", marks=pytest.mark.nightly),
        pytest.param("query", 0.0, id="query at once", marks=pytest.mark.nightly),
    ],
)
def test_answers_that_nobody_reads_take_no_more_than_they_may(tmp_path: Path, kind: str, pause: float) -> None:
    with serving(tmp_path, max_unsent_bytes=MAX_UNSENT, wait_timeout_ms=200, cache_bytes=0) as (
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

    # The allocator keeps some of what was freed, for each thread that reads.
    assert grown < MAX_UNSENT + 12 * PAGE_BYTES < READERS * PAGE_BYTES
    assert PAGE_BYTES <= held <= MAX_UNSENT
    assert page.status_code in (200, 503)
    assert dropped > 0


def test_the_client_that_has_left_an_answer_unread_for_longest_is_dropped(tmp_path: Path) -> None:
    with serving(tmp_path, max_unsent_bytes=MAX_UNSENT, wait_timeout_ms=200) as (_, client):
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


MAX_RECEIVED = 4 * MEGABYTE
SENDERS = 300


def incomplete_head(client: Client) -> bytes:
    return b"GET /v2/objects HTTP/1.1\r\nHost: x\r\nX-Long: " + b"x" * 60_000


def incomplete_body(client: Client, length: int, sent: int) -> bytes:
    """A body of which all is sent but for a few bytes; a short one waits before the framework sees the request."""
    json_type = "Content-Type: application/json"
    return head(client, "POST", "/v2/check", json_type, f"Content-Length: {length}") + b'{"op":"' + b"x" * sent


def complete_head(client: Client) -> bytes:
    """A long head in one piece, of a request whose body is missing."""
    return head(client, "POST", "/v2/objects", f"X-Long: {'x' * 60_000}", "Content-Length: 10")


def pipelined(client: Client) -> bytes:
    """Very many small requests at once, behind one that is not answered because its body is missing."""
    return head(client, "GET", "/v2/objects?limit=1") * 1_500


RECEIVED = {
    "incomplete heads": incomplete_head,
    "complete heads": complete_head,
    "short bodies": lambda client: incomplete_body(client, 60_100, 60_000),
    "pieces of long bodies": lambda client: incomplete_body(client, 200_000, 60_000),
    "pipelined requests": pipelined,
}
BY_DAY = ("pieces of long bodies",)


@pytest.mark.parametrize(
    "kind", [kind if kind in BY_DAY else pytest.param(kind, marks=pytest.mark.nightly) for kind in RECEIVED]
)
def test_what_clients_send_takes_no_more_than_it_may(tmp_path: Path, kind: str) -> None:
    with serving(tmp_path, max_received_bytes=MAX_RECEIVED, max_all_bodies_bytes=MAX_RECEIVED) as (service, client):
        client.define({"document": {"viewer": {}}})
        sent = RECEIVED[kind](client)
        for _ in range(20):
            assert client.ask("document:a#viewer@user:b").status_code == 200
        before = service.resident_bytes()

        with ExitStack() as stack:
            connections = [stack.enter_context(connect(client)) for _ in range(SENDERS)]
            for connection in connections:
                with suppress(OSError):
                    connection.sendall(sent)
            grown = watch_memory(service, 1.5) - before
            answer = client.ask("document:a#viewer@user:b")
            received = read_metric(client, "received_bytes")

    assert grown < 4 * MAX_RECEIVED + SENDERS * 25_000
    assert answer.status_code == 200
    assert received <= MAX_RECEIVED


@pytest.mark.parametrize("is_complete", list_by_day([False, True], 1), ids=["while they arrive", "while they run"])
def test_bodies_take_no_more_than_they_may_as_sent_and_as_decoded(tmp_path: Path, is_complete: bool) -> None:
    """The worst bodies have as many objects in objects as they may."""
    most, senders, length = 40 * MEGABYTE, 40, 1_000_000
    values = b",".join([b'{"a":{}}'] * 45_000)
    body = b'{"warrants":[],"context":{"a":[' + values + b'],"b":"' + b"x" * (length - len(values)) + b'"}}'
    with serving(tmp_path, max_all_bodies_bytes=most, max_running_requests=1_000) as (service, client):
        client.define({"document": {"viewer": {}}})
        for _ in range(3):
            assert client.post("/v2/check", content=body).status_code == 400
        before = service.resident_bytes()

        with ExitStack() as stack:
            connections = [stack.enter_context(connect(client)) for _ in range(senders)]
            length_header = f"Content-Length: {len(body)}"
            start = head(client, "POST", "/v2/check", "Content-Type: application/json", length_header)
            for connection in connections:
                with suppress(OSError):
                    connection.sendall(start + body[: None if is_complete else -10])
            grown = watch_memory(service, 2) - before
            held = read_metric(client, "request_body_bytes")
            statuses = [connection.recv(12)[9:] for connection in connections if is_complete]

    assert grown < 2 * most
    assert held <= most
    assert {*statuses} <= {b"400", b"503"}


def test_a_log_that_nobody_reads_holds_neither_memory_nor_requests(tmp_path: Path) -> None:
    with serving(tmp_path, access_log="true", audit_log="audit.log", max_unwritten_bytes=100_000) as (service, client):
        client.define({"document": {"viewer": {}}})
        path = "/v2/objects/document/" + "x" * 900
        for _ in range(200):
            assert client.get(path).status_code == 404
        before = service.resident_bytes()

        statuses = {client.get(path).status_code for _ in range(3_000)}
        lost = read_metric(client, "log_lines_lost_total")
        grown = service.resident_bytes() - before

    assert statuses == {404}
    assert lost > 0
    assert grown < 8 * MEGABYTE


def test_records_of_an_audit_log_that_cannot_be_written_are_bounded(tmp_path: Path) -> None:
    """The folder of the log is gone. Bodies are as long as those that are recorded as a whole, and paths as well."""
    most, folder = 2 * MEGABYTE, tmp_path / "audit"
    folder.mkdir()
    settings = {"audit_log": str(folder / "log"), "max_unwritten_bytes": most}
    with serving(tmp_path, **settings) as (service, client):
        shutil.rmtree(folder)
        body = {"meta": {"text": "x" * 4_000}}
        path = f"/v2/objects/document/{'x' * 1_000}"
        before = service.resident_bytes()
        for _ in range(1_500):
            client.put(path, json=body)
        waiting = read_metric(client, "unwritten_audit_bytes")
        dropped = read_metric(client, "audit_dropped_total")
        grown = service.resident_bytes() - before

    assert most / 2 < waiting <= most
    assert dropped > 0
    assert grown < 4 * most + 16 * MEGABYTE
