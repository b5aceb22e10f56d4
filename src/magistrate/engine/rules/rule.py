"""What every rule operator offers, and the JSON form all of them are written in (contract section 3)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import msgspec

from magistrate.engine.terms import RelationName, TypeName


class RuleForm(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """One relation rule as it is written in JSON, nothing checked yet but the JSON types."""

    inherit_if: str | None = None
    of_type: str | None = None
    with_relation: str | None = None
    rules: "list[RuleForm | None] | None" = None


@dataclass(frozen=True, slots=True)
class Dependency:
    """A rule needs to know whether `relation` holds on an object of `type` (None: of the rule's own type).

    `negated` is true below a noneOf, however many of them: the truth of the rule may then rest on the relation *not*
    holding."""

    type: TypeName | None
    relation: RelationName
    negated: bool = False


class Rule(Protocol):
    """One operator, with its answers to every question asked of rules. Values, compared by content."""

    def form(self) -> RuleForm:
        """The rule as JSON; members that have no effect on it are left out."""
        ...

    def dependencies(self) -> Iterator[Dependency]:
        """Every relation the rule looks at, in written order, repeated if written twice."""
        ...
