"""Objects a second in batches of 100 over HTTP, against the same rows through bare `executemany`."""

import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

import msgspec

from benchmarks.bare_rows import Write, bare_writer, batch_rows, row_counts
from benchmarks.cores import SERVER_CORE, on_core
from benchmarks.databases import STORES, NewDatabase
from benchmarks.keep_alive import drive, request_bytes
from benchmarks.server import Server, serving
from benchmarks.table import markdown_table

ROUNDS = 7
BATCHES = 100
"""In each round, on each database, so that all of them grow alike."""
BATCH_SIZE = 100
CONNECTIONS = 4
WARM_UP_SECONDS = 30

TARGET_OF_BARE = 0.50
"""On SQLite, over one connection, of the objects a second of bare inserts."""

WriteBatches = Callable[[range, int], float]
"""Given numbers of batches never written before, and at most how many seconds it may take: objects a second."""


@dataclass(slots=True)
class Case:
    """`bare`: the case whose objects a second are 100 % here; None for itself."""

    name: str
    database_url: str
    write: WriteBatches
    bare: "Case | None" = None
    target: float | None = None
    per_second: list[float] = field(default_factory=list)

    def share(self) -> float:
        """Of the bare inserts' objects a second: the median over the rounds, each compared with its own."""
        bare = self.bare or self
        return statistics.median(own / other for own, other in zip(self.per_second, bare.per_second, strict=True))


def measure_batches(seconds: int) -> str:
    """A table. Each case writes BATCHES batches in each round, and gives up the rest after `seconds`."""
    with ExitStack() as stack:
        cases = [
            case
            for store, databases in STORES.items()
            for case in _cases(stack, store, stack.enter_context(databases()))
        ]
        _warm_up(cases)
        for round_number in range(1, ROUNDS + 1):
            for case in cases:
                numbers = range(round_number * BATCHES, (round_number + 1) * BATCHES)
                case.per_second.append(case.write(numbers, seconds))
    header = ("", "objects/s", "of bare inserts", "target")
    return markdown_table(f"Batches of {BATCH_SIZE} new objects", header, [_row(case) for case in cases])


def _warm_up(cases: list[Case]) -> None:
    """Raises RuntimeError unless bare inserts add as many rows to every table as requests do."""
    before = {case.name: row_counts(case.database_url) for case in cases}
    for case in cases:
        case.write(range(BATCHES), WARM_UP_SECONDS)
    grown = {case.name: row_counts(case.database_url) - before[case.name] for case in cases}
    for case in cases:
        if case.bare and grown[case.name] != grown[case.bare.name]:
            raise RuntimeError(f"{case.name} wrote {grown[case.name]}, bare inserts {grown[case.bare.name]}")


def _cases(stack: ExitStack, store: str, new_database: NewDatabase) -> list[Case]:
    """Each on a database of its own: none is slowed by the rows of another."""
    urls = [new_database(name) for name in ("bare", "one", "few")]
    write_rows = stack.enter_context(bare_writer(urls[0]))
    one, few = (stack.enter_context(serving(url)) for url in urls[1:])
    bare = Case(f"bare executemany, {store}", urls[0], _through(write_rows))
    target = TARGET_OF_BARE if store == "SQLite" else None
    return [
        bare,
        Case(f"POST over one connection, {store}", urls[1], _over(one, 1), bare, target),
        Case(f"POST over {CONNECTIONS} connections, {store}", urls[2], _over(few, CONNECTIONS), bare, target),
    ]


def _through(write_rows: Write) -> WriteBatches:
    def write(numbers: range, max_seconds: int) -> float:
        now = time.time_ns() // 1_000
        # Revisions of a bare database are its own: it has no seed, and begins with 1.
        batches = [batch_rows(number + 1, _objects(number), now) for number in numbers]
        written, started = 0, time.perf_counter()
        with on_core(SERVER_CORE):
            for rows in batches:
                if time.perf_counter() - started >= max_seconds:
                    break
                write_rows(rows)
                written += BATCH_SIZE
        return written / (time.perf_counter() - started)

    return write


def _over(server: Server, connections: int) -> WriteBatches:
    def write(numbers: range, max_seconds: int) -> float:
        requests = [request_bytes("POST", "/v2/objects", _body(number)) for number in numbers]
        driven = drive(server.url, iter(requests), connections, max_seconds)
        return len(driven.latencies) * BATCH_SIZE / driven.seconds

    return write


def _objects(number: int) -> list[tuple[str, str, str]]:
    """Ids rise with the number: bare inserts are fastest so, at the end of most indexes."""
    first = number * BATCH_SIZE
    return [("user", f"user-{n:09d}", f'{{"name":"Ann {n}"}}') for n in range(first, first + BATCH_SIZE)]


def _body(number: int) -> bytes:
    objects = _objects(number)
    return msgspec.json.encode([{"objectType": t, "objectId": i, "meta": msgspec.Raw(m)} for t, i, m in objects])


def _row(case: Case) -> tuple[str, ...]:
    return (
        case.name,
        f"{statistics.median(case.per_second):,.0f}",
        f"{case.share():.0%}",
        f"≥ {case.target:.0%}" if case.target else "",
    )
