"""`anyOf`: at least one of the rules holds."""

from collections.abc import Iterable, Sequence
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

    @staticmethod
    def witness(lengths: Sequence[int]) -> int | None:
        return next((place for place, length in enumerate(lengths) if length), None)

    def join(self, alternatives: Alternatives) -> None:
        """Its rules are alternatives themselves, so that nothing is left of it to be decided."""
        alternatives.add_rules(self.rules)
