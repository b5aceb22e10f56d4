"""Records what the first search of a list reads, so that the evaluator after it need not read it again."""

from collections import defaultdict
from collections.abc import Callable, Sequence, Set
from itertools import chain
from operator import attrgetter

from magistrate.engine.cache.graph import Graph
from magistrate.engine.names import ObjectId, RelationName, Revision, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.warrants.reader import AnyRead, ReadResult, ReverseWarrantRead, WarrantReader
from magistrate.engine.warrants.warrant import Warrant

MAX_FEW_WARRANTS = 400
"""Limits the warrants that the first search of a list reads. From about here on, a search with bitmaps takes no longer
than one without the graph cache."""
IDS_TRIED = 16
"""Counts the ids of a read that are tried to find out whether most of it is cached."""

_Kind = tuple[TypeName, TypeName | Subject | None, str, bool]
"""Names the type of the objects, the type and relation of the subjects, and whether the ids are those of subjects."""
_OBJECT_ID: Callable[[Warrant], ObjectId] = attrgetter("object_id")
_SUBJECT_ID: Callable[[Warrant], ObjectId] = attrgetter("subject_id")


class RecordingReader:
    """Implements WarrantReader for few warrants, and has what was `recorded`. It `is_exceeded` as soon as more are
    requested, or most of what is requested is cached; what it returns then is not complete."""

    def __init__(self, reader: WarrantReader, graph: Graph) -> None:
        self._reader = reader
        self._graph = graph
        self._count = 0
        self.is_exceeded = False
        self.recorded: list[tuple[AnyRead, Sequence[Warrant]]] = []

    async def read_warrants(self, reads: Sequence[AnyRead], at: Revision | None, most: int) -> ReadResult:
        if self._graph.holds_most(reads, IDS_TRIED) or any(read.ids is None for read in reads):
            self.is_exceeded = True
            assert at is not None
            return ReadResult(at, at, at, [() for _ in reads])
        result = await self._reader.read_warrants(reads, at, most)
        count = sum(map(len, result.warrants))
        self._count += count
        self.is_exceeded = count >= most or self._count > MAX_FEW_WARRANTS
        if count < most:  # else rows are missing
            self.recorded += ((read, (*warrants,)) for read, warrants in zip(reads, result.warrants, strict=True))
        return result


class _RecordedRead:
    """Holds the warrants that a read has returned."""

    __slots__ = ("_ids", "_relations", "_warrants")

    def __init__(self, read: AnyRead, warrants: Sequence[Warrant]) -> None:
        self._relations = {*read.request.relations}
        self._ids = {*(read.ids or ())}
        self._warrants = warrants

    def covers(self, relation: RelationName, ids: Set[ObjectId]) -> bool:
        return relation in self._relations and ids <= self._ids

    def select(self, relations: Set[RelationName], ids: Set[ObjectId], by_subject: bool) -> Sequence[Warrant]:
        """Returns the warrants of these relations with these ids."""
        warrants = self._warrants
        if not relations >= self._relations:
            warrants = [warrant for warrant in warrants if warrant.relation in relations]
        if len(ids) < len(self._ids):
            id_of = _SUBJECT_ID if by_subject else _OBJECT_ID
            warrants = [warrant for warrant in warrants if id_of(warrant) in ids]
        return warrants


class RecordedReader:
    """Implements WarrantReader with what was recorded at one revision; it reads what else is requested."""

    def __init__(
        self, reader: WarrantReader, at: Revision, recorded: Sequence[tuple[AnyRead, Sequence[Warrant]]]
    ) -> None:
        self._reader = reader
        self._at = at
        self._recorded: dict[_Kind, list[_RecordedRead]] = defaultdict(list)
        for read, warrants in recorded:
            self._recorded[_find_kind(read)].append(_RecordedRead(read, warrants))

    async def read_warrants(self, reads: Sequence[AnyRead], at: Revision | None, most: int) -> ReadResult:
        recorded = [self._find(read) if at == self._at else None for read in reads]
        missing = [read for read, warrants in zip(reads, recorded, strict=True) if warrants is None]
        if not missing and at is not None:
            return ReadResult(at, at, at, [warrants or () for warrants in recorded])
        result = await self._reader.read_warrants(missing, at, most)
        remaining = iter(result.warrants)
        warrants = [next(remaining) if warrants is None else warrants for warrants in recorded]
        return ReadResult(result.revision, result.newest, result.model_revision, warrants)

    def _find(self, read: AnyRead) -> Sequence[Warrant] | None:
        """Returns the warrants of a read, or None if some were not recorded."""
        kind, ids = _find_kind(read), {*(read.ids or ())}
        relations: dict[_RecordedRead, set[RelationName]] = defaultdict(set)
        for relation in read.request.relations:
            recorded = next(
                (earlier for earlier in self._recorded.get(kind, ()) if earlier.covers(relation, ids)), None
            )
            if recorded is None or read.ids is None:
                return None
            relations[recorded].add(relation)
        return [*chain.from_iterable(recorded.select(names, ids, kind[-1]) for recorded, names in relations.items())]


def _find_kind(read: AnyRead) -> _Kind:
    if isinstance(read, ReverseWarrantRead):
        return read.request.type, read.request.subject_type, read.request.subject_relation, True
    return read.request.type, read.request.subjects, "", False
