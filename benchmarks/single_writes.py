"""POST of one warrant over several connections: as fast as it goes, at half that rate, and on two nodes at once."""

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import msgspec

from benchmarks.cores import ALL_CORES
from benchmarks.databases import STORES, NewDatabase
from benchmarks.keep_alive import request_bytes
from benchmarks.mixed.asks import Ask
from benchmarks.mixed.generator import Driven, Schedule, closed_loop, constant_rate
from benchmarks.mixed.latency import Latency, latency_of
from benchmarks.mixed.wire import answered
from benchmarks.server import Server, serving
from benchmarks.table import markdown_table

CONNECTIONS = 16
"""On each node."""
OPEN_CONNECTIONS = 64
WARM_UP_SECONDS = 1
TARGET_RATE = {"SQLite": "", "PostgreSQL": "≥ 4,000, ≤ 15 ms, p99 ≤ 10, two nodes ≥ 1.6"}
_HELD = re.compile(rb'^magistrate_head_lock_seconds_sum\{phase="hold"\} (\S+)$', re.MULTILINE)
DEFINITION = b'{"type":"document","relations":{"viewer":{}}}'


def measure_single_writes(seconds: int) -> str:
    """One table, a row for each store."""
    rows = []
    for store, databases in STORES.items():
        with databases() as new_database:
            rows.append((store, *_measure(new_database, seconds), TARGET_RATE[store]))
    title = f"POST of one warrant, {CONNECTIONS} connections to each node"
    paced = ("p50 at half the rate, ms", "p99")
    held = "head locked, ms per 1,000 writes"
    two = ("two nodes, writes/s", "of one", held)
    header = ("", "writes/s", "CPU of the server, µs a write", held, *paced, *two, "target")
    return markdown_table(title, header, rows)


def _measure(new_database: NewDatabase, seconds: int) -> tuple[str, ...]:
    url = new_database("single")
    numbers = count()
    with serving(url) as one, serving(url, cores=ALL_CORES) as other:
        define(one)
        for server in (one, other):
            write_closed(server, numbers, WARM_UP_SECONDS)
        used, held = one.cpu_seconds(), _measure_held(one)
        closed = write_closed(one, numbers, seconds)
        cost = (one.cpu_seconds() - used) / len(closed.latencies) * 1_000_000
        held = (_measure_held(one) - held) / len(closed.latencies)
        latency = write_paced(one, numbers, closed.rate / 2, seconds)
        held_before = _measure_held(one, other)
        together, written = _write_on_both(one, other, numbers, seconds)
        held_together = (_measure_held(one, other) - held_before) / written
    paced = (f"{latency.p50:.1f}", f"{latency.p99:.1f}")
    two = (f"{together:,.0f}", f"{together / closed.rate:.2f}", f"{held_together * 1_000_000:.1f}")
    return f"{closed.rate:,.0f}", f"{cost:.0f}", f"{held * 1_000_000:.1f}", *paced, *two


def _measure_held(*servers: Server) -> float:
    """Returns for how many seconds the writes of these servers have held the lock of writers, since they started."""
    bodies = [answered(server.url, request_bytes("GET", "/metrics")) for server in servers]
    return sum(float(_HELD.findall(body)[0]) for body in bodies)


def define(server: Server) -> None:
    """Makes the server accept the warrants that are written."""
    closed_loop(server.url, iter([Ask(request_bytes("POST", "/v2/object-types", DEFINITION))]), 1, WARM_UP_SECONDS)


def write_closed(server: Server, numbers: Iterator[int], seconds: float) -> Driven:
    return closed_loop(server.url, map(_new_warrant, numbers), CONNECTIONS, seconds)


def write_paced(server: Server, numbers: Iterator[int], rate: float, seconds: float) -> Latency:
    schedule = Schedule(rate, max(1, int(rate * seconds)))
    return latency_of(constant_rate(server.url, map(_new_warrant, numbers), OPEN_CONNECTIONS, schedule).latencies)


def _write_on_both(one: Server, other: Server, numbers: Iterator[int], seconds: float) -> tuple[float, int]:
    """Returns the writes a second of both together, and how many they made."""
    started = time.perf_counter()
    with ThreadPoolExecutor(2) as threads:
        driven = [threads.submit(write_closed, server, numbers, seconds) for server in (one, other)]
        written = sum(len(one.result().latencies) for one in driven)
    return written / (time.perf_counter() - started), written


def _new_warrant(number: int) -> Ask:
    subject = {"objectType": "user", "objectId": f"user-{number % 1_000:04d}"}
    written = {"objectType": "document", "objectId": f"document-{number // 10:09d}", "relation": "viewer"}
    return Ask(request_bytes("POST", "/v2/warrants", msgspec.json.encode(written | {"subject": subject})))
