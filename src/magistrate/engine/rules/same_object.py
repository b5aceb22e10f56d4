"""`{"inheritIf": R}`: the subject has relation R on the same object."""

from collections.abc import Iterator
from dataclasses import dataclass

from magistrate.engine.rules.rule import Alternatives, Dependency, RuleForm
from magistrate.engine.terms import RelationName


@dataclass(frozen=True, slots=True)
class SameObject:
    """`relation` need not exist on the type: then it never holds."""

    relation: RelationName

    def form(self) -> RuleForm:
        return RuleForm(inherit_if=self.relation)

    def dependencies(self) -> Iterator[Dependency]:
        yield Dependency(None, self.relation)

    def join(self, alternatives: Alternatives) -> None:
        alternatives.add_relation(self.relation)
