"""Defines `noneOf`, which holds when not one of its rules holds."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from magistrate.engine.rules.rule import Bounds
from magistrate.engine.rules.rule_operator import RuleOperator
from magistrate.engine.truth import TRUE, Truth, negate


class NoneOf(RuleOperator):
    __slots__ = ()
    keyword: ClassVar[str] = "noneOf"
    decisive: ClassVar[Truth] = TRUE
    is_monotone: ClassVar[bool] = False

    @staticmethod
    def combine(values: Iterable[Truth]) -> Truth:
        return negate(max(values))

    def bounds(self, lows: Sequence[Truth], highs: Sequence[Truth]) -> Bounds:
        """Returns the bounds of all values in between: negating both ends is not enough, because UNKNOWN and MISSING
        stay as they are, perhaps outside the negated ends."""
        between = [negate(value) for value in Truth if max(lows) <= value <= max(highs)]
        return min(between), max(between)

    def reasons(self, values: Sequence[Truth | None]) -> Sequence[int]:
        """Returns no place, because the combination holds by the absence of warrants."""
        return ()
