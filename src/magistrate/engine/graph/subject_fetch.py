"""Builds the entries of a subject adjacency from the warrants that were read for them, and caches them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from magistrate.engine.graph.adjacency_fetch import ENTRIES_KEPT_AT_ONCE, EntryFetch, HasAdjacency
from magistrate.engine.graph.subject_adjacency import (
    NO_SUBJECTS,
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
        known: Mapping[SubjectIndex, dict[int, AdjacentSubjects]],
    ) -> Iterator[int]:
        """Adds the entries of these objects to `known` and caches them, given all their warrants, which may have others
        among them; yields the work that it took since it yielded last."""
        drafts = {index: SubjectDrafts(index) for index in indexes}
        kinds = {index.key[1:]: index for index in indexes}
        ordered = yield from sort_in_steps([*warrants], creation_order)
        for start in range(0, len(ordered), WARRANTS_KEPT_AT_ONCE):
            some = self.model.select_counting(ordered[start : start + WARRANTS_KEPT_AT_ONCE])
            for kind, of_kind in _group_by_kind(some).items():
                if kind in kinds:
                    drafts[kinds[kind]].add_each(of_kind)
            yield WARRANTS_KEPT_AT_ONCE
        for index in indexes:
            yield from self._build_entries(index, numbers, ids, drafts[index], known[index])

    def _build_entries(
        self,
        index: SubjectIndex,
        numbers: Sequence[int],
        ids: Sequence[ObjectId],
        drafts: SubjectDrafts,
        known: dict[int, AdjacentSubjects],
    ) -> Iterator[int]:
        for start in range(0, len(numbers), ENTRIES_KEPT_AT_ONCE):
            end = start + ENTRIES_KEPT_AT_ONCE
            batch = [*zip(numbers[start:end], ids[start:end], strict=True)]
            built: dict[int, AdjacentSubjects] = {number: NO_SUBJECTS for number, _ in batch}
            for number, id in batch if drafts.has_warrants else ():
                for entry in drafts.build(id):
                    if entry is None:
                        yield NUMBERS_AT_ONCE
                    else:
                        built[number] = entry
            known.update(built)
            changed = self._list_changed(index.key, batch)
            kept = {number: built[number] for number in built if number not in changed} if changed else built
            index.entries.keep_each(kept)
            yield len(batch) * WARRANTS_FOR_AN_ENTRY


def _group_by_kind(warrants: Sequence[Warrant]) -> Mapping[tuple[str, str, str], Sequence[Warrant]]:
    found: dict[tuple[str, str, str], list[Warrant]] = defaultdict(list)
    for warrant in warrants:
        found[warrant.relation, warrant.subject_type, warrant.subject_relation].append(warrant)
    return found
