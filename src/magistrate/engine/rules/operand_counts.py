"""Counts the operands of a combination by their values, so that one that gets another value takes one step, whatever
the number of operands is."""

from collections.abc import Callable, Iterable

from magistrate.engine.truth import Truth

_VALUES = tuple(Truth)


class OperandCounts:
    """Counts the operands of operators whose value depends on how many operands have which value."""

    __slots__ = ("_combine", "_counts")

    def __init__(self, combine: Callable[[Iterable[Truth]], Truth]) -> None:
        self._combine = combine
        self._counts = [0] * len(_VALUES)

    def add(self, limit: Truth, value: Truth) -> None:
        self._counts[value] += 1

    def replace(self, limit: Truth, before: Truth, value: Truth) -> None:
        self._counts[before] -= 1
        self._counts[value] += 1

    def compute_value(self) -> Truth:
        return self._combine([value for value in _VALUES for _ in range(self._counts[value])])


class DistinctOperands(OperandCounts):
    """Counts the operands of operators whose value depends only on which values there are, not on how many
    operands have them; it is computed in constant time."""

    __slots__ = ()

    def compute_value(self) -> Truth:
        return self._combine([value for value in _VALUES if self._counts[value]])
