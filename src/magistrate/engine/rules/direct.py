"""Defines `{}`: only warrants grant the relation; the rule itself never holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from magistrate.engine.rules.rule import Alternatives, Rule, RuleForm


@dataclass(frozen=True, slots=True)
class Direct:
    """Represents the empty rule. Inside `rules` it counts as false, hence inside noneOf as true."""

    rules: ClassVar[tuple[Rule, ...]] = ()
    is_monotone: ClassVar[bool] = True
    size: ClassVar[int] = 0

    def form(self, rules: Sequence[RuleForm]) -> RuleForm:
        return RuleForm()

    def dependency(self) -> None:
        return None

    def join(self, alternatives: Alternatives) -> None:
        """Adds nothing, because the rule never holds."""
