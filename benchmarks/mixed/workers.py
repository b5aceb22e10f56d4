"""What a second worker brings. Server and load share the cores of the machine here, so the lightest load there is makes
it (wrk, if it is installed), and what all of them used together shows what the limit was."""

import itertools
import resource
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from benchmarks.cores import ALL_CORES, machine_seconds
from benchmarks.load import WRK
from benchmarks.mixed.asks import Ask
from benchmarks.mixed.generator import closed_loop
from benchmarks.mixed.measure import MAX_SECONDS, ROUNDS
from benchmarks.server import Server, serving

WORKERS = (1, 2)
CONNECTIONS = 64
"""Workers take connections that come at once in heaps, not in turn: all of a few may end with one worker."""
_WARM_ROUNDS = 6
"""Over as many connections, so that each worker gets nearly every check."""
_SCRIPT = Path(__file__).with_name("checks.lua")
_GRACE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Throughput:
    """`server_busy`, `load_busy`, `other_busy`: as in Figures; `busiest`: processor time of the process of the server
    that used most of it."""

    rate: float
    server_busy: float
    busiest: float
    load_busy: float
    other_busy: float


@dataclass(slots=True)
class WorkersCase:
    workers: int
    rounds: list[Throughput] = field(default_factory=list)

    @property
    def median(self) -> Throughput:
        return sorted(self.rounds, key=lambda one: one.rate)[len(self.rounds) // 2]


class _Report(msgspec.Struct):
    """The last line that checks.lua prints."""

    requests: int
    microseconds: float
    failed: int


def measure_workers(database_url: str, checks: Sequence[Ask], seconds: float) -> list[WorkersCase]:
    """For each of WORKERS a server on the same filled database, free to use all cores, in turn.

    Raises RuntimeError if a request fails.
    """
    cases = [WorkersCase(workers) for workers in WORKERS]
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(database_url, case.workers, ALL_CORES)) for case in cases]
        for server in servers:
            closed_loop(server.url, itertools.chain(*[checks] * _WARM_ROUNDS), CONNECTIONS, MAX_SECONDS)
        for _ in range(ROUNDS):
            for case, server in zip(cases, servers, strict=True):
                case.rounds.append(_loaded(server, checks, seconds))
    return cases


def speedup(cases: Sequence[WorkersCase]) -> float:
    """Of the last case over the first: the median over the rounds."""
    pairs = zip(cases[0].rounds, cases[-1].rounds, strict=True)
    return statistics.median(more.rate / one.rate for one, more in pairs)


def speedup_without_limit(cases: Sequence[WorkersCase]) -> float:
    """What it would be with a core for each worker and another for the load, as far as their processor time shows: the
    checks for each second of it, times the number of workers."""
    one, more = (case.median for case in (cases[0], cases[-1]))
    per_second = [case.rate / case.server_busy for case in (one, more)]
    return per_second[1] / per_second[0] * cases[-1].workers / cases[0].workers


def _loaded(server: Server, checks: Sequence[Ask], seconds: float) -> Throughput:
    before, machine = server.cpu_seconds_by_process(), machine_seconds()
    requests, took, load_used = (_by_wrk if WRK else _by_python)(server.url, checks, seconds)
    used = {pid: after - before.get(pid, 0.0) for pid, after in server.cpu_seconds_by_process().items()}
    others = max(0.0, machine_seconds() - machine - sum(used.values()) - load_used)
    shares = (seconds / took for seconds in (sum(used.values()), max(used.values()), load_used, others))
    return Throughput(requests / took, *shares)


def _by_python(url: str, checks: Sequence[Ask], seconds: float) -> tuple[int, float, float]:
    """How many requests, in how many seconds, with how much processor time."""
    driven = closed_loop(url, itertools.cycle(checks), CONNECTIONS, seconds)
    return len(driven.latencies), driven.seconds, driven.busy * driven.seconds


def _by_wrk(url: str, checks: Sequence[Ask], seconds: float) -> tuple[int, float, float]:
    options = ["--threads", "1", "--connections", str(CONNECTIONS), "--duration", f"{max(1, round(seconds))}s"]
    used = _used_by_children()
    with _written(checks) as path:
        finished = subprocess.run(
            [str(WRK), *options, "--script", str(_SCRIPT), url, "--", path],
            capture_output=True,
            text=True,
            check=True,
            timeout=seconds + _GRACE_SECONDS,
        )
    report = msgspec.json.decode(finished.stdout.splitlines()[-1], type=_Report)
    if report.failed:
        raise RuntimeError(f"{report.failed} of {report.requests} checks failed")
    return report.requests, report.microseconds / 1_000_000, _used_by_children() - used


def _used_by_children() -> float:
    """Processor time of those that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def _written(checks: Sequence[Ask]) -> Iterator[str]:
    """A file as checks.lua reads it."""
    with tempfile.NamedTemporaryFile(prefix="magistrate-bench-") as file:
        for ask in checks:
            file.write(b"%d\n%b" % (len(ask.request), ask.request))
        file.flush()
        yield file.name
