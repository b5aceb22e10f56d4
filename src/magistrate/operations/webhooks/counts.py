"""Counts the attempts to deliver of a process."""

from collections import Counter
from collections.abc import Mapping

DELIVERED, FAILED, GONE, DEAD = "delivered", "failed", "gone", "dead"
"""Name what came of an attempt: the receiver has the message; it has not, and there will be another attempt; it
answered 410; or there will be no other attempt."""
RESULTS = (DELIVERED, FAILED, GONE, DEAD)


class DeliveryCounts:
    """Counts the attempts by what came of them."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter(dict.fromkeys(RESULTS, 0))

    def add(self, result: str) -> None:
        self._counts[result] += 1

    def read(self) -> Mapping[str, int]:
        return dict(self._counts)
