"""Reads for lists of which nothing is cached: the first search of a list runs without the graph cache.

Most lists are small, and finding a few rows takes less than beginning to cache what they rest on. The search gives up
when it has read many warrants, or when most of what it reads next is cached. What it has read until then answers the
reads of the search with bitmaps that follows.
"""

from collections import defaultdict
from collections.abc import Sequence, Set
from itertools import chain

from magistrate.engine.graph import GivenUp, Graph
from magistrate.engine.terms import ObjectId, RelationName, Revision, Subject, TypeName
from magistrate.engine.warrant_reader import AnyRead, ReadResult, ReverseWarrantRead, WarrantReader
from magistrate.engine.warrants import Warrant

MOST_WARRANTS = 400
"""Limits the warrants that the first search of a list reads; above it, it gives up. From about here on, a search with
bitmaps takes no longer than one without the graph cache."""
IDS_TRIED = 16
"""Counts the ids of a read that are tried to find out whether most of it is cached."""

_Kind = tuple[TypeName, TypeName | Subject | None, str, bool]
"""Names the type of the objects, the type and relation of the subjects, and whether the ids are those of subjects."""


class FirstReader:
    """Implements WarrantReader for the first search of a list. Raises GivenUp, and then has what was `taken`."""

    def __init__(self, reader: WarrantReader, graph: Graph) -> None:
        self._reader = reader
        self._graph = graph
        self._count = 0
        self.taken: list[tuple[AnyRead, Sequence[Warrant]]] = []

    async def read_warrants(self, reads: Sequence[AnyRead], at: Revision | None, most: int) -> ReadResult:
        if self._graph.holds_most(reads, IDS_TRIED) or any(read.ids is None for read in reads):
            raise GivenUp
        result = await self._reader.read_warrants(reads, at, most)
        count = sum(map(len, result.warrants))
        if count >= most:
            raise GivenUp  # rows are missing
        self.taken += ((read, (*found,)) for read, found in zip(reads, result.warrants, strict=True))
        self._count += count
        if self._count > MOST_WARRANTS:
            raise GivenUp
        return result


class _TakenRead:
    """Holds the warrants that a read has found."""

    __slots__ = ("_ids", "_relations", "_warrants")

    def __init__(self, read: AnyRead, warrants: Sequence[Warrant]) -> None:
        self._relations = {*read.request.relations}
        self._ids = {*(read.ids or ())}
        self._warrants = warrants

    def covers(self, relation: RelationName, ids: Set[ObjectId]) -> bool:
        return relation in self._relations and ids <= self._ids

    def select(self, relations: Set[RelationName], ids: Set[ObjectId], by_subject: bool) -> Sequence[Warrant]:
        """Returns the warrants of these relations with these ids."""
        found = self._warrants
        if not relations >= self._relations:
            found = [one for one in found if one.relation in relations]
        if len(ids) < len(self._ids):
            found = [one for one in found if (one.subject_id if by_subject else one.object_id) in ids]
        return found


class TakenReader:
    """Implements WarrantReader with what the first search of a list has taken at one revision; what else is wanted is
    read."""

    def __init__(self, reader: WarrantReader, at: Revision, taken: Sequence[tuple[AnyRead, Sequence[Warrant]]]) -> None:
        self._reader = reader
        self._at = at
        self._taken: dict[_Kind, list[_TakenRead]] = defaultdict(list)
        for read, found in taken:
            self._taken[_find_kind(read)].append(_TakenRead(read, found))

    async def read_warrants(self, reads: Sequence[AnyRead], at: Revision | None, most: int) -> ReadResult:
        known = [self._find(read) if at == self._at else None for read in reads]
        rest = [read for read, found in zip(reads, known, strict=True) if found is None]
        if not rest and at is not None:
            return ReadResult(at, at, at, [found or () for found in known], is_prefetched=True)
        result = await self._reader.read_warrants(rest, at, most)
        remaining = iter(result.warrants)
        warrants = [next(remaining) if found is None else found for found in known]
        return ReadResult(result.revision, result.newest, result.model_revision, warrants)

    def _find(self, read: AnyRead) -> Sequence[Warrant] | None:
        """Returns the warrants of a read, or None if some are not known."""
        kind, ids = _find_kind(read), {*(read.ids or ())}
        relations: dict[_TakenRead, set[RelationName]] = defaultdict(set)
        for relation in read.request.relations:
            taken = next((one for one in self._taken.get(kind, ()) if one.covers(relation, ids)), None)
            if taken is None or read.ids is None:
                return None
            relations[taken].add(relation)
        return [*chain.from_iterable(taken.select(some, ids, kind[-1]) for taken, some in relations.items())]


def _find_kind(read: AnyRead) -> _Kind:
    if isinstance(read, ReverseWarrantRead):
        return read.request.type, read.request.subject_type, read.request.subject_relation, True
    return read.request.type, read.request.subjects, "", False
