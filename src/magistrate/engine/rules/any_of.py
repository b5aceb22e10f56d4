"""Defines `anyOf`, which holds when at least one of its rules holds."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from pyroaring import BitMap

from magistrate.engine.evaluation.truth import FALSE, TRUE, Truth
from magistrate.engine.rules.rule import BranchCollector, Requirement
from magistrate.engine.rules.rule_operator import RuleOperator


class AnyOf(RuleOperator):
    __slots__ = ()
    keyword: ClassVar[str] = "anyOf"
    decisive: ClassVar[Truth] = TRUE

    @staticmethod
    def combine(values: Iterable[Truth]) -> Truth:
        return max(values)

    @staticmethod
    def combine_sets(sets: Sequence[BitMap], within: BitMap) -> BitMap:
        return BitMap.union(*sets)

    def explain(self, values: Sequence[Truth | None]) -> Sequence[int]:
        """Returns the first rule that holds, or every place if none does."""
        holding = self.reasons(values)
        return holding[:1] or range(len(values))

    def require(self, holds: bool) -> Requirement:
        return Requirement(1, TRUE) if holds else Requirement(len(self.rules), FALSE)

    def join(self, branches: BranchCollector) -> None:
        """Adds its rules, which are alternatives themselves, so that nothing of the rule itself is left to be
        decided."""
        branches.add_rules(self.rules)
