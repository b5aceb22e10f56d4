"""What comes of ten times the requests that a worker can answer: how many it answers, and how late."""

import asyncio
import statistics
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from typing import cast
from urllib.parse import quote, urlsplit

import httpx
import uvloop

from benchmarks.cores import LOAD_CORE, on_core
from benchmarks.keep_alive import drive, request_bytes
from benchmarks.server import AUTHORIZATION, Server, serving
from benchmarks.table import markdown_table

OVERLOAD = 10
CONNECTIONS = 400
RUNNING, WAITING, WAIT_MS = 32, 128, 500
FLAGS = (
    *("--max-running-requests", str(RUNNING)),
    *("--max-waiting-requests", str(WAITING)),
    *("--wait-timeout-ms", str(WAIT_MS)),
)
DOCUMENTS = 2_000
"""Sets the rows of the query, and so how long one takes: a few milliseconds."""
QUERY = request_bytes("GET", f"/v2/query?limit=25&q={quote('select document where user:ann is viewer')}")
CONNECTIONS_AT_PEAK = 16
TICK_SECONDS = 0.001
ROUNDS = 3
TARGET_GOODPUT = 0.8
"""How much of the peak must be answered, for the same processor time: other work on the machine changes that time least
of all."""
TARGET_P99_MS = 2 * WAIT_MS


@dataclass(slots=True)
class Offered:
    """What came of requests that were sent at a rate, whatever became of those before. `unsent` are those for which no
    connection was free."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    refusals: list[float] = field(default_factory=list)
    unsent: int = 0
    cpu_seconds: float = 0.0
    """Holds the processor time that the server took."""

    @property
    def per_cpu_second(self) -> float:
        return len(self.latencies) / self.cpu_seconds

    @property
    def per_second(self) -> float:
        return len(self.latencies) / self.seconds


def measure_overload(seconds: int) -> str:
    """A table."""
    peaks, overloads = [], []
    with tempfile.TemporaryDirectory() as folder, serving(f"sqlite:///{folder}/m.db", flags=FLAGS) as server:
        _fill(server)
        drive(server.url, repeat(QUERY), CONNECTIONS_AT_PEAK, 1)
        for _ in range(ROUNDS):
            peaks.append(_measure_peak(server, seconds / ROUNDS))
            overloads.append(_measure_overload(server, peaks[-1].per_second * OVERLOAD, seconds / ROUNDS))
    ratios = [over.per_cpu_second / peak.per_cpu_second for peak, over in zip(peaks, overloads, strict=True)]
    header = ["queries", "sent/s", "answered/s", "a second of CPU", "p99 of answers, ms", "p99 of refusals, ms"]
    rows = [
        _row(f"as many as {CONNECTIONS_AT_PEAK} connections get answered", peaks, "", ""),
        _row(
            f"{OVERLOAD} times as many",
            overloads,
            f" ({statistics.median(ratios):.2f} of the above, target {TARGET_GOODPUT})",
            f" (target {TARGET_P99_MS})",
        ),
    ]
    return markdown_table("Queries beyond what a worker can answer", header, rows)


def _measure_peak(server: Server, seconds: float) -> Offered:
    used = server.cpu_seconds()
    driven = drive(server.url, repeat(QUERY), CONNECTIONS_AT_PEAK, seconds)
    return Offered(driven.seconds, driven.latencies, cpu_seconds=server.cpu_seconds() - used)


def _measure_overload(server: Server, per_second: float, seconds: float) -> Offered:
    used = server.cpu_seconds()
    with on_core(LOAD_CORE):
        offered = uvloop.run(_offer(server.url, per_second, seconds))
    offered.cpu_seconds = server.cpu_seconds() - used
    return offered


def _row(name: str, rounds: Sequence[Offered], goodput: str, bound: str) -> list[str]:
    sent = statistics.median((len(one.latencies) + len(one.refusals)) / one.seconds for one in rounds)
    return [
        name,
        f"{sent:,.0f}",
        f"{statistics.median(one.per_second for one in rounds):,.0f}",
        f"{statistics.median(one.per_cpu_second for one in rounds):,.0f}{goodput}",
        f"{statistics.median(_p99_ms(one.latencies) for one in rounds):,.0f}{bound}",
        f"{statistics.median(_p99_ms(one.refusals) for one in rounds):,.0f}",
    ]


def _p99_ms(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=100)[98] * 1_000 if len(seconds) > 1 else 0.0


def _fill(server: Server) -> None:
    headers = {"Authorization": AUTHORIZATION}
    with httpx.Client(base_url=server.url, headers=headers, trust_env=False, timeout=30) as client:
        model = {"type": "document", "relations": {"owner": {}, "viewer": {"inheritIf": "owner"}}}
        client.post("/v2/object-types", json=model).raise_for_status()
        owner = {"relation": "owner", "subject": {"objectType": "user", "objectId": "ann"}}
        ids = [f"d{number}" for number in range(DOCUMENTS)]
        for start in range(0, DOCUMENTS, 100):
            bodies = [{"objectType": "document", "objectId": one, **owner} for one in ids[start : start + 100]]
            client.post("/v2/warrants", json=bodies).raise_for_status()


async def _offer(url: str, per_second: float, seconds: float) -> Offered:
    """Sends queries at this rate. Raises RuntimeError if one is answered with neither 200 nor 503."""
    offered, idle, loop = Offered(), deque["_Connection"](), asyncio.get_running_loop()
    host, port = urlsplit(url).netloc.split(":")
    connections = [_Connection(offered, idle) for _ in range(CONNECTIONS)]
    for connection in connections:
        await loop.create_connection(partial(_itself, connection), host, int(port))
    started, due = time.perf_counter(), 0
    while (elapsed := time.perf_counter() - started) < seconds:
        for _ in range(int(elapsed * per_second) - due):
            if idle:
                idle.popleft().send()
            else:
                offered.unsent += 1
        due = int(elapsed * per_second)
        await asyncio.sleep(TICK_SECONDS)
        faults = [connection.fault for connection in connections if connection.fault]
        if faults:
            raise RuntimeError(faults[0])
    offered.seconds = time.perf_counter() - started
    return offered


def _itself(connection: "_Connection") -> "_Connection":
    return connection


class _Connection(asyncio.Protocol):
    """One request at a time; idle again when it is answered."""

    def __init__(self, offered: Offered, idle: "deque[_Connection]") -> None:
        self.fault = ""
        self._offered = offered
        self._idle = idle
        self._received = b""
        self._sent_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._idle.append(self)

    def send(self) -> None:
        self._sent_at = time.perf_counter()
        self._transport.write(QUERY)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]
        if not end or len(body) < int(length):
            return
        status = head[9:12]
        if status not in (b"200", b"503"):
            self.fault = f"the server answered {self._received!r}"
        took = time.perf_counter() - self._sent_at
        (self._offered.latencies if status == b"200" else self._offered.refusals).append(took)
        self._received = b""
        self._idle.append(self)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._received:
            self.fault = f"the server hung up: {exc}"
