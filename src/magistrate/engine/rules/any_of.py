"""`anyOf`: at least one of the rules holds."""

from typing import ClassVar

from magistrate.engine.rules.combination import Combination


class AnyOf(Combination):
    __slots__ = ()
    keyword: ClassVar[str] = "anyOf"
