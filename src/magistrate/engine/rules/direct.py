"""Defines `{}`: only warrants grant the relation; the rule itself never holds."""

from collections.abc import Sequence
from dataclasses import dataclass

from magistrate.engine.rules.rule import BranchCollector, RuleDefinition, SingleRule


@dataclass(frozen=True, slots=True)
class Direct(SingleRule):
    """Represents the empty rule. Inside `rules` it counts as false, hence inside noneOf as true."""

    @property
    def size(self) -> int:
        return 0

    def render(self, rules: Sequence[RuleDefinition]) -> RuleDefinition:
        return RuleDefinition()

    def describe(self) -> str:
        return "no rule"

    def join(self, branches: BranchCollector) -> None:
        """Adds nothing, because the rule never holds."""
