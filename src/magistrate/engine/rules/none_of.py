"""`noneOf`: not one of the rules holds."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from magistrate.engine.rules.combination import Combination
from magistrate.engine.rules.rule import Dependency


class NoneOf(Combination):
    __slots__ = ()
    keyword: ClassVar[str] = "noneOf"

    def dependencies(self) -> Iterator[Dependency]:
        """Two noneOf around a rule do not cancel out: what rests on itself through them has no least meaning
        either."""
        return (replace(dependency, negated=True) for dependency in super().dependencies())
