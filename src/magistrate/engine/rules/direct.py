"""Defines `{}`: only warrants grant the relation; the rule itself never holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from magistrate.engine.rules.rule import BranchCollector, Rule, RuleDefinition


@dataclass(frozen=True, slots=True)
class Direct:
    """Represents the empty rule. Inside `rules` it counts as false, hence inside noneOf as true."""

    rules: ClassVar[tuple[Rule, ...]] = ()
    is_monotone: ClassVar[bool] = True
    is_antitone: ClassVar[bool] = False
    size: ClassVar[int] = 0

    def render(self, rules: Sequence[RuleDefinition]) -> RuleDefinition:
        return RuleDefinition()

    def describe(self) -> str:
        return "no rule"

    def dependency(self) -> None:
        return None

    def join(self, branches: BranchCollector) -> None:
        """Adds nothing, because the rule never holds."""
