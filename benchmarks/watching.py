"""Feeds of what is written: how long it takes until readers and webhooks have it, and what a thousand readers cost."""

import http.client
import json
import re
import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import NamedTuple
from urllib.parse import urlsplit

from benchmarks.cores import ALL_CORES, SERVER_CORE
from benchmarks.databases import STORES, NewDatabase
from benchmarks.feed_readers import Receiver, reading, receiving
from benchmarks.server import AUTHORIZATION, Server, serving
from benchmarks.table import markdown_table

WATCH, ACCESS = "/v2/watch", "/v2/watch/access?of=document%23viewer%40user"
READERS = 1_000
WRITES_PER_SECOND = 20
LATENCY_WRITES_PER_SECOND = 50
RECEIVER_NETWORKS = ("--webhook-allow-networks", "127.0.0.0/8")
IDLE_SECONDS = 2.0
"""Sets how long a server is left alone before its memory and its statements are counted."""
ARRIVE_SECONDS, DELIVER_SECONDS = 2.0, 10.0
"""Set how long readers, and the receiver of a webhook, are waited for after the last write."""
TARGET_LOCAL_MS, TARGET_NODE_MS, TARGET_WEBHOOK_MS, TARGET_ALL_MS = 30, 60, 1_000, 1_000
TARGET_BYTES, TARGET_STATEMENTS = 30_000, 1.05

DOCUMENT_TYPE = {"type": "document", "relations": {"viewer": {}}}


class Written(NamedTuple):
    """Says when the request of a write was sent, and when it was answered."""

    began_at: float
    answered_at: float


class Latencies(NamedTuple):
    """Holds milliseconds from requests, and from their answers, until the last reader had the event."""

    of_requests: Sequence[float]
    of_answers: Sequence[float]


def measure_watch(seconds: int, readers: int = READERS) -> str:
    """Two tables. `seconds` limits each measurement; its latencies are those of LATENCY_WRITES_PER_SECOND times as many
    writes."""
    latencies: list[tuple[str, ...]] = []
    costs: list[tuple[str, ...]] = []
    for store, databases in STORES.items():
        with databases() as new_database:
            latencies += _measure_latencies(store, new_database, seconds * LATENCY_WRITES_PER_SECOND)
            costs += _measure_many(store, new_database, seconds, readers)
    header = ("", "from the request, p50", "p99", "from its answer, p50", "p99", "target")
    title = f"Milliseconds from a write to its event, {LATENCY_WRITES_PER_SECOND} writes/s"
    return f"{markdown_table(title, header, latencies)}\n{markdown_table('Cost', ('', '', 'target'), costs)}"


def _measure_latencies(store: str, new_database: NewDatabase, writes: int) -> list[tuple[str, ...]]:
    rows = []
    with ExitStack() as stack:
        url = new_database("latencies")
        server = stack.enter_context(serving(url, flags=RECEIVER_NETWORKS))
        other = (
            stack.enter_context(serving(url, cores=ALL_CORES, flags=RECEIVER_NETWORKS))
            if store == "PostgreSQL"
            else None
        )
        writer = Writer(server)
        writer.define_type()
        for name, path in (("watch", WATCH), ("feed of access", ACCESS)):
            with reading(server.url, path, 1) as reader:
                rows.append(_render(f"{name}, {store}", _measure(writer, reader, 1, writes), TARGET_LOCAL_MS))
            if other is not None:
                with reading(other.url, path, 1) as reader:
                    latencies = _measure(writer, reader, 1, writes)
                rows.append(_render(f"{name} at another node, {store}", latencies, TARGET_NODE_MS))
        with receiving("benchmarks.webhook_receiver") as receiver:
            writer.create_webhook(receiver.beginning)
            latencies = _measure(writer, receiver, 1, writes, DELIVER_SECONDS)
            rows.append(_render(f"webhook, {store}", latencies, TARGET_WEBHOOK_MS))
    return rows


def _render(name: str, latencies: Latencies, target: int) -> tuple[str, ...]:
    figures = (f"{figure:.1f}" for part in latencies for figure in (statistics.median(part), _find_p99(part)))
    return name, *figures, f"≤ {target:,}"


def _find_p99(figures: Sequence[float]) -> float:
    return statistics.quantiles(figures, n=100)[98]


def _measure(
    writer: "Writer", receiver: Receiver, readers: int, writes: int, wait_seconds: float = ARRIVE_SECONDS
) -> Latencies:
    """Writes at a steady pace while so many read, and measures until the last of them has each event. Raises
    RuntimeError if one has not had an event, or has had it twice."""
    written = writer.write(writes, LATENCY_WRITES_PER_SECOND if readers == 1 else WRITES_PER_SECOND)
    time.sleep(wait_seconds)
    arrivals = receiver.finish()
    for number in written:
        if number not in arrivals or arrivals[number].readers != readers:
            raise RuntimeError(f"write {number} has arrived at others than the readers: {arrivals.get(number)}")
    return Latencies(
        [1_000 * (arrivals[number].last - times.began_at) for number, times in written.items()],
        [1_000 * (arrivals[number].last - times.answered_at) for number, times in written.items()],
    )


def _measure_many(store: str, new_database: NewDatabase, seconds: int, readers: int) -> list[tuple[str, ...]]:
    writes = seconds * WRITES_PER_SECOND
    with serving(new_database("many"), cores=(SERVER_CORE,)) as server:
        writer = Writer(server)
        writer.define_type()
        with reading(server.url, WATCH, 1):  # what the first reader needs is not what each takes
            writer.write(WRITES_PER_SECOND)
        statements = _count_statements(writer, server, 1, writes)
        time.sleep(IDLE_SECONDS)
        before = server.resident_mb()
        with reading(server.url, WATCH, readers) as feed:
            time.sleep(IDLE_SECONDS)
            idle = server.resident_mb()
            cpu, began_at = server.cpu_seconds(), time.perf_counter()
            latencies = _measure(writer, feed, readers, writes)
            busy = (server.cpu_seconds() - cpu) / (time.perf_counter() - began_at - ARRIVE_SECONDS)
        used = server.resident_mb()
        ratio = _count_statements(writer, server, readers, writes) / statements
    p50, p99 = statistics.median(latencies.of_requests), _find_p99(latencies.of_requests)
    each = [(mb - before) * 1_000_000 / readers for mb in (idle, used)]
    reached = f"{store}: milliseconds from a write until {readers:,} readers have it, {WRITES_PER_SECOND} writes/s"
    return [
        (f"{reached}, p50", f"{p50:.0f}", ""),
        (f"{store}: the same, p99", f"{p99:.0f}", f"≤ {TARGET_ALL_MS:,}"),
        (f"{store}: processor time meanwhile, of a core", f"{busy:.0%}", ""),
        (f"{store}: bytes of memory for a reader, idle", f"{each[0]:,.0f}", f"≤ {TARGET_BYTES:,}"),
        (f"{store}: the same after {writes} writes", f"{each[1]:,.0f}", f"≤ {TARGET_BYTES:,}"),
        (f"{store}: statements, of those with one reader", f"{ratio:.2f} times", f"≤ {TARGET_STATEMENTS} times"),
    ]


def _count_statements(writer: "Writer", server: Server, readers: int, writes: int) -> float:
    """Returns the statements that the store runs for the same writes while so many read."""
    with reading(server.url, WATCH, readers):
        before = writer.read_statements()
        writer.write(writes)
        return writer.read_statements() - before


class Writer:
    """Writes one warrant after another, each to an object of its own, over one connection."""

    def __init__(self, server: Server) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(server.url).netloc)
        self._next = 0

    def define_type(self) -> None:
        self._request("POST", "/v2/object-types", DOCUMENT_TYPE)

    def create_webhook(self, url: str) -> None:
        self._request("POST", "/v2/webhooks", {"url": url})

    def write(self, count: int, per_second: int = WRITES_PER_SECOND) -> Mapping[int, Written]:
        """Writes so many, at this pace, and returns when by the number of the object."""
        written: dict[int, Written] = {}
        due_at = time.monotonic()
        for _ in range(count):
            time.sleep(max(0, due_at - time.monotonic()))
            due_at += 1 / per_second
            warrant = {"objectType": "document", "objectId": f"n{self._next}", "relation": "viewer"}
            began_at = time.monotonic()
            self._request("POST", "/v2/warrants", warrant | {"subject": {"objectType": "user", "objectId": "ann"}})
            written[self._next] = Written(began_at, time.monotonic())
            self._next += 1
        return written

    def read_statements(self) -> float:
        """Returns how many statements the service has run."""
        [count] = re.findall(rb"^magistrate_statements_total (\S+)$", self._request("GET", "/metrics"), re.MULTILINE)
        return float(count)

    def _request(self, method: str, path: str, body: object = None) -> bytes:
        headers = {"Authorization": AUTHORIZATION, "Content-Type": "application/json"}
        self._connection.request(method, path, None if body is None else json.dumps(body), headers)
        with self._connection.getresponse() as answer:
            text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{method} {path} was answered with {answer.status}: {text!r}")
        return text
