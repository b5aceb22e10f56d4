"""`{"inheritIf": R}`: the subject has relation R on the same object."""

from collections.abc import Iterator
from dataclasses import dataclass

from magistrate.engine.rules.rule import Dependency, RuleForm
from magistrate.engine.terms import RelationName


@dataclass(frozen=True, slots=True)
class SameObject:
    """`relation` need not exist on the type: then it never holds."""

    relation: RelationName

    def form(self) -> RuleForm:
        return RuleForm(inherit_if=self.relation)

    def dependencies(self) -> Iterator[Dependency]:
        yield Dependency(None, self.relation)
