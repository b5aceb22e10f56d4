"""Load on a server until it can do no more, by wrk, or where that is not installed by a slower generator in Python."""

import shutil
import statistics
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import msgspec

from benchmarks.cores import LOAD_CORE, on_core
from benchmarks.keep_alive import drive, request_bytes
from benchmarks.server import AUTHORIZATION, Server

CONNECTIONS = 16

WRK = shutil.which("wrk")
GENERATOR = "wrk" if WRK else "a Python client (wrk is not installed)"

_SCRIPT = Path(__file__).with_name("wrk.lua")
_GRACE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Workload:
    """Requests of one kind: in `path` and `body`, {n} stands for 0 to `count` - 1, in turn."""

    method: str
    path: str
    count: int = 1
    body: str = ""


@dataclass(frozen=True, slots=True)
class Throughput:
    """`busy`: the processor time of the server, in seconds a second. At 1.0 its core can do no more."""

    requests_per_second: float
    p99_ms: float
    busy: float


class _Report(msgspec.Struct):
    """The last line that wrk.lua prints."""

    requests: int
    microseconds: float
    p99_microseconds: float
    failed: int


def throughput(server: Server, workload: Workload, seconds: int) -> Throughput:
    """Raises RuntimeError if any request fails."""
    used = server.cpu_seconds()
    report = (_by_wrk if WRK else _by_python)(server.url, workload, seconds)
    used = server.cpu_seconds() - used
    if report.failed:
        raise RuntimeError(f"{report.failed} of {report.requests} requests failed: {workload}")
    took = report.microseconds / 1_000_000
    return Throughput(report.requests / took, report.p99_microseconds / 1_000, used / took)


def median_throughput(measured: Sequence[Throughput]) -> Throughput:
    return Throughput(
        statistics.median(one.requests_per_second for one in measured),
        statistics.median(one.p99_ms for one in measured),
        statistics.median(one.busy for one in measured),
    )


def _by_wrk(url: str, workload: Workload, seconds: int) -> _Report:
    options = ["--threads", "1", "--connections", str(CONNECTIONS), "--duration", f"{seconds}s"]
    script = ["--script", str(_SCRIPT), "--header", f"Authorization: {AUTHORIZATION}", url, "--"]
    wanted = [workload.method, workload.path, str(workload.count), workload.body]
    with on_core(LOAD_CORE):
        finished = subprocess.run(
            [str(WRK), *options, *script, *wanted],
            capture_output=True,
            text=True,
            check=True,
            timeout=seconds + _GRACE_SECONDS,
        )
    return msgspec.json.decode(finished.stdout.splitlines()[-1], type=_Report)


def _by_python(url: str, workload: Workload, seconds: int) -> _Report:
    driven = drive(url, _endless(workload), CONNECTIONS, seconds)
    p99 = statistics.quantiles(driven.latencies, n=100)[98]
    return _Report(len(driven.latencies), driven.seconds * 1_000_000, p99 * 1_000_000, failed=0)


def _endless(workload: Workload) -> Iterator[bytes]:
    texts = [
        (workload.path.replace("{n}", str(n)), workload.body.replace("{n}", str(n))) for n in range(workload.count)
    ]
    return cycle([request_bytes(workload.method, path, body.encode()) for path, body in texts])
