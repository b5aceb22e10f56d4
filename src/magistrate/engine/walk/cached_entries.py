"""Finds the entries that walks need in the graph cache, perhaps together with an overlay of added warrants.

The added warrants are merged into what the cache has while a walk reads it: into the entries of the objects they are
on, and into the membership closure of the subject. The cache itself stays as it is, and what a walk misses is read and
cached without them.
"""

from collections.abc import Container, Mapping, Sequence, Set
from functools import cached_property
from itertools import islice

from magistrate.engine.cache.closures import GivenIds, Member, MembershipClosure
from magistrate.engine.cache.entries import ALL_SUBJECTS, EMPTY, UNREADABLE, Entry, join_names, read_entry, weigh_entry
from magistrate.engine.cache.entry_reads import MissingEntries
from magistrate.engine.cache.graph import UNREACHABLE, CheckpointNeeded, Graph
from magistrate.engine.cache.segments import CacheSegment, Capacity, Key, SparseSegment
from magistrate.engine.cache.views import PlanView
from magistrate.engine.evaluation.check import Check
from magistrate.engine.names import WILDCARD, ObjectId, PolicyName, TypeName
from magistrate.engine.policy.named_policies import NamedPolicy
from magistrate.engine.warrants.overlay import Overlay, WarrantKey, warrant_key
from magistrate.engine.warrants.reader import WarrantRead, WarrantsByObject
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import Work

MAX_MEMBERS = 100
"""Limits the members of a closure whose groups are read in one round with what else is missing; later rounds read
the rest."""


class CachedEntries:
    """Implements EntryFinder for a graph at its revision. `missing` collects what has to be read."""

    __slots__ = ("_graph", "_view_evictions", "missing", "views")

    def __init__(self, graph: Graph) -> None:
        self.missing = MissingEntries()
        self.views: Mapping[int, PlanView] = graph.views
        self._graph = graph
        self._view_evictions = graph.view_evictions

    @property
    def policies(self) -> Mapping[PolicyName, NamedPolicy]:
        return self._graph.model.policies

    def find_view(self, check: Check, work: Work) -> int | None:
        subject, obj, graph = check.subject, check.object, self._graph
        if subject.relation or subject.id == WILDCARD or obj.id == WILDCARD:
            return None
        number = graph.find_view(obj.type, check.relation, subject.type, work)
        return number if number == UNREACHABLE or graph.view_evictions == self._view_evictions else None

    def find_entry(
        self, number: int, object_id: ObjectId, subject: ObjectId, work: Work, is_bare: bool = False
    ) -> Entry | None:
        view, missing = self.views[number], self.missing
        if view.is_empty:
            return EMPTY
        entry = view.entries.young.get(object_id) or view.entries.find(object_id)
        if entry is None and self._graph.recall_entry(number, object_id, work):
            if work.needs_checkpoint:
                raise CheckpointNeeded
            entry = view.entries.young.get(object_id) or view.entries.find(object_id)
        if entry is None and not is_bare:
            missing.entries[number, object_id] = None
            return None
        if entry is None:
            missing.bare[number, object_id] = None
        elif entry.direct is not None or not entry.is_readable:
            return entry
        key = (object_id, subject)
        point = view.points.young.get(key) or view.points.find(key)
        if point is None:
            missing.points[number, object_id, subject] = None
        if entry is None or point is None:
            return None
        return entry.with_subject(point) if point.is_readable else UNREADABLE

    def find_closure(self, of_type: TypeName, object_id: ObjectId, work: Work) -> MembershipClosure:
        closure = self._grow_closure(of_type, object_id, work)
        if closure.is_open:
            if closure.is_interrupted:
                raise CheckpointNeeded
            missing = islice(closure.missing, MAX_MEMBERS)
            self.missing.groups.update({(of_type, kind.number, object_id): None for kind, object_id in missing})
        return closure

    def _grow_closure(self, of_type: TypeName, object_id: ObjectId, work: Work) -> MembershipClosure:
        return self._graph.memberships(of_type).closure(object_id, work)

    def begin_round(self) -> None:
        self.missing = MissingEntries()


class OverlaidEntries(CachedEntries):
    """Implements EntryFinder for a graph as if the warrants of the overlay had been written.

    No walk can decide if stored warrants may have to be taken away: if the overlay removes any, or adds one that is not
    in force and may count instead of a stored one. One that is in force gives what a stored one without its time limits
    gives, whatever the limits of that. Nor can it if the model of the graph lacks a pattern of those it adds.
    """

    __slots__ = ("_added_groups", "_closures", "_is_possible", "_overlay")

    def __init__(self, graph: Graph, now: int, overlay: Overlay) -> None:
        super().__init__(graph)
        in_force = overlay.remove_limits(now) if overlay.only_adds else None
        self._is_possible = in_force is not None and overlay.patterns <= graph.model.patterns
        self._overlay = in_force or overlay
        self.views = _OverlaidViews(graph, self._overlay)
        self._added_groups: dict[TypeName, Mapping[Member, GivenIds]] = {}
        self._closures: dict[tuple[TypeName, ObjectId], MembershipClosure] = {}

    def find_view(self, check: Check, work: Work) -> int | None:
        return super().find_view(check, work) if self._is_possible else None

    def _grow_closure(self, of_type: TypeName, object_id: ObjectId, work: Work) -> MembershipClosure:
        stored = super()._grow_closure(of_type, object_id, work)
        if not stored.is_complete:
            return stored  # the walk then expands groups from the object's side, with the added warrants
        memberships = self._graph.memberships(of_type)
        if of_type not in self._added_groups:
            self._added_groups[of_type] = memberships.find_groups(self._overlay.ids_by_kind)
        added = self._added_groups[of_type]
        if not added:
            return stored
        closure = self._closures.get((of_type, object_id))
        if closure is None:
            closure = self._closures[of_type, object_id] = memberships.extend_closure(stored, added)
        memberships.grow(closure, work)
        return closure


class _OverlaidViews(dict[int, PlanView]):
    """Maps the numbers of views to the views themselves or, where the overlay has warrants for a view, to one that
    includes them. Each is looked up when it is first needed."""

    def __init__(self, graph: Graph, overlay: Overlay) -> None:
        super().__init__()
        self._graph = graph
        self._overlay = overlay
        self._relations = overlay.relations

    def __missing__(self, number: int) -> PlanView:
        view = self._graph.views[number]
        if not view.relations.isdisjoint(self._relations):
            view = self._overlay_view(view)
        self[number] = view
        return view

    def _overlay_view(self, view: PlanView) -> PlanView:
        requests = [request for request in view.requests if self._overlay.affects(request)]
        if not requests:
            return view
        added = _AddedEntries(self._graph, view, requests, self._overlay)
        return view.with_entries(_OverlaidSegment(view.entries, added), _OverlaidSegment(view.points, added))


class _AddedEntries:
    """Reads the entries that consist of added warrants alone, each once."""

    def __init__(self, graph: Graph, view: PlanView, requests: Sequence[WarrantsByObject], overlay: Overlay) -> None:
        self._graph = graph
        self._view = view
        self._requests = requests
        self._overlay = overlay
        self._entries: dict[ObjectId, Entry] = {}

    @cached_property
    def ids(self) -> Container[str]:
        """Returns a container of the ids of the objects that have such an entry. Views that the membership closure of
        the subject stands for are not read, so it is often not needed."""
        ids = {object_id for request in self._requests for object_id in self._overlay.find_objects(request)}
        return ALL_SUBJECTS if WILDCARD in ids else ids

    def find(self, object_id: ObjectId) -> Entry:
        """Returns the entry of an object, which is among `ids`."""
        entry = self._entries.get(object_id)
        if entry is None:
            entry = self._entries[object_id] = self._read(object_id)
        return entry

    def _read(self, object_id: ObjectId) -> Entry:
        added: dict[int, Warrant] = {}
        for request in self._requests:
            for warrant in self._overlay.find(WarrantRead(request, (object_id, WILDCARD))):
                added[warrant.number] = warrant
        return read_entry(self._view.expansion, added.values(), self._graph, is_whole=True)


_NO_KEYS: CacheSegment[Entry] = CacheSegment(Capacity(0), weigh_entry)


class _OverlaidSegment(SparseSegment[Entry]):
    """Finds the entries of a segment, each with the added warrants; keeps nothing itself and takes no capacity."""

    __slots__ = ()

    def __init__(self, stored: SparseSegment[Entry], added: _AddedEntries) -> None:
        self.young = _OverlaidEntries(stored, added)
        self.absent = _NO_KEYS  # an added warrant may be on an object that has nothing else

    def find(self, key: Key) -> Entry | None:
        return None  # `young` has looked for it in both generations


class _OverlaidEntries(dict[Key, Entry]):
    """Holds the entries that consist of stored and added warrants."""

    def __init__(self, stored: SparseSegment[Entry], added: _AddedEntries) -> None:
        super().__init__()
        self._stored = stored
        self._added = added

    def get(self, key: Key, default: object = None) -> Entry | None:  # type: ignore[override]  # without a default
        stored = self._stored.young.get(key) or self._stored.find(key)
        object_id = key[0] if isinstance(key, tuple) else str(key)
        if stored is None or object_id not in self._added.ids:
            return stored
        if key not in self:
            self[key] = join_entries(stored, self._added.find(ObjectId(object_id)))
        return self[key]


def join_entries(entry: Entry, more: Entry) -> Entry:
    """Returns an entry with the warrants of both; `direct` is None if it is None in the first.

    It is UNREADABLE if the same policy is on the same warrant in both: which of them counts, and so how old it is, is
    decided by the overlay."""
    if not entry.is_readable or not more.is_readable:
        return UNREADABLE
    if entry.conditioned and not _keys(entry).isdisjoint(_keys(more)):
        return UNREADABLE
    return Entry(
        direct=None if entry.direct is None else join_names(entry.direct, more.direct or ""),
        own=join_names(entry.own, more.own),
        closed=entry.closed + more.closed,
        targets=entry.targets + more.targets,
        conditioned=entry.conditioned + more.conditioned,
        size=entry.size + more.size,
    )


def _keys(entry: Entry) -> Set[WarrantKey]:
    return {warrant_key(conditioned.warrant) for conditioned in entry.conditioned}
