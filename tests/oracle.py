"""The dullest correct evaluator of checks and queries: what every faster one must agree with.

A check grounds one equation for every node - an object and a relation on it, for the subject of the check - that
the check can reach, and iterates to fixpoints. The meaning is the well-founded one (Van Gelder, Ross and Schlipf, "The
well-founded semantics for general logic programs", 1991) over four ordered values in place of two; every operator that
is not monotone is a barrier, whatever the nesting. No memory, no order, no early end: only the equations.
A query is one check for each row that there could be.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import product
from typing import Any, NamedTuple

import msgspec

from magistrate.engine.lists.language import ObjectsQuery, Query, SubjectsQuery
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName, split_subject_type
from magistrate.engine.rules import render_rule
from magistrate.engine.rules.parsing import read_rule
from magistrate.engine.rules.rule import RuleDefinition
from magistrate.engine.terms import ObjectRef, Subject
from magistrate.engine.warrants.warrant import Warrant


class Truth(IntEnum):
    """Authorized only if TRUE. A final UNDEFINED is 404 for the whole check: a type that is not defined was met, and
    nothing matched. UNKNOWN: a policy broke, or the node rests on its own negation."""

    FALSE = 0
    UNKNOWN = 1
    UNDEFINED = 2
    TRUE = 3


class Node(NamedTuple):
    """Whether the subject of the check has `relation` on the object. The id `*` means any object of the type."""

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
class Barrier:
    """What is not monotone: `combine` of the parts, of which there is one at least. Their order does not matter."""

    combine: Callable[[Sequence[Truth]], Truth]
    parts: tuple["Expression", ...]


Nodes = frozenset[Node]
Expression = Truth | Node | Highest | Lowest | Barrier
Equations = Mapping[Node, Expression]
Interval = tuple[Truth, Truth]
"""The lowest and the highest value something can have."""

ANYTHING: Interval = (Truth.FALSE, Truth.TRUE)
UNDECIDED: Interval = (Truth.UNKNOWN, Truth.UNKNOWN)
NEGATION = {Truth.FALSE: Truth.TRUE, Truth.TRUE: Truth.FALSE}
"""UNKNOWN and UNDEFINED stay what they are."""


def negated(part: Expression) -> Barrier:
    return Barrier(lambda values: NEGATION.get(values[0], values[0]), (part,))


OPERATORS: dict[str, Callable[[tuple[Expression, ...]], Expression]] = {
    "anyOf": Highest,
    "allOf": Lowest,
    "noneOf": lambda parts: negated(Highest(parts)),
}
"""The operators over rules, by keyword. One that is not here is no operator."""
WITHOUT_PATH = {"noneOf"}
"""Those that hold by the absence of warrants."""


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

    `model` maps type names to relation names to rules as JSON. `policy_holds` is called only for warrants with a
    policy; None from it is a run-time error.
    """
    rules = read_rules(model)
    asked = Node(object_type, object_id, relation)
    equations = Ground(rules, warrants, subject, policy_holds).equations_from(asked)
    return solution(equations)[asked]


def in_force(warrants: Sequence[Warrant], now: int) -> list[Warrant]:
    """The warrants that count at this time: outside its limits a warrant is as good as absent."""
    return [
        warrant
        for warrant in warrants
        if (warrant.starts_at is None or warrant.starts_at <= now)
        and (warrant.expires_at is None or now < warrant.expires_at)
    ]


def read_rules(model: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, RuleDefinition]]:
    """The rules of the model by type and relation."""
    return {name: {key: _read(rule) for key, rule in relations.items()} for name, relations in model.items()}


def _read(rule: Any) -> RuleDefinition:
    """A rule as the engine stores it: members without effect are gone, null is the empty rule."""
    return render_rule(read_rule(msgspec.convert(rule, RuleDefinition | None)))


@dataclass(frozen=True, slots=True)
class Ground:
    """All that equations are made from."""

    rules: Mapping[str, Mapping[str, RuleDefinition]]
    warrants: Sequence[Warrant]
    subject: Subject
    policy_holds: Callable[[Warrant], bool | None]

    def equations_from(self, asked: Node) -> Equations:
        """The equation of the node, and of every node that one of the equations names."""
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
            return Highest((direct, Truth.UNDEFINED))
        if node.relation not in self.rules[node.type]:
            return direct
        return Highest((direct, self.groups(node), self.rule(self.rules[node.type][node.relation], node)))

    def direct(self, node: Node) -> Expression:
        """The warrants that name the subject of the check itself, or any subject of its type."""
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

    def rule(self, form: RuleDefinition | None, node: Node) -> Expression:
        if form is not None and form.for_all and form.of_type and form.with_relation:
            return self.for_all(node._replace(relation=form.with_relation), form.of_type, form.for_all)
        if form is not None and form.policy:
            return self.policy(named_policy(form.policy))
        if form is None or form.inherit_if is None:
            return Truth.FALSE
        if is_self(form, self.rules[node.type]):
            return self.itself(node)
        branches = tuple(self.rule(branch, node) for branch in form.rules or ())
        if form.inherit_if in OPERATORS:
            return OPERATORS[form.inherit_if](branches)
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

    def for_all(self, link: Node, of_type: str, relation: str) -> Expression:
        """At least one link, and the relation wherever one leads. What a link to `*` leads to is not known."""
        links = [warrant for warrant in self.warrants_on(link) if warrant.subject_type == of_type]
        implied: list[Expression] = []
        for warrant in links:
            there = Truth.UNKNOWN if warrant.subject_id == WILDCARD else Node(of_type, warrant.subject_id, relation)
            policy = self.policy(warrant)
            implied.append(Highest((NEGATION.get(policy, policy), there)))
        return Lowest((Highest(tuple(map(self.policy, links))), *implied))

    def itself(self, node: Node) -> Truth:
        """The subject is the object; of any object, some object is every subject of its type."""
        asked = self.subject
        is_object = asked.type == node.type and not asked.relation and node.id in (asked.id, WILDCARD)
        return Truth.TRUE if is_object else Truth.FALSE

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


def named_policy(name: str) -> Warrant:
    """What `policy_holds` is asked of a named policy."""
    return Warrant(TypeName(""), ObjectId(""), RelationName(""), TypeName(""), ObjectId(""), "", f"@{name}", 0, 0)


def is_self(form: RuleDefinition, relations: Collection[str]) -> bool:
    """A relation of the type that is called so comes first."""
    return form.inherit_if == "self" and not form.of_type and "self" not in relations


def nodes_in(expression: Expression) -> Iterator[Node]:
    match expression:
        case Node():
            yield expression
        case Highest(parts) | Lowest(parts) | Barrier(_, parts):
            for part in parts:
                yield from nodes_in(part)


def solution(equations: Equations) -> Mapping[Node, Truth]:
    """The value of every node.

    A node is settled when it comes out the same whether each barrier gives the lowest or the highest value it could
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
    equations: Equations, settled: Mapping[Node, Truth], value_of_barrier: Callable[[Barrier], Truth]
) -> Mapping[Node, Truth]:
    """The smallest values that fulfil the equations, with the settled nodes fixed."""
    values = {node: settled.get(node, Truth.FALSE) for node in equations}
    while True:
        following = {
            node: settled[node] if node in settled else value(equation, values, value_of_barrier)
            for node, equation in equations.items()
        }
        if following == values:
            return values
        values = following


def value(expression: Expression, values: Mapping[Node, Truth], value_of_barrier: Callable[[Barrier], Truth]) -> Truth:
    match expression:
        case Truth():
            return expression
        case Node():
            return values[expression]
        case Highest(parts):
            return max((value(part, values, value_of_barrier) for part in parts), default=Truth.FALSE)
        case Lowest(parts):
            return min(value(part, values, value_of_barrier) for part in parts)
        case Barrier():
            return value_of_barrier(expression)


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
        case Barrier(combine, parts):
            ends = [interval(part, settled, unsettled) for part in parts]
            possible = [[inner for inner in Truth if low <= inner <= high] for low, high in ends]
            combined = {combine(values) for values in product(*possible)}
            return (min(combined), max(combined))


class Step(NamedTuple):
    """A warrant on the object of one node, and the node that it leads to."""

    warrant: Warrant
    target: Node


class Steps(NamedTuple):
    """What grants a node, in order: alternatives, each of one step or of all those of an arrow, then the warrant that
    names the subject itself. What would come after that warrant is left out."""

    alternatives: list[list[Step]]
    grant: Warrant | None

    def targets(self) -> set[Node]:
        return {step.target for steps in self.alternatives for step in steps}


def path(
    model: Mapping[str, Mapping[str, Any]],
    warrants: Sequence[Warrant],
    asked: Node,
    subject: Subject,
    policy_holds: Callable[[Warrant], bool | None],
) -> list[Warrant] | None:
    """The reported path of a check, from the subject to the object; None if it is not authorized."""
    rules = read_rules(model)
    ground = Ground(rules, warrants, subject, policy_holds)
    values = solution(ground.equations_from(asked))
    return Paths(ground, values).path(asked) if values[asked] == Truth.TRUE else None


@dataclass(frozen=True, slots=True)
class Paths:
    """Paths by docs/compatibility.md#reported-warrants: every rule as it is written, none left out."""

    ground: Ground
    values: Mapping[Node, Truth]

    def path(self, asked: Node) -> list[Warrant]:
        steps = self.steps_from(asked)
        lengths = self.lengths(steps)
        found: list[Warrant] = []
        node = asked
        while True:
            back = {one for one in steps[node].targets() if node in reachable(steps, one)}
            counting = [
                [one for one in alternative if one.target not in back or lengths[one.target] < lengths[node]]
                for alternative in steps[node].alternatives
            ]
            first = next((alternative for alternative in counting if alternative), None)
            if first is None:
                grant = steps[node].grant
                return ([grant] if grant else []) + found
            nearest = min(first, key=lambda one: (lengths[one.target], one.warrant.created_at, one.warrant.number))
            found = [nearest.warrant, *found]
            node = nearest.target

    def steps_from(self, asked: Node) -> Mapping[Node, Steps]:
        steps: dict[Node, Steps] = {}
        waiting = [asked]
        while waiting:
            node = waiting.pop()
            if node not in steps:
                steps[node] = self.steps(node)
                waiting.extend(steps[node].targets())
        return steps

    def steps(self, node: Node) -> Steps:
        alternatives: list[list[Step]] = []
        for one in self.granting(node, set()):
            if isinstance(one, Warrant):
                return Steps(alternatives, one)
            alternatives.append(one)
        return Steps(alternatives, None)

    def lengths(self, steps: Mapping[Node, Steps]) -> Mapping[Node, float]:
        """How many warrants suffice; infinitely many where none are needed and some lead around in a circle."""
        lengths = {node: 1 if one.grant else float("inf") if one.alternatives else 0 for node, one in steps.items()}
        for _ in steps:
            for node, one in steps.items():
                lengths[node] = min([lengths[node], *(lengths[target] + 1 for target in one.targets())])
        return lengths

    def granting(self, node: Node, seen: set[Node]) -> Iterator[Warrant | list[Step]]:
        """The warrants on the object, in the order in which the rules reach them; no relation twice."""
        if node in seen or self.values[node] != Truth.TRUE:
            return
        seen.add(node)
        stored = [one for one in self.ground.warrants_on(node) if self.ground.policy(one) == Truth.TRUE]
        stored.sort(key=lambda one: (one.policy != "", one.created_at, one.number))
        asked = self.ground.subject
        for one in stored:
            names = (one.subject_type, one.subject_relation)
            if names == (asked.type, asked.relation or "") and one.subject_id in (asked.id, WILDCARD):
                yield one
        rules = self.ground.rules.get(node.type, {})
        if node.relation in rules:
            for one in stored:
                group = Node(one.subject_type, one.subject_id, one.subject_relation)
                if group.relation and self.values[group] == Truth.TRUE:
                    yield [Step(one, group)]
            yield from self.by_rule(rules[node.relation], node, seen)

    def by_rule(self, form: RuleDefinition | None, node: Node, seen: set[Node]) -> Iterator[Warrant | list[Step]]:
        if form is None or form.policy or form.inherit_if in WITHOUT_PATH or not self.holds(form, node):
            return
        if is_self(form, self.ground.rules[node.type]):
            return
        if form.inherit_if in OPERATORS:
            for branch in form.rules or ():
                yield from self.by_rule(branch, node, seen)
        elif form.of_type and form.with_relation:
            links = self.ground.warrants_on(node._replace(relation=form.with_relation))
            there = form.inherit_if or form.for_all or ""
            named = [Step(one, Node(form.of_type, one.subject_id, there)) for one in links]
            yield [
                one
                for one in named
                if one.warrant.subject_type == form.of_type
                and self.ground.policy(one.warrant) == Truth.TRUE
                and self.values[one.target] == Truth.TRUE
            ]
        else:
            yield from self.granting(node._replace(relation=form.inherit_if or ""), seen)

    def holds(self, form: RuleDefinition, node: Node) -> bool:
        expression = self.ground.rule(form, node)
        return value(expression, self.values, lambda one: interval(one, self.values, UNDECIDED)[0]) == Truth.TRUE


def reachable(steps: Mapping[Node, Steps], start: Node) -> set[Node]:
    found: set[Node] = set()
    waiting = [start]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting.extend(steps[node].targets())
    return found


NOBODY = Subject(TypeName(""), WILDCARD)
"""A subject that no warrant names. What it has, others have without a warrant to `*`."""


@dataclass(frozen=True, slots=True)
class Facts:
    """All that a query is answered from. `objects` are those that exist; the rest is what `check` is given."""

    model: Mapping[str, Mapping[str, Any]]
    warrants: Sequence[Warrant]
    objects: Collection[ObjectRef]
    policy_holds: Callable[[Warrant], bool | None]

    def holds(self, node: Node, subject: Subject) -> bool:
        return check(self.model, self.warrants, *node, subject, self.policy_holds) == Truth.TRUE

    def without_rules(self) -> "Facts":
        return replace(self, model={name: dict.fromkeys(relations) for name, relations in self.model.items()})


class Row(NamedTuple):
    """One row of a query. `acceptable` are the warrants that may be reported, None if nothing is: `warrant` alone,
    unless the walk from the object to what settles the row came back to where it had been."""

    type: str
    id: str
    relation: str
    warrant: Warrant | None
    is_implicit: bool
    acceptable: tuple[Warrant | None, ...]


def undefined_type(model: Mapping[str, Any], asked: Query) -> str | None:
    """The type that the 404 of a query names: the first of those selected, then that of the object."""
    types = [*(asked.types or ()), *([asked.object.type] if isinstance(asked, SubjectsQuery) else [])]
    return next((type for type, _ in map(split_subject_type, map(TypeName, types)) if type not in model), None)


def query(facts: Facts, asked: Query) -> list[Row]:
    """By type, id and relation. No type that is named may be undefined. What is there without rules is explicit."""
    explicit = rows(facts.without_rules(), asked, is_implicit=False)
    implicit = {} if asked.is_explicit else rows(facts, asked, is_implicit=True)
    return [row for _, row in sorted((implicit | explicit).items()) if meets_conditions(facts, asked, row)]


def meets_conditions(facts: Facts, asked: Query, row: Row) -> bool:
    """Whether the object of a row meets all further conditions of its query."""
    examined = facts.without_rules() if asked.is_explicit else facts
    for condition in () if isinstance(asked, SubjectsQuery) else asked.further:
        defined = facts.model[row.type]
        names = [name for name in defined if condition.relations is None or name in condition.relations]
        nodes = [Node(row.type, row.id, name) for name in names]
        subject = Subject(condition.subject.type, condition.subject.id)
        if any(examined.holds(node, subject) for node in nodes) is condition.is_negated:
            return False
    return True


def rows(facts: Facts, asked: Query, is_implicit: bool) -> dict[Node, Row]:
    """By what distinguishes rows: as a node, the found object or subject with the relation."""
    found = {}
    for key, node, subject in candidates(facts, asked):
        if (asked.relations is None or key.relation in asked.relations) and facts.holds(node, subject):
            warrants = acceptable(Walk(facts, subject, follows_links=isinstance(asked, SubjectsQuery)), node)
            if key.id != WILDCARD or not facts.holds(node, NOBODY):
                found[key] = Row(*key, warrants[0], is_implicit, warrants)
    return found


def candidates(facts: Facts, asked: Query) -> Iterator[tuple[Node, Node, Subject]]:
    """The key of each row there could be if all relations were selected, and the check that decides."""
    types = {*(facts.model if asked.types is None else asked.types)}
    if isinstance(asked, ObjectsQuery):
        subject = Subject(asked.subject.type, asked.subject.id)
        for found in facts.objects:
            for relation in facts.model[found.type] if found.type in types else ():
                key = Node(found.type, found.id, relation)
                yield key, key, subject
        return
    if asked.types is None:
        types |= {warrant.subject_type for warrant in facts.warrants} | {found.type for found in facts.objects}
    for kind in types:
        of_type, userset = split_subject_type(TypeName(kind))
        for id in [*(found.id for found in facts.objects if found.type == of_type), WILDCARD]:
            for relation in facts.model[asked.object.type]:
                node = Node(asked.object.type, asked.object.id, relation)
                subject = Subject(of_type, id, RelationName(userset) if userset else None)
                yield Node(kind, id, relation), node, subject


def acceptable(walk: "Walk", node: Node) -> tuple[Warrant | None, ...]:
    """The warrants that may be reported for a node that holds, the first that the walk finds first."""
    first, *rest = [*walk.warrants(node), None]
    return (first,) if first or not any(rest) else tuple(warrant for warrant in rest if warrant)


class Beside(NamedTuple):
    """The links that are alternatives to each other; relations beside them are alternatives too, or stay whole."""

    links: tuple[RuleDefinition, ...]
    stay_whole: bool = False


@dataclass(frozen=True, slots=True)
class Walk:
    """The way from a node that holds to the warrants that it rests on, in the order in which they are reported.

    A warrant that names a related object ends it, or is followed to that object."""

    facts: Facts
    subject: Subject
    follows_links: bool
    done: set[Node] = field(default_factory=set)

    def warrants(
        self, node: Node, here: Nodes = frozenset(), above: Nodes = frozenset(), beside: Beside | None = None
    ) -> Iterator[Warrant | None]:
        """None wherever the walk is back at one of the nodes `above`, from which links led here; `here` are those since
        the last link. No node is walked twice. `beside`: the links that are alternatives to each other."""
        if node in above:
            yield None
        elif node not in here | self.done:
            rule = _read({"inheritIf": node.relation})
            links = beside or Beside(tuple(self.links(rule, node.type, set())))
            yield from self.granting(node)
            yield from self.by_rule(_read(self.relations(node).get(node.relation)), node, here | {node}, above, links)
            self.done.add(node)

    def granting(self, node: Node) -> Iterator[Warrant]:
        """The warrants on the node that name the subject, or a group that it is in."""
        for warrant in self.holding(node):
            group = Node(warrant.subject_type, warrant.subject_id, warrant.subject_relation)
            is_alike = (group.type, group.relation) == (self.subject.type, self.subject.relation or "")
            if (is_alike and group.id in (self.subject.id, WILDCARD)) or (
                group.relation and node.relation in self.relations(node) and self.facts.holds(group, self.subject)
            ):
                yield warrant

    def by_rule(
        self, form: RuleDefinition, node: Node, here: Nodes, above: Nodes, beside: Beside
    ) -> Iterator[Warrant | None]:
        if (form.inherit_if or form.for_all) in (None, *WITHOUT_PATH) or not self.rule_holds(form, node):
            return
        if is_self(form, self.relations(node)):
            return
        if form.inherit_if in OPERATORS:
            for branch in map(_read, form.rules or ()):
                apart = Beside(tuple(self.links(branch, node.type, None)), stay_whole=True)
                yield from self.by_rule(branch, node, here, above, beside if form.inherit_if == "anyOf" else apart)
        elif form.of_type and form.with_relation:
            if form.inherit_if and self.is_included(form, beside.links):
                return
            for link in self.holding(node._replace(relation=form.with_relation)):
                related = Node(form.of_type, link.subject_id, form.inherit_if or form.for_all or "")
                if link.subject_type == form.of_type and self.facts.holds(related, self.subject):
                    yield from self.warrants(related, above=above | here) if self.follows_links else (link,)
        else:
            same = node._replace(relation=form.inherit_if or "")
            yield from self.warrants(same, here, above, None if beside.stay_whole else beside)

    def links(self, form: RuleDefinition, of_type: str, seen: set[str] | None) -> Iterator[RuleDefinition]:
        """Those that are alternatives in a rule, in written order; `seen` are the relations on the way there, None if
        relations stay whole."""
        if form.inherit_if == "anyOf":
            for branch in form.rules or ():
                yield from self.links(_read(branch), of_type, seen)
        elif form.inherit_if and form.of_type and form.with_relation:
            yield form
        elif seen is not None and form.inherit_if is not None and form.inherit_if not in seen:
            seen.add(form.inherit_if)
            relations = self.facts.model.get(of_type, {})
            yield from self.links(_read(relations.get(form.inherit_if)), of_type, seen)

    def is_included(self, form: RuleDefinition, links: Sequence[RuleDefinition]) -> bool:
        """Whether another link leads the same way to a relation that includes that of this one. Of two that include
        each other the first counts."""
        way = (form.of_type, form.with_relation)
        others = [other for other in links if other != form and (other.of_type, other.with_relation) == way]
        including = [other for other in others if self.includes(other, form)]
        before = links[: links.index(form)]
        return any(other in before or not self.includes(form, other) for other in including)

    def includes(self, wide: RuleDefinition, narrow: RuleDefinition) -> bool:
        names: set[str] = set()
        for _ in self.links(_read({"inheritIf": wide.inherit_if}), wide.of_type or "", names):
            pass
        return narrow.inherit_if in names

    def rule_holds(self, form: RuleDefinition, node: Node) -> bool:
        """Whether the rule would hold for a relation that no warrant and no other rule names."""
        unnamed = node._replace(relation="")
        model = {**self.facts.model, node.type: {**self.relations(node), unnamed.relation: form}}
        return replace(self.facts, model=model).holds(unnamed, self.subject)

    def holding(self, node: Node) -> list[Warrant]:
        """The warrants on the node whose policy holds, oldest first."""
        ground = Ground({}, self.facts.warrants, self.subject, self.facts.policy_holds)
        stored = [warrant for warrant in ground.warrants_on(node) if ground.policy(warrant) == Truth.TRUE]
        return sorted(stored, key=lambda warrant: (warrant.created_at, warrant.number))

    def relations(self, node: Node) -> Mapping[str, Any]:
        return self.facts.model.get(node.type, {})
