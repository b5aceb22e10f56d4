"""Shows the views of a graph with the warrants of an overlay, without storing anything in them."""

from collections.abc import Container, Sequence, Set
from functools import cached_property

from magistrate.engine.graph.entries import ALL_SUBJECTS, UNREADABLE, Entry, join_names, read_entry
from magistrate.engine.graph.graph import Graph
from magistrate.engine.graph.views import PlanView
from magistrate.engine.overlay import Overlay, WarrantKey, warrant_key
from magistrate.engine.segments import AbsentKeys, Capacity, Key, SparseSegment
from magistrate.engine.terms import WILDCARD, ObjectId
from magistrate.engine.warrant_reader import WarrantRead, WarrantsByObject
from magistrate.engine.warrants import Warrant


class OverlaidViews(dict[int, PlanView]):
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
        ids = {id for request in self._requests for id in self._overlay.find_objects(request)}
        return ALL_SUBJECTS if WILDCARD in ids else ids

    def find(self, id: ObjectId) -> Entry:
        """Returns the entry of an object, which is among `ids`."""
        entry = self._entries.get(id)
        if entry is None:
            entry = self._entries[id] = self._read(id)
        return entry

    def _read(self, id: ObjectId) -> Entry:
        added: dict[int, Warrant] = {}
        for request in self._requests:
            for warrant in self._overlay.find(WarrantRead(request, (id, WILDCARD))):
                added[warrant.number] = warrant
        view = self._view
        return read_entry(view.plan, view.subject_type, added.values(), self._graph, is_whole=True)


_NO_KEYS = AbsentKeys(Capacity(0))


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
        id = key[0] if isinstance(key, tuple) else str(key)
        if stored is None or id not in self._added.ids:
            return stored
        if key not in self:
            self[key] = join_entries(stored, self._added.find(ObjectId(id)))
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
