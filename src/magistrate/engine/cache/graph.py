"""Caches the warrants that checks have read: who has what on an object, and what it reaches.

A graph belongs to one model, and to one revision at a time. When changes are applied, it changes the entries that they
affect in place, or invalidates them, and from then on is as of the later revision. When the model changes it keeps the
entries of every view that means the same in both models. Nothing is removed because of its age, and nothing that
depends on the context of a request is cached.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from magistrate.engine.byte_sizes import CacheBytes
from magistrate.engine.cache.adjacency import Adjacency, AdjacencyIndex, Indexes
from magistrate.engine.cache.closures import Groups, Kind, MembershipClosure
from magistrate.engine.cache.decision_cache import DecisionCache
from magistrate.engine.cache.entries import ExpandedKind, read_packed_entry
from magistrate.engine.cache.memberships import Memberships
from magistrate.engine.cache.packed_warrants import KindOnObject, PackedWarrants
from magistrate.engine.cache.segments import CacheSegment, Capacity, free_at_once, stay_as_large
from magistrate.engine.cache.shared_values import SharedValues
from magistrate.engine.cache.subject_adjacency import SubjectAdjacency, SubjectIndex
from magistrate.engine.cache.views import VIEW_BYTES, CombinedView, PlanView, SubjectViews, ViewKey, ViewsBySubjectType
from magistrate.engine.model.model import Model
from magistrate.engine.model.plans import (
    ArrowExpansion,
    Branch,
    Expandable,
    Operation,
    Plan,
    PlanNames,
    UsersetExpansion,
)
from magistrate.engine.model.reachability import ReachabilitySearch, find_closed_plans
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, Revision, TypeName
from magistrate.engine.nesting import fold
from magistrate.engine.warrants.reader import AnyRead, WarrantsBySubject
from magistrate.engine.warrants.warrant import ChangedWarrant, WarrantNames, warrant_names
from magistrate.engine.work import WARRANTS_FOR_A_NODE, Container, Work


class CheckpointNeeded(Exception):
    """Signals that the caller must yield and then make the same check again; work done so far is kept."""


MAX_EACH = 500
"""Limits the subjects that are cached for one object; above it, subjects are looked up one by one. This many rows
take about a millisecond to read, during which other requests wait."""
MAX_OUTDATED = 10_000
"""Limits the views. When more than half of this many have not been used with the present model, all are evicted."""
WORK_FOR_A_VIEW = 5
MAX_VISITS = 8_000
"""Limits the changes that are applied together one by one, each counted for each view that it concerns: some
milliseconds. When there are more, all entries of these views are evicted, or of all views if that is quicker."""

ABSENT_SHARE, DECISIONS_SHARE, IDS_SHARE, VIEWS_SHARE, VALUES_SHARE = 8, 16, 4, 16, 16
"""Divide the bytes of a graph: an eighth is for keys that have nothing, a sixteenth for decisions, a quarter for the
ids of lists, a sixteenth for views, another for finding values to share, and the rest for entries and for packed
warrants, which take at most half of it."""
PACKED_SHARE = 2
MAX_WILDCARDS = 20
"""Limits the wildcard warrants on a type, which are cached with every object of it. Above the limit, an Evaluation
decides the check."""
UNREACHABLE = -1
"""Stands for the view of a relation that never reaches a subject of the type."""
FREED_AT_ONCE = 4
"""Counts the evicted views that are freed when others may be added."""

_Place = tuple[Branch, tuple[int, ...]]


class _Limits(NamedTuple):
    warrants: int
    absent: int
    decisions: int
    ids: int
    views: int
    values: int


def _divide_bytes(max_bytes: int) -> _Limits:
    shares = (ABSENT_SHARE, DECISIONS_SHARE, IDS_SHARE, VIEWS_SHARE, VALUES_SHARE)
    others = [max_bytes // share for share in shares]
    return _Limits(max_bytes - sum(others), *others)


class Graph:
    """Holds the cached entries as of `revision`.

    `max_bytes` limits what is cached in total, divided as said above, until `resize` sets another limit; `grow` may do
    so when there is no space, and returns whether it has. `max_each` limits the warrants of a single
    object, and the groups that a single subject is in by its own warrants. `discard` gets what is evicted and takes
    long to free; see Capacity. For lists, `adjacency` has the objects of warrants by subject, and `subject_adjacency`
    the subjects by object, with the same numbers. `packed` has what the store was read for before any check needed it:
    entries are made of it.
    """

    def __init__(
        self,
        model: Model,
        revision: Revision,
        max_bytes: int,
        max_each: int = MAX_EACH,
        max_visits: int = MAX_VISITS,
        discard: Callable[[Container], None] = free_at_once,
        grow: Callable[[], bool] = stay_as_large,
    ) -> None:
        self.revision = revision
        self.max_each = max_each
        self.views: dict[int, PlanView] = {}
        """Maps the numbers of views to the views; no number is used again."""
        self.view_evictions = 0
        """Counts how often views were evicted: what a walk has found by their numbers is then worth nothing."""
        self.clearings = 0
        """Counts how often all entries were evicted."""
        self._next_number = 0
        self._evicted: list[int] = []
        self._evicted_memberships: list[CacheSegment[Groups] | CacheSegment[MembershipClosure]] = []
        self._max_visits = max_visits
        limits = _divide_bytes(max_bytes)
        self._grow = grow
        self._capacity = Capacity(limits.warrants, discard, Capacity(limits.absent, discard, grow=grow), grow)
        self._max_bytes_of_warrants = limits.warrants
        self.packed = PackedWarrants(limits.warrants // PACKED_SHARE, self._capacity.discard)
        self.shared_values = SharedValues(limits.values, self._capacity)
        self._subjects = ViewsBySubjectType(limits.views)
        self._decision_capacity = Capacity(limits.decisions, discard, grow=grow)
        self._max_bytes_of_ids = limits.ids
        self.adjacency = Adjacency(self._capacity)
        self.decisions = DecisionCache(self._decision_capacity, self._capacity)
        self.subject_adjacency = SubjectAdjacency(self.adjacency, self._capacity)
        self._outdated: set[int] = set()
        self._views_by_relation: dict[tuple[str, str], dict[PlanView, None]] = defaultdict(dict)
        self._use(model)

    def resize(self, max_bytes: int) -> None:
        """Sets the limit on what is cached in total, and evicts what exceeds it."""
        limits = _divide_bytes(max_bytes)
        self._max_bytes_of_warrants = limits.warrants
        self.packed.resize(limits.warrants // PACKED_SHARE)
        self.limit_entries()
        self._capacity.absent.resize(limits.absent)
        self._decision_capacity.resize(limits.decisions)
        self.shared_values.resize(limits.values)
        is_reduced = limits.ids < self._max_bytes_of_ids
        self._max_bytes_of_ids, self._subjects.max_bytes = limits.ids, limits.views
        if not is_reduced:
            return  # what still exceeds a limit may raise it again
        if self.adjacency.measure_ids() > limits.ids:
            self.replace_adjacency()
        if self._subjects.bytes > limits.views:
            self._evict_views(None)

    def limit_entries(self) -> None:
        """Leaves entries what packed warrants do not take."""
        self._capacity.resize(max(0, self._max_bytes_of_warrants - self.packed.bytes))

    def release(self) -> None:
        """Evicts everything, in steps, and lets go of all that refers to the graph, which cannot be used afterwards."""
        self.clear(self.revision)
        for capacity in (self._capacity, self._decision_capacity):
            capacity.release()
        self._capacity.discard(self.views)
        self.views, self._subjects = {}, ViewsBySubjectType(0)
        self._views_by_relation = defaultdict(dict)

    def _use(self, model: Model) -> None:
        self.model = model
        self._operations = 0
        self._subject_types = {pattern.subject_type for pattern in model.patterns}
        self._closed = find_closed_plans(model)
        self._unresolved: list[PlanView] = []

    def count_entries(self) -> int:
        """Returns how many entries are cached, those without warrants included."""
        views = [segment for view in self.views.values() for segment in (view.entries, view.points)]
        memberships = [segment for of_type in self._list_memberships() for segment in of_type.segments]
        adjacency = [index.entries for indexes in (self.adjacency, self.subject_adjacency) for index in indexes]
        return sum(map(len, (*views, *memberships, *adjacency)))

    def measure(self) -> Sequence[CacheBytes]:
        """Returns how many bytes each part takes, and the limits on them."""
        return (
            self._capacity.measure("warrants"),
            self._capacity.absent.measure("absent"),
            self._decision_capacity.measure("decisions"),
            CacheBytes("ids", self.adjacency.measure_ids(), self._max_bytes_of_ids),
            CacheBytes("views", self._subjects.bytes + VIEW_BYTES * len(self._evicted), self._subjects.max_bytes),
            self.packed.measure(),
        )

    def _list_memberships(self) -> list[Memberships]:
        return [views.memberships for views in self._subjects.values() if views.memberships is not None]

    def apply(self, changes: Sequence[ChangedWarrant], revision: Revision) -> None:
        """Applies the only changes up to this revision, in their order, and is as of it from then on."""
        self.packed.apply(changes)
        self.limit_entries()
        if len(changes) > 1 and self.exceeds_visits(names := [change.names for change in changes]):
            self._invalidate_views(names)
        else:
            for change in changes:
                self._finish_change(change.names, [view.apply(change) for view in self._find_views(change.names)])
        self.revision = revision

    def invalidate(self, changes: Sequence[WarrantNames]) -> None:
        """Invalidates the entries that contain these warrants, and the decisions that may depend on them."""
        if len(changes) > 1 and self.exceeds_visits(changes):
            self._invalidate_views(changes)
            return
        for names in changes:
            self._finish_change(names, [view.invalidate(names) for view in self._find_views(names)])

    def exceeds_visits(self, changes: Iterable[WarrantNames]) -> bool:
        """Returns whether these changes concern too many views to be applied one by one."""
        return sum(len(self._find_views(names)) for names in changes) > self._max_visits

    def _invalidate_views(self, changes: Sequence[WarrantNames]) -> None:
        """Evicts all entries of the views that these changes concern."""
        changed = {(names.object_type, names.relation): names for names in changes}
        if self.exceeds_visits(changed.values()):
            self._capacity.clear()
        else:
            for view in {view: None for names in changed.values() for view in self._find_views(names)}:
                view.evict_entries()
        self.decisions.evict_all()
        for names in changes:
            self._finish_change(names, ())

    def _find_views(self, names: WarrantNames) -> Collection[PlanView]:
        return self._views_by_relation.get((names.object_type, names.relation), ())

    def _finish_change(self, names: WarrantNames, concern_others: Iterable[bool]) -> None:
        """Invalidates what contains this warrant beside the entries of views: memberships, the adjacency for lists, and
        decisions. `concern_others` says of each view whether its change concerns others than the subject of the
        warrant."""
        self.adjacency.invalidate(names)
        self.subject_adjacency.invalidate(names)
        memberships = [memberships.invalidate(names) for memberships in self._list_memberships()]
        self._evict_decisions(names, any(concern_others) or any(memberships))

    def _evict_decisions(self, names: WarrantNames, concerns_others: bool) -> None:
        """Evicts the decisions about the subject that this warrant names, or all if the change concerns others, too."""
        if concerns_others:
            self.decisions.evict_all()
        else:
            self.decisions.evict(names.subject_id)

    def change_model(self, model: Model, revision: Revision) -> None:
        """Replaces the model by that of this revision, up to which no warrant was written or deleted.

        Entries that mean the same in both models are kept; for each view this is determined when it is next used.
        """
        if model.orphaned != self.model.orphaned:
            self.replace_adjacency()
            self.packed.clear()
            self.limit_entries()
        self.decisions.evict_all()
        self._use(model)
        self.revision = revision
        self._evict_unused_views()
        self._outdated = {*self.views}
        former = {of_type: views.memberships for of_type, views in self._subjects.items()}
        for views in self._subjects.values():
            views.reset()
            self._subjects.count(views)
        for subject_type, memberships in former.items():
            if memberships is not None:
                self._subjects[subject_type].memberships = self.memberships(subject_type).adopt(memberships)

    def clear(self, revision: Revision) -> None:
        """Evicts all entries, and is as of this revision from then on."""
        self.clearings += 1
        self.packed.clear()
        self._capacity.clear()
        self.limit_entries()
        self.revision = revision

    @property
    def generations(self) -> int:
        """Returns how many generations of entries have become old, because there was no space."""
        return self._capacity.generations

    @property
    def has_space(self) -> bool:
        """Returns whether packed warrants take less than half of what they may take."""
        return 2 * self.packed.bytes < self.packed.max_bytes

    def make_space(self, more: int) -> bool:
        """Returns whether this many more bytes fit what may be packed. Raises the limit if that is possible."""
        while self.packed.bytes + more > self.packed.max_bytes:
            if not self._grow():
                return False
        return True

    def recall_entry(self, number: int, object_id: ObjectId, work: Work) -> bool:
        """Makes the entry of an object in a view, which is not cached, from packed warrants, and caches it. Returns
        whether these were enough. Raises BudgetExceeded: a walk would never end whose first entries are evicted by its
        last ones."""
        view = self.views[number]
        packed = self.packed.on_objects(view.key.type)
        if packed is None or view.orphaned or (warrants := packed.list_warrants(object_id)) is None:
            return False
        if view.has_object_wildcard and object_id != WILDCARD:
            of_all = packed.list_warrants(WILDCARD)
            if of_all is None or len(of_all) > MAX_WILDCARDS:
                return False
            warrants = [*warrants, *of_all]
        work.spend(1 + len(warrants) // WARRANTS_FOR_A_NODE)
        view.packed_kinds.look_at(packed.kinds, partial(self._expand_kind, view))
        entry = read_packed_entry(view.packed_kinds, warrants)
        if entry is not None:
            view.entries.add(object_id, entry)
        return entry is not None

    def _expand_kind(self, view: PlanView, kind: KindOnObject) -> ExpandedKind | None:
        """Returns what packed warrants of this kind reach in a view; None if its entries do not have them."""
        relation, subject_type, subject_relation = kind
        names = warrant_names(view.key.type, "", relation, subject_type, "", subject_relation)
        return view.expansion.find(names, self) if view.has(names) else None

    def holds_most(self, reads: Sequence[AnyRead], tried: int) -> bool:
        """Returns whether entries for most of what is read are cached, estimated from the first ids of each read."""
        total, cached = 0, 0
        for read in reads:
            request, by_subject = read.request, isinstance(read.request, WarrantsBySubject)
            adjacency: Indexes[AdjacencyIndex] | Indexes[SubjectIndex]
            adjacency = self.adjacency if by_subject else self.subject_adjacency
            some, indexes = (read.ids or ())[:tried], adjacency.list_indexes(request.type, request.relations)
            total += len(some)
            cached += sum(any(index.has_entry(object_id) for index in indexes) for object_id in some) if indexes else 0
        return 2 * cached > total

    def limit_adjacency(self) -> None:
        """Replaces the adjacency by an empty one when its ids take more than their share. Ids are not evicted with the
        entries that name them: their numbers are in all of them."""
        while self.adjacency.measure_ids() > self._max_bytes_of_ids:
            if not self._grow():
                self.replace_adjacency()
                return

    def replace_adjacency(self) -> None:
        """Replaces the adjacency by an empty one."""
        self.adjacency.release()
        self.subject_adjacency.release()
        self.adjacency = Adjacency(self._capacity)
        self.subject_adjacency = SubjectAdjacency(self.adjacency, self._capacity)

    def find_view(
        self, object_type: TypeName, relation: RelationName, subject_type: TypeName, work: Work
    ) -> int | None:
        """Returns the number of the view that a check starts from.

        Returns None for names that are neither defined nor used by any warrant; these are not cached, so that callers
        cannot fill the memory with them. Returns UNREACHABLE if no view is needed. Raises CheckpointNeeded when the
        time slice ends before all views it reaches are ready, and BudgetExceeded.
        """
        names, subjects = (object_type, relation), self._subjects.get(subject_type)
        if subjects is not None and (number := subjects.roots.get(names)) is not None and not self._unresolved:
            subjects.used_at = self._next_number
            return number
        is_known = (
            object_type in self.model.types
            and self.model.knows(object_type, relation)
            and (subject_type in self.model.types or subject_type in self._subject_types)
        )
        return self._make_root(names, subject_type, work) if is_known else None

    def _make_root(self, names: PlanNames, subject_type: TypeName, work: Work) -> int:
        self._free_evicted()
        subjects = self._subjects[subject_type]
        subjects.used_at = self._next_number
        try:
            self._prepare(names, subject_type, subjects, work)
            if not subjects.reachable[names]:
                return UNREACHABLE
            number = self._place_relation(self.model.plan(*names), subject_type)
            while self._unresolved:
                self._resolve(self._unresolved.pop())
                self._free_evicted()
                work.spend(WORK_FOR_A_VIEW)
                if work.needs_checkpoint and self._unresolved:
                    raise CheckpointNeeded
            subjects.roots[names] = number
        finally:
            self._subjects.count(subjects)
            self._evict_views(subject_type)
        return number

    def _prepare(self, names: PlanNames, subject_type: TypeName, subjects: SubjectViews, work: Work) -> None:
        """Compiles the plans that a check may need. Raises CheckpointNeeded and BudgetExceeded."""
        if names in subjects.reachable:
            return
        if subjects.search is None:
            subjects.search = ReachabilitySearch(self.model, subject_type, subjects.reachable)
        subjects.search.add(names)
        if not subjects.search.go_on(work):
            raise CheckpointNeeded
        subjects.search = None

    def _evict_views(self, kept: TypeName | None) -> None:
        """Evicts the views for subjects of types that have not been used for longest, if all take too many bytes."""
        if self._unresolved:
            return
        while kept is not None and self._subjects.bytes > self._subjects.max_bytes:
            if not self._grow():
                break
        for subjects in self._subjects.evict_unused(kept, VIEW_BYTES * len(self._evicted)):
            self.view_evictions += 1
            self._evicted += subjects.numbers.values()
            if subjects.memberships is not None:
                self._evicted_memberships += subjects.memberships.segments
            for container in (subjects.numbers, subjects.reachable, subjects.roots):
                self._capacity.discard(container)
            self.decisions.evict_all()

    def _free_evicted(self) -> None:
        """Frees some of the views and memberships that were evicted."""
        for segment in self._evicted_memberships[-FREED_AT_ONCE:]:
            segment.remove()
        del self._evicted_memberships[-FREED_AT_ONCE:]
        for number in self._evicted[-FREED_AT_ONCE:]:
            view = self.views.pop(number)
            view.entries.remove()
            view.points.remove()
            for names in view.relations:
                del self._views_by_relation[names][view]
            self._outdated.discard(number)
        del self._evicted[-FREED_AT_ONCE:]

    def view(self, plan: Plan, subject_type: TypeName) -> int:
        """Returns the number in `views` of the view of this plan, which must be one of the model's and have a name."""
        number = self._place_relation(plan, subject_type)
        while self._unresolved:
            self._resolve(self._unresolved.pop())
        return number

    def _place_relation(self, plan: Plan, subject_type: TypeName) -> int:
        return self._place(ViewKey(plan.type, plan.relation, (), subject_type), plan)

    def memberships(self, subject_type: TypeName) -> Memberships:
        memberships = self._subjects[subject_type].memberships
        return memberships if memberships is not None else self._make_memberships(subject_type)

    def _make_memberships(self, subject_type: TypeName) -> Memberships:
        closed = [plan for plan in self._closed if self._reaches(plan, subject_type)]
        made = Memberships(
            self.model,
            closed,
            subject_type,
            lambda plan: self.view(plan, subject_type),
            capacity=self._capacity,
            packed=self.packed,
        )
        subjects = self._subjects[subject_type]
        subjects.memberships = made
        self._subjects.count(subjects)
        return made

    def kind(self, subject_type: TypeName, number: int) -> Kind:
        return self.memberships(subject_type).kinds[number]

    def is_closed(self, number: int) -> bool:
        return self.views[number].is_closed

    def following(self, plan: Plan, subject_type: TypeName) -> int | None:
        """Returns the number of the plan's view, or None when it never reaches a subject of this type."""
        return self.view(plan, subject_type) if self._reaches(plan, subject_type) else None

    def _reaches(self, plan: Plan, subject_type: TypeName) -> bool:
        """Returns whether a plan that has a name can reach subjects of this type."""
        names = (plan.type, plan.relation or RelationName(""))
        reachable = self._subjects[subject_type].reachable
        if names not in reachable:
            search, work = ReachabilitySearch(self.model, subject_type, reachable), Work(sys.maxsize)
            search.add(names)
            while not search.go_on(work):
                work.pass_checkpoint()
            self._subjects.count(self._subjects[subject_type])
        return reachable[names]

    def expand_warrant(self, warrant: Expandable, plan: Plan) -> Iterable[Plan]:
        """Returns the plans that a warrant reaches on the subject it names."""
        for branch in plan.expand(warrant):
            yield self.model.plan(*branch.target(warrant))

    def _place(self, key: ViewKey, plan: Plan) -> int:
        """Returns the number of a view. Its targets are resolved later when it is new, or was last used with another
        model."""
        number = self._subjects[key.subject_type].numbers.get(key)
        if number is not None and number not in self._outdated:
            return number
        is_closed = plan in self._closed
        if number is None:
            subjects = self._subjects[key.subject_type]
            number = subjects.numbers[key] = self._next_number
            self._next_number += 1
            view = PlanView(
                number, key, self._capacity, plan, model=self.model, is_closed=is_closed, max_each=self.max_each
            )
            self.views[number] = view
            self._subjects.count(subjects)
        else:
            self._outdated.remove(number)
            view = self.views[number]
            for names in view.relations:
                del self._views_by_relation[names][view]
            view.set_plan(plan, self.model, is_closed)
        for names in view.relations:
            self._views_by_relation[names][view] = None
        self._unresolved.append(view)
        return number

    def _resolve(self, view: PlanView) -> None:
        branches = [self._branch(branch, view.key, (place,)) for place, branch in enumerate(view.plan.branches)]
        view.same = tuple(branch for branch in branches if isinstance(branch, int))
        view.operations = tuple(branch for branch in branches if not isinstance(branch, int))
        targets = self._targets(view)
        view.is_empty = view.direct is None and not any(is_reached for _, is_reached, _ in targets.values())
        if view.renew_signature(
            {names: (is_reached, is_closed) for names, (_, is_reached, is_closed) in targets.items()}
        ):
            for target, is_reached, _ in targets.values():
                if is_reached:  # an entry may have its number
                    self._place_relation(target, view.subject_type)

    def _targets(self, view: PlanView) -> dict[tuple[str, str], tuple[Plan, bool, bool]]:
        """Returns the plans that warrants in the entries can reach, by type and relation.

        With each plan comes whether it reaches subjects of the view's type, and whether it is closed.
        """
        targets: dict[tuple[str, str], tuple[Plan, bool, bool]] = {}
        for name in {branch.target(pattern) for pattern, branch in self.model.expand_patterns(view.plan)}:
            target = self.model.plan(*name)
            targets[name] = (target, self._reaches(target, view.subject_type), target in self._closed)
        return targets

    def _branch(self, branch: Branch, owner: ViewKey, path: tuple[int, ...]) -> int | CombinedView:
        """Returns the view of a branch, or its CombinedView, however deep combinations are nested in it."""

        def branches_of(place: _Place) -> Sequence[_Place]:
            branch, path = place
            return (
                [(inner, (*path, at)) for at, inner in enumerate(branch.branches)]
                if isinstance(branch, Operation)
                else ()
            )

        def make_branch(place: _Place, branches: Sequence[int | CombinedView]) -> int | CombinedView:
            branch, path = place
            if isinstance(branch, Plan):
                return self._place(owner._replace(path=owner.path + path), branch)
            if not isinstance(branch, Operation):
                return self._place(owner._replace(relation=branch, path=()), self.model.plan(owner.type, branch))
            self._operations += 1
            links = self._place_links(branch, owner._replace(path=(*owner.path, *path, 0)))
            return CombinedView(self._operations, branch.type, branch.rule, (*branches, *links))

        view: int | CombinedView = fold((branch, path), branches_of, make_branch)
        return view

    def _place_links(self, operation: Operation, key: ViewKey) -> tuple[int, ...]:
        """Returns the view of the objects that a quantifier examines; nothing for another combination, or if the
        relation on these objects never reaches a subject of this type."""
        targets = [self.model.plan(link.of_type, link.relation) for link in operation.links]
        if not targets or not all(self._reaches(target, key.subject_type) for target in targets):
            return ()
        positions: dict[RelationName | ArrowExpansion | Branch, int] = {link: 0 for link in operation.links}
        nothing = UsersetExpansion(frozenset(), ())
        return (
            self._place(
                key, Plan(operation.type, None, (), nothing, links=operation.links, branches=(), positions=positions)
            ),
        )

    def _evict_unused_views(self) -> None:
        """Evicts all views when far more exist than are used, because relations may be renamed any number of times."""
        if len(self.views) > MAX_OUTDATED and 2 * len(self._outdated) > len(self.views):
            self.clear(self.revision)
            for view in self.views.values():
                view.entries.remove()
                view.points.remove()
            for memberships in self._list_memberships():
                memberships.release()
            views, self.views, self._evicted = self.views, {}, []
            self._subjects = ViewsBySubjectType(self._subjects.max_bytes)
            self.view_evictions += 1
            views_by_relation, self._views_by_relation = self._views_by_relation, defaultdict(dict)
            self._capacity.discard(views)
            self._capacity.discard(views_by_relation)
