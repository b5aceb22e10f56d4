"""Defines `anyOf`, which holds when at least one of its rules holds."""

from collections.abc import Iterable
from typing import ClassVar

from magistrate.engine.rules.rule import BranchCollector
from magistrate.engine.rules.rule_operator import RuleOperator
from magistrate.engine.truth import TRUE, Truth


class AnyOf(RuleOperator):
    __slots__ = ()
    keyword: ClassVar[str] = "anyOf"
    decisive: ClassVar[Truth] = TRUE

    @staticmethod
    def combine(values: Iterable[Truth]) -> Truth:
        return max(values)

    def join(self, branches: BranchCollector) -> None:
        """Adds its rules, which are alternatives themselves, so that nothing of the rule itself is left to be
        decided."""
        branches.add_rules(self.rules)
