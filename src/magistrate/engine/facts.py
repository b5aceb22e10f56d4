"""Holds the warrants that an evaluation was given, and those it has yet to request."""

from collections.abc import Generator, Sequence

from magistrate.engine.dismantling import Container
from magistrate.engine.sorting import sort_in_parts
from magistrate.engine.terms import WILDCARD, ObjectId
from magistrate.engine.warrant_reader import WarrantRead, WarrantsByObject
from magistrate.engine.warrants import Warrant, creation_order

ROWS_BETWEEN_CHECKPOINTS = 500
"""Counts the rows processed between two checkpoints, some tenths of a millisecond."""
ROWS_FOR_A_NODE = 10
"""Counts the rows that take as long as one unit of work."""

OBJECTS_AT_ONCE = 4_000
"""Limits the objects whose warrants are read together. A level with more objects takes several reads, which lets
other requests run in between."""

_NONE: list[Warrant] = []


class Facts:
    """Holds the warrants that have been read so far, by request and object."""

    def __init__(self) -> None:
        self._rows: dict[WarrantsByObject, dict[ObjectId, list[Warrant]]] = {}
        self._everywhere: dict[WarrantsByObject, list[Warrant]] = {}
        self._missing: dict[WarrantsByObject, dict[ObjectId, None]] = {}
        self._missing_everywhere: dict[WarrantsByObject, None] = {}
        self._room = OBJECTS_AT_ONCE

    @property
    def has_room(self) -> bool:
        """Returns whether one more object may be added to the next reads."""
        return self._room > 0

    def find(self, shape: WarrantsByObject | None, id: ObjectId) -> list[Warrant] | None:
        """Returns the warrants on this object and those on every object, oldest first.

        For the id `*` it returns all warrants on the type. It returns None when they have not been read yet, and adds
        them to the next reads (see `missing`).
        """
        if shape is None:
            return _NONE
        if id == WILDCARD:
            if shape not in self._everywhere:
                self._missing_everywhere[shape] = None
            return self._everywhere.get(shape)
        known = self._rows.get(shape)
        if known is not None:
            here, on_all = known.get(id), known.get(WILDCARD) if shape.on_all else _NONE
            if here is not None and on_all is not None:
                return sorted(here + on_all, key=creation_order) if on_all else here
        self._miss(shape, id)
        return None

    def find_all(self, shapes: Sequence[WarrantsByObject], id: ObjectId) -> list[list[Warrant]] | None:
        """Returns what `find` does for each of the requests, or None when some have not been read yet."""
        rows: list[list[Warrant]] = []
        is_known = True
        for shape in shapes:
            found = self.find(shape, id)
            if found is None:
                is_known = False
            else:
                rows.append(found)
        return rows if is_known else None

    def _miss(self, shape: WarrantsByObject, id: ObjectId) -> None:
        known = self._rows.setdefault(shape, {})
        missing = self._missing.setdefault(shape, {})
        self._room -= 1
        for wanted in (id, WILDCARD) if shape.on_all else (id,):
            if wanted not in known:
                missing[wanted] = None

    def missing(self) -> list[WarrantRead]:
        """Returns the reads that `find` requested since the last call."""
        reads = [WarrantRead(shape, tuple(ids)) for shape, ids in self._missing.items()]
        reads += [WarrantRead(shape, None) for shape in self._missing_everywhere]
        self._missing, self._missing_everywhere, self._room = {}, {}, OBJECTS_AT_ONCE
        return reads

    def containers(self) -> Sequence[Container]:
        """Returns all that holds warrants, for `dismantle`."""
        return self._rows, self._everywhere

    def take(self, reads: Sequence[WarrantRead], rows: Sequence[Sequence[Warrant]]) -> Generator[int, None, None]:
        """Takes the rows of these reads, and yields how many it has processed since it yielded last.

        `find` returns them once the iterator is exhausted.
        """
        for read, found in zip(reads, rows, strict=True):
            if read.ids is None:
                self._everywhere[read.shape] = yield from sort_in_parts(list(found), creation_order)
                continue
            known = self._rows.setdefault(read.shape, {})
            for id in read.ids:
                known[id] = []
            for number, warrant in enumerate(found, 1):
                known[warrant.object_id].append(warrant)
                if not number % ROWS_BETWEEN_CHECKPOINTS:
                    yield ROWS_BETWEEN_CHECKPOINTS
            for id in read.ids:
                if len(known[id]) > 1:
                    known[id] = yield from sort_in_parts(known[id], creation_order)
