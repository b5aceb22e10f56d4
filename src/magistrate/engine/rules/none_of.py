"""Defines `noneOf`, which holds when not one of its rules holds."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from magistrate.engine.rules.combination import Combination
from magistrate.engine.truth import NEGATED, TRUE, Truth


class NoneOf(Combination):
    __slots__ = ()
    keyword: ClassVar[str] = "noneOf"
    decisive: ClassVar[Truth] = TRUE
    negates: ClassVar[bool] = True

    @staticmethod
    def combine(values: Iterable[Truth]) -> Truth:
        return NEGATED[max(values)]

    @staticmethod
    def witness(lengths: Sequence[int]) -> int | None:
        """Returns None, because the rule holds by the absence of warrants."""
        return None
