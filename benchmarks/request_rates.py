"""Requests a second and p99: a constant answer, reading one object, writing one object."""

import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

import msgspec

from benchmarks.databases import STORES
from benchmarks.keep_alive import drive, request_bytes
from benchmarks.load import Throughput, Workload, median_throughput, throughput
from benchmarks.server import Server, running, serving
from benchmarks.table import markdown_table

ROUNDS = 3
STORED = 1_000
"""Objects that are read in turn."""

CONSTANT = Workload("GET", "/healthz")
READ = Workload("GET", "/v2/objects/user/u{n}", STORED)
WRITE = Workload("POST", "/v2/objects", body='{"objectType":"user","meta":{"name":"Ann"}}')

TARGET_OF_READ = 0.40
"""On SQLite, of the constant answer's requests a second."""


@dataclass(slots=True)
class Case:
    """`constant`: the case whose requests a second are 100 % here; None for itself."""

    name: str
    server: Server
    workload: Workload
    constant: "Case | None" = None
    target: float | None = None
    measured: list[Throughput] = field(default_factory=list)

    def share(self) -> float:
        """Of the constant answer's requests a second: the median over the rounds, each compared with its own."""
        constant = self.constant or self
        pairs = zip(self.measured, constant.measured, strict=True)
        return statistics.median(own.requests_per_second / other.requests_per_second for own, other in pairs)


def measure_request_rates(seconds: int) -> str:
    """A table. Each case gets `seconds` in each round, the rounds one after the other."""
    with ExitStack() as stack:
        cases = _cases(stack)
        for case in cases:
            throughput(case.server, case.workload, 1)
        for _ in range(ROUNDS):
            for case in cases:
                case.measured.append(throughput(case.server, case.workload, seconds))
    header = ("", "requests/s", "p99 ms", "server CPU", "of the constant answer", "target")
    return markdown_table("Requests", header, [_row(case) for case in cases])


def _cases(stack: ExitStack) -> list[Case]:
    cases: list[Case] = []
    for store, databases in STORES.items():
        url = stack.enter_context(databases())("requests")
        server = stack.enter_context(serving(url))
        _store_objects(server)
        constant = Case(f"constant answer, server on {store}", server, CONSTANT)
        target = TARGET_OF_READ if store == "SQLite" else None
        cases += [
            constant,
            Case(f"GET one object, {store}", server, READ, constant, target),
            Case(f"POST one object, {store}", server, WRITE, constant),
        ]
    bare = stack.enter_context(running("benchmarks.constant"))
    return [*cases, Case("bare uvicorn, raw ASGI, constant answer", bare, CONSTANT, cases[0])]


def _store_objects(server: Server) -> None:
    """Those that READ reads."""
    bodies = [_batch(range(first, first + 100)) for first in range(0, STORED, 100)]
    requests = (request_bytes("POST", "/v2/objects", msgspec.json.encode(body)) for body in bodies)
    drive(server.url, requests, connections=1, most_seconds=60)


def _batch(numbers: Sequence[int]) -> list[dict[str, object]]:
    return [{"objectType": "user", "objectId": f"u{number}", "meta": {"name": f"Ann {number}"}} for number in numbers]


def _row(case: Case) -> tuple[str, ...]:
    median = median_throughput(case.measured)
    return (
        case.name,
        f"{median.requests_per_second:,.0f}",
        f"{median.p99_ms:.2f}",
        f"{median.busy:.0%}",
        f"{case.share():.0%}",
        f"≥ {case.target:.0%}" if case.target else "",
    )
