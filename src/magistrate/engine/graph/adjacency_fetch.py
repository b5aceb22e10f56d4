"""Builds the entries of an adjacency from the warrants that were read for them, and caches them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from magistrate.engine.graph.adjacency import (
    AdjacencyIndex,
    AdjacencyKey,
    AdjacentObjects,
    EntryDrafts,
    read_key,
)
from magistrate.engine.graph.graph import Graph
from magistrate.engine.names import WarrantNames
from magistrate.engine.terms import ObjectId
from magistrate.engine.warrants import Warrant

WARRANTS_KEPT_AT_ONCE = 500
ENTRIES_KEPT_AT_ONCE = 200
COST_OF_A_WARRANT = 2
"""Counts the warrants that are merely read in the time in which one is added to an entry."""
WARRANTS_FOR_AN_ENTRY = 4
"""Counts the warrants that take as much work as an entry."""


class EntryFetch(ABC):
    """Represents reads of one direction, as of the revision that the graph has at first.

    Changes since then must be passed to `note_changes`: entries that they affect are built but not cached. With
    `is_in_vain`, because these changes cannot be determined, nothing is cached.
    """

    def __init__(self, graph: Graph) -> None:
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

    def _may_cache(self, key: AdjacencyKey, id: ObjectId) -> bool:
        is_same = self.graph.adjacency is self.adjacency and not self.is_in_vain
        return is_same and (key, id) not in self._changed


class AdjacencyFetch(EntryFetch):
    """Builds and caches the entries of subjects."""

    def _read_id(self, change: WarrantNames) -> ObjectId:
        return ObjectId(change.subject_id)

    def cache_entries(
        self,
        index: AdjacencyIndex,
        subjects: Sequence[tuple[int, ObjectId]],
        warrants: Sequence[Warrant],
        entries: dict[int, AdjacentObjects],
    ) -> Iterator[int]:
        """Adds the entries of these subjects to `entries` and caches them, given all their warrants; yields the work
        that it took since it yielded last."""
        drafts = EntryDrafts()
        assign = index.objects.assign
        for start in range(0, len(warrants), WARRANTS_KEPT_AT_ONCE):
            some = self.model.select_counting(warrants[start : start + WARRANTS_KEPT_AT_ONCE])
            for warrant in some:
                drafts.add(warrant, assign(warrant.object_id))
            yield COST_OF_A_WARRANT * len(some)
        for count, (number, id) in enumerate(subjects, 1):
            entry = entries[number] = drafts.build(id)
            if self._may_cache(index.key, id):
                index.entries.keep(number, entry)
            if not count % ENTRIES_KEPT_AT_ONCE:
                yield ENTRIES_KEPT_AT_ONCE * WARRANTS_FOR_AN_ENTRY
