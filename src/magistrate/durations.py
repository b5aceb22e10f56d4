"""Counts durations for the histograms of /metrics (api/http/metric_table.py), wherever they are measured."""

from bisect import bisect_left

import msgspec

SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Lists the upper bounds of the buckets."""


class Durations(msgspec.Struct):
    """Counts the durations in each bucket: `counts[i]` has those up to SECONDS[i] that are longer than the bound before
    it, and the last one has the rest. `seconds` is the sum of all."""

    seconds: float = 0.0
    counts: list[int] = msgspec.field(default_factory=lambda: [0] * (len(SECONDS) + 1))

    def count(self, seconds: float) -> None:
        """Counts one duration. It takes a fifth of a microsecond."""
        self.seconds += seconds
        self.counts[bisect_left(SECONDS, seconds)] += 1

    def add(self, other: "Durations") -> None:
        """Adds what another has counted."""
        self.seconds += other.seconds
        self.counts = [own + more for own, more in zip(self.counts, other.counts, strict=True)]
