"""Determines which relations an object may have, or give, by existing alone: no warrant names it.

This is what the rules and the warrant patterns of several models allow, whatever warrants there are. Where an object
that is created or deleted can have and give nothing, nothing has to be searched for it."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial

from magistrate.engine.difference.influences import list_references
from magistrate.engine.lists.reverse_graph import Target
from magistrate.engine.model.model import Model
from magistrate.engine.names import WILDCARD, RelationName, TypeName
from magistrate.engine.nesting import fold
from magistrate.engine.rules.rule import Combined, Rule
from magistrate.engine.steps import Checkpoints
from magistrate.engine.subjects import SubjectKind, classify_subject
from magistrate.engine.truth import FALSE, TRUE, Truth
from magistrate.engine.warrants.warrant import WarrantPattern
from magistrate.engine.work import Work

USERSETS = (SubjectKind.USERSET, SubjectKind.WILDCARD_USERSET)

LeafBound = Callable[[Rule], bool]
"""Returns whether a rule without rules within it may hold."""


class AccessByExistence:
    """Holds what objects may have and give, for each type that was examined."""

    def __init__(self, models: Sequence[Model]) -> None:
        self._models = models
        self._had: dict[TypeName, Collection[Target]] = {}
        self._given: dict[TypeName, Collection[Target]] = {}

    def find_had(self, subject_type: TypeName, work: Work) -> Checkpoints[Collection[Target]]:
        """Returns the relations that a subject of this type may have on other objects, and on itself."""
        if subject_type not in self._had:
            possible: set[Target] = set()
            for model in self._models:
                possible |= yield from _find_had(model, subject_type, work)
            self._had[subject_type] = possible
        return self._had[subject_type]

    def find_given(self, object_type: TypeName, work: Work) -> Checkpoints[Collection[Target]]:
        """Returns the relations that subjects may have on an object of this type."""
        if object_type not in self._given:
            possible: set[Target] = set()
            for model in self._models:
                possible |= yield from _find_given(model, object_type, work)
            self._given[object_type] = possible
        return self._given[object_type]


def _find_kind(pattern: WarrantPattern) -> SubjectKind:
    return classify_subject(pattern.subject_id, pattern.subject_relation)


def _find_had(model: Model, subject_type: TypeName, work: Work) -> Checkpoints[set[Target]]:
    possible = {
        (pattern.object_type, pattern.relation)
        for pattern in model.patterns
        if pattern.subject_type == subject_type and _find_kind(pattern) is SubjectKind.WILDCARD
    }
    groups = [pattern for pattern in model.patterns if _find_kind(pattern) in USERSETS]
    # Nothing is known of a type that is not defined; with a policy that is unknown, such access is conditional.
    possible.update(
        (pattern.object_type, pattern.relation) for pattern in groups if pattern.subject_type not in model.types
    )

    def may_hold(of_type: TypeName, rule: Rule) -> bool:
        return _refers_to(model, possible, of_type, rule)

    yield from _extend(model, possible, model.types, groups, may_hold=may_hold, work=work)
    return possible


def _find_given(model: Model, object_type: TypeName, work: Work) -> Checkpoints[set[Target]]:
    wildcards = [
        pattern for pattern in model.patterns if pattern.object_type == object_type and pattern.object_id == WILDCARD
    ]
    possible: set[Target] = {(pattern.object_type, pattern.relation) for pattern in wildcards}
    links = {pattern.relation for pattern in wildcards}

    def may_hold(of_type: TypeName, rule: Rule) -> bool:
        references = list_references(rule)
        linked = (
            *references.links,
            *((link.with_relation, link.of_type, link.relation) for link in references.quantified),
        )
        is_linked = any(with_relation in links for with_relation, _, _ in linked)
        return is_linked or any((of_type, relation) in possible for relation in references.relations)

    types = [object_type] if object_type in model.types else []
    yield from _extend(model, possible, types, (), may_hold=may_hold, work=work)
    return possible


def _refers_to(model: Model, possible: Collection[Target], of_type: TypeName, rule: Rule) -> bool:
    """Returns whether a rule refers to one of these relations, on the same object or on others, or to a type that is
    not defined, or is a quantifier: it is unknown for all subjects where a warrant links any object."""
    references = list_references(rule)
    targets: list[Target] = [(of_type, relation) for relation in references.relations]
    targets += [(linked_type, relation) for _, linked_type, relation in references.links]
    if references.quantified or any(linked_type not in model.types for linked_type, _ in targets):
        return True
    return any(target in possible for target in targets)


def _extend(
    model: Model,
    possible: set[Target],
    types: Iterable[TypeName],
    groups: Collection[WarrantPattern],
    *,
    may_hold: Callable[[TypeName, Rule], bool],
    work: Work,
) -> Checkpoints[None]:
    """Adds the relations of these types that hold if those do which are possible, until there are no more."""
    rules = [(of_type, *item) for of_type in types for item in model.types[of_type].relations.items()]
    count = -1
    while count != len(possible):
        count = len(possible)
        possible.update(_list_of_groups(possible, groups))
        yield from work.charge(len(groups) // 10)
        for of_type, relation, rule in rules:
            if (of_type, relation) not in possible and _find_bound(rule, partial(may_hold, of_type)) is not FALSE:
                possible.add((of_type, relation))
            yield from work.charge(rule.size)


def _list_of_groups(possible: Collection[Target], groups: Iterable[WarrantPattern]) -> Iterator[Target]:
    for pattern in groups:
        if (pattern.subject_type, RelationName(pattern.subject_relation)) in possible:
            yield pattern.object_type, pattern.relation


def _find_bound(rule: Rule, may_hold: LeafBound) -> Truth:
    """Returns the greatest value that a rule can have."""

    def find_bound(inner: Rule, highs: Sequence[Truth]) -> Truth:
        if isinstance(inner, Combined) and inner.leaf is not None:
            return TRUE
        if isinstance(inner, Combined) and inner.quantifier is None:
            return inner.bounds([FALSE] * len(highs), highs)[1]
        return TRUE if may_hold(inner) or any(highs) else FALSE

    return fold(rule, lambda inner: inner.rules, find_bound)
