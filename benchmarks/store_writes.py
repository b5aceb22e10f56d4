"""Writes of one warrant by eight writers over two nodes on PostgreSQL: to one store, and each to a store of its own.

Writes to one store share commits, so the two nodes commit those of all writers in turn. Where commits take no time,
both ways end with the processors busy; where they take some, twice as many writes are under way with several stores."""

import statistics
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

import httpx
import msgspec
import psycopg

from benchmarks.cores import ALL_CORES
from benchmarks.databases import postgres_databases
from benchmarks.keep_alive import request_bytes
from benchmarks.mixed.asks import Ask
from benchmarks.mixed.generator import closed_loop
from benchmarks.server import AUTHORIZATION, Server, serving
from benchmarks.table import markdown_table

WRITERS = 8
ROUNDS = 5
DELAYS_MS = (0, 2, 10)
WARM_UP_SECONDS = 1.0
SAMPLE_SECONDS = 0.005
TARGET = 2
NUMBERS = count()
"""Gives each warrant a number of its own."""
Nodes = tuple[Server, Server]
DEFINITION = {"type": "document", "relations": {"viewer": {}}}

COUNT_HOLDERS = """
SELECT count(*) FROM pg_stat_activity
WHERE backend_xid IS NOT NULL AND datname = current_database() AND pid <> pg_backend_pid()"""
"""A transaction gets its number when it has locked a head, and keeps it until the commit is done."""


SLOW_COMMITS = (
    "ALTER SYSTEM SET commit_delay = {microseconds}",
    "ALTER SYSTEM SET commit_siblings = 0",
    "SELECT pg_reload_conf()",
)
"""Make every commit last longer, as a slow disk or a synchronous standby does."""


@dataclass(slots=True)
class _Figures:
    """`rates` in writes a second, and the share of the time in which the head of a store is `locked`, of each round."""

    rates: list[float] = field(default_factory=list)
    locked: list[float] = field(default_factory=list)


def measure_store_writes(seconds: int) -> str:
    """A table with a row for one store and one for a store a writer, measured in alternation."""
    rows: list[tuple[str, ...]] = []
    with postgres_databases() as new_database:
        url = new_database("stores")
        with serving(url, cores=ALL_CORES) as one, serving(url, cores=ALL_CORES) as other:
            _make_stores(one)
            for delay in DELAYS_MS:
                _delay_commits(url, delay)
                figures = _compare(url, (one, other), seconds)
                rows += _describe(delay, figures)
    title = f"POST of one warrant by {WRITERS} writers over two nodes on PostgreSQL"
    return markdown_table(
        title, ("commits take longer by", "stores", "writes/s", "of one store", "time a head is locked", "target"), rows
    )


def _delay_commits(url: str, milliseconds: int) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in SLOW_COMMITS:
            connection.execute(statement.format(microseconds=1_000 * milliseconds).encode())


def _compare(url: str, nodes: Nodes, seconds: float) -> Mapping[int, _Figures]:
    figures = {1: _Figures(), WRITERS: _Figures()}
    for stores in figures:
        _write(nodes, stores, WARM_UP_SECONDS)
    for _ in range(ROUNDS):
        for stores, measured in figures.items():
            with _sampling(url) as samples:
                measured.rates.append(_write(nodes, stores, seconds))
            measured.locked.append(statistics.mean(samples) / stores)
    return figures


def _describe(delay: int, figures: Mapping[int, _Figures]) -> Iterator[tuple[str, ...]]:
    single = figures[1].rates
    for stores, measured in figures.items():
        ratios = [rate / of_one for rate, of_one in zip(measured.rates, single, strict=True)]
        yield (
            f"{delay} ms",
            str(stores),
            f"{statistics.median(measured.rates):,.0f}",
            "" if stores == 1 else f"{statistics.median(ratios):.2f}",
            f"{statistics.median(measured.locked):.0%}",
            "" if stores == 1 else f">= {TARGET}",
        )


def _make_stores(server: Server) -> None:
    with httpx.Client(base_url=server.url, trust_env=False, headers={"Authorization": AUTHORIZATION}) as client:
        for number in range(WRITERS):
            client.post("/v2/stores", json={"name": _name(number)}).raise_for_status()
        time.sleep(WARM_UP_SECONDS)  # the other node learns of them
        for number in range(WRITERS):
            client.post(f"/stores/{_name(number)}/v2/object-types", json=DEFINITION).raise_for_status()


def _name(number: int) -> str:
    return f"store-{number}"


def _write(nodes: Nodes, stores: int, seconds: float) -> float:
    """Returns the writes a second of all writers, each of which has a connection; half of them write to each node."""

    def write(writer: int) -> int:
        store = _name(writer % stores)
        requests = (_new_warrant(number, store) for number in NUMBERS)
        return len(closed_loop(nodes[writer % len(nodes)].url, requests, 1, seconds).latencies)

    began_at = time.perf_counter()
    with ThreadPoolExecutor(WRITERS) as threads:
        written = sum(threads.map(write, range(WRITERS)))
    return written / (time.perf_counter() - began_at)


def _new_warrant(number: int, store: str) -> Ask:
    subject = {"objectType": "user", "objectId": f"user-{number % 1_000:04d}"}
    written = {"objectType": "document", "objectId": f"document-{number // 10:09d}", "relation": "viewer"}
    body = msgspec.json.encode(written | {"subject": subject})
    return Ask(request_bytes("POST", f"/stores/{store}/v2/warrants", body))


@contextmanager
def _sampling(url: str) -> Iterator[list[int]]:
    """Counts the heads that are locked, again and again."""
    samples: list[int] = []
    is_over = threading.Event()

    def sample() -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            while not is_over.wait(SAMPLE_SECONDS):
                [[holders]] = connection.execute(COUNT_HOLDERS).fetchall()
                samples.append(holders)

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield samples
    finally:
        is_over.set()
        thread.join()
