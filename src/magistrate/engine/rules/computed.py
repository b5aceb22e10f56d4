"""Defines `{"inheritIf": R}`: the subject has relation R on the same object."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from magistrate.engine.names import RelationName
from magistrate.engine.rules.rule import BranchCollector, Dependency, Rule, RuleDefinition


@dataclass(frozen=True, slots=True)
class Computed:
    """Represents a computed relation. `relation` need not exist on the type; the rule then never holds."""

    rules: ClassVar[tuple[Rule, ...]] = ()
    is_monotone: ClassVar[bool] = True
    is_antitone: ClassVar[bool] = False
    size: ClassVar[int] = 1

    relation: RelationName

    def render(self, rules: Sequence[RuleDefinition]) -> RuleDefinition:
        return RuleDefinition(inherit_if=self.relation)

    def describe(self) -> str:
        return self.relation

    def dependency(self) -> Dependency:
        return Dependency(None, self.relation)

    def join(self, branches: BranchCollector) -> None:
        branches.add_relation(self.relation)
