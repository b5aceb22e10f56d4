"""Says what a model means, as plainly as it can be said: what every evaluator must agree with.

A check has one equation for every node - an object and a relation on it, for the subject of the check - that it can
reach, and the solution is iterated to. The meaning is the well-founded one (Van Gelder, Ross and Schlipf, "The
well-founded semantics for general logic programs", 1991) over four ordered values in place of two; every operator that
is not monotone, such as noneOf, is a barrier, whatever the nesting. There is no memory, no order and no early end.

An operator is a row of OPERATORS, which says what it makes of the values of its rules. A test that registers one of its
own adds a row for as long as it runs:

    monkeypatch.setitem(OPERATORS, "exactlyOneOf", Operator(exactly_one, is_monotone=False))
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import product
from typing import Any, NamedTuple

from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.warrants.warrant import Warrant

Rule = Mapping[str, Any] | None
"""A rule in JSON."""
Model = Mapping[str, Mapping[str, Rule]]
"""The rules by type and relation."""
PolicyHolds = Callable[[Warrant], bool | None]
"""Whether the policy of a warrant holds; None is a run-time error."""


class Truth(IntEnum):
    """Authorized only if TRUE. A final UNDEFINED is 404 for the whole check: a type that is not defined was met, and
    nothing matched. UNKNOWN: a policy broke, or the node depends on its own negation."""

    FALSE = 0
    UNKNOWN = 1
    UNDEFINED = 2
    TRUE = 3


class Operator(NamedTuple):
    """What an operator over rules means. `combine` makes its value of the values of all its rules; `is_monotone`
    if that never falls when one of them rises; `reports_warrants` if the warrants behind its rules are reported."""

    combine: Callable[[Sequence[Truth]], Truth]
    is_monotone: bool
    reports_warrants: bool = True


def highest(values: Sequence[Truth]) -> Truth:
    return max(values, default=Truth.FALSE)


def lowest(values: Sequence[Truth]) -> Truth:
    return min(values)


def negated(value: Truth) -> Truth:
    """UNKNOWN and UNDEFINED stay what they are."""
    return {Truth.FALSE: Truth.TRUE, Truth.TRUE: Truth.FALSE}.get(value, value)


OPERATORS: dict[str, Operator] = {
    "anyOf": Operator(highest, is_monotone=True),
    "allOf": Operator(lowest, is_monotone=True),
    "noneOf": Operator(lambda values: negated(highest(values)), is_monotone=False, reports_warrants=False),
}


class Node(NamedTuple):
    """Whether the subject of the check has `relation` on the object. The id `*` means any object of the type."""

    type: str
    id: str
    relation: str


@dataclass(frozen=True, slots=True)
class Combined:
    """What an operator makes of its parts."""

    operator: Operator
    parts: tuple["Expression", ...]


Expression = Truth | Node | Combined
Equations = Mapping[Node, Expression]
Interval = tuple[Truth, Truth]
"""The lowest and the highest value something can have."""

ANYTHING: Interval = (Truth.FALSE, Truth.TRUE)
UNDECIDED: Interval = (Truth.UNKNOWN, Truth.UNKNOWN)


def any_of(*parts: Expression) -> Expression:
    return Combined(OPERATORS["anyOf"], parts)


def all_of(*parts: Expression) -> Expression:
    return Combined(OPERATORS["allOf"], parts)


def check(
    model: Model,
    warrants: Sequence[Warrant],
    object_type: str,
    object_id: str,
    relation: str,
    subject: Subject,
    policy_holds: PolicyHolds,
) -> Truth:
    """Whether the subject has the relation on the object. `policy_holds` is called only for warrants with a policy."""
    node = Node(object_type, object_id, relation)
    return solve_nodes(Ground(model, warrants, subject, policy_holds), [node])[node]


def in_force(warrants: Sequence[Warrant], now: int) -> list[Warrant]:
    """The warrants that count at this time: outside its limits a warrant is as good as absent."""
    return [
        warrant
        for warrant in warrants
        if (warrant.starts_at is None or warrant.starts_at <= now)
        and (warrant.expires_at is None or now < warrant.expires_at)
    ]


@dataclass(frozen=True, slots=True)
class Ground:
    """All that equations are made from."""

    model: Model
    warrants: Sequence[Warrant]
    subject: Subject
    policy_holds: PolicyHolds

    def equation(self, node: Node) -> Expression:
        direct = self.direct(node)
        if node.type not in self.model:
            return any_of(direct, Truth.UNDEFINED)
        if node.relation not in self.model[node.type]:
            return direct
        return any_of(direct, self.groups(node), self.rule(self.model[node.type][node.relation], node))

    def direct(self, node: Node) -> Expression:
        """The warrants that name the subject of the check itself, or any subject of its type."""
        return any_of(*(self.policy(warrant) for warrant in self.warrants_on(node) if self.names_subject(warrant)))

    def groups(self, node: Node) -> Expression:
        """The warrants that name a group: `*` as its id is any object of the type."""
        return any_of(
            *(
                all_of(self.policy(warrant), group_of(warrant))
                for warrant in self.warrants_on(node)
                if warrant.subject_relation
            )
        )

    def rule(self, rule: Rule, node: Node) -> Expression:
        if not rule:
            return Truth.FALSE
        if rule.get("policy"):
            return self.policy(named_policy(rule["policy"]))
        if rule.get("forAll"):
            return self.for_all(node._replace(relation=rule["withRelation"]), rule["ofType"], rule["forAll"])
        keyword = rule.get("inheritIf")
        if not keyword:
            return Truth.FALSE
        if keyword in OPERATORS:
            return Combined(OPERATORS[keyword], tuple(self.rule(branch, node) for branch in rule["rules"]))
        if rule.get("ofType"):
            return self.arrow(node._replace(relation=rule["withRelation"]), rule["ofType"], keyword)
        if is_self(rule, self.model[node.type]):
            return self.itself(node)
        return node._replace(relation=keyword)

    def arrow(self, link: Node, of_type: str, relation: str) -> Expression:
        """The stored warrants on the link node that name an object of the type, or a group of it, and the relation
        there; nothing that the link itself inherits."""
        return any_of(
            *(
                all_of(self.policy(warrant), Node(of_type, warrant.subject_id, relation))
                for warrant in self.warrants_on(link)
                if warrant.subject_type == of_type
            )
        )

    def for_all(self, link: Node, of_type: str, relation: str) -> Expression:
        """At least one link, and the relation wherever one leads. What a link to `*` leads to is not known."""
        links = [warrant for warrant in self.warrants_on(link) if warrant.subject_type == of_type]
        implied = [
            any_of(
                negated(self.policy(warrant)),
                Truth.UNKNOWN if warrant.subject_id == WILDCARD else Node(of_type, warrant.subject_id, relation),
            )
            for warrant in links
        ]
        return all_of(any_of(*map(self.policy, links)), *implied)

    def itself(self, node: Node) -> Truth:
        """The subject is the object; of any object, some object is every subject of its type."""
        subject = self.subject
        is_object = subject.type == node.type and not subject.relation and node.id in (subject.id, WILDCARD)
        return Truth.TRUE if is_object else Truth.FALSE

    def names_subject(self, warrant: Warrant) -> bool:
        """Whether a warrant names the subject of the check itself, or any subject of its type."""
        is_alike = (warrant.subject_type, warrant.subject_relation) == (self.subject.type, self.subject.relation)
        return is_alike and warrant.subject_id in (self.subject.id, WILDCARD)

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


def group_of(warrant: Warrant) -> Node:
    """The group that a warrant names."""
    return Node(warrant.subject_type, warrant.subject_id, warrant.subject_relation)


def named_policy(name: str) -> Warrant:
    """The warrant with which `policy_holds` is called for a named policy."""
    return Warrant(TypeName(""), ObjectId(""), RelationName(""), TypeName(""), ObjectId(""), "", f"@{name}", 0, 0)


def is_self(rule: Mapping[str, Any], relations: Mapping[str, Rule]) -> bool:
    """Whether the rule says that the subject is the object. A relation of the type called `self` comes first."""
    return rule.get("inheritIf") == "self" and not rule.get("ofType") and "self" not in relations


def solve_nodes(ground: Ground, nodes: Sequence[Node]) -> Mapping[Node, Truth]:
    """The values of these nodes, and of all nodes that these depend on."""
    equations: dict[Node, Expression] = {}
    waiting = [*nodes]
    while waiting:
        node = waiting.pop()
        if node not in equations:
            equations[node] = ground.equation(node)
            waiting.extend(nodes_in(equations[node]))
    return solution(equations)


def nodes_in(expression: Expression) -> Iterator[Node]:
    if isinstance(expression, Node):
        yield expression
    elif isinstance(expression, Combined):
        for part in expression.parts:
            yield from nodes_in(part)


def solution(equations: Equations) -> Mapping[Node, Truth]:
    """The value of every node.

    A node is resolved when it has the same value whether each barrier gives the lowest or the highest value it could
    still have. What is never resolved depends on its own negation, and counts as UNKNOWN within every barrier.
    """
    resolved: dict[Node, Truth] = {}
    while True:
        low = least_fixpoint(equations, resolved, lambda barrier: interval(barrier, resolved, ANYTHING)[0])
        high = least_fixpoint(equations, resolved, lambda barrier: interval(barrier, resolved, ANYTHING)[1])
        agreed = {node: value for node, value in low.items() if node not in resolved and value == high[node]}
        if not agreed:
            return least_fixpoint(equations, resolved, lambda barrier: interval(barrier, resolved, UNDECIDED)[0])
        resolved.update(agreed)


def least_fixpoint(
    equations: Equations, resolved: Mapping[Node, Truth], value_of_barrier: Callable[[Combined], Truth]
) -> Mapping[Node, Truth]:
    """The smallest values that fulfil the equations, with the resolved nodes fixed."""
    values = {node: resolved.get(node, Truth.FALSE) for node in equations}
    while True:
        following = {
            node: resolved[node] if node in resolved else value(equation, values, value_of_barrier)
            for node, equation in equations.items()
        }
        if following == values:
            return values
        values = following


def value(expression: Expression, values: Mapping[Node, Truth], value_of_barrier: Callable[[Combined], Truth]) -> Truth:
    if isinstance(expression, Truth):
        return expression
    if isinstance(expression, Node):
        return values[expression]
    if not expression.operator.is_monotone:
        return value_of_barrier(expression)
    return expression.operator.combine([value(part, values, value_of_barrier) for part in expression.parts])


def interval(expression: Expression, resolved: Mapping[Node, Truth], unresolved: Interval) -> Interval:
    """What the expression can be when resolved nodes have their value and the others may lie anywhere in
    `unresolved`."""
    if isinstance(expression, Truth):
        return (expression, expression)
    if isinstance(expression, Node):
        return (resolved[expression], resolved[expression]) if expression in resolved else unresolved
    combine = expression.operator.combine
    ends = [interval(part, resolved, unresolved) for part in expression.parts]
    if expression.operator.is_monotone:
        return (combine([low for low, _ in ends]), combine([high for _, high in ends]))
    ranges = [[value for value in Truth if low <= value <= high] for low, high in ends]
    possible = [combine(values) for values in product(*ranges)]
    return (min(possible), max(possible))
