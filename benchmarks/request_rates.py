"""Requests a second and p99: a constant answer, a cached check, reading one object, writing one object."""

import statistics
from collections.abc import Mapping, Sequence
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

CHECK = Workload(
    "POST",
    "/v2/check",
    STORED,
    '{"warrants":[{"objectType":"document","objectId":"d{n}","relation":"viewer",'
    '"subject":{"objectType":"user","objectId":"u{n}"}}]}',
)
"""Each check is allowed, through a folder and a group."""
FOLDERS = 50
TYPES: Mapping[str, Mapping[str, object]] = {
    "group": {"member": {}},
    "folder": {"viewer": {}},
    "document": {"parent": {}, "viewer": {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}},
}

TARGET_OF_READ = 0.40
"""On SQLite, of the constant answer's requests a second."""
TARGET_OF_CHECK = 0.80
"""On SQLite, of the requests a second of bare uvicorn."""


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
        bare = stack.enter_context(running("benchmarks.constant"))
        cases = _cases(stack, bare)
        for case in cases:
            throughput(case.server, case.workload, 1)
        for _ in range(ROUNDS):
            for case in cases:
                case.measured.append(throughput(case.server, case.workload, seconds))
    header = ("", "requests/s", "p99 ms", "server CPU", "of the constant answer", "target")
    return markdown_table("Requests", header, [_row(case) for case in cases])


def _cases(stack: ExitStack, bare: Server) -> list[Case]:
    cases: list[Case] = []
    bare_case = Case("bare uvicorn, raw ASGI, constant answer", bare, CONSTANT)
    for store, databases in STORES.items():
        url = stack.enter_context(databases())("requests")
        server = stack.enter_context(serving(url))
        _store_objects(server)
        _store_warrants(server)
        constant = Case(f"constant answer, server on {store}", server, CONSTANT)
        target, check_target = (TARGET_OF_READ, TARGET_OF_CHECK) if store == "SQLite" else (None, None)
        bare_case.constant = bare_case.constant or constant
        cases += [
            constant,
            Case(f"cached check, {store} (of bare uvicorn)", server, CHECK, bare_case, check_target),
            Case(f"GET one object, {store}", server, READ, constant, target),
            Case(f"POST one object, {store}", server, WRITE, constant),
        ]
    return [*cases, bare_case]


def _store_objects(server: Server) -> None:
    """Those that READ reads."""
    bodies = [_batch(range(first, first + 100)) for first in range(0, STORED, 100)]
    requests = (request_bytes("POST", "/v2/objects", msgspec.json.encode(body)) for body in bodies)
    drive(server.url, requests, connections=1, max_seconds=60)


def _store_warrants(server: Server) -> None:
    """Those that CHECK depends on. Each check is made twice, so that what it needs is cached."""
    for name, relations in TYPES.items():
        _send(server, "/v2/object-types", {"type": name, "relations": relations})
    folders = [_warrant("folder", f"f{n}", "viewer", "group", f"g{n}", "member") for n in range(FOLDERS)]
    parents = [_warrant("document", f"d{n}", "parent", "folder", f"f{n % FOLDERS}") for n in range(STORED)]
    members = [_warrant("group", f"g{n % FOLDERS}", "member", "user", f"u{n}") for n in range(STORED)]
    warrants = [*folders, *parents, *members]
    for first in range(0, len(warrants), 100):
        _send(server, "/v2/warrants", warrants[first : first + 100])
    bodies = [CHECK.body.replace("{n}", str(n)).encode() for n in range(STORED)] * 2
    drive(server.url, (request_bytes("POST", CHECK.path, body) for body in bodies), connections=1, max_seconds=60)


def _send(server: Server, path: str, body: object) -> None:
    request = request_bytes("POST", path, msgspec.json.encode(body))
    drive(server.url, iter([request]), connections=1, max_seconds=60)


def _warrant(
    object_type: str, object_id: str, relation: str, subject_type: str, subject_id: str, group: str = ""
) -> dict[str, object]:
    subject = {"objectType": subject_type, "objectId": subject_id, **({"relation": group} if group else {})}
    return {"objectType": object_type, "objectId": object_id, "relation": relation, "subject": subject}


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
