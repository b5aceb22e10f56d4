"""Builds the entries of an adjacency from the warrants that were read for them, and caches them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Protocol

from magistrate.engine.graph.adjacency import Adjacency, AdjacencyIndex, AdjacencyKey, read_key
from magistrate.engine.graph.entry_drafts import EntryDrafts
from magistrate.engine.graph.object_entries import ReadEntries
from magistrate.engine.graph.subject_adjacency import SubjectAdjacency
from magistrate.engine.names import WarrantNames
from magistrate.engine.plans import Model
from magistrate.engine.terms import ObjectId, Revision
from magistrate.engine.warrants import Warrant

WARRANTS_KEPT_AT_ONCE = 500
ENTRIES_KEPT_AT_ONCE = 500
"""An entry takes about as long as a warrant."""


class HasAdjacency(Protocol):
    """Represents what has entries to be read: a graph, or anything else with a model, at one revision at a time."""

    @property
    def model(self) -> Model: ...

    @property
    def revision(self) -> Revision: ...

    @property
    def adjacency(self) -> Adjacency: ...

    @property
    def subject_adjacency(self) -> SubjectAdjacency: ...


class EntryFetch(ABC):
    """Represents reads of one direction, as of the revision that the graph has at first.

    Changes since then must be passed to `note_changes`: entries that they affect are built but not cached. With
    `is_in_vain`, because these changes cannot be determined, nothing is cached.
    """

    def __init__(self, graph: HasAdjacency) -> None:
        self.graph = graph
        self.model = graph.model
        self.revision = graph.revision
        self.adjacency = graph.adjacency
        self.is_in_vain = False
        self._changed: set[tuple[AdjacencyKey, ObjectId]] = set()

    @property
    def is_current(self) -> bool:
        """Returns whether the cached entries are still those of the revision."""
        graph = self.graph
        is_same = graph.model is self.model and graph.adjacency is self.adjacency
        return is_same and graph.revision == self.revision and not self.is_in_vain

    def note_changes(self, changes: Sequence[WarrantNames]) -> None:
        """Records warrants that were written or deleted after the revision."""
        self._changed.update((read_key(change), self._read_id(change)) for change in changes)

    @abstractmethod
    def _read_id(self, change: WarrantNames) -> ObjectId:
        """Returns the id whose entry has this warrant."""

    def _list_changed(self, key: AdjacencyKey, ids: Iterable[tuple[int, ObjectId]]) -> Set[int]:
        """Returns the numbers of those of the ids whose entries must not be cached."""
        if self.graph.adjacency is not self.adjacency or self.is_in_vain:
            return {number for number, _ in ids}
        return {number for number, id in ids if (key, id) in self._changed} if self._changed else frozenset()


class AdjacencyFetch(EntryFetch):
    """Builds and caches the entries of subjects."""

    def _read_id(self, change: WarrantNames) -> ObjectId:
        return ObjectId(change.subject_id)

    def cache_entries(
        self,
        index: AdjacencyIndex,
        subjects: Sequence[tuple[int, ObjectId]],
        warrants: Sequence[Warrant],
        read: ReadEntries,
    ) -> Iterator[int]:
        """Adds the entries of these subjects to `read` and caches them, given all their warrants; yields the work that
        it took since it yielded last."""
        drafts = EntryDrafts()
        for start in range(0, len(warrants), WARRANTS_KEPT_AT_ONCE):
            some = self.model.select_counting(warrants[start : start + WARRANTS_KEPT_AT_ONCE])
            drafts.add_each(some, index.objects.assign_each([warrant.object_id for warrant in some]))
            yield len(some)
        for start in range(0, len(subjects), ENTRIES_KEPT_AT_ONCE):
            batch = subjects[start : start + ENTRIES_KEPT_AT_ONCE]
            built = drafts.build_each(batch)
            read.add(built)
            changed = self._list_changed(index.key, batch)
            index.entries.keep_each(built.exclude(changed) if changed else built)
            yield len(batch)
