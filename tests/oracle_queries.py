"""Says what a query finds: one check for each row that there could be."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from magistrate.engine.lists.language import ObjectsQuery, Query, SubjectsQuery
from magistrate.engine.names import WILDCARD, TypeName
from magistrate.engine.subjects import Subject, split_subject_type
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant
from tests.oracle import OPERATORS, Ground, Model, Node, PolicyHolds, Rule, Truth, check, group_of, is_self

Nodes = frozenset[Node]

NOBODY = Subject(TypeName(""), WILDCARD)
"""A subject that no warrant names. What it has, others have without a warrant to `*`."""


@dataclass(frozen=True, slots=True)
class Facts:
    """All that a query is answered from. `objects` are those that exist; the rest is what `check` takes."""

    model: Model
    warrants: Sequence[Warrant]
    objects: Collection[ObjectRef]
    policy_holds: PolicyHolds

    def holds(self, node: Node, subject: Subject) -> bool:
        return check(self.model, self.warrants, *node, subject, self.policy_holds) == Truth.TRUE

    def without_rules(self) -> "Facts":
        return replace(self, model={name: dict.fromkeys(relations) for name, relations in self.model.items()})


class Row(NamedTuple):
    """One row of a query. `acceptable` are the warrants that may be reported, None if nothing is: `warrant` alone,
    unless the walk from the object to what decides the row came back to where it had been."""

    type: str
    id: str
    relation: str
    warrant: Warrant | None
    is_implicit: bool
    acceptable: tuple[Warrant | None, ...]


def undefined_type(model: Mapping[str, Any], query: Query) -> str | None:
    """The type that the 404 of a query names: the first of those selected, then that of the object."""
    types = [*(query.types or ()), *([query.object.type] if isinstance(query, SubjectsQuery) else [])]
    return next(
        (type_name for type_name, _ in map(split_subject_type, map(TypeName, types)) if type_name not in model), None
    )


def list_rows(facts: Facts, query: Query) -> list[Row]:
    """By type, id and relation. No type that is named may be undefined. What is there without rules is explicit."""
    explicit = rows(facts.without_rules(), query, is_implicit=False)
    implicit = {} if query.is_explicit else rows(facts, query, is_implicit=True)
    return [row for _, row in sorted((implicit | explicit).items()) if meets_conditions(facts, query, row)]


def meets_conditions(facts: Facts, query: Query, row: Row) -> bool:
    """Whether the object of a row meets all further conditions of its query."""
    examined = facts.without_rules() if query.is_explicit else facts
    for condition in () if isinstance(query, SubjectsQuery) else query.further:
        defined = facts.model[row.type]
        names = [name for name in defined if condition.relations is None or name in condition.relations]
        nodes = [Node(row.type, row.id, name) for name in names]
        subject = Subject(condition.subject.type, condition.subject.id)
        if any(examined.holds(node, subject) for node in nodes) is condition.is_negated:
            return False
    return True


def rows(facts: Facts, query: Query, is_implicit: bool) -> dict[Node, Row]:
    """By what distinguishes rows: as a node, the object or subject of the row with the relation."""
    rows = {}
    for key, node, subject in candidates(facts, query):
        if (query.relations is None or key.relation in query.relations) and facts.holds(node, subject):
            warrants = acceptable(Walk(facts, subject, follows_links=isinstance(query, SubjectsQuery)), node)
            if key.id != WILDCARD or not facts.holds(node, NOBODY):
                rows[key] = Row(*key, warrants[0], is_implicit, warrants)
    return rows


def candidates(facts: Facts, query: Query) -> Iterator[tuple[Node, Node, Subject]]:
    """The key of each row there could be if all relations were selected, and the check that decides."""
    types = {*(facts.model if query.types is None else query.types)}
    if isinstance(query, ObjectsQuery):
        subject = Subject(query.subject.type, query.subject.id)
        for object_ref in facts.objects:
            for relation in facts.model[object_ref.type] if object_ref.type in types else ():
                key = Node(object_ref.type, object_ref.id, relation)
                yield key, key, subject
        return
    if query.types is None:
        types |= {warrant.subject_type for warrant in facts.warrants} | {
            object_ref.type for object_ref in facts.objects
        }
    for kind in types:
        of_type, userset = split_subject_type(TypeName(kind))
        for object_id in [*(object_ref.id for object_ref in facts.objects if object_ref.type == of_type), WILDCARD]:
            for relation in facts.model[query.object.type]:
                node = Node(query.object.type, query.object.id, relation)
                subject = Subject(of_type, object_id, userset)
                yield Node(kind, object_id, relation), node, subject


def acceptable(walk: "Walk", node: Node) -> tuple[Warrant | None, ...]:
    """The warrants that may be reported for a node that holds, the first that the walk finds first."""
    first, *rest = [*walk.warrants(node), None]
    return (first,) if first or not any(rest) else tuple(warrant for warrant in rest if warrant)


class Arrow(NamedTuple):
    """A rule that follows links: of all objects of the type that the link names, those with the relation."""

    relation: str
    of_type: str
    link: str


class Alternatives(NamedTuple):
    """The arrows that are alternatives to each other; relations beside them are alternatives too, or stay whole."""

    arrows: tuple[Arrow, ...]
    stay_whole: bool = False


@dataclass(frozen=True, slots=True)
class Walk:
    """The walk from a node that holds to the warrants that it depends on, in the order in which they are reported.

    A warrant that names a related object ends it, or is followed to that object."""

    facts: Facts
    subject: Subject
    follows_links: bool
    done: set[Node] = field(default_factory=set)

    def warrants(
        self, node: Node, here: Nodes = frozenset(), above: Nodes = frozenset(), beside: Alternatives | None = None
    ) -> Iterator[Warrant | None]:
        """None wherever the walk is back at one of the nodes `above`, from which links led here; `here` are those since
        the last link. No node is walked twice. `beside`: the arrows that are alternatives to each other."""
        if node in above:
            yield None
        elif node not in here | self.done:
            arrows = beside or Alternatives(tuple(self.arrows({"inheritIf": node.relation}, node.type, set())))
            yield from self.granting(node)
            yield from self.by_rule(self.relations(node).get(node.relation), node, here | {node}, above, arrows)
            self.done.add(node)

    def granting(self, node: Node) -> Iterator[Warrant]:
        """The warrants on the node that name the subject, or a group that it is in."""
        for warrant in self.holding(node):
            group = group_of(warrant)
            if self.ground.names_subject(warrant) or (
                group.relation and node.relation in self.relations(node) and self.facts.holds(group, self.subject)
            ):
                yield warrant

    def by_rule(
        self, rule: Rule, node: Node, here: Nodes, above: Nodes, beside: Alternatives
    ) -> Iterator[Warrant | None]:
        relation = (rule or {}).get("inheritIf") or (rule or {}).get("forAll")
        if not rule or not relation or is_self(rule, self.relations(node)) or not self.rule_holds(rule, node):
            return
        if relation in OPERATORS:
            for branch in rule["rules"] if OPERATORS[relation].reports_warrants else ():
                apart = Alternatives(tuple(self.arrows(branch, node.type, None)), stay_whole=True)
                yield from self.by_rule(branch, node, here, above, beside if relation == "anyOf" else apart)
        elif rule.get("ofType"):
            if rule.get("inheritIf") and self.is_included(arrow_of(rule), beside.arrows):
                return
            for link in self.holding(node._replace(relation=rule["withRelation"])):
                related = Node(rule["ofType"], link.subject_id, relation)
                if link.subject_type == related.type and self.facts.holds(related, self.subject):
                    yield from self.warrants(related, above=above | here) if self.follows_links else (link,)
        else:
            same = node._replace(relation=relation)
            yield from self.warrants(same, here, above, None if beside.stay_whole else beside)

    def arrows(self, rule: Rule, of_type: str, seen: set[str] | None) -> Iterator[Arrow]:
        """Those that are alternatives in a rule, in written order; `seen` are the relations up to here, None if
        relations stay whole."""
        relation = (rule or {}).get("inheritIf")
        if not rule or not relation:
            return
        if relation == "anyOf":
            for branch in rule["rules"]:
                yield from self.arrows(branch, of_type, seen)
        elif relation not in OPERATORS and rule.get("ofType"):
            yield arrow_of(rule)
        elif seen is not None and relation not in seen:
            seen.add(relation)
            yield from self.arrows(self.facts.model.get(of_type, {}).get(relation), of_type, seen)

    def is_included(self, arrow: Arrow, arrows: Sequence[Arrow]) -> bool:
        """Whether another arrow follows the same links to a relation that includes that of this one. Of two that
        include each other the first counts."""
        others = [other for other in arrows if other != arrow and other[1:] == arrow[1:]]
        including = [other for other in others if self.includes(other, arrow)]
        before = arrows[: arrows.index(arrow)]
        return any(other in before or not self.includes(arrow, other) for other in including)

    def includes(self, wide: Arrow, narrow: Arrow) -> bool:
        names: set[str] = set()
        for _ in self.arrows({"inheritIf": wide.relation}, wide.of_type, names):
            pass
        return narrow.relation in names

    def rule_holds(self, rule: Rule, node: Node) -> bool:
        """Whether the rule would hold for a relation that no warrant and no other rule names."""
        unnamed = node._replace(relation="")
        model = {**self.facts.model, node.type: {**self.relations(node), unnamed.relation: rule}}
        return replace(self.facts, model=model).holds(unnamed, self.subject)

    def holding(self, node: Node) -> list[Warrant]:
        """The warrants on the node whose policy holds, oldest first."""
        ground = self.ground
        stored = [warrant for warrant in ground.warrants_on(node) if ground.policy(warrant) == Truth.TRUE]
        return sorted(stored, key=lambda warrant: (warrant.created_at, warrant.number))

    def relations(self, node: Node) -> Mapping[str, Rule]:
        return self.facts.model.get(node.type, {})

    @property
    def ground(self) -> Ground:
        return Ground(self.facts.model, self.facts.warrants, self.subject, self.facts.policy_holds)


def arrow_of(rule: Mapping[str, Any]) -> Arrow:
    return Arrow(rule["inheritIf"], rule["ofType"], rule["withRelation"])
