"""The effective feed on the drive data set: an event of 10,000 rows, from the write to a reader, and the time that it
takes where each object is checked; what a feed costs a writer whose warrants it does not select, and whose it does."""

import socket
import statistics
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import count
from typing import NamedTuple
from urllib.parse import quote, urlsplit

import msgspec
import uvloop

from benchmarks.checks import SEED, loaded_case
from benchmarks.cores import LOAD_CORE, SERVER_CORE, on_core
from benchmarks.databases import STORES
from benchmarks.datasets import DATASETS
from benchmarks.datasets.dataset import user_id
from benchmarks.differences import DOCUMENTS, PEOPLE, SIZES, new_warrant
from benchmarks.keep_alive import request_bytes
from benchmarks.mixed.asks import Ask
from benchmarks.mixed.generator import closed_loop
from benchmarks.server import API_KEY, AUTHORIZATION, Server, serving
from benchmarks.table import markdown_table
from magistrate.client import Client
from magistrate.config.settings import read_settings
from magistrate.operations.context import Context
from magistrate.operations.difference import checked_access
from magistrate.operations.difference.filters import read_narrowing
from magistrate.operations.watch.access_events import render_access
from magistrate.operations.watch.access_steps import AccessCursor, AccessPosition, begin_cursor
from magistrate.operations.watch.revision_log import RevisionLog
from magistrate.operations.writes.warrants import create_warrants, delete_warrants
from magistrate.store.contract.new_rows import NewWarrant
from magistrate.wiring.contexts import context_of
from magistrate.wiring.stores import open_store

SELECTED = "document#viewer@user"
OTHER = "folder#owner@user"
ROUNDS = 5
WRITERS = 16
TARGET_MS = 100
TARGET_OF_WRITES = 1.05
RECEIVED_AT_ONCE = 1_048_576
SECONDS = 60
"""Limits the wait for an event."""


class EventFigures(NamedTuple):
    """Holds milliseconds: from the write to the end of its event at a reader, the processor time of the service for
    both, that of computing and rendering the event, and the same where each object is checked."""

    delivered: float
    used_by_service: float
    used: float
    used_by_checks: float


def measure_access_feed(seconds: int) -> str:
    """Two tables. Loading takes some minutes; each rate of writes is measured ROUNDS times for `seconds`."""
    events: list[tuple[str, ...]] = []
    rates: list[tuple[str, ...]] = []
    for store, databases in STORES.items():
        for size in SIZES:
            with databases() as new_database:
                case = loaded_case(store, new_database("watched"), DATASETS["drive"](size, SEED))
                events.append(_render_event(f"{store}, {size:,} warrants", _measure_event(case.url)))
                if size == max(SIZES):
                    rates += _compare_writers(store, case.url, seconds)
    title = f"Event of {PEOPLE * DOCUMENTS:,} rows: a group of {PEOPLE} gets {DOCUMENTS:,} documents, or loses them"
    header = (
        "",
        f"from the write to a reader, ms (<= {TARGET_MS})",
        "processor time of the service, ms",
        "of the event alone",
        "where each object is checked",
    )
    first = markdown_table(title, header, events)
    title = f"POST of one warrant on a document, {WRITERS} connections, {max(SIZES):,} warrants"
    header = ("", "writes/s", "processor time of the service, µs a write", "of that without a feed", "target")
    return f"{first}\n{markdown_table(title, header, rates)}"


def _render_event(name: str, figures: EventFigures) -> tuple[str, ...]:
    times = f"{figures.used_by_checks / figures.used:.0f} times"
    return name, f"{figures.delivered:.0f}", f"{figures.used_by_service:.0f}", f"{figures.used:.0f}", times


def _measure_event(url: str) -> EventFigures:
    with on_core(SERVER_CORE):
        used, used_by_checks = uvloop.run(_measure_in_process(url))
    with serving(url) as server, Client(server.url, API_KEY) as client:
        shared = {"objectType": "group", "objectId": "ten", "relation": "member"}
        warrant = {"objectType": "folder", "objectId": "new", "relation": "viewer", "subject": shared}
        with _following(server, SELECTED) as reader:
            delivered, used_before = [], server.cpu_seconds()
            for _ in range(2 * ROUNDS):
                for write in (client.create_warrants, client.delete_warrants):
                    began_at = time.perf_counter()
                    write([warrant])  # type: ignore[list-item]
                    delivered.append((reader.wait_for_event() - began_at) * 1_000)
        used_by_service = (server.cpu_seconds() - used_before) / len(delivered) * 1_000
    return EventFigures(statistics.median(delivered), used_by_service, used, used_by_checks)


async def _measure_in_process(url: str) -> tuple[float, float]:
    """Returns the least processor time of an event, and where each object is checked."""
    store = await open_store(read_settings({"database_url": url}, {}))
    context = context_of(store, read_settings({"max_query_work": "100000000"}, {}))
    people = [new_warrant("group", "ten", "member", "user", user_id(number)) for number in range(PEOPLE)]
    documents = [new_warrant("document", f"new-{n}", "parent", "folder", "new") for n in range(DOCUMENTS)]
    owners = [new_warrant("document", f"new-{n}", "owner", "user", user_id(PEOPLE + n)) for n in range(DOCUMENTS)]
    inside = new_warrant("folder", "new", "parent", "folder", "folder-0")
    for written in ([*people, inside], documents, owners):
        await create_warrants(context, written, context.stamp("bench"), str)
    shared = new_warrant("folder", "new", "viewer", "group", "ten", "member")
    used: dict[int, list[float]] = {checked_access.MIN_ALIKE: [], sys.maxsize: []}
    for _ in range(ROUNDS):
        for min_alike, figures in used.items():
            figures.append(await _time_event(context, shared, min_alike))
    await store.close()
    alike, checked = map(min, used.values())
    return alike, checked


async def _time_event(context: Context, warrant: NewWarrant, min_alike: int) -> float:
    """Returns the processor time of the event by which access is gained. Objects that are alike are checked once if
    they are so many."""
    cursor = await _begin(context)
    await create_warrants(context, [warrant], context.stamp("bench"), str)
    [written] = (await RevisionLog(context.store).read_page(cursor.position.id)).batch.revisions
    checked_access.MIN_ALIKE, former = min_alike, checked_access.MIN_ALIKE
    try:
        began_at = time.thread_time()
        [event] = [event async for event in cursor.follow_revision(written)]
        await render_access(context.store.identity, event)
        took = time.thread_time() - began_at
    finally:
        checked_access.MIN_ALIKE = former
    if event.rows is None or len(event.rows) != PEOPLE * DOCUMENTS:
        raise RuntimeError("the event has other rows")
    await delete_warrants(context, [warrant], context.stamp("bench"))
    return took * 1_000


async def _begin(context: Context) -> AccessCursor:
    newest, at = await RevisionLog(context.store).read_newest()
    cursor = await begin_cursor(context, read_narrowing(SELECTED, None, None, None), AccessPosition(newest, at, at))
    async for _ in cursor.follow_time(at + 1):  # looks ahead for the first time
        pass
    return cursor


class Reader:
    """Reads a feed from a socket, without reading what its events say."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def wait_for_event(self) -> float:
        """Returns the time at which the next event of access has arrived as a whole."""
        received = b""
        while True:
            piece = self._connection.recv(RECEIVED_AT_ONCE)
            if not piece:
                raise RuntimeError("the feed has ended")
            received += piece
            begun = received.find(b'{"event":"access"')
            if begun >= 0 and received.find(b"}\n", begun) >= 0:
                return time.perf_counter()

    def drain(self) -> None:
        """Reads until the connection ends."""
        try:
            while self._connection.recv(RECEIVED_AT_ONCE):
                pass
        except OSError:
            return


@contextmanager
def _following(server: Server, of: str) -> Iterator[Reader]:
    """Follows a feed from now on."""
    host, port = urlsplit(server.url).netloc.split(":")
    path = f"/v2/watch/access?of={quote(of)}"
    head = (
        f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {AUTHORIZATION}\r\nAccept: application/x-ndjson\r\n\r\n"
    )
    with socket.create_connection((host, int(port)), SECONDS) as connection:
        connection.sendall(f"{head}Accept: application/x-ndjson\r\n\r\n".encode())
        begun = b""
        while b'"event":"checkpoint"' not in begun:  # it follows from there
            begun += connection.recv(RECEIVED_AT_ONCE)
        yield Reader(connection)
        connection.shutdown(socket.SHUT_RDWR)


class Writing(NamedTuple):
    """Holds the writes a second, and the microseconds of processor time of the service for each."""

    rate: float
    used: float


def _compare_writers(store: str, url: str, seconds: int) -> Iterator[tuple[str, ...]]:
    """Yields a row for writes without a feed, with one that does not select them, and with one that does."""
    feeds: dict[str, str | None] = {"no feed": None, f"feed of {OTHER}": OTHER, f"feed of {SELECTED}": SELECTED}
    figures: dict[str, list[Writing]] = {name: [] for name in feeds}
    numbers = count()
    with serving(url) as server:
        _write(server, numbers, 1)
        for _ in range(ROUNDS):
            for name, of in feeds.items():
                figures[name].append(_write_beside(server, of, numbers, seconds))
    for name, writings in figures.items():
        pairs = zip(writings, figures["no feed"], strict=True)
        share = statistics.median(writing.used / alone.used for writing, alone in pairs)
        rate = statistics.median(writing.rate for writing in writings)
        used = statistics.median(writing.used for writing in writings)
        target = f"<= {TARGET_OF_WRITES}" if feeds[name] == OTHER else ""
        yield f"{store}, {name}", f"{rate:,.0f}", f"{used:.0f}", f"{share:.2f} times", target


def _write_beside(server: Server, of: str | None, numbers: Iterator[int], seconds: float) -> Writing:
    with ExitStack() as stack:
        if of is not None:
            threads = stack.enter_context(ThreadPoolExecutor(1))
            reader = stack.enter_context(_following(server, of))
            threads.submit(reader.drain)
        return _write(server, numbers, seconds)


def _write(server: Server, numbers: Iterator[int], seconds: float) -> Writing:
    used_before = server.cpu_seconds()
    with on_core(LOAD_CORE):
        driven = closed_loop(server.url, map(_new_warrant, numbers), WRITERS, seconds)
    used = (server.cpu_seconds() - used_before) * 1_000_000
    return Writing(driven.rate, used / len(driven.latencies))


def _new_warrant(number: int) -> Ask:
    subject = {"objectType": "user", "objectId": user_id(number % 1_000)}
    written = {"objectType": "document", "objectId": f"written-{number // 10}", "relation": "reader"}
    return Ask(request_bytes("POST", "/v2/warrants", msgspec.json.encode(written | {"subject": subject})))
