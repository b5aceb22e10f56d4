"""Defines `anyOf`, which holds when at least one of its rules holds."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from pyroaring import BitMap

from magistrate.engine.rules.operand_counts import DistinctOperands
from magistrate.engine.rules.operator_words import OperatorWords
from magistrate.engine.rules.rule import BranchCollector, Requirement
from magistrate.engine.rules.rule_operator import RuleOperator
from magistrate.engine.truth import TRUE, Truth


class AnyOf(RuleOperator):
    __slots__ = ()
    keyword: ClassVar[str] = "anyOf"
    words: ClassVar[OperatorWords] = OperatorWords(
        "any_of", fga="any_of", between=" or ", before="", phrase="one of these"
    )
    decisive: ClassVar[Truth] = TRUE
    is_monotone: ClassVar[bool] = True
    is_antitone: ClassVar[bool] = False
    is_associative: ClassVar[bool] = True

    @staticmethod
    def combine(values: Iterable[Truth]) -> Truth:
        return max(values)

    @staticmethod
    def combine_sets(sets: Sequence[BitMap], within: BitMap) -> BitMap:
        return BitMap.union(*sets)

    def count_operands(self, floor: Truth) -> DistinctOperands:
        return DistinctOperands(self.combine)

    def explain(self, values: Sequence[Truth | None]) -> Sequence[int]:
        """Returns the first rule that holds, or every place if none does."""
        holding = self.reasons(values)
        return holding[:1] or range(len(values))

    @staticmethod
    def require(holds: bool, count: int) -> Sequence[Requirement]:
        return [Requirement(1, 0) if holds else Requirement(0, count)]

    def join(self, branches: BranchCollector) -> None:
        """Adds its rules, which are alternatives themselves, so that nothing of the rule itself is left to be
        decided."""
        branches.add_rules(self.rules)
