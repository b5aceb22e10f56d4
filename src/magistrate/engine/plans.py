"""What a check has to look at, worked out once for each relation instead of at every check.

A relation holds on an object if a warrant gives it or its rule holds. Rules that are mere alternatives (same object,
anyOf) are flattened away: if viewer inherits editor and editor owner, then *viewer* is one plan whose warrants are
those of all three. What is left are links to other objects, and combinations that must be decided as a whole."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial

from magistrate.engine.model import ObjectType
from magistrate.engine.rules.rule import Combined, Rule
from magistrate.engine.terms import RelationName, Revision, Subject, TypeName
from magistrate.engine.warrant_source import Shape
from magistrate.engine.warrants import WarrantForm

Place = tuple[TypeName, RelationName]


@dataclass(frozen=True, slots=True)
class Link:
    """Whoever has `relation` on an object of type `of_type` that a warrant of `with_relation` names has the relation
    of the plan here. `shape`: such warrants, but for those that name a group on such an object."""

    with_relation: RelationName
    of_type: TypeName
    relation: RelationName
    shape: Shape


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Alternatives: any of them gives the relation. `relation` is None for alternatives within a combination.

    - `relations`: a warrant of one of these to the subject; the plan's own relation comes first;
    - `group_relations`: a warrant of one of these to a group the subject is in;
    - `links`, `parts`.

    `groups`: all warrants to groups that matter, those of links among them; None if none can.

    `is_defined` is false if the object type does not exist: then it is not known what else might give the relation.
    """

    type: TypeName
    relation: RelationName | None
    relations: tuple[RelationName, ...]
    group_relations: frozenset[RelationName]
    groups: Shape | None
    links: tuple[Link, ...]
    parts: "tuple[Part, ...]"
    is_defined: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Gate:
    """A combination on an object of `type`, decided from its parts on the same object."""

    type: TypeName
    rule: Combined
    parts: "tuple[Part, ...]"


Part = Plan | Gate | RelationName
"""A name stands for the plan of that relation, which may lead back to where it stands."""


class Model:
    """All object types as of one revision, and every form that warrants had; immutable. `revision` is the one that
    last changed any of it."""

    def __init__(self, types: Mapping[TypeName, ObjectType], revision: Revision, forms: Set[WarrantForm]) -> None:
        self.types = types
        self.revision = revision
        self._object_wildcards = {(form.object_type, form.relation) for form in forms if form.object_id}
        self._subject_wildcards = {(form.object_type, form.relation) for form in forms if form.subject_id}
        self._plans: dict[tuple[TypeName, str], Plan] = {}

    def plan(self, of_type: TypeName, relation: RelationName) -> Plan:
        """Compiled when it is first asked for; always the same for the same names."""
        key = (of_type, relation)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self._compiled(of_type, relation)
        return plan

    def shape(
        self, of_type: TypeName, relations: tuple[RelationName, ...], subjects: Subject | TypeName | None
    ) -> Shape:
        """One that does not look for `*` where none is."""
        places = {(of_type, relation) for relation in relations}
        on_all, to_all = places & self._object_wildcards, places & self._subject_wildcards
        return Shape(of_type, relations, subjects, bool(on_all), bool(to_all))

    def _compiled(self, of_type: TypeName, relation: RelationName) -> Plan:
        defined = self.types.get(of_type)
        if defined is None:
            return Plan(of_type, relation, (relation,), frozenset(), None, (), (), is_defined=False)
        flattened = _Alternatives(of_type, self)
        relations: dict[RelationName, None] = {}
        waiting = [relation]
        while waiting:
            name = waiting.pop(0)
            if name not in relations:
                relations[name] = None
                # One that was dropped still counts where a warrant names the subject itself (contract section 3).
                if name in defined.relations:
                    defined.relations[name].join(flattened)
                waiting += flattened.take_named()
        groups = [name for name in relations if name in defined.relations]
        return flattened.plan(relation, tuple(relations), groups, tuple(flattened.gates))


class _Alternatives:
    """Collects those of a relation, or of a rule within a combination."""

    def __init__(self, of_type: TypeName, model: Model) -> None:
        self._model = model
        self.gates: list[Gate] = []
        self.named: list[RelationName] = []
        self._type = of_type
        self._links: dict[tuple[RelationName, TypeName, RelationName], None] = {}

    def add_relation(self, relation: RelationName) -> None:
        self.named.append(relation)

    def add_link(self, with_relation: RelationName, of_type: TypeName, relation: RelationName) -> None:
        self._links[with_relation, of_type, relation] = None

    def add_combination(self, rule: Combined) -> None:
        self.gates.append(
            Gate(self._type, rule, tuple(_part(self._type, self._model, branch) for branch in rule.rules))
        )

    def take_named(self) -> list[RelationName]:
        named, self.named = self.named, []
        return named

    def part(self) -> Part:
        """What was collected, as part of a combination."""
        parts: tuple[Part, ...] = (*self.named, *self.gates)
        return parts[0] if len(parts) == 1 and not self._links else self.plan(None, (), [], parts)

    def plan(
        self,
        relation: RelationName | None,
        relations: tuple[RelationName, ...],
        group_relations: Sequence[RelationName],
        parts: tuple[Part, ...],
    ) -> Plan:
        shape = partial(self._model.shape, self._type)
        shapes = {(name, of_type): shape((name,), of_type) for name, of_type, _ in self._links}
        links = tuple(Link(*names, shapes[names[:2]]) for names in self._links)
        with_groups = tuple(dict.fromkeys([*group_relations, *(link.with_relation for link in links)]))
        groups = shape(with_groups, None) if with_groups else None
        return Plan(self._type, relation, relations, frozenset(group_relations), groups, links, parts)


def _part(of_type: TypeName, model: Model, rule: Rule) -> Part:
    """A rule within a combination. The relations it names stay whole: they are decided once, wherever they stand."""
    alternatives = _Alternatives(of_type, model)
    rule.join(alternatives)
    return alternatives.part()
