"""Defines `allOf`, which holds when every one of its rules holds."""

from collections.abc import Iterable
from typing import ClassVar

from magistrate.engine.rules.rule_operator import RuleOperator
from magistrate.engine.truth import FALSE, Truth


class AllOf(RuleOperator):
    __slots__ = ()
    keyword: ClassVar[str] = "allOf"
    decisive: ClassVar[Truth] = FALSE

    @staticmethod
    def combine(values: Iterable[Truth]) -> Truth:
        return min(values)
