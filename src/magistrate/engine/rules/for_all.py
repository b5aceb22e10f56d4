"""Defines `{"forAll": R, "ofType": T, "withRelation": L}`: an object of type T has L here, and the subject has R on
every such object.

The objects are those that an arrow follows: stored warrants of L name them, or a userset on them. On an object without
any the rule does not hold. A warrant to `*` links every object there is or will be, of which no one knows what they
grant: the rule is then unknown unless another object decides that it does not hold. A warrant whose policy is unknown
may link or not, and counts against the rule either way.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from magistrate.engine.names import RelationName, TypeName
from magistrate.engine.rules.operand_counts import DistinctOperands
from magistrate.engine.rules.rule import Combined, Dependency, LinkNames, RuleDefinition, SingleRule
from magistrate.engine.truth import FALSE, TRUE, UNKNOWN, Truth, negate


@dataclass(frozen=True, slots=True)
class ForAll(SingleRule, Combined):
    """Represents the rule. The three names need not exist; the rule then never holds.

    It is monotone: a linked object on which more is granted never takes anything away. A further link may."""

    decisive: ClassVar[Truth] = FALSE
    of_wildcard: ClassVar[Truth] = UNKNOWN
    """Holds the value of the relation on the object `*`, when a warrant links it."""

    relation: RelationName
    of_type: TypeName
    with_relation: RelationName

    @property
    def quantifier(self) -> "ForAll":
        return self

    @property
    def link(self) -> LinkNames:
        return LinkNames(self.with_relation, self.of_type, self.relation)

    @staticmethod
    def combine(values: Iterable[Truth]) -> Truth:
        """Returns the least of `begin` and the values of `weigh`."""
        return min(values)

    @staticmethod
    def begin(limits: Iterable[Truth]) -> Truth:
        """Returns whether anything is linked, given the value of the conditions of each warrant."""
        return max(limits, default=FALSE)

    @staticmethod
    def weigh(limit: Truth, value: Truth) -> Truth:
        """Returns the value that a linked object contributes, given that of the conditions of its warrant, and that of
        the relation on it."""
        return max(negate(limit), value)

    def count_operands(self, floor: Truth) -> "_LinkCounts":
        return _LinkCounts(floor)

    def list_operands(self, floor: Truth, limits: Sequence[Truth], values: Sequence[Truth]) -> Sequence[Truth]:
        return [floor, *map(self.weigh, limits, values)]

    def explain(self, values: Sequence[Truth | None]) -> Sequence[int]:
        """Returns the objects on which the relation does not hold; every place if it holds on all."""
        return [place for place, value in enumerate(values) if value is not TRUE] or range(len(values))

    def render(self, rules: Sequence[RuleDefinition]) -> RuleDefinition:
        return RuleDefinition(for_all=self.relation, of_type=self.of_type, with_relation=self.with_relation)

    def describe(self) -> str:
        return f"{self.relation} of every {self.of_type} that is its {self.with_relation}"

    def dependency(self) -> Dependency:
        return Dependency(self.of_type, self.relation)


class _LinkCounts(DistinctOperands):
    """Counts links by what they contribute, besides the value with which the rule begins."""

    __slots__ = ()

    def __init__(self, floor: Truth) -> None:
        super().__init__(ForAll.combine)
        self._counts[floor] = 1

    def add(self, limit: Truth, value: Truth) -> None:
        self._counts[ForAll.weigh(limit, value)] += 1

    def replace(self, limit: Truth, before: Truth, value: Truth) -> None:
        self._counts[ForAll.weigh(limit, before)] -= 1
        self._counts[ForAll.weigh(limit, value)] += 1
