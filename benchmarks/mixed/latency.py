"""Percentiles, exactly as they were measured: nothing is put into buckets or interpolated."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

CURVE = (0.0, *(step / 100 for step in range(5, 100, 5)), 0.98, 0.99, 0.995, 0.998, 0.999)
"""The shares that are drawn."""


def percentile(ordered: Sequence[float], share: float) -> float:
    """The least value that so large a share of all is not above (nearest rank). `ordered`, not empty, ascends."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


@dataclass(frozen=True, slots=True)
class Latency:
    """In milliseconds. `curve` has a value for each share in CURVE."""

    p50: float
    p95: float
    p99: float
    curve: tuple[float, ...]


def latency_of(seconds: Sequence[float]) -> Latency:
    """Of values in seconds, in any order, at least one."""
    ordered = sorted(seconds)
    p50, p95, p99 = (percentile(ordered, share) * 1_000 for share in (0.50, 0.95, 0.99))
    return Latency(p50, p95, p99, tuple(percentile(ordered, share) * 1_000 for share in CURVE))
