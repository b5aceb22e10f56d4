"""The dullest correct evaluator of a check: what every faster one must agree with.

It grounds one equation for every node - an object and a relation on it, for the asked subject - that the question can
lead to, and iterates to fixpoints. The meaning is the well-founded one (Van Gelder, Ross and Schlipf, "The well-founded
semantics for general logic programs", 1991) over four ordered values in place of two; every noneOf is a barrier,
whatever the nesting. No memory, no order, no early end: only the equations.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import msgspec

from magistrate.engine.rules import read_rule
from magistrate.engine.rules.rule import RuleForm
from magistrate.engine.terms import WILDCARD, Subject
from magistrate.engine.warrants import Warrant


class Truth(IntEnum):
    """Authorized only if TRUE. A final MISSING is 404 for the whole check: a type that is not defined was met, and
    nothing matched. UNKNOWN: a policy broke, or the node rests on its own negation."""

    FALSE = 0
    UNKNOWN = 1
    MISSING = 2
    TRUE = 3


class Node(NamedTuple):
    """Whether the asked subject has `relation` on the object. The id `*` means any object of the type."""

    type: str
    id: str
    relation: str


@dataclass(frozen=True, slots=True)
class Highest:
    """The maximum of its parts; FALSE if there are none."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Lowest:
    """The minimum of its parts, of which there is one at least."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Negated:
    part: "Expression"


Expression = Truth | Node | Highest | Lowest | Negated
Equations = Mapping[Node, Expression]
Interval = tuple[Truth, Truth]
"""The lowest and the highest value something can have."""

ANYTHING: Interval = (Truth.FALSE, Truth.TRUE)
UNDECIDED: Interval = (Truth.UNKNOWN, Truth.UNKNOWN)
NEGATION = {Truth.FALSE: Truth.TRUE, Truth.TRUE: Truth.FALSE}
"""UNKNOWN and MISSING stay what they are."""


def check(
    model: Mapping[str, Mapping[str, Any]],
    warrants: Sequence[Warrant],
    object_type: str,
    object_id: str,
    relation: str,
    subject: Subject,
    policy_holds: Callable[[Warrant], bool | None],
) -> Truth:
    """Whether the subject has the relation on the object.

    `model` maps type names to relation names to rules as JSON. `policy_holds` is asked only of warrants with a policy;
    None from it is a run-time error.
    """
    rules = {name: {key: _read(rule) for key, rule in relations.items()} for name, relations in model.items()}
    asked = Node(object_type, object_id, relation)
    equations = Ground(rules, warrants, subject, policy_holds).equations_from(asked)
    return solution(equations)[asked]


def _read(rule: Any) -> RuleForm:
    """A rule as the engine stores it: members without effect are gone, null is the empty rule."""
    return read_rule(msgspec.convert(rule, RuleForm | None)).form()


@dataclass(frozen=True, slots=True)
class Ground:
    """All that equations are made from."""

    rules: Mapping[str, Mapping[str, RuleForm]]
    warrants: Sequence[Warrant]
    subject: Subject
    policy_holds: Callable[[Warrant], bool | None]

    def equations_from(self, asked: Node) -> Equations:
        """The equation of the asked node, and of every node that one of the equations names."""
        equations: dict[Node, Expression] = {}
        waiting = [asked]
        while waiting:
            node = waiting.pop()
            if node not in equations:
                equations[node] = self.equation(node)
                waiting.extend(nodes_in(equations[node]))
        return equations

    def equation(self, node: Node) -> Expression:
        direct = self.direct(node)
        if node.type not in self.rules:
            return Highest((direct, Truth.MISSING))
        if node.relation not in self.rules[node.type]:
            return direct
        return Highest((direct, self.groups(node), self.rule(self.rules[node.type][node.relation], node)))

    def direct(self, node: Node) -> Expression:
        """The warrants that name the asked subject itself, or any subject of its type."""
        asked = self.subject
        return Highest(
            tuple(
                self.policy(warrant)
                for warrant in self.warrants_on(node)
                if warrant.subject_type == asked.type
                and warrant.subject_id in (asked.id, WILDCARD)
                and warrant.subject_relation == (asked.relation or "")
            )
        )

    def groups(self, node: Node) -> Expression:
        """The warrants that name a group: `*` as its id is any object of the type."""
        return Highest(
            tuple(
                Lowest((self.policy(warrant), Node(warrant.subject_type, warrant.subject_id, warrant.subject_relation)))
                for warrant in self.warrants_on(node)
                if warrant.subject_relation
            )
        )

    def rule(self, form: RuleForm | None, node: Node) -> Expression:
        if form is None or form.inherit_if is None:
            return Truth.FALSE
        branches = tuple(self.rule(branch, node) for branch in form.rules or ())
        match form.inherit_if:
            case "anyOf":
                return Highest(branches)
            case "allOf":
                return Lowest(branches)
            case "noneOf":
                return Negated(Highest(branches))
        if form.of_type and form.with_relation:
            return self.through(node._replace(relation=form.with_relation), form.of_type, form.inherit_if)
        return node._replace(relation=form.inherit_if)

    def through(self, link: Node, of_type: str, relation: str) -> Expression:
        """The stored warrants on the link node that name an object of the type, or a group of it, and the relation
        there; nothing that the link itself inherits."""
        return Highest(
            tuple(
                Lowest((self.policy(warrant), Node(of_type, warrant.subject_id, relation)))
                for warrant in self.warrants_on(link)
                if warrant.subject_type == of_type
            )
        )

    def warrants_on(self, node: Node) -> Iterator[Warrant]:
        for warrant in self.warrants:
            same_relation = warrant.object_type == node.type and warrant.relation == node.relation
            if same_relation and (node.id == WILDCARD or warrant.object_id in (node.id, WILDCARD)):
                yield warrant

    def policy(self, warrant: Warrant) -> Truth:
        holds = self.policy_holds(warrant) if warrant.policy else True
        if holds is None:
            return Truth.UNKNOWN
        return Truth.TRUE if holds else Truth.FALSE


def nodes_in(expression: Expression) -> Iterator[Node]:
    match expression:
        case Node():
            yield expression
        case Highest(parts) | Lowest(parts):
            for part in parts:
                yield from nodes_in(part)
        case Negated(part):
            yield from nodes_in(part)


def solution(equations: Equations) -> Mapping[Node, Truth]:
    """The value of every node.

    A node is settled when it comes out the same whether each noneOf gives the lowest or the highest value it could
    still have. What never settles rests on its own negation, and counts as UNKNOWN wherever it is negated.
    """
    settled: dict[Node, Truth] = {}
    while True:
        low = least_fixpoint(equations, settled, lambda barrier: interval(barrier, settled, ANYTHING)[0])
        high = least_fixpoint(equations, settled, lambda barrier: interval(barrier, settled, ANYTHING)[1])
        agreed = {node: value for node, value in low.items() if node not in settled and value == high[node]}
        if not agreed:
            return least_fixpoint(equations, settled, lambda barrier: interval(barrier, settled, UNDECIDED)[0])
        settled.update(agreed)


def least_fixpoint(
    equations: Equations, settled: Mapping[Node, Truth], value_of_negation: Callable[[Negated], Truth]
) -> Mapping[Node, Truth]:
    """The smallest values that fulfil the equations, with the settled nodes fixed."""
    values = {node: settled.get(node, Truth.FALSE) for node in equations}
    while True:
        following = {
            node: settled[node] if node in settled else value(equation, values, value_of_negation)
            for node, equation in equations.items()
        }
        if following == values:
            return values
        values = following


def value(expression: Expression, values: Mapping[Node, Truth], value_of_negation: Callable[[Negated], Truth]) -> Truth:
    match expression:
        case Truth():
            return expression
        case Node():
            return values[expression]
        case Highest(parts):
            return max((value(part, values, value_of_negation) for part in parts), default=Truth.FALSE)
        case Lowest(parts):
            return min(value(part, values, value_of_negation) for part in parts)
        case Negated():
            return value_of_negation(expression)


def interval(expression: Expression, settled: Mapping[Node, Truth], unsettled: Interval) -> Interval:
    """What the expression can be when settled nodes have their value and the others may lie anywhere in
    `unsettled`."""
    match expression:
        case Truth():
            return (expression, expression)
        case Node():
            return (settled[expression], settled[expression]) if expression in settled else unsettled
        case Highest(parts):
            ends = [interval(part, settled, unsettled) for part in parts] or [(Truth.FALSE, Truth.FALSE)]
            return (max(low for low, _ in ends), max(high for _, high in ends))
        case Lowest(parts):
            ends = [interval(part, settled, unsettled) for part in parts]
            return (min(low for low, _ in ends), min(high for _, high in ends))
        case Negated(part):
            low, high = interval(part, settled, unsettled)
            negated = [NEGATION.get(inner, inner) for inner in Truth if low <= inner <= high]
            return (min(negated), max(negated))
