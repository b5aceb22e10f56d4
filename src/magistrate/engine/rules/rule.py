"""Defines the interface of rule operators, and the JSON form they are written in (docs/compatibility.md#rules)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import msgspec

from magistrate.engine.names import ObjectId, PolicyName, RelationName, TypeName
from magistrate.engine.truth import Truth


class RuleDefinition(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Represents a rule as it is written in JSON, with nothing validated but the JSON types and the members' names: a
    misspelled member would silently make a different rule.

    A rule has three more forms: `Rule` is validated and has the meaning, a clause of a text knows where each name was
    written (engine/text/document.py), and the JSON of `/fga/v1` has other names (api/fga/schema_json.py)."""

    inherit_if: str | None = None
    of_type: str | None = None
    with_relation: str | None = None
    rules: "list[RuleDefinition | None] | None" = None
    for_all: str | None = None
    policy: str | None = None


@dataclass(frozen=True, slots=True)
class Dependency:
    """Represents that a rule depends on `relation` on an object of `type` (None: the rule's own type).

    `negated` is true below an operator that is not monotone, such as noneOf, however many of them: the truth of the
    rule may then depend on the relation *not* holding.
    """

    type: TypeName | None
    relation: RelationName
    negated: bool = False


class Requirement(NamedTuple):
    """Represents what gives a combination a value, whatever its other rules are: at least `holding` of its rules are
    TRUE, and at least `failing` are FALSE."""

    holding: int
    failing: int


Bounds = tuple[Truth, Truth]
"""Holds the least and the greatest value that something can have."""


class LinkNames(NamedTuple):
    """Names what a rule requires of linked objects: `relation` on the objects of type `of_type` to which a warrant
    gives `with_relation` here."""

    with_relation: RelationName
    of_type: TypeName
    relation: RelationName


class CheckedNames(NamedTuple):
    """Holds the object and the subject for which a rule is decided; `subject_relation` is the empty text for a subject
    that is no userset, and the ids may be `*`."""

    object_type: TypeName
    object_id: ObjectId
    subject_type: TypeName
    subject_id: ObjectId
    subject_relation: str


class LeafValues(NamedTuple):
    """Holds the values that a leaf rule has for all ids of a type: those of `exceptions`, and `default` for the
    rest."""

    default: Truth
    exceptions: Mapping[ObjectId, Truth] = {}


class NamedConditions(Protocol):
    """Evaluates named policies with the context of a check."""

    def evaluate_named(self, name: PolicyName) -> Truth: ...


class Leaf(Protocol):
    """Represents a rule that is decided from the check alone, without warrants and other rules (see leaf_rule.py).
    `policy` is the named policy that it evaluates, if it does."""

    @property
    def policy(self) -> PolicyName | None: ...

    def decide(self, checked: CheckedNames, conditions: NamedConditions) -> Truth: ...

    def list_objects(
        self, of_type: TypeName, subject_type: TypeName, subject_id: ObjectId, conditions: NamedConditions
    ) -> LeafValues: ...

    def list_subjects(
        self, object_type: TypeName, object_id: ObjectId, subject_type: TypeName | None, conditions: NamedConditions
    ) -> LeafValues: ...


class Quantifier(Protocol):
    """Represents a rule that requires something of linked objects, and not only whether any of them has it (see
    for_all.py)."""

    @property
    def link(self) -> LinkNames: ...

    @property
    def of_wildcard(self) -> Truth: ...

    def begin(self, limits: Iterable[Truth]) -> Truth: ...

    def weigh(self, limit: Truth, value: Truth) -> Truth: ...


class OperandCounter(Protocol):
    """Counts the operands of one combination while their values become known (see operand_counts.py).

    Each operand comes with `limit`, the value of the conditions of the warrant that links it; it is TRUE within one
    object.
    """

    def add(self, limit: Truth, value: Truth) -> None:
        """Adds an operand with this value."""
        ...

    def replace(self, limit: Truth, before: Truth, value: Truth) -> None:
        """Replaces the value that an operand had before."""
        ...

    def compute_value(self) -> Truth:
        """Returns the value of the combination of all operands."""
        ...


class Combined(Protocol):
    """Represents a rule that is no mere alternative: one over rules, decided from their values (see rule_operator.py),
    a quantifier, or a leaf."""

    @property
    def quantifier(self) -> Quantifier | None:
        """Returns the rule itself if it is a quantifier: it is then decided from the value of `begin` and those of
        `weigh` for each link, in this order."""
        ...

    @property
    def leaf(self) -> Leaf | None:
        """Returns the rule itself if it is a leaf."""
        ...

    @property
    def rules(self) -> "tuple[Rule, ...]": ...

    @property
    def decisive(self) -> Truth: ...

    @property
    def is_monotone(self) -> bool: ...

    @property
    def is_antitone(self) -> bool: ...

    def combine(self, values: Iterable[Truth]) -> Truth:
        """Returns the value of the combination. It depends on how many operands have which value, not on their
        order."""
        ...

    def count_operands(self, floor: Truth) -> OperandCounter:
        """Returns a counter without operands; `floor` is the value with which a quantifier begins."""
        ...

    def list_operands(self, floor: Truth, limits: Sequence[Truth], values: Sequence[Truth]) -> Sequence[Truth]:
        """Returns what `combine` and `bounds` take, given the limit and the value of each operand."""
        ...

    def bounds(self, lows: Sequence[Truth], highs: Sequence[Truth]) -> Bounds: ...

    def reasons(self, values: Sequence[Truth | None]) -> Sequence[int]: ...

    def explain(self, values: Sequence[Truth | None]) -> Sequence[int]: ...

    def require(self, holds: bool, count: int) -> Sequence[Requirement]: ...

    def describe(self) -> str: ...


class BranchCollector(Protocol):
    """Collects the alternatives that grant one relation. Rules add themselves (see engine/model/model.py)."""

    def add_relation(self, relation: RelationName) -> None:
        """Adds the subjects that have the relation on the same object."""
        ...

    def add_link(self, with_relation: RelationName, of_type: TypeName, relation: RelationName) -> None:
        """Adds the subjects that have `relation` on an object of that type to which a warrant gives `with_relation`
        here."""
        ...

    def add_operation(self, rule: "Combined") -> None:
        """Adds a rule that is no mere alternative and has to be decided as a whole."""
        ...

    def add_rules(self, rules: "Sequence[Rule]") -> None:
        """Adds rules as alternatives. Their `join` is called later, so that no rule calls another."""
        ...


class Rule(Protocol):
    """Represents one operator with all its operations; rules are values, compared by content.

    Each covers itself alone: callers continue with `rules`, the rules within it, without recursion (see
    engine/rules/__init__.py). `is_monotone` says that it never loses value when one of them gains some, `is_antitone`
    that it never gains any then; both may be false. `size` counts the rules written in it, itself included; an empty
    rule counts as none.
    """

    @property
    def rules(self) -> "tuple[Rule, ...]": ...

    @property
    def is_monotone(self) -> bool: ...

    @property
    def is_antitone(self) -> bool: ...

    @property
    def size(self) -> int: ...

    def render(self, rules: Sequence[RuleDefinition]) -> RuleDefinition:
        """Returns the rule as JSON, given that of the rules within it; members that have no effect are left out."""
        ...

    def dependency(self) -> Dependency | None:
        """Returns the relation that the rule itself depends on, or None."""
        ...

    def describe(self) -> str:
        """Returns what the rule itself says, in a few words, for explanations."""
        ...

    def join(self, branches: BranchCollector) -> None:
        """Adds each branch by which the rule can hold, or the rules that grant it; not both."""
        ...
