"""Defines `{"inheritIf": R}`: the subject has relation R on the same object."""

from collections.abc import Sequence
from dataclasses import dataclass

from magistrate.engine.names import RelationName
from magistrate.engine.rules.rule import BranchCollector, Dependency, RuleDefinition, SingleRule


@dataclass(frozen=True, slots=True)
class Computed(SingleRule):
    """Represents a computed relation. `relation` need not exist on the type; the rule then never holds."""

    relation: RelationName

    def render(self, rules: Sequence[RuleDefinition]) -> RuleDefinition:
        return RuleDefinition(inherit_if=self.relation)

    def describe(self) -> str:
        return self.relation

    def dependency(self) -> Dependency:
        return Dependency(None, self.relation)

    def join(self, branches: BranchCollector) -> None:
        branches.add_relation(self.relation)
