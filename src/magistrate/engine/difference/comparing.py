"""Compares the values of relations in two states, and reports what was gained and lost.

A subject has access if the check without a context is allowed (TRUE). It has conditional access if that check is not,
but may be allowed with a context (UNKNOWN). Either can be gained or lost.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from magistrate.engine.difference.reverse_expansion import ObjectRelation
from magistrate.engine.difference.values import SubjectSets
from magistrate.engine.query.search import Checkpoints
from magistrate.engine.terms import WILDCARD, ObjectId, ObjectRef, RelationName, TypeName
from magistrate.engine.truth import FALSE, TRUE, UNDEFINED, UNKNOWN, Truth
from magistrate.engine.work import Work


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
    return {one for one in listed if _is_different(before.default(one), after.default(one))}


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
    listed = {one for one in (*before.result_sets, *after.result_sets) if one is not None}
    needed = types_to_list(before, after)
    changes: list[AccessChange] = []
    for of_type in sorted({*listed, *existence.types, *(existing if None in needed else ())}):
        ids = {*before.of_type(of_type).exceptions, *after.of_type(of_type).exceptions, *existence.list_ids(of_type)}
        if (of_type if of_type in listed else None) in needed:
            ids.update(existing.get(of_type, ()))
        for id in ids:
            subject = ObjectRef(of_type, id)
            values = existence.restrict(subject, before.value_of(subject), after.value_of(subject))
            changes += compare_values(node, subject, *values)
            work.spend(1)
            if work.needs_checkpoint:
                yield None
        if of_type in listed:
            wildcard = ObjectRef(of_type, WILDCARD)
            changes += compare_values(node, wildcard, before.wildcard(of_type), after.wildcard(of_type))
    return changes
