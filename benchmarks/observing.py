"""What it costs to count requests, to log them and to trace them, of the processor time of a check that needs nothing
but memory."""

import os
import statistics
import timeit
from collections.abc import Callable
from contextlib import ExitStack

import uvloop

from benchmarks.cores import SERVER_CORE, on_core
from benchmarks.databases import STORES
from benchmarks.load import Workload, throughput
from benchmarks.server import Server, serving
from benchmarks.table import markdown_table
from benchmarks.traces import measure_traces
from magistrate.api.http.ledger import AccessLog, Ledger
from magistrate.engine.evaluation.check import IMPLICIT
from magistrate.log import LineOutput
from magistrate.operations.checks.counts import CheckCounts

ROUNDS = 3
CALLS = 20_000
TARGET = 0.05

CHECK = Workload(
    "POST",
    "/v2/check",
    body='{"warrants":[{"objectType":"role","objectId":"admin","relation":"member",'
    '"subject":{"objectType":"user","objectId":"ann"}}]}',
)
REQUEST_ID = "019a9f00-0000-7000-8000-000000000000"


def measure_observing(seconds: int) -> str:
    """Two tables. The check is about the cheapest there is, so that the shares are about the largest."""
    with ExitStack() as stack:
        url = stack.enter_context(STORES["SQLite"]())("observing")
        server = stack.enter_context(serving(url))
        throughput(server, CHECK, 1)
        check = statistics.median(_microseconds_of_check(server, seconds) for _ in range(ROUNDS))
    counted, logged, decided = _microseconds_of(Ledger), _microseconds_of(_logging), _microseconds_of_decision()
    header = ("", "µs", "of a check", "target")
    rows = [
        ("a check over HTTP, processor time of the server", f"{check:.1f}", "", ""),
        ("counting it for /metrics, which is part of it", f"{counted:.2f}", f"{counted / check:.1%}", ""),
        ("counting its decision, which is part of it", f"{decided:.2f}", f"{decided / check:.1%}", ""),
        ("counting it and a line of the access log", f"{logged:.2f}", f"{logged / check:.1%}", f"≤ {TARGET:.0%}"),
    ]
    return f"{markdown_table('Metrics and access log', header, rows)}\n{measure_traces()}"


def _microseconds_of_check(server: Server, seconds: int) -> float:
    measured = throughput(server, CHECK, seconds)
    return measured.busy / measured.requests_per_second * 1_000_000


def _microseconds_of(make_ledger: Callable[[], Ledger]) -> float:
    """Of one request, the writing of its line included."""

    async def measured() -> float:
        ledger = make_ledger()
        took = timeit.repeat(
            lambda: ledger.record_answer("POST", CHECK.path, 200, 0.0, path=CHECK.path, request_id=REQUEST_ID),
            number=CALLS,
            repeat=5,
        )
        ledger.stopping()
        return min(took) / CALLS * 1_000_000

    with on_core(SERVER_CORE):
        return uvloop.run(measured())


def _microseconds_of_decision() -> float:
    counts = CheckCounts()
    with on_core(SERVER_CORE):
        took = timeit.repeat(lambda: counts.count([IMPLICIT]), number=CALLS, repeat=5)
    return min(took) / CALLS * 1_000_000


def _logging() -> Ledger:
    return Ledger(AccessLog(LineOutput(os.open(os.devnull, os.O_WRONLY))))
