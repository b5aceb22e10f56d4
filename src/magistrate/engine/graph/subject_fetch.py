"""Builds the entries of a subject adjacency from the warrants that were read for them, and caches them."""

from collections.abc import Iterator, Mapping, Sequence

from magistrate.engine.graph.adjacency_fetch import ENTRIES_KEPT_AT_ONCE, WARRANTS_FOR_AN_ENTRY, EntryFetch
from magistrate.engine.graph.graph import Graph
from magistrate.engine.graph.subject_adjacency import (
    NUMBERS_AT_ONCE,
    AdjacentSubjects,
    SubjectDrafts,
    SubjectIndex,
)
from magistrate.engine.names import WarrantNames
from magistrate.engine.sorting import sort_in_steps
from magistrate.engine.terms import ObjectId
from magistrate.engine.warrants import Warrant, creation_order

WARRANTS_KEPT_AT_ONCE = 200


class SubjectFetch(EntryFetch):
    """Builds and caches the entries of objects."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.subject_adjacency = graph.subject_adjacency

    def _read_id(self, change: WarrantNames) -> ObjectId:
        return ObjectId(change.object_id)

    def cache_subjects(
        self,
        indexes: Sequence[SubjectIndex],
        numbers: Sequence[int],
        warrants: Sequence[Warrant],
        known: Mapping[SubjectIndex, dict[int, AdjacentSubjects]],
    ) -> Iterator[int]:
        """Adds the entries of these objects to `known` and caches them, given all their warrants, which may have others
        among them; yields the work that it took since it yielded last."""
        drafts = {index: SubjectDrafts(index) for index in indexes}
        drafts_by_kind = {index.key[1:]: one for index, one in drafts.items()}
        ordered = yield from sort_in_steps([*warrants], creation_order)
        for start in range(0, len(ordered), WARRANTS_KEPT_AT_ONCE):
            some = self.model.select_counting(ordered[start : start + WARRANTS_KEPT_AT_ONCE])
            for warrant in some:
                kind = (warrant.relation, warrant.subject_type, warrant.subject_relation)
                if kind in drafts_by_kind:
                    drafts_by_kind[kind].add(warrant)
            yield WARRANTS_KEPT_AT_ONCE
        for index in indexes:
            yield from self._build_entries(index, numbers, drafts[index], known[index])

    def _build_entries(
        self,
        index: SubjectIndex,
        numbers: Sequence[int],
        drafts: SubjectDrafts,
        known: dict[int, AdjacentSubjects],
    ) -> Iterator[int]:
        for count, number in enumerate(numbers, 1):
            id = index.objects.find_id(number)
            entry: AdjacentSubjects = b""
            for built in drafts.build(id):
                if built is None:
                    yield NUMBERS_AT_ONCE
                else:
                    entry = built
            known[number] = entry
            if self._may_cache(index.key, id):
                index.entries.keep(number, entry)
            if not count % ENTRIES_KEPT_AT_ONCE:
                yield ENTRIES_KEPT_AT_ONCE * WARRANTS_FOR_AN_ENTRY
