"""Finds objects that are alike for some subjects: each of these has the same relations on all of them.

What a rule gives on an object depends on the object through the warrants on it alone, and where it is `self`, on
whether the object is the subject. So objects are alike if the same warrants are on them, in both states that are
compared; of the warrants to single subjects, only those to subjects that are compared matter. Of a thousand
documents in one folder, each with another owner, most are alike for the ten people of a group.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence, Set
from itertools import islice

from magistrate.engine.difference.influences import Influences
from magistrate.engine.difference.origins import WarrantChange
from magistrate.engine.lists.reverse_graph import IDS_AT_ONCE
from magistrate.engine.model.model import Model
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.steps import Checkpoints, Steps, fetch_warrants
from magistrate.engine.subjects import select_kind
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.reader import WarrantRead, WarrantsByObject
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import ITEMS_FOR_A_NODE, Work

WARRANTS_AT_ONCE = 500
"""Limits the warrants that are looked at before the time slice may end; some tenths of a millisecond."""

Mark = Hashable
"""Represents one warrant on an object, in all that may matter."""

Signature = Hashable
"""Represents all warrants on an object that may matter; objects with equal ones are alike."""

WarrantFilter = Callable[[TypeName, RelationName, TypeName], bool]
"""Returns whether warrants with this object type, relation and subject type can matter at all."""


class AlikeObjects:
    """Finds signatures from the warrants of one of two states, and from what differs in the other. The `differing`
    objects exist in only one of the states: no other object is alike."""

    def __init__(
        self,
        influences: Influences,
        models: Sequence[Model],
        is_concerned: WarrantFilter,
        changes: Sequence[WarrantChange],
        differing: Collection[ObjectRef],
    ) -> None:
        self._influences = influences
        self._models = models
        self._is_concerned = is_concerned
        self._differing = differing
        self._changes = changes
        self._changes_by_object: dict[ObjectRef, list[WarrantChange]] | None = None
        self._requests: dict[TypeName, Sequence[WarrantsByObject]] = {}
        self._followed: dict[tuple[TypeName, RelationName, TypeName], bool] = {}

    def find_signatures(
        self, of_type: TypeName, ids: Sequence[ObjectId], subjects: Set[ObjectRef], work: Work
    ) -> Steps[Mapping[ObjectId, Signature]]:
        """Returns the signature of each of these objects, for these subjects. Raises BudgetExceeded: each warrant on
        the objects is charged."""
        by_object = yield from self._sort_changes(work)
        marks: dict[ObjectId, set[Mark]] = defaultdict(set)
        for start in range(0, len(ids), IDS_AT_ONCE):
            some = tuple(ids[start : start + IDS_AT_ONCE])
            reads = [WarrantRead(request, some) for request in self._list_requests(of_type)]
            for warrants in (yield from fetch_warrants(reads)) if reads else ():
                yield from self._mark_each(warrants, subjects, marks, work=work)
        signatures: dict[ObjectId, Signature] = {}
        for object_id in ids:
            ref = ObjectRef(of_type, object_id)
            if ref in subjects or ref in self._differing:
                signatures[object_id] = object_id
            else:
                changes = self._mark_changes(by_object[ref], subjects) if ref in by_object else None
                signatures[object_id] = frozenset(marks[object_id]) if object_id in marks else None, changes
            yield from work.checkpoint(1)
        return signatures

    def _sort_changes(self, work: Work) -> Checkpoints[Mapping[ObjectRef, Sequence[WarrantChange]]]:
        if self._changes_by_object is None:
            by_object: dict[ObjectRef, list[WarrantChange]] = defaultdict(list)
            for change in self._changes:
                by_object[ObjectRef(change.warrant.object_type, change.warrant.object_id)].append(change)
                yield from work.charge(1)
            self._changes_by_object = by_object
        return self._changes_by_object

    def _list_requests(self, of_type: TypeName) -> Sequence[WarrantsByObject]:
        """Returns the requests for all warrants on objects of a type that can matter."""
        if of_type not in self._requests:
            relations: dict[TypeName | None, dict[RelationName, None]] = defaultdict(dict)
            for pattern in (pattern for model in self._models for pattern in sorted(model.patterns)):
                is_on_objects = pattern.object_type == of_type and pattern.object_id != WILDCARD
                if is_on_objects and self._is_concerned(of_type, pattern.relation, pattern.subject_type):
                    relations[select_kind(pattern.subject_type, pattern.subject_relation)][pattern.relation] = None
            self._requests[of_type] = [
                WarrantsByObject(of_type, tuple(names), kind, False, has_subject_wildcard=False)
                for kind, names in relations.items()
            ]
        return self._requests[of_type]

    def _mark_each(
        self, warrants: Sequence[Warrant], subjects: Set[ObjectRef], marks: dict[ObjectId, set[Mark]], work: Work
    ) -> Checkpoints[None]:
        remaining = iter(warrants)
        while some := [*islice(remaining, WARRANTS_AT_ONCE)]:
            for warrant in some:
                if self._matters(warrant, subjects):
                    marks[warrant.object_id].add(_mark(warrant))
            work.spend(len(some))
            yield from work.checkpoint(len(some) // ITEMS_FOR_A_NODE)

    def _mark_changes(self, changes: Sequence[WarrantChange], subjects: Set[ObjectRef]) -> frozenset[Mark]:
        """Returns the warrants that count in one state only. One that may be conditional is like no other."""
        return frozenset(
            id(change) if change.warrant.is_conditional else (change.is_created, _mark(change.warrant))
            for change in changes
            if self._matters(change.warrant, subjects)
        )

    def _matters(self, warrant: Warrant, subjects: Set[ObjectRef]) -> bool:
        """Returns whether a warrant can give any of these subjects anything: it is to one of them or to all, or leads
        on from a group or a linked object."""
        if warrant.subject_relation or warrant.subject_id == WILDCARD:
            return True
        if ObjectRef(warrant.subject_type, warrant.subject_id) in subjects:
            return True
        names = warrant.object_type, warrant.relation, warrant.subject_type
        is_followed = self._followed.get(names)
        if is_followed is None:
            influences = self._influences
            is_followed = self._followed[names] = names in influences.links or names in influences.quantified
        return is_followed


def _mark(warrant: Warrant) -> Mark:
    if warrant.is_conditional:
        return warrant.number
    return warrant.relation, warrant.subject_type, warrant.subject_id, warrant.subject_relation
