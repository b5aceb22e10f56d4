"""What a check has to look at, worked out once for each relation instead of at every check.

A relation holds on an object if a warrant gives it or its rule holds. Rules that are mere alternatives (same object,
anyOf) are flattened away: if viewer inherits editor and editor owner, then *viewer* is one plan whose warrants are
those of all three. What is left are links to other objects, and combinations that must be decided as a whole.

Two things are left out because they add nothing: what no warrant has the form of, and a link to those who have a
relation if there is the same link to those who have another relation that includes it. The editors of a folder need
not be looked for where its viewers are, if every editor is a viewer."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from magistrate.engine.model import ObjectType
from magistrate.engine.rules.rule import Combined, Rule
from magistrate.engine.terms import WILDCARD, RelationName, Revision, Subject, TypeName
from magistrate.engine.warrant_source import Shape
from magistrate.engine.warrants import Warrant, WarrantForm

MOST_STRANGE_PLANS = 1_000
"""Of relations that nobody has defined and no warrant has had."""


class LinkNames(NamedTuple):
    """A link as a rule names it."""

    with_relation: RelationName
    of_type: TypeName
    relation: RelationName


@dataclass(frozen=True, slots=True)
class Link:
    """Whoever has `relation` on an object of type `of_type` that a warrant of `with_relation` names has the relation
    of the plan here. `shape`: such warrants, but for those that name a group on such an object; None if all do."""

    with_relation: RelationName
    of_type: TypeName
    relation: RelationName
    shape: Shape | None

    def follows(self, warrant: Warrant | WarrantForm) -> bool:
        """Whether a warrant leads on. One to a group does as if it named the object (contract section 3)."""
        return warrant.relation == self.with_relation and warrant.subject_type == self.of_type


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Alternatives: any of them gives the relation. `relation` is None for alternatives within a combination.

    - `relations`: a warrant of one of these to the subject; the plan's own relation comes first;
    - `group_relations`: a warrant of one of these to a group the subject is in;
    - `links`, `parts`.

    `groups`: all warrants to groups that matter, those of links among them; None if there is none.

    `places` has all of these by the order they are written in, beginning with the plan's own relation.

    `is_defined` is false if the object type does not exist: then it is not known what else might give the relation.
    """

    type: TypeName
    relation: RelationName | None
    relations: tuple[RelationName, ...]
    group_relations: frozenset[RelationName]
    groups: Shape | None
    links: tuple[Link, ...]
    parts: "tuple[Part, ...]"
    places: "Mapping[RelationName | Link | Part, int]"
    is_defined: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Gate:
    """A combination on an object of `type`, decided from its parts on the same object."""

    type: TypeName
    rule: Combined
    parts: "tuple[Part, ...]"


Part = Plan | Gate | RelationName
"""A name stands for the plan of that relation, which may lead back to where it stands."""

Way = RelationName | LinkNames | Combined
"""How a rule can hold: a relation or a combination on the same object, or a relation on a linked one."""


class Model:
    """All object types as of one revision, and every form that warrants had; immutable. `revision` is the one that
    last changed any of it."""

    def __init__(self, types: Mapping[TypeName, ObjectType], revision: Revision, forms: Set[WarrantForm]) -> None:
        self.types = types
        self.revision = revision
        self.forms = forms
        self._forms: dict[tuple[str, str], list[WarrantForm]] = defaultdict(list)
        for form in sorted(forms):
            self._forms[form.object_type, form.relation].append(form)
        self._plans: dict[tuple[str, str], Plan] = {}
        self._strange_plans: dict[tuple[str, str], Plan] = {}
        self._included: dict[tuple[str, str], Set[str]] = {}
        self._without_rules: Model | None = None

    def plan(self, of_type: TypeName, relation: RelationName) -> Plan:
        """Compiled when it is first asked for. Always the same for the same names, if they are those of a relation that
        is defined or that a warrant had; others lead nowhere, and anyone may ask for any number of them."""
        key = (of_type, relation)
        plan = self._plans.get(key) or self._strange_plans.get(key)
        if plan is None:
            plan = self._compiled(of_type, relation)
            if self.knows(of_type, relation):
                self._plans[key] = plan
            else:
                if len(self._strange_plans) >= MOST_STRANGE_PLANS:
                    self._strange_plans.clear()
                self._strange_plans[key] = plan
        return plan

    def knows(self, of_type: TypeName, relation: RelationName) -> bool:
        """Whether it is defined, or a warrant had it."""
        defined = self.types.get(of_type)
        return (defined is not None and relation in defined.relations) or (of_type, relation) in self._forms

    def without_rules(self) -> "Model":
        """The same types and relations, which only warrants give."""
        if self._without_rules is None:
            types = {name: one.without_rules() for name, one in self.types.items()}
            self._without_rules = Model(types, self.revision, self.forms)
        return self._without_rules

    def forms_on(self, of_type: TypeName, relations: Iterable[str]) -> list[WarrantForm]:
        """Those of warrants of these relations."""
        return [form for relation in relations for form in self._forms.get((of_type, relation), ())]

    def shape(
        self, of_type: TypeName, relations: Sequence[RelationName], subjects: Subject | TypeName | None
    ) -> Shape | None:
        """One that looks for no relation and for no `*` that no such warrant has; None if there is no such warrant."""
        found = [form for form in self.forms_on(of_type, relations) if _is_among(form, subjects)]
        if not found:
            return None
        named = tuple(dict.fromkeys(form.relation for form in found))
        on_all, to_all = (any(form.object_id for form in found), any(form.subject_id for form in found))
        return Shape(of_type, named, subjects, on_all, to_all)

    def _compiled(self, of_type: TypeName, relation: RelationName) -> Plan:
        ways = self._flattened(of_type, relation)
        if of_type not in self.types:
            return Plan(of_type, relation, (relation,), frozenset(), None, (), (), {relation: 0}, is_defined=False)
        relations = tuple(way for way in ways if isinstance(way, str))
        # One that was dropped still counts where a warrant names the subject itself (contract section 3).
        with_groups = tuple(name for name in relations if name in self.types[of_type].relations)
        return self._planned(of_type, relation, ways, relations, with_groups)

    def _flattened(self, of_type: TypeName, relation: RelationName) -> list[Way]:
        """Every way to the relation on one object, in written order."""
        defined = self.types.get(of_type)
        ways: dict[Way, None] = {}
        waiting: list[Way] = [relation]
        while waiting:
            way = waiting.pop()
            if way not in ways:
                ways[way] = None
                if isinstance(way, str) and defined is not None and way in defined.relations:
                    waiting += reversed(_ways(defined.relations[way]))
        return list(ways)

    def _part(self, of_type: TypeName, rule: Rule) -> Part:
        """A rule within a combination. The relations it names stay whole: they are decided once, wherever they are."""
        ways = list(dict.fromkeys(_ways(rule)))
        if len(ways) == 1 and not isinstance(ways[0], LinkNames):
            return ways[0] if isinstance(ways[0], str) else self._gate(of_type, ways[0])
        return self._planned(of_type, None, ways, (), ())

    def _gate(self, of_type: TypeName, rule: Combined) -> Gate:
        return Gate(of_type, rule, tuple(self._part(of_type, branch) for branch in rule.rules))

    def _planned(
        self,
        of_type: TypeName,
        relation: RelationName | None,
        ways: Sequence[Way],
        relations: tuple[RelationName, ...],
        group_relations: tuple[RelationName, ...],
    ) -> Plan:
        needed = self._needed(of_type, [way for way in ways if isinstance(way, LinkNames)])
        written: list[RelationName | Link | Part] = []
        for way in ways:
            if isinstance(way, str):
                written.append(way)
            elif not isinstance(way, LinkNames):
                written.append(self._gate(of_type, way))
            elif way in needed:
                written.append(Link(*way, self.shape(of_type, (way.with_relation,), way.of_type)))
        links = tuple(one for one in written if isinstance(one, Link))
        among = {*relations}
        parts = tuple(one for one in written if not isinstance(one, Link) and one not in among)
        with_groups = (*group_relations, *(link.with_relation for link in links))
        groups = self.shape(of_type, tuple(dict.fromkeys(with_groups)), None)
        places = {one: place for place, one in enumerate(written)}
        return Plan(of_type, relation, relations, frozenset(group_relations), groups, links, parts, places)

    def _needed(self, of_type: TypeName, links: Sequence[LinkNames]) -> Set[LinkNames]:
        """Without those that no warrant makes, and those that another one includes."""
        made = {(form.relation, form.subject_type) for form in self.forms_on(of_type, {link[0] for link in links})}
        needed: dict[tuple[RelationName, TypeName], list[LinkNames]] = defaultdict(list)
        for link in links:
            target = link[:2]
            if target in made and not any(link.relation in self._relations_within(other) for other in needed[target]):
                within = self._relations_within(link)
                needed[target] = [*(other for other in needed[target] if other.relation not in within), link]
        return set(chain.from_iterable(needed.values()))

    def _relations_within(self, link: LinkNames) -> Set[str]:
        """All relations on the linked object that give the one that counts there."""
        key = (link.of_type, link.relation)
        if key not in self._included:
            self._included[key] = {way for way in self._flattened(*key) if isinstance(way, str)}
        return self._included[key]


class _Alternatives:
    """Collects the ways in which a rule can hold, in written order."""

    def __init__(self) -> None:
        self.ways: list[Way] = []

    def add_relation(self, relation: RelationName) -> None:
        self.ways.append(relation)

    def add_link(self, with_relation: RelationName, of_type: TypeName, relation: RelationName) -> None:
        self.ways.append(LinkNames(with_relation, of_type, relation))

    def add_combination(self, rule: Combined) -> None:
        self.ways.append(rule)


def _ways(rule: Rule) -> list[Way]:
    alternatives = _Alternatives()
    rule.join(alternatives)
    return alternatives.ways


def _is_among(form: WarrantForm, subjects: Subject | TypeName | None) -> bool:
    """Whether a warrant of the form can have the subjects of a Shape."""
    if subjects is None:
        return form.subject_relation != ""
    if not isinstance(subjects, Subject):
        return (form.subject_type, form.subject_relation) == (subjects, "")
    same_kind = (form.subject_type, form.subject_relation) == (subjects.type, subjects.relation or "")
    return same_kind and (subjects.id != WILDCARD or form.subject_id == WILDCARD)
