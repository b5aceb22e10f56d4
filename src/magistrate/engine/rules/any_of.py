"""Defines `anyOf`, which holds when at least one of its rules holds."""

from collections.abc import Iterable
from typing import ClassVar

from magistrate.engine.rules.combination import Combination
from magistrate.engine.rules.rule import Alternatives
from magistrate.engine.truth import TRUE, Truth


class AnyOf(Combination):
    __slots__ = ()
    keyword: ClassVar[str] = "anyOf"
    decisive: ClassVar[Truth] = TRUE

    @staticmethod
    def combine(values: Iterable[Truth]) -> Truth:
        return max(values)

    def join(self, alternatives: Alternatives) -> None:
        """Adds its rules, which are alternatives themselves, so that nothing of the rule itself is left to be
        decided."""
        alternatives.add_rules(self.rules)
