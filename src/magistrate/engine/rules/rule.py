"""What every rule operator offers, and the JSON form all of them are written in (contract section 3)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from magistrate.engine.terms import RelationName, TypeName
from magistrate.engine.truth import Truth


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


class Combined(Protocol):
    """A rule over rules that is decided from their values (see combination.py)."""

    @property
    def rules(self) -> "tuple[Rule, ...]": ...

    @property
    def decisive(self) -> Truth: ...

    @property
    def negates(self) -> bool: ...

    def combined(self, values: Iterable[Truth]) -> Truth: ...

    def witness(self, lengths: Sequence[int]) -> int | None: ...


class Alternatives(Protocol):
    """What is being put together for one relation: any of these gives it. Rules add themselves (see plans.py)."""

    def add_relation(self, relation: RelationName) -> None:
        """Whoever has the relation on the same object."""
        ...

    def add_link(self, with_relation: RelationName, of_type: TypeName, relation: RelationName) -> None:
        """Whoever has `relation` on an object of that type that a warrant gives `with_relation` here."""
        ...

    def add_combination(self, rule: "Combined") -> None:
        """Whoever meets a rule that is no mere alternative: it is decided as a whole."""
        ...


class Rule(Protocol):
    """One operator, with its answers to every question asked of rules. Values, compared by content."""

    def form(self) -> RuleForm:
        """The rule as JSON; members that have no effect on it are left out."""
        ...

    def dependencies(self) -> Iterator[Dependency]:
        """Every relation the rule looks at, in written order, repeated if written twice."""
        ...

    def join(self, alternatives: Alternatives) -> None:
        """Adds each way in which the rule can hold."""
        ...
