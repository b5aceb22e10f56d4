"""Counts lists by what answered them, which shows why they are slow (docs/operating.md#a-slow-list)."""

from collections.abc import Sequence
from typing import NamedTuple

from magistrate.tracing import CACHE_HIT, CACHE_MISS, CACHE_PARTIAL, CURRENT

KEPT = "kept"
"""Names, beside the evaluators, the lists that were kept, of which at most a page is cut."""

CACHE_OUTCOMES = {KEPT: CACHE_HIT, "bitmaps": CACHE_PARTIAL}
"""Maps what takes a list from memory to what its trace says: bitmaps read what the graph cache lacks."""


class EvaluatorCounts(NamedTuple):
    """Holds how many lists one evaluator answered, and the seconds until it had all their rows, which include the
    attempts of evaluators before it."""

    evaluator: str
    lists: int = 0
    seconds: float = 0.0


class ListCounts:
    """Counts the lists of one process."""

    def __init__(self) -> None:
        self._by_evaluator: dict[str, EvaluatorCounts] = {}

    def count(self, evaluator: str, seconds: float = 0.0) -> None:
        """Counts one list, and notes in the trace of its request whether memory had it."""
        if (span := CURRENT.get()) is not None:
            span.trace.note_cache(CACHE_OUTCOMES.get(evaluator, CACHE_MISS))
        _, lists, total = self._by_evaluator.get(evaluator, (evaluator, 0, 0.0))
        self._by_evaluator[evaluator] = EvaluatorCounts(evaluator, lists + 1, total + seconds)

    def read(self) -> Sequence[EvaluatorCounts]:
        return [*self._by_evaluator.values()]
