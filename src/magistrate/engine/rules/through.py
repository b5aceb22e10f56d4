"""`{"inheritIf": R, "ofType": T, "withRelation": L}`: the subject has R on an object of type T that holds L here.

The link L is read from stored warrants only, never from relations that L itself inherits (contract section 3), so a
rule of this kind depends on R alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from magistrate.engine.rules.rule import Alternatives, Dependency, RuleForm
from magistrate.engine.terms import RelationName, TypeName


@dataclass(frozen=True, slots=True)
class Through:
    """None of the three names need exist: then the rule never holds."""

    relation: RelationName
    of_type: TypeName
    with_relation: RelationName

    def form(self) -> RuleForm:
        return RuleForm(inherit_if=self.relation, of_type=self.of_type, with_relation=self.with_relation)

    def dependencies(self) -> Iterator[Dependency]:
        yield Dependency(self.of_type, self.relation)

    def join(self, alternatives: Alternatives) -> None:
        alternatives.add_link(self.with_relation, self.of_type, self.relation)
