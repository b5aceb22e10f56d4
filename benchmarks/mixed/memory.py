"""How much memory a warrant takes that a server keeps."""

import itertools
import re
from dataclasses import dataclass

from benchmarks.datasets.dataset import Dataset
from benchmarks.keep_alive import request_bytes
from benchmarks.mixed.asks import Ask
from benchmarks.mixed.generator import closed_loop
from benchmarks.mixed.measure import MAX_SECONDS
from benchmarks.mixed.warrant_api import WarrantApi
from benchmarks.mixed.wire import answered
from benchmarks.server import Server

FIRST = 2_000
"""Checks that fill everything else a server keeps."""
BATCH = 100

_HELD = re.compile(r"^magistrate_graph_entries(?:\{[^}]*\})? (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Memory:
    """`grown`: bytes of resident memory for `held` warrants more; None if the server does not report it."""

    grown: float
    held: float | None

    @property
    def bytes_a_warrant(self) -> float | None:
        return self.grown / self.held if self.held else None


def measure_memory(server: Server, dataset: Dataset, more: int) -> Memory:
    questions = dataset.questions(FIRST + more, seed=2)
    api = WarrantApi()
    batches = [Ask(api.batch(questions[first : first + BATCH])) for first in range(0, len(questions), BATCH)]
    closed_loop(server.url, iter(batches[: FIRST // BATCH]), 1, MAX_SECONDS)
    resident, held = server.resident_mb(), warrants_held(server)
    closed_loop(server.url, itertools.islice(batches, FIRST // BATCH, None), 1, MAX_SECONDS)
    now_held = warrants_held(server)
    more_held = None if held is None or now_held is None else now_held - held
    return Memory((server.resident_mb() - resident) * 1_000_000, more_held)


def warrants_held(server: Server) -> float | None:
    """What the gauges say, of all workers, if there are any."""
    return held_in(answered(server.url, request_bytes("GET", "/metrics")).decode())


def held_in(metrics: str) -> float | None:
    found = _HELD.findall(metrics)
    return sum(map(float, found)) if found else None
