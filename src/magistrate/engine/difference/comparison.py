"""Compares the values of relations in two states, and reports what was gained and lost.

A subject has access if the check without a context is allowed (TRUE). It has conditional access if that check is not,
but may be allowed with a context (UNKNOWN). Either can be gained or lost.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import msgspec
from pyroaring import FrozenBitMap

from magistrate.engine.difference.origins import Change, ChangeOrigin
from magistrate.engine.difference.reverse_expansion import (
    NOTHING_REACHED,
    ObjectRelation,
    Reach,
    ReverseExpansion,
    begin_reach,
)
from magistrate.engine.evaluation.check import Check
from magistrate.engine.evaluation.conditions import ANY_CONTEXT
from magistrate.engine.evaluation.evaluation import Evaluation, add_check, decide_added
from magistrate.engine.lists.candidates import NOBODY
from magistrate.engine.lists.results import EXPLICIT, ListValue, ResultSet, truth_of
from magistrate.engine.lists.reverse_graph import Target
from magistrate.engine.lists.subjects import Root, SubjectSearch
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.steps import Checkpoints, Steps
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.truth import FALSE, TRUE, UNDEFINED, UNKNOWN, Truth
from magistrate.engine.work import ITEMS_AT_ONCE, Work

_NOBODY_AT_ALL = Subject(TypeName(""), WILDCARD)
"""Stands for a subject that no warrant names, and that is of a type that no warrant names."""


@dataclass(frozen=True, slots=True)
class SubjectSets:
    """Holds the values of one relation on one object for all subjects, by their type; None stands for types that are
    not listed."""

    result_sets: Mapping[TypeName | None, ResultSet]

    def of_type(self, of_type: TypeName | None) -> ResultSet:
        return self.result_sets.get(of_type) or self.result_sets[None]

    def value_of(self, subject: ObjectRef) -> Truth:
        return truth_of(self.of_type(subject.type).value(subject.id))

    def default(self, of_type: TypeName | None) -> Truth:
        return truth_of(self.of_type(of_type).default)

    def wildcard(self, of_type: TypeName) -> Truth:
        """Returns the value of the wildcard of a type, as a subject of its own: a warrant to it gives the relation."""
        default, unnamed = self.of_type(of_type).default, self.result_sets[None].default
        if default is EXPLICIT or default >= TRUE > unnamed:
            return TRUE
        return UNKNOWN if default is UNKNOWN and unnamed is FALSE else FALSE

    def may_concern_any(self) -> bool:
        """Returns whether subjects that no warrant names have a value."""
        return any(result_set.default for result_set in self.result_sets.values())

    def list_concerned(self) -> Iterable[ObjectRef]:
        """Yields the subjects with a value, provided that only those have one that warrants name."""
        for of_type, result_set in self.result_sets.items():
            if of_type is not None:
                yield from (
                    ObjectRef(of_type, subject_id) for subject_id, value in result_set.exceptions.items() if value
                )


def combine_values(with_any_context: ListValue, without_context: ListValue) -> ListValue:
    """Returns the value, given the two that it consists of."""
    if without_context >= TRUE:
        return without_context
    return FALSE if with_any_context >= TRUE else with_any_context


def combine_sets(with_any_context: SubjectSets, without_context: SubjectSets) -> SubjectSets:
    """Returns the values of the same relation, given the two that each consists of."""
    combined: dict[TypeName | None, ResultSet] = {}
    for of_type in with_any_context.result_sets:
        either, without = with_any_context.of_type(of_type), without_context.of_type(of_type)
        values = combined[of_type] = ResultSet(combine_values(either.default, without.default))
        for subject_id in (*either.exceptions, *without.exceptions):
            values.exceptions[subject_id] = combine_values(either.value(subject_id), without.value(subject_id))
    return SubjectSets(combined)


NO_SUBJECTS = SubjectSets({None: ResultSet()})
"""Holds the values of a relation that is not defined."""


def find_subject_sets(search: SubjectSearch, roots: Sequence[Root]) -> Steps[Mapping[Root, SubjectSets | None]]:
    """Returns the values of these relations on objects; None for all of them if one depends on its own negation."""
    result_sets = yield from search.find_result_sets(roots)
    if result_sets is None:
        return dict.fromkeys(roots)
    return {root: SubjectSets({of_type: by_root[root] for of_type, by_root in result_sets.items()}) for root in roots}


def decide_checks(evaluation: Evaluation, checks: Sequence[Check]) -> Steps[list[Truth]]:
    """Returns the values of the checks, whose context is ANY_CONTEXT. The evaluation may have decided others before."""
    values = yield from _decide(evaluation, checks)
    undecided = [place for place, value in enumerate(values) if value in (UNKNOWN, UNDEFINED)]
    alone = [msgspec.structs.replace(checks[place], context={}) for place in undecided]
    for place, value in zip(undecided, (yield from _decide(evaluation, alone)) if alone else (), strict=True):
        values[place] = truth_of(combine_values(values[place], value))
    return values


def _decide(evaluation: Evaluation, checks: Sequence[Check]) -> Steps[list[Truth]]:
    nodes = []
    for check in checks:
        evaluation.work.spend(1)
        nodes.append((yield from add_check(evaluation, check)))
    yield from decide_added(evaluation)
    return [FALSE if node.value is None else node.value for node in nodes]


def check_subjects(
    evaluation: Evaluation,
    by_warrants_alone: Evaluation,
    root: Root,
    subjects: Mapping[TypeName, Sequence[ObjectId]],
) -> Steps[SubjectSets]:
    """Returns the values of a relation on an object that depends on its own negation, so that each subject has to be
    checked by itself: all these, which must include those that warrants name. `by_warrants_alone` evaluates a model
    without rules."""
    object_ref, relation = root

    def build_check(of_type: TypeName, subject_id: ObjectId) -> Check:
        return Check(
            object_ref, relation, _NOBODY_AT_ALL if subject_id == NOBODY else Subject(of_type, subject_id), ANY_CONTEXT
        )

    refs = [(of_type, subject_id) for of_type, ids in subjects.items() for subject_id in (*ids, WILDCARD)]
    values = yield from decide_checks(evaluation, [build_check(*ref) for ref in (*refs, (TypeName(""), NOBODY))])
    wildcards = [build_check(of_type, WILDCARD) for of_type in subjects]
    explicit = yield from decide_checks(by_warrants_alone, wildcards)
    result_sets: dict[TypeName | None, ResultSet] = {None: ResultSet(values[-1])}
    result_sets |= {of_type: ResultSet() for of_type in subjects}
    is_explicit = {of_type: value is TRUE for of_type, value in zip(subjects, explicit, strict=True)}
    for (of_type, subject_id), value in zip(refs, values, strict=False):
        if subject_id == WILDCARD:
            default: ListValue = EXPLICIT if is_explicit[of_type] else value
            result_sets[of_type].default = default
        else:
            result_sets[of_type].exceptions[subject_id] = value
    return SubjectSets(result_sets)


class AccessChange(NamedTuple):
    """Represents that a subject gained or lost a relation on an object: ('document', 'plan', 'viewer', 'user', 'kim',
    False, True, True). The first six are unique in a difference, and what it is sorted by.

    `is_raised`: the value of the check is greater in the second state; conditional access is lost thus when it becomes
    access. It is None between UNKNOWN and UNDEFINED, because an exclusion does not change their order."""

    type: TypeName
    id: ObjectId
    relation: RelationName
    subject_type: TypeName
    subject_id: ObjectId
    is_conditional: bool
    is_gained: bool
    is_raised: bool | None

    @property
    def node(self) -> ObjectRelation:
        return ObjectRelation(self.type, self.id, self.relation)

    @property
    def subject(self) -> ObjectRef:
        return ObjectRef(self.subject_type, self.subject_id)


@dataclass(frozen=True, slots=True)
class Existence:
    """Holds the objects that exist in only one of the states. Access needs that its object and subject exist; those
    that exist in neither count as if they did, because only callers name them."""

    created: Collection[ObjectRef] = frozenset()
    deleted: Collection[ObjectRef] = frozenset()

    def restrict(self, ref: ObjectRef, before: Truth, after: Truth) -> tuple[Truth, Truth]:
        """Returns the two values as far as the object or subject exists."""
        return FALSE if ref in self.created else before, FALSE if ref in self.deleted else after

    def list_ids(self, of_type: TypeName) -> Iterator[ObjectId]:
        return (ref.id for refs in (self.created, self.deleted) for ref in refs if ref.type == of_type)

    @property
    def types(self) -> set[TypeName]:
        return {ref.type for refs in (self.created, self.deleted) for ref in refs}


def compare_values(node: ObjectRelation, subject: ObjectRef, before: Truth, after: Truth) -> Iterator[AccessChange]:
    """Yields what a subject gained and lost."""
    is_raised = None if {before, after} == {UNKNOWN, UNDEFINED} else after > before
    for value, is_conditional in ((TRUE, False), (UNKNOWN, True)):
        if (before is value) != (after is value):
            yield AccessChange(*node, subject.type, subject.id, is_conditional, after is value, is_raised)


def types_to_list(before: SubjectSets, after: SubjectSets) -> set[TypeName | None]:
    """Returns the types of which all existing objects are needed for a comparison; None stands for all types that are
    not listed."""
    listed = (*before.result_sets, *after.result_sets)
    return {of_type for of_type in listed if _is_different(before.default(of_type), after.default(of_type))}


def _is_different(before: Truth, after: Truth) -> bool:
    return before is not after and (before in (TRUE, UNKNOWN) or after in (TRUE, UNKNOWN))


def compare_sets(
    node: ObjectRelation,
    before: SubjectSets,
    after: SubjectSets,
    existence: Existence,
    existing: Mapping[TypeName, Sequence[ObjectId]],
    work: Work,
) -> Checkpoints[list[AccessChange]]:
    """Returns what all subjects gained and lost, in no particular order. `existing` has the objects that exist in one
    of the states, of those types that `types_to_list` returns. In a state in which the object does not exist, it has
    NO_SUBJECTS."""
    listed = {name for name in (*before.result_sets, *after.result_sets) if name is not None}
    needed = types_to_list(before, after)
    changes: list[AccessChange] = []
    for of_type in sorted({*listed, *existence.types, *(existing if None in needed else ())}):
        ids = {*before.of_type(of_type).exceptions, *after.of_type(of_type).exceptions, *existence.list_ids(of_type)}
        if (of_type if of_type in listed else None) in needed:
            ids.update(existing.get(of_type, ()))
        subjects = (ObjectRef(of_type, subject_id) for subject_id in ids)
        while some := [*islice(subjects, ITEMS_AT_ONCE)]:
            changes += _compare_each(node, some, before=before, after=after, existence=existence)
            yield from work.charge(len(some))
        if of_type in listed:
            wildcard = ObjectRef(of_type, WILDCARD)
            changes += compare_values(node, wildcard, before.wildcard(of_type), after.wildcard(of_type))
    return changes


def _compare_each(
    node: ObjectRelation, subjects: Sequence[ObjectRef], before: SubjectSets, after: SubjectSets, existence: Existence
) -> Iterator[AccessChange]:
    """Yields what these subjects gained and lost."""
    for subject in subjects:
        values = existence.restrict(subject, before.value_of(subject), after.value_of(subject))
        yield from compare_values(node, subject, *values)


Concerned = frozenset[ObjectRef] | None
"""Represents the subjects that something concerns; None stands for any."""


class Affected:
    """Holds the relations on objects that the origins affect. `concerned` has the subjects of each origin.

    `nodes` are those on one object; `everywhere` has the relations that may be affected on every object."""

    def __init__(self, origins: Sequence[ChangeOrigin], concerned: Sequence[Concerned]) -> None:
        self._origins = origins
        self._concerned = concerned
        self._reached: Mapping[ObjectRelation, Reach] = {}
        self._further: dict[ObjectRelation, set[ObjectRef] | None] = {}
        self._subjects: dict[FrozenBitMap, Concerned] = {}

    def find_nodes(self, expansion: ReverseExpansion) -> Steps["Affected"]:
        """Finds all nodes; to be completed before anything else, except `add`. Returns itself."""
        yield from expansion.expand(node for origin in self._origins for node, _ in origin.starts)
        begun = (
            (node, begin_reach(number, direction))
            for number, origin in enumerate(self._origins)
            for node, direction in origin.starts
        )
        self._reached = yield from expansion.propagate(begun, len(self._origins))
        return self

    def add(self, node: ObjectRelation, subjects: Collection[ObjectRef] | None) -> None:
        """Adds a node that is affected for these subjects, None for any, although no origin affects it."""
        subjects_before = self._further.setdefault(node, set())
        if subjects is None:
            self._further[node] = None
        elif subjects_before is not None:
            subjects_before.update(subjects)

    @property
    def nodes(self) -> Iterator[ObjectRelation]:
        return (node for node in dict.fromkeys((*self._reached, *self._further)) if node.id != WILDCARD)

    @property
    def everywhere(self) -> Iterator[Target]:
        both = dict.fromkeys((*self._reached, *self._further))
        return ((node.type, node.relation) for node in both if node.id == WILDCARD)

    def find_subjects(self, node: ObjectRelation, work: Work) -> Concerned:
        """Returns the subjects for whom the relation on this object may be affected."""
        concerned = [self._find_concerned(self.find_reach(node).all, work)]
        for place in (node, _find_anywhere(node)) if self._further else ():
            if place in self._further:
                further = self._further[place]
                concerned.append(None if further is None else frozenset(further))
        return _unite(concerned, work)

    def list_changes(self, numbers: FrozenBitMap, subject: ObjectRef) -> list[Change]:
        """Returns the changes of those of the origins with these numbers that concern a subject, each once, in their
        order."""
        changes: dict[int, Change] = {}
        for number in numbers:
            concerned = self._concerned[number]
            if concerned is None or subject in concerned:
                changes.setdefault(id(self._origins[number].change), self._origins[number].change)
        return [*changes.values()]

    def find_reach(self, node: ObjectRelation) -> Reach:
        """Returns the numbers of the origins that may change the relation on this object."""
        reach = self._reached.get(node, NOTHING_REACHED)
        anywhere = self._reached.get(_find_anywhere(node))
        return reach if anywhere is None else reach.union(anywhere)

    def _find_concerned(self, numbers: FrozenBitMap, work: Work) -> Concerned:
        if numbers not in self._subjects:
            concerned = [self._concerned[number] for number in numbers]
            work.spend(len(concerned))
            self._subjects[numbers] = _unite(concerned, work)
        return self._subjects[numbers]


def _find_anywhere(node: ObjectRelation) -> ObjectRelation:
    """Returns the same relation on every object of the type."""
    return ObjectRelation(node.type, WILDCARD, node.relation)


def _unite(concerned: Sequence[Concerned], work: Work) -> Concerned:
    if len(concerned) == 1:
        return concerned[0]
    united: set[ObjectRef] = set()
    for subjects in concerned:
        if subjects is None:
            return None
        united |= subjects
        work.spend(len(subjects) // 10)
    return frozenset(united)
