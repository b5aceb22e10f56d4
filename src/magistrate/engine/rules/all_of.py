"""`allOf`: every one of the rules holds."""

from typing import ClassVar

from magistrate.engine.rules.combination import Combination


class AllOf(Combination):
    __slots__ = ()
    keyword: ClassVar[str] = "allOf"
