"""Defines the views of a graph: what it reads on an object for one plan and for subjects of one type."""

from collections.abc import Iterator
from typing import NamedTuple

from magistrate.engine.byte_sizes import SEQUENCE_BYTES, SLOT_BYTES
from magistrate.engine.cache.entries import (
    EMPTY,
    Entry,
    ExpandedKind,
    ViewExpansion,
    add_subject,
    remove_subject,
    subject_name,
    weigh_entry,
)
from magistrate.engine.cache.memberships import Memberships
from magistrate.engine.cache.packed_warrants import KindOnObject, PackedKinds
from magistrate.engine.cache.segments import Capacity, SparseSegment
from magistrate.engine.model.model import Model
from magistrate.engine.model.plans import Plan, PlanNames
from magistrate.engine.model.reachability import PlanKey, ReachabilitySearch
from magistrate.engine.names import WILDCARD, RelationName, TypeName
from magistrate.engine.rules.rule import Combined
from magistrate.engine.subjects import selects, widen_selection
from magistrate.engine.warrants.reader import WarrantsByObject
from magistrate.engine.warrants.warrant import ChangedWarrant, WarrantNames


class ViewKey(NamedTuple):
    """Identifies a view across models.

    `path` is the position of a plan without a name of its own within the combinations of the relation; it is empty for
    the plan of the relation itself.
    """

    type: TypeName
    relation: RelationName | None
    path: tuple[int, ...]
    subject_type: TypeName


class CombinedView(NamedTuple):
    """Represents a combination on an object.

    `branches` are views of the same object, by number, and other combinations on it; of a quantifier, the view that has
    the objects it examines, if they can reach the subject. `number` identifies the
    combination, `type` is that of the object.
    """

    number: int
    type: TypeName
    rule: Combined
    branches: "tuple[int | CombinedView, ...]"


class PlanView:
    """Holds what a plan reads on an object, for subjects of one type.

    - `same` has other views of the object that grant the relation, `operations` the combinations that do.
    - `is_simple` is true when there is neither, and the type is defined.
    - `is_closed` is true when memberships give the same result.
    - `is_empty` is true when no warrant matters, and `has_own` when one of the plan's own relation can name a subject.
    - `relations` has the relations whose warrants are in the entries, each with its object type.
    - `packed_kinds` has the kinds of packed warrants that are in the entries, and what these reach.
    - `max_each` limits the subjects that the entry of an object has.
    - `signature` has all that the entries depend on; entries stay valid as long as it is equal.
    """

    def __init__(
        self, number: int, key: ViewKey, capacity: Capacity, plan: Plan, model: Model, is_closed: bool, max_each: int
    ) -> None:
        self.number = number
        self.max_each = max_each
        self.key = key
        self.subject_type = key.subject_type
        self.entries: SparseSegment[Entry] = SparseSegment(capacity, weigh_entry, EMPTY)
        self.points: SparseSegment[Entry] = SparseSegment(capacity, weigh_entry, EMPTY)
        """Holds entries by object and subject, where the entry of the object has no subjects."""
        self.signature: object = None
        self.set_plan(plan, model, is_closed)

    def with_entries(self, entries: SparseSegment[Entry], points: SparseSegment[Entry]) -> "PlanView":
        """Returns a copy of the view, as it is now, that has these entries and points instead of its own."""
        view = PlanView.__new__(PlanView)
        vars(view).update(vars(self))
        view.entries, view.points = entries, points
        return view

    def set_plan(self, plan: Plan, model: Model, is_closed: bool) -> None:
        """Sets the plan that the view reads for from now on; the graph sets the branches of the plan."""
        self.plan = plan
        self.expansion = ViewExpansion(plan, self.subject_type)
        self.direct = model.request(plan.type, plan.relations, self.subject_type)
        self.targets = [*plan.requests]
        self.requests = [self.direct, *self.targets] if self.direct is not None else self.targets
        self.same: tuple[int, ...] = ()
        self.operations: tuple[CombinedView, ...] = ()
        self.relations = frozenset(
            (request.type, relation) for request in self.requests for relation in request.relations
        )
        self.packed_kinds: PackedKinds[KindOnObject, ExpandedKind] = PackedKinds()
        self.has_object_wildcard = any(request.has_object_wildcard for request in self.requests)
        self.orphaned = frozenset(
            pattern for pattern in model.orphaned if (pattern.object_type, pattern.relation) in self.relations
        )
        self.is_closed = is_closed
        self.is_empty = not self.requests
        self.has_own = (
            plan.relation is not None and model.request(plan.type, (plan.relation,), self.subject_type) is not None
        )
        self.is_simple = plan.is_defined and not plan.branches

    def has(self, names: WarrantNames) -> bool:
        """Returns whether the entries have warrants of this relation to such subjects, whatever the ids are."""
        return any(
            names.relation in request.relations
            and selects(widen_selection(request.subjects), names.subject_type, "", names.subject_relation)
            for request in self.requests
        )

    def renew_signature(self, targets: object) -> bool:
        """Returns whether the entries are still valid, given what their warrants can reach; evicts them when they
        are not."""
        requests = tuple(map(_sign_request, self.requests))
        signature = (self.plan.outline(), self.direct is None, requests, targets, self.orphaned)
        is_unchanged = signature == self.signature
        if not is_unchanged:
            self.evict_entries()
        self.signature = signature
        return is_unchanged

    def evict_entries(self) -> None:
        """Evicts all entries."""
        self.entries.evict_all()
        self.points.evict_all()

    def invalidate(self, change: WarrantNames) -> bool:
        """Evicts the entries that contain this warrant. Returns whether that concerns others than the subject that it
        names."""
        if change.object_id == WILDCARD:
            self.evict_entries()
            return True
        concerns_others = change.subject_id == WILDCARD
        if concerns_others:
            self.points.evict_all()
        else:
            self.points.evict((change.object_id, change.subject_id))
        entry = self.entries.young.get(change.object_id) or self.entries.find(change.object_id)
        if entry is not None and (entry.direct is not None or self._reaches(change)):
            self.entries.evict(change.object_id)
            concerns_others = True
        return concerns_others

    def apply(self, change: ChangedWarrant) -> bool:
        """Makes the entry of the object what it is after the change, if that is known, and otherwise evicts it. Returns
        whether that concerns others than the subject that the warrant names: decisions about these may depend on an
        entry that is evicted, and on no other subject of an entry that is changed."""
        names = change.names
        entry = self.entries.young.get(names.object_id) or self.entries.find(names.object_id)
        changed = None if entry is None else self._change_subjects(entry, change)
        if changed is None:
            return self.invalidate(names)
        self.points.evict((names.object_id, names.subject_id))
        self.entries.keep(names.object_id, changed)
        return False

    def _change_subjects(self, entry: Entry, change: ChangedWarrant) -> Entry | None:
        """Returns the entry of an object after a change of a warrant that names one subject, and leads nowhere else;
        None for any other, and if the entry would have too many subjects."""
        names, exists = change
        if exists is None or WILDCARD in (names.object_id, names.subject_id) or self.orphaned:
            return None
        names_subject = names.subject_type == self.subject_type and self.plan.names_subject(names)
        if not names_subject or self.plan.expand(names):
            return None
        name, is_own = subject_name(names.subject_id), names.relation == self.plan.relation
        if not exists:
            return remove_subject(entry, name, is_own)
        return add_subject(entry, name, is_own) if entry.size < self.max_each else None

    def _reaches(self, change: WarrantNames) -> bool:
        return change.subject_relation != "" or bool(self.plan.expand(change))


def _sign_request(request: WarrantsByObject) -> object:
    return request.type, request.relations, request.subjects, request.has_object_wildcard, request.has_subject_wildcard


VIEW_BYTES = 4_000
"""Counts a view with its places, its requests and those of its plan; most take 3,000 to 3,700."""
NAMES_BYTES = SEQUENCE_BYTES + 2 * SLOT_BYTES
SEARCHED_BYTES = 4 * NAMES_BYTES
"""Counts a plan that a search has reached."""
FREED_SHARE = 4
"""Divides the bytes: when they are exceeded, a quarter of them is freed."""


class SubjectViews:
    """Holds what a graph keeps for the subjects of one type.

    `roots` maps relations to the views that checks start from, `reachable` plans to whether they reach such a
    subject. `search` finds this out, for all checks that wait for it. `numbers` has those of all views. `used_at`
    says which were used last: it is the number that the next new view had then.
    """

    __slots__ = ("counted", "memberships", "numbers", "reachable", "roots", "search", "used_at")

    def __init__(self) -> None:
        self.numbers: dict[ViewKey, int] = {}
        self.used_at = 0
        self.counted = 0
        self.reset()

    def reset(self) -> None:
        """Drops what depends on the model."""
        self.roots: dict[PlanNames, int] = {}
        self.reachable: dict[PlanKey, bool] = {}
        self.search: ReachabilitySearch | None = None
        self.memberships: Memberships | None = None

    @property
    def bytes(self) -> int:
        kinds = len(self.memberships.kinds) if self.memberships is not None else 0
        searched = len(self.search) if self.search is not None else 0
        names = NAMES_BYTES * (len(self.roots) + len(self.reachable)) + SEARCHED_BYTES * searched
        return VIEW_BYTES * (1 + len(self.numbers) + kinds) + names


class ViewsBySubjectType(dict[TypeName, SubjectViews]):
    """Maps the types of subjects to what a graph keeps for them, and counts its bytes."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__()
        self.max_bytes = max_bytes
        self.bytes = 0

    def __missing__(self, subject_type: TypeName) -> SubjectViews:
        views = self[subject_type] = SubjectViews()
        return views

    def count(self, views: SubjectViews) -> None:
        """Counts what has been added to the views of a type."""
        self.bytes += views.bytes - views.counted
        views.counted = views.bytes

    def evict_unused(self, kept: TypeName | None, pending_bytes: int) -> Iterator[SubjectViews]:
        """Yields the views of types that have not been used for longest, until there is space again; those of one type
        are kept. `pending_bytes` are those of views that are still to be freed."""
        if self.bytes + pending_bytes <= self.max_bytes:
            return
        for subject_type, views in sorted(self.items(), key=lambda item: item[1].used_at):
            if self.bytes <= self.max_bytes - self.max_bytes // FREED_SHARE:
                return
            if subject_type != kept:
                del self[subject_type]
                self.bytes -= views.counted
                yield views
