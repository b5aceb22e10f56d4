"""Defines `{"inheritIf": R, "ofType": T, "withRelation": L}`: the subject has R on an object of type T that has L here.

The relation L is read from stored warrants only, never from relations that L itself inherits
(docs/compatibility.md#rules), so an arrow depends on R alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from magistrate.engine.names import RelationName, TypeName
from magistrate.engine.rules.rule import BranchCollector, Dependency, RuleDefinition, SingleRule


@dataclass(frozen=True, slots=True)
class Arrow(SingleRule):
    """Represents an arrow. The three names need not exist; the rule then never holds."""

    relation: RelationName
    of_type: TypeName
    with_relation: RelationName

    def render(self, rules: Sequence[RuleDefinition]) -> RuleDefinition:
        return RuleDefinition(inherit_if=self.relation, of_type=self.of_type, with_relation=self.with_relation)

    def describe(self) -> str:
        return f"{self.relation} of any {self.of_type} that is its {self.with_relation}"

    def dependency(self) -> Dependency:
        return Dependency(self.of_type, self.relation)

    def join(self, branches: BranchCollector) -> None:
        branches.add_link(self.with_relation, self.of_type, self.relation)
