"""Defines what every rule can do, whether it is an operator, a leaf or an arrow, and the JSON form in which rules are
written (docs/compatibility.md#rules)."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import msgspec

from magistrate.engine.names import ObjectId, PolicyName, RelationName, TypeName
from magistrate.engine.rules.operand_counts import OperandCounts
from magistrate.engine.truth import FALSE, TRUE, Truth


class RuleDefinition(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Represents a rule as it is written in JSON, with nothing validated but the JSON types and the members' names: a
    misspelled member would silently make a different rule.

    A rule has three more forms: `Rule` is validated and has the meaning, a clause of a text knows where each name was
    written (engine/text/document.py), and the JSON of `/fga/v1` has other names (api/fga/schemas.py)."""

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


class Quantifier(Protocol):
    """Represents a rule that requires something of linked objects, and not only whether any of them has it (see
    for_all.py)."""

    @property
    def link(self) -> LinkNames: ...

    @property
    def of_wildcard(self) -> Truth: ...

    def begin(self, limits: Iterable[Truth]) -> Truth: ...

    def weigh(self, limit: Truth, value: Truth) -> Truth: ...


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


class Rule:
    """Represents one rule with all its operations; rules are values, compared by content.

    Each covers itself alone: callers continue with `rules`, the rules within it, without recursion (see
    engine/nesting.py). `is_monotone` says that it never loses value when one of them gains some, `is_antitone`
    that it never gains any then; both may be false. `size` counts the rules written in it, itself included; an empty
    rule counts as none.
    """

    __slots__ = ()
    is_monotone: ClassVar[bool]
    is_antitone: ClassVar[bool]

    @property
    def rules(self) -> "tuple[Rule, ...]":
        return ()

    @property
    def size(self) -> int:
        return 1

    @abstractmethod
    def render(self, rules: Sequence[RuleDefinition]) -> RuleDefinition:
        """Returns the rule as JSON, given that of the rules within it; members that have no effect are left out."""

    def dependency(self) -> Dependency | None:
        """Returns the relation that the rule itself depends on, or None."""
        return None

    @abstractmethod
    def describe(self) -> str:
        """Returns what the rule itself says, in a few words, for explanations."""

    @abstractmethod
    def join(self, branches: BranchCollector) -> None:
        """Adds each branch by which the rule can hold, or the rules that grant it; not both."""


class SingleRule(Rule):
    """Represents a rule without rules within it."""

    __slots__ = ()
    is_monotone: ClassVar[bool] = True
    is_antitone: ClassVar[bool] = False


class Combined(Rule):
    """Represents a rule that is no mere alternative: one over rules, decided from their values (see rule_operator.py),
    a quantifier, or a leaf."""

    __slots__ = ()
    decisive: ClassVar[Truth]

    @property
    def quantifier(self) -> Quantifier | None:
        """Returns the rule itself if it is a quantifier: it is then decided from the value of `begin` and those of
        `weigh` for each link, in this order."""
        return None

    @property
    def leaf(self) -> "LeafRule | None":
        """Returns the rule itself if it is a leaf."""
        return None

    @staticmethod
    @abstractmethod
    def combine(values: Iterable[Truth]) -> Truth:
        """Returns the value of the combination. It depends on how many operands have which value, not on their
        order."""

    def count_operands(self, floor: Truth) -> OperandCounts:
        """Returns a counter without operands; `floor` is the value with which a quantifier begins.

        It hands `combine` the value of every operand. An operator that does not need them all has a faster one.
        """
        return OperandCounts(self.combine)

    def list_operands(self, floor: Truth, limits: Sequence[Truth], values: Sequence[Truth]) -> Sequence[Truth]:
        """Returns what `combine` and `bounds` take, given the limit and the value of each operand."""
        return values

    def bounds(self, lows: Sequence[Truth], highs: Sequence[Truth]) -> Bounds:
        """Returns the least and the greatest value of the combination when that of each rule lies between two values.

        An operator that is not monotone has its own.
        """
        return self.combine(lows), self.combine(highs)

    def reasons(self, values: Sequence[Truth | None]) -> Sequence[int]:
        """Returns the places of the rules whose warrants explain why the combination holds, the preferred ones first.

        The first of them that depends on warrants is shown; clients expect the path of one rule
        (docs/compatibility.md#check). `values` has the values of its rules, None where one is not known.
        """
        return [place for place, value in enumerate(values) if value is TRUE]

    def explain(self, values: Sequence[Truth | None]) -> Sequence[int]:
        """Returns the places of the rules that matter for the value of the combination, in the order in which people
        should read them: those that gave it this value, and those without which it cannot be understood. `values` is
        like that of `reasons`."""
        return ()

    @staticmethod
    def require(holds: bool, count: int) -> Sequence[Requirement]:
        """Returns what makes a combination of so many rules TRUE, or FALSE: any one of these is enough.

        There is nothing for a quantifier: its operands are links, which change, too (engine/explanation/repairs.py).
        """
        return ()

    def join(self, branches: BranchCollector) -> None:
        branches.add_operation(self)


class LeafRule(SingleRule, Combined):
    """Represents a rule that is decided from the check alone, without warrants and other rules.

    A leaf decides three things, all in its own file: whether it holds for one object and one subject, on which objects
    it holds for a subject, and for which subjects on an object. It has no rules to combine, and nothing that is written
    or deleted changes it.
    """

    __slots__ = ()
    decisive: ClassVar[Truth] = TRUE

    @property
    def policy(self) -> PolicyName | None:
        """Returns the name of the policy that the rule evaluates, or None."""
        return None

    @property
    def leaf(self) -> "LeafRule":
        return self

    @staticmethod
    def combine(values: Iterable[Truth]) -> Truth:
        return max(values, default=FALSE)

    @abstractmethod
    def decide(self, checked: CheckedNames, conditions: NamedConditions) -> Truth:
        """Returns the value of the rule for one object and one subject."""

    @abstractmethod
    def list_objects(
        self, of_type: TypeName, subject_type: TypeName, subject_id: ObjectId, conditions: NamedConditions
    ) -> LeafValues:
        """Returns the values on all objects of a type, `*` among them, for a subject that is no userset."""

    @abstractmethod
    def list_subjects(
        self, object_type: TypeName, object_id: ObjectId, subject_type: TypeName | None, conditions: NamedConditions
    ) -> LeafValues:
        """Returns the values on one object for all subjects of a type, `*` among them; None stands for a type that is
        named nowhere."""
