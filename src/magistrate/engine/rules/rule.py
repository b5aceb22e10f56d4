"""What every rule operator offers, and the JSON form all of them are written in (docs/compatibility.md#rules)."""

from collections.abc import Iterable, Sequence
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

    def combine(self, values: Iterable[Truth]) -> Truth: ...

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

    def add_rules(self, rules: "Sequence[Rule]") -> None:
        """Whoever meets one of these. They are asked to join later, so that no rule calls another."""
        ...


class Rule(Protocol):
    """One operator, with its answers to every question asked of rules. Values, compared by content.

    Each answers for itself alone: what asks goes on with `rules`, the rules within it, without recursion (see
    rules/__init__.py). `negates`: whether it may hold because one of them does not. `size`: how many rules are written
    in it, itself included; an empty rule counts as none."""

    @property
    def rules(self) -> "tuple[Rule, ...]": ...

    @property
    def negates(self) -> bool: ...

    @property
    def size(self) -> int: ...

    def form(self, rules: Sequence[RuleForm]) -> RuleForm:
        """Returns the rule as JSON, given that of the rules within it; members that have no effect are left out."""
        ...

    def dependency(self) -> Dependency | None:
        """Returns the relation that the rule itself looks at, if it does."""
        ...

    def join(self, alternatives: Alternatives) -> None:
        """Adds each way in which the rule can hold, or the rules that do; not both."""
        ...
