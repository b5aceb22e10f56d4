"""`noneOf`: not one of the rules holds."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from magistrate.engine.rules.combination import Combination
from magistrate.engine.rules.rule import Dependency
from magistrate.engine.truth import NEGATED, TRUE, Truth


class NoneOf(Combination):
    __slots__ = ()
    keyword: ClassVar[str] = "noneOf"
    decisive: ClassVar[Truth] = TRUE
    negates: ClassVar[bool] = True

    @staticmethod
    def combined(values: Iterable[Truth]) -> Truth:
        return NEGATED[max(values)]

    @staticmethod
    def witness(lengths: Sequence[int]) -> int | None:
        """It holds because of warrants that are not there."""
        return None

    def dependencies(self) -> Iterator[Dependency]:
        """Two noneOf around a rule do not cancel out: what rests on itself through them has no least meaning
        either."""
        return (replace(dependency, negated=True) for dependency in super().dependencies())
