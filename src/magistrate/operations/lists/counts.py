"""Counts lists by what answered them, which shows why they are slow (docs/operating.md#a-slow-list)."""

from collections.abc import Sequence
from typing import NamedTuple

KEPT = "kept"
"""Names, beside the evaluators, the lists that were kept, of which at most a page is cut."""


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
        """Counts one list."""
        _, lists, total = self._by_evaluator.get(evaluator, (evaluator, 0, 0.0))
        self._by_evaluator[evaluator] = EvaluatorCounts(evaluator, lists + 1, total + seconds)

    def read(self) -> Sequence[EvaluatorCounts]:
        return [*self._by_evaluator.values()]
