"""Defines `noneOf`, which holds when not one of its rules holds."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from pyroaring import BitMap

from magistrate.engine.rules.operand_counts import DistinctOperands
from magistrate.engine.rules.operator_words import OperatorWords
from magistrate.engine.rules.rule import Bounds, Requirement
from magistrate.engine.rules.rule_operator import RuleOperator
from magistrate.engine.truth import TRUE, UNDEFINED, UNKNOWN, Truth, negate


class NoneOf(RuleOperator):
    __slots__ = ()
    keyword: ClassVar[str] = "noneOf"
    words: ClassVar[OperatorWords] = OperatorWords(
        "none_of", fga="none_of", between=" and ", before="not ", phrase="none of these"
    )
    decisive: ClassVar[Truth] = TRUE
    is_monotone: ClassVar[bool] = False
    is_antitone: ClassVar[bool] = True

    @staticmethod
    def combine(values: Iterable[Truth]) -> Truth:
        return negate(max(values))

    @staticmethod
    def combine_sets(sets: Sequence[BitMap], within: BitMap) -> BitMap:
        return within - BitMap.union(*sets)

    def bounds(self, lows: Sequence[Truth], highs: Sequence[Truth]) -> Bounds:
        """Returns the bounds of all values in between: negating both ends is not enough, because UNKNOWN and UNDEFINED
        stay as they are, perhaps outside the negated ends."""
        between = [negate(value) for value in Truth if max(lows) <= value <= max(highs)]
        return min(between), max(between)

    def reasons(self, values: Sequence[Truth | None]) -> Sequence[int]:
        """Returns no place, because the combination holds by the absence of warrants."""
        return ()

    def count_operands(self, floor: Truth) -> DistinctOperands:
        return DistinctOperands(self.combine)

    def explain(self, values: Sequence[Truth | None]) -> Sequence[int]:
        """Returns the rules that hold, which exclude the subject; else those that are unknown, else every place."""
        for value in (TRUE, UNKNOWN, UNDEFINED):
            if places := [place for place, operand in enumerate(values) if operand is value]:
                return places
        return range(len(values))

    @staticmethod
    def require(holds: bool, count: int) -> Sequence[Requirement]:
        return [Requirement(0, count) if holds else Requirement(1, 0)]
