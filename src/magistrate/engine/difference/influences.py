"""Determines on which other relations each relation depends, by the rules and warrant patterns of several models.

This is what can matter, whatever warrants there are: each dependency says where to look for the warrants through which
a change propagates. A dependency is *opposite* if the one relation loses what the other gains, because the rule is
below an odd number of exclusions.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from typing import NamedTuple

from magistrate.engine.lists.reverse_graph import Target
from magistrate.engine.model.model import Model
from magistrate.engine.model.object_types import ObjectType
from magistrate.engine.names import RelationName, TypeName
from magistrate.engine.rules.rule import Combined, LinkNames, Rule
from magistrate.engine.steps import Checkpoints
from magistrate.engine.work import Work


class Dependent(NamedTuple):
    """Represents a relation that depends on another one of the same object."""

    relation: RelationName
    is_opposite: bool


class LinkedDependent(NamedTuple):
    """Represents that `relation` on objects of `type` depends on a relation of the objects that warrants of
    `with_relation` name."""

    type: TypeName
    with_relation: RelationName
    relation: RelationName
    is_opposite: bool


class Link(NamedTuple):
    """Represents an arrow of `dependent` to `relation` of the objects that a warrant names."""

    dependent: Dependent
    relation: RelationName


class References:
    """Implements BranchCollector: collects what one rule itself refers to."""

    def __init__(self) -> None:
        self.relations: list[RelationName] = []
        self.links: list[tuple[RelationName, TypeName, RelationName]] = []
        self.quantified: list[LinkNames] = []

    def add_relation(self, relation: RelationName) -> None:
        self.relations.append(relation)

    def add_link(self, with_relation: RelationName, of_type: TypeName, relation: RelationName) -> None:
        self.links.append((with_relation, of_type, relation))

    def add_operation(self, rule: Combined) -> None:
        """Adds what a quantifier examines; callers continue with the rules within another rule."""
        if rule.quantifier is not None:
            self.quantified.append(rule.quantifier.link)

    def add_rules(self, rules: Sequence[Rule]) -> None:
        """Adds nothing: callers continue with these rules."""


def list_references(rule: Rule) -> References:
    """Returns what one rule itself refers to, without the rules within it."""
    references = References()
    rule.join(references)
    return references


class Influences:
    """Holds the dependencies between the relations of several models.

    `computed` maps a relation to its dependents on the same object, `arrows` to those on other objects; `usersets` maps
    it to the types and relations of warrants that name its usersets. `links` maps the type, relation and subject type
    of a warrant to the arrows that follow it, and `quantified` to the relations that examine all such links; `groups`
    maps the same to the subject relations that such warrants have. `wildcards` has the type, relation, subject type and
    subject relation of the warrants whose subject id can be `*`.
    """

    def __init__(self, models: Sequence[Model]) -> None:
        self._models = models
        self.computed: dict[Target, dict[Dependent, None]] = defaultdict(dict)
        self.arrows: dict[Target, dict[LinkedDependent, None]] = defaultdict(dict)
        self.usersets: dict[Target, dict[Target, None]] = defaultdict(dict)
        self.links: dict[tuple[TypeName, RelationName, TypeName], dict[Link, None]] = defaultdict(dict)
        self.quantified: dict[tuple[TypeName, RelationName, TypeName], dict[RelationName, None]] = defaultdict(dict)
        self.groups: dict[tuple[TypeName, RelationName, TypeName], dict[str, None]] = defaultdict(dict)
        self.wildcards: set[tuple[TypeName, RelationName, TypeName, str]] = set()
        self._dependencies: dict[Target, dict[Target, None]] = defaultdict(dict)

    def collect(self, work: Work) -> Checkpoints[None]:
        """Reads the rules and patterns of the models; to be completed before anything else."""
        for object_type in _distinct_types(self._models):
            for relation, rule in object_type.relations.items():
                yield from self._add_rule(object_type.name, relation, rule, work)
        for pattern in dict.fromkeys(pattern for model in self._models for pattern in sorted(model.patterns)):
            names = (pattern.object_type, pattern.relation, pattern.subject_type)
            self.groups[names][pattern.subject_relation] = None
            if pattern.subject_id:
                self.wildcards.add((*names, pattern.subject_relation))
            if pattern.subject_relation:
                group = (pattern.subject_type, RelationName(pattern.subject_relation))
                self.usersets[group][names[:2]] = None
                self._dependencies[names[:2]][group] = None
            yield from work.charge(1)

    def _add_rule(self, of_type: TypeName, relation: RelationName, rule: Rule, work: Work) -> Checkpoints[None]:
        waiting: list[tuple[Rule, Set[bool]]] = [(rule, {False})]
        while waiting:
            inner_rule, opposite = waiting.pop()
            waiting += [(inner, _find_opposites(inner_rule, opposite)) for inner in inner_rule.rules]
            for is_opposite in opposite if not inner_rule.rules else ():
                self._add_references(of_type, Dependent(relation, is_opposite), inner_rule)
            yield from work.charge(1)

    def _add_references(self, of_type: TypeName, dependent: Dependent, rule: Rule) -> None:
        references = list_references(rule)
        for name in references.relations:
            self.computed[of_type, name][dependent] = None
            self._dependencies[of_type, dependent.relation][of_type, name] = None
        for with_relation, target_type, name in references.quantified:
            self.arrows[target_type, name][LinkedDependent(of_type, with_relation, *dependent)] = None
            self.quantified[of_type, with_relation, target_type][dependent.relation] = None
            self._dependencies[of_type, dependent.relation][target_type, name] = None
        for with_relation, target_type, name in references.links:
            self.arrows[target_type, name][LinkedDependent(of_type, with_relation, *dependent)] = None
            self.links[of_type, with_relation, target_type][Link(dependent, name)] = None
            self._dependencies[of_type, dependent.relation][target_type, name] = None

    def names_of(self, of_type: TypeName) -> Iterator[RelationName]:
        """Yields every relation on objects of a type that a rule, a definition or a warrant names."""
        defined = [model.types[of_type] for model in self._models if of_type in model.types]
        named = [relation for object_type in defined for relation in object_type.relations]
        named += [
            relation
            for target_type, relation in (*self.computed, *self.arrows, *self.usersets)
            if target_type == of_type
        ]
        named += [relation for target_type, relation, _ in self.groups if target_type == of_type]
        return iter(dict.fromkeys(named))

    def list_link_dependents(self, of_type: TypeName, with_relation: RelationName) -> Iterator[RelationName]:
        """Yields the relations on the same object that depend on links by a relation, to objects of any type."""
        for (target_type, relation, _), links in self.links.items():
            if (target_type, relation) == (of_type, with_relation):
                yield from (link.dependent.relation for link in links)
        for (target_type, relation, _), relations in self.quantified.items():
            if (target_type, relation) == (of_type, with_relation):
                yield from relations

    def find_relevant(self, targets: Iterable[Target], work: Work) -> Checkpoints[Collection[Target]]:
        """Returns all relations that these depend on, themselves included."""
        relevant = dict.fromkeys(targets)
        waiting = [*relevant]
        while waiting:
            for target in self._dependencies.get(waiting.pop(), ()):
                if target not in relevant:
                    relevant[target] = None
                    waiting.append(target)
            yield from work.charge(1)
        return relevant


def _find_opposites(rule: Rule, opposite: Set[bool]) -> Set[bool]:
    """Returns whether a relation may be opposite to one within a rule, given whether it may be so to the rule."""
    if rule.is_monotone:
        return opposite
    return {not is_opposite for is_opposite in opposite} if rule.is_antitone else {False, True}


def _distinct_types(models: Sequence[Model]) -> Iterator[ObjectType]:
    """Yields the object types of the models, those that two of them share once."""
    distinct: dict[TypeName, list[ObjectType]] = defaultdict(list)
    for model in models:
        for name, object_type in model.types.items():
            if all(object_type is not other for other in distinct[name]):
                distinct[name].append(object_type)
                yield object_type
