"""POST /v2/writes over HTTP against the same rows through bare `executemany`, the waits of another writer while
warrants are deleted by filter, and writes of a single warrant."""

import asyncio
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count

import httpx
import msgspec

from benchmarks.bare_rows import ACTOR, BITS, Row, Statements, Write, bare_writer, rows_of_store
from benchmarks.cores import SERVER_CORE, on_core
from benchmarks.databases import STORES, NewDatabase
from benchmarks.keep_alive import drive, request_bytes
from benchmarks.server import AUTHORIZATION, Server, serving
from benchmarks.single_writes import measure_single_writes
from benchmarks.table import markdown_table
from magistrate.config.settings import read_settings
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.store.contract.new_rows import MAX_WARRANTS_IN_A_WRITE, ImportBatch, NewObjectType, NewWarrant, Stamp
from magistrate.store.scripts.warrants import warrant_key
from magistrate.store.sql.changes import INSERT_CHANGE
from magistrate.store.sql.head import MOVE_HEAD
from magistrate.store.sql.objects import OBJECT
from magistrate.store.sql.revisions import INSERT_REVISION
from magistrate.store.sql.warrants import WARRANT
from magistrate.wiring.stores import migrate_store, open_store

ROUNDS = 5
WRITES = 12
"""In each round, on each database, so that all of them grow alike."""
ELEMENTS = 1_000
CONNECTIONS = (1, 4)
TARGET_OF_BARE = 0.60

DELETED = 100_000
AT_ONCE = 10_000
"""Warrants that one request deletes."""
TARGET_WAIT_MS = 50
WARM_UP = 100
"""Objects that are written first, and do not count."""
DELETE_SECONDS = 120
DEFINITION = b'{"type":"document","relations":{"viewer":{}}}'


@dataclass(slots=True)
class Rates:
    """Of each round: elements a second."""

    bare: list[float] = field(default_factory=list)
    over: dict[int, list[float]] = field(default_factory=lambda: {number: [] for number in CONNECTIONS})

    def share(self, connections: int) -> float:
        return statistics.median(own / bare for own, bare in zip(self.over[connections], self.bare, strict=True))


def measure_writes(seconds: int) -> str:
    """Three tables. A round of writes ends after `seconds`, or after WRITES writes."""
    rates: list[tuple[str, ...]] = []
    waits: list[tuple[str, ...]] = []
    for store, databases in STORES.items():
        with databases() as new_database:
            rates += _rate_rows(store, _measure_rates(new_database, seconds))
        with databases() as new_database:
            waits.append((store, *_measure_waits(new_database("deleted"), seconds)))
    first = markdown_table(
        f"Atomic writes of {ELEMENTS:,} new warrants", ("", "warrants/s", "of bare inserts", "target"), rates
    )
    title = f"POST of one object, in ms, while {DELETED:,} warrants are deleted by filter"
    alone, beside = ("p50 alone", "p99 alone", "longest alone"), ("p50", "p99", "longest")
    header = ("", "warrants/s", "posts", *alone, *beside, "target of the longest")
    return f"{first}\n{markdown_table(title, header, waits)}\n{measure_single_writes(seconds)}"


def _rate_rows(store: str, rates: Rates) -> Iterator[tuple[str, ...]]:
    yield f"bare executemany, {store}", f"{statistics.median(rates.bare):,.0f}", "100%", ""
    for connections, figures in rates.over.items():
        name = "one connection" if connections == 1 else f"{connections} connections"
        figure = f"{statistics.median(figures):,.0f}"
        yield f"POST over {name}, {store}", figure, f"{rates.share(connections):.0%}", f"≥ {TARGET_OF_BARE:.0%}"


def _measure_rates(new_database: NewDatabase, seconds: int) -> Rates:
    """All alternately, each on a database of its own; the first round does not count."""
    rates = Rates()
    with ExitStack() as stack:
        write = stack.enter_context(bare_writer(new_database("bare")))
        servers = {
            connections: stack.enter_context(serving(new_database(f"over_{connections}")))
            for connections in CONNECTIONS
        }
        for server in servers.values():
            drive(server.url, iter([request_bytes("POST", "/v2/object-types", DEFINITION)]), 1, seconds)
        for round_number in range(ROUNDS + 1):
            numbers = range(round_number * WRITES, (round_number + 1) * WRITES)
            figures = {one: _over(servers[one], one, numbers, seconds) for one in CONNECTIONS}
            bare = _bare(write, numbers, seconds)
            if round_number:
                rates.bare.append(bare)
                for connections, figure in figures.items():
                    rates.over[connections].append(figure)
    return rates


def build_warrants(number: int) -> list[NewWarrant]:
    """Names that rise with the number. Each object has ten viewers of a thousand."""
    viewer, of_type = RelationName("viewer"), TypeName("document")
    first = number * ELEMENTS
    return [
        NewWarrant(
            ObjectRef(of_type, ObjectId(f"document-{n // 10:09d}")),
            viewer,
            Subject(TypeName("user"), ObjectId(f"user-{n % 1_000:04d}")),
        )
        for n in range(first, first + ELEMENTS)
    ]


def _over(server: Server, connections: int, numbers: range, seconds: int) -> float:
    requests = [request_bytes("POST", "/v2/writes", _body(number)) for number in numbers]
    driven = drive(server.url, iter(requests), connections, seconds)
    return len(driven.latencies) * ELEMENTS / driven.seconds


def _body(number: int) -> bytes:
    warrants = [
        {
            "objectType": one.object.type,
            "objectId": one.object.id,
            "relation": one.relation,
            "subject": {"objectType": one.subject.type, "objectId": one.subject.id},
        }
        for one in build_warrants(number)
    ]
    return msgspec.json.encode({"create": {"warrants": warrants}})


def _bare(write: Write, numbers: range, seconds: int) -> float:
    transactions = [build_statements(number) for number in numbers]
    written, started = 0, time.perf_counter()
    with on_core(SERVER_CORE):
        for statements in transactions:
            if time.perf_counter() - started >= seconds:
                break
            write(statements)
            written += ELEMENTS
    return written / (time.perf_counter() - started)


def build_statements(number: int) -> Statements:
    """The rows that one write leaves behind in all tables."""
    revision, now = number + 1, time.time_ns() // 1_000
    keys = [warrant_key(one) for one in build_warrants(number)]
    objects = list(dict.fromkeys([("document", key[1]) for key in keys]))
    objects += [("user", f"user-{n:04d}") for n in range(1_000)] if number == 0 else []
    logged = [("warrant", key) for key in keys] + [("object", key) for key in objects]
    changes: list[Row] = [
        (revision, place, "created", kind, msgspec.json.encode(key).decode(), *[None] * 4)
        for place, (kind, key) in enumerate(logged)
    ]
    first = revision * MAX_WARRANTS_IN_A_WRITE
    warrants: list[Row] = [(*key, first + place, now, revision, None, None) for place, key in enumerate(keys)]
    return [
        rows_of_store(MOVE_HEAD, [(revision, BITS, len(keys), len(objects))]),
        rows_of_store(INSERT_REVISION, [(1, revision, BITS, now, ACTOR, None)]),
        rows_of_store(WARRANT.insert, warrants),
        rows_of_store(OBJECT.insert, [(*key, None, now, revision) for key in objects]),
        rows_of_store(INSERT_CHANGE, changes),
    ]


def _measure_waits(database_url: str, seconds: int) -> tuple[str, ...]:
    """Writes objects over one connection while another one deletes all warrants, and then as many alone."""
    asyncio.run(_fill(database_url))
    with serving(database_url) as server:
        names = count()
        drive(server.url, (_new_object(next(names)) for _ in range(WARM_UP)), 1, seconds)
        with ThreadPoolExecutor(1) as thread:
            deletion = thread.submit(_delete_all, server)
            objects = (_new_object(next(names)) for _ in iter(deletion.done, True))
            waits = drive(server.url, objects, 1, DELETE_SECONDS).latencies
            rate = DELETED / deletion.result()
        objects = (_new_object(next(names)) for _ in waits)
        alone = drive(server.url, objects, 1, DELETE_SECONDS).latencies
    shown = (f"{wait * 1_000:.1f}" for waited in (alone, waits) for wait in _distribution(waited))
    return f"{rate:,.0f}", f"{len(waits):,}", *shown, f"≤ {TARGET_WAIT_MS}"


def _distribution(waits: list[float]) -> tuple[float, float, float]:
    """The median, the p99 and the longest."""
    ordered = sorted(waits)
    return statistics.median(ordered), ordered[int(len(ordered) * 0.99)], ordered[-1]


async def _fill(database_url: str) -> None:
    settings = read_settings({"database_url": database_url}, {})
    migrate_store(settings)
    store = await open_store(settings)
    types = [NewObjectType(TypeName("document"), '{"relations":{"viewer":{}}}')]
    for number in range(DELETED // ELEMENTS):
        batch = ImportBatch(types, warrants=build_warrants(number))
        await store.import_batch(batch, lambda model: None, Stamp(ACTOR, time.time_ns() // 1_000))
    await store.close()


def _new_object(number: int) -> bytes:
    body = msgspec.json.encode({"objectType": "note", "objectId": f"note-{number}"})
    return request_bytes("POST", "/v2/objects", body)


def _delete_all(server: Server) -> float:
    """Returns the seconds that it took."""
    body = msgspec.json.encode({"filter": {"objectType": "document", "relation": "viewer"}, "limit": AT_ONCE})
    headers = {"Authorization": AUTHORIZATION}
    started = time.perf_counter()
    with httpx.Client(timeout=DELETE_SECONDS, trust_env=False, headers=headers) as client:
        deleted, more = 0, True
        while more:
            answer = client.post(f"{server.url}/v2/warrants/delete", content=body).raise_for_status().json()
            deleted, more = deleted + answer["deleted"], answer["more"]
    if deleted != DELETED:
        raise RuntimeError(f"{deleted} warrants were deleted instead of {DELETED}")
    return time.perf_counter() - started
