"""Builds the entries of an adjacency from the warrants that were read for them, and caches them."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Protocol

from magistrate.engine.cache.adjacency import Adjacency, AdjacencyIndex, AdjacencyKey, read_key
from magistrate.engine.cache.adjacent_objects import EntryDrafts
from magistrate.engine.cache.object_entries import ReadEntries
from magistrate.engine.cache.subject_adjacency import (
    NO_SUBJECTS,
    NUMBERS_AT_ONCE,
    AdjacentSubjects,
    SubjectAdjacency,
    SubjectDrafts,
    SubjectIndex,
)
from magistrate.engine.model.model import Model
from magistrate.engine.names import ObjectId, Revision
from magistrate.engine.warrants.warrant import Warrant, WarrantNames, creation_order
from magistrate.engine.work import Pieces, sort_in_steps

WARRANTS_KEPT_AT_ONCE = 500
ENTRIES_KEPT_AT_ONCE = 500
"""An entry takes about as long as a warrant."""


class HasAdjacency(Protocol):
    """Represents what has entries to be read: a graph, or anything else with a model, at one revision at a time."""

    model: Model
    revision: Revision
    adjacency: Adjacency
    subject_adjacency: SubjectAdjacency


class EntryFetch(ABC):
    """Represents reads of one direction, as of the revision that the graph has at first.

    Changes since then must be passed to `note_changes`: entries that they affect are built but not cached. With
    `is_wasted`, because these changes cannot be determined, nothing is cached.
    """

    def __init__(self, graph: HasAdjacency) -> None:
        self.graph = graph
        self.model = graph.model
        self.revision = graph.revision
        self.adjacency = graph.adjacency
        self.is_wasted = False
        self._changed: set[tuple[AdjacencyKey, ObjectId]] = set()

    @property
    def is_current(self) -> bool:
        """Returns whether the cached entries are still those of the revision."""
        graph = self.graph
        is_same = graph.model is self.model and graph.adjacency is self.adjacency
        return is_same and graph.revision == self.revision and not self.is_wasted

    def note_changes(self, changes: Sequence[WarrantNames]) -> None:
        """Records warrants that were written or deleted after the revision."""
        self._changed.update((read_key(change), self._read_id(change)) for change in changes)

    @abstractmethod
    def _read_id(self, change: WarrantNames) -> ObjectId:
        """Returns the id whose entry has this warrant."""

    def _list_changed(self, key: AdjacencyKey, ids: Iterable[tuple[int, ObjectId]]) -> Set[int]:
        """Returns the numbers of those of the ids whose entries must not be cached."""
        if self.graph.adjacency is not self.adjacency or self.is_wasted:
            return {number for number, _ in ids}
        return (
            {number for number, subject_id in ids if (key, subject_id) in self._changed}
            if self._changed
            else frozenset()
        )


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
    ) -> Pieces[None]:
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


SUBJECT_WARRANTS_KEPT_AT_ONCE = 200
WARRANTS_FOR_AN_ENTRY = 4
"""Counts the warrants that take as much work as an entry."""


class SubjectFetch(EntryFetch):
    """Builds and caches the entries of objects."""

    def __init__(self, graph: HasAdjacency) -> None:
        super().__init__(graph)
        self.subject_adjacency = graph.subject_adjacency

    def _read_id(self, change: WarrantNames) -> ObjectId:
        return ObjectId(change.object_id)

    def cache_subjects(
        self,
        indexes: Sequence[SubjectIndex],
        numbers: Sequence[int],
        ids: Sequence[ObjectId],
        warrants: Sequence[Warrant],
        entries: Mapping[SubjectIndex, dict[int, AdjacentSubjects]],
    ) -> Pieces[None]:
        """Adds the entries of these objects to `entries` and caches them, given all their warrants, which may have
        others among them; yields the work that it took since it yielded last."""
        drafts = {index: SubjectDrafts(index) for index in indexes}
        kinds = {index.key[1:]: index for index in indexes}
        ordered = yield from sort_in_steps([*warrants], creation_order)
        for start in range(0, len(ordered), SUBJECT_WARRANTS_KEPT_AT_ONCE):
            some = self.model.select_counting(ordered[start : start + SUBJECT_WARRANTS_KEPT_AT_ONCE])
            for kind, of_kind in _group_by_kind(some).items():
                if kind in kinds:
                    drafts[kinds[kind]].add_each(of_kind)
            yield SUBJECT_WARRANTS_KEPT_AT_ONCE
        for index in indexes:
            yield from self._build_entries(index, numbers, ids, drafts[index], entries=entries[index])

    def _build_entries(
        self,
        index: SubjectIndex,
        numbers: Sequence[int],
        ids: Sequence[ObjectId],
        drafts: SubjectDrafts,
        entries: dict[int, AdjacentSubjects],
    ) -> Iterator[int]:
        for start in range(0, len(numbers), ENTRIES_KEPT_AT_ONCE):
            end = start + ENTRIES_KEPT_AT_ONCE
            batch = [*zip(numbers[start:end], ids[start:end], strict=True)]
            built: dict[int, AdjacentSubjects] = {number: NO_SUBJECTS for number, _ in batch}
            for number, subject_id in batch if drafts.has_warrants else ():
                for entry in drafts.build(subject_id):
                    if entry is None:
                        yield NUMBERS_AT_ONCE
                    else:
                        built[number] = entry
            entries.update(built)
            changed = self._list_changed(index.key, batch)
            kept = {number: built[number] for number in built if number not in changed} if changed else built
            index.entries.keep_each(kept)
            yield len(batch) * WARRANTS_FOR_AN_ENTRY


def _group_by_kind(warrants: Sequence[Warrant]) -> Mapping[tuple[str, str, str], Sequence[Warrant]]:
    by_names: dict[tuple[str, str, str], list[Warrant]] = defaultdict(list)
    for warrant in warrants:
        by_names[warrant.relation, warrant.subject_type, warrant.subject_relation].append(warrant)
    return by_names
