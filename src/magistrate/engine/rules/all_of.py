"""Defines `allOf`, which holds when every one of its rules holds."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from pyroaring import BitMap

from magistrate.engine.rules.operand_counts import DistinctOperands
from magistrate.engine.rules.operator_words import OperatorWords
from magistrate.engine.rules.rule import Requirement
from magistrate.engine.rules.rule_operator import RuleOperator
from magistrate.engine.truth import FALSE, Truth


class AllOf(RuleOperator):
    __slots__ = ()
    keyword: ClassVar[str] = "allOf"
    words: ClassVar[OperatorWords] = OperatorWords(
        "all_of", fga="all_of", between=" and ", before="", phrase="all of these"
    )
    decisive: ClassVar[Truth] = FALSE
    is_monotone: ClassVar[bool] = True
    is_antitone: ClassVar[bool] = False
    is_associative: ClassVar[bool] = True

    @staticmethod
    def combine(values: Iterable[Truth]) -> Truth:
        return min(values)

    @staticmethod
    def combine_sets(sets: Sequence[BitMap], within: BitMap) -> BitMap:
        return BitMap.intersection(*sets)

    def count_operands(self, floor: Truth) -> DistinctOperands:
        return DistinctOperands(self.combine)

    def explain(self, values: Sequence[Truth | None]) -> Sequence[int]:
        """Returns every place: all rules are needed, and of a denial people want to see which do hold."""
        return range(len(values))

    @staticmethod
    def require(holds: bool, count: int) -> Sequence[Requirement]:
        return [Requirement(count, 0) if holds else Requirement(0, 1)]
