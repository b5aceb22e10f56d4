"""Defines `allOf`, which holds when every one of its rules holds."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from pyroaring import BitMap

from magistrate.engine.evaluation.truth import FALSE, TRUE, Truth
from magistrate.engine.rules.rule import Requirement
from magistrate.engine.rules.rule_operator import RuleOperator


class AllOf(RuleOperator):
    __slots__ = ()
    keyword: ClassVar[str] = "allOf"
    decisive: ClassVar[Truth] = FALSE

    @staticmethod
    def combine(values: Iterable[Truth]) -> Truth:
        return min(values)

    @staticmethod
    def combine_sets(sets: Sequence[BitMap], within: BitMap) -> BitMap:
        return BitMap.intersection(*sets)

    def explain(self, values: Sequence[Truth | None]) -> Sequence[int]:
        """Returns every place: all rules are needed, and of a denial people want to see which do hold."""
        return range(len(values))

    def require(self, holds: bool) -> Requirement:
        return Requirement(len(self.rules), TRUE) if holds else Requirement(1, FALSE)
