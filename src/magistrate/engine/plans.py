"""What a check has to look at, worked out once for each relation instead of at every check.

A relation holds on an object if a warrant gives it or its rule holds. Rules that are mere alternatives (same object,
anyOf) are flattened away: if viewer inherits editor and editor owner, then *viewer* is one plan whose warrants are
those of all three. What is left are links to other objects, and combinations that must be decided as a whole."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from magistrate.engine.model import ObjectType
from magistrate.engine.rules.rule import Combined, Rule
from magistrate.engine.terms import RelationName, Revision, TypeName
from magistrate.engine.warrant_source import Shape


@dataclass(frozen=True, slots=True)
class Link:
    """Whoever has `relation` on an object that `shape` finds has the relation of the plan here."""

    shape: Shape
    of_type: TypeName
    relation: RelationName


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Alternatives: any of them gives the relation. `relation` is None for alternatives within a combination.

    - `relations`: a warrant of one of these to the subject; the plan's own relation comes first;
    - `groups`: a warrant of this shape to a group the subject is in, None if there can be none;
    - `links`, `parts`.

    `is_defined` is false if the object type does not exist: then it is not known what else might give the relation.
    """

    type: TypeName
    relation: RelationName | None
    relations: tuple[RelationName, ...]
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
    """All object types as of one revision, immutable; `revision` is the one that last wrote an object type."""

    def __init__(self, types: Mapping[TypeName, ObjectType], revision: Revision) -> None:
        self.types = types
        self.revision = revision
        self._plans: dict[tuple[TypeName, str], Plan] = {}

    def plan(self, of_type: TypeName, relation: RelationName) -> Plan:
        """Compiled when it is first asked for; always the same for the same names."""
        key = (of_type, relation)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self._compiled(of_type, relation)
        return plan

    def _compiled(self, of_type: TypeName, relation: RelationName) -> Plan:
        defined = self.types.get(of_type)
        if defined is None:
            return Plan(of_type, relation, (relation,), None, (), (), is_defined=False)
        flattened = _Flattened(of_type)
        waiting = [relation]
        while waiting:
            name = waiting.pop(0)
            if name not in flattened.relations:
                flattened.relations[name] = name in defined.relations
                if name in defined.relations:
                    defined.relations[name].join(flattened)
                waiting += flattened.take_named()
        groups = tuple(name for name, exists in flattened.relations.items() if exists)
        return Plan(
            of_type,
            relation,
            tuple(flattened.relations),
            Shape(of_type, groups, None) if groups else None,
            tuple(flattened.links),
            tuple(flattened.gates),
        )


@dataclass(slots=True)
class _Flattened:
    """Collects the alternatives of a relation. `relations` tells of each whether the type defines it: one that was
    dropped still counts where a warrant names the subject itself (contract section 3)."""

    type: TypeName
    relations: dict[RelationName, bool] = field(default_factory=dict)
    links: dict[Link, None] = field(default_factory=dict)
    gates: list[Gate] = field(default_factory=list)
    named: list[RelationName] = field(default_factory=list)

    def add_relation(self, relation: RelationName) -> None:
        self.named.append(relation)

    def add_link(self, with_relation: RelationName, of_type: TypeName, relation: RelationName) -> None:
        self.links[Link(Shape(self.type, (with_relation,), of_type), of_type, relation)] = None

    def add_combination(self, rule: Combined) -> None:
        self.gates.append(Gate(self.type, rule, tuple(_part(self.type, branch) for branch in rule.rules)))

    def take_named(self) -> list[RelationName]:
        named, self.named = self.named, []
        return named


def _part(of_type: TypeName, rule: Rule) -> Part:
    """A rule within a combination. The relations it names stay whole: they are decided once, wherever they stand."""
    alternatives = _Flattened(of_type)
    rule.join(alternatives)
    parts: tuple[Part, ...] = (*alternatives.named, *alternatives.gates)
    if len(parts) == 1 and not alternatives.links:
        return parts[0]
    return Plan(of_type, None, (), None, tuple(alternatives.links), parts)
