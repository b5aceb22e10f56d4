"""Holds the warrants that an evaluation was given, and those it has yet to request."""

from collections.abc import Callable, Generator, Sequence

from magistrate.engine.names import WILDCARD, ObjectId
from magistrate.engine.warrants.reader import WarrantRead, WarrantsByObject
from magistrate.engine.warrants.warrant import Warrant, creation_order
from magistrate.engine.work import ITEMS_AT_ONCE, WARRANTS_BETWEEN_CHECKPOINTS, Container, sort_in_steps

OBJECTS_AT_ONCE = 4_000
"""Limits the objects whose warrants are read together. A level with more objects takes several reads, which lets
other requests run in between."""

_NONE: list[Warrant] = []


class Facts:
    """Holds the warrants that have been read so far, by request and object; only those that `counts` accepts."""

    def __init__(self, counts: Callable[[Warrant], bool]) -> None:
        self._counts = counts
        self._warrants: dict[WarrantsByObject, dict[ObjectId, list[Warrant]]] = {}
        self._everywhere: dict[WarrantsByObject, list[Warrant]] = {}
        self._missing: dict[WarrantsByObject, dict[ObjectId, None]] = {}
        self._missing_everywhere: dict[WarrantsByObject, None] = {}
        self._capacity = OBJECTS_AT_ONCE
        self._size = 0
        """Counts the objects and warrants that were taken."""

    @property
    def has_capacity(self) -> bool:
        """Returns whether one more object may be added to the next reads."""
        return self._capacity > 0

    def find(self, request: WarrantsByObject | None, object_id: ObjectId) -> list[Warrant] | None:
        """Returns the warrants on this object and those on every object, oldest first.

        For the id `*` it returns all warrants on the type. It returns None when they have not been read yet, and adds
        them to the next reads (see `missing`).
        """
        if request is None:
            return _NONE
        if object_id == WILDCARD:
            if request not in self._everywhere:
                self._missing_everywhere[request] = None
            return self._everywhere.get(request)
        by_object = self._warrants.get(request)
        if by_object is not None:
            here, of_wildcard = (
                by_object.get(object_id),
                by_object.get(WILDCARD) if request.has_object_wildcard else _NONE,
            )
            if here is not None and of_wildcard is not None:
                return sorted(here + of_wildcard, key=creation_order) if of_wildcard else here
        self._miss(request, object_id)
        return None

    def find_all(self, requests: Sequence[WarrantsByObject], object_id: ObjectId) -> list[list[Warrant]] | None:
        """Returns what `find` does for each of the requests, or None when some have not been read yet."""
        warrants: list[list[Warrant]] = []
        is_known = True
        for request in requests:
            direct = self.find(request, object_id)
            if direct is None:
                is_known = False
            else:
                warrants.append(direct)
        return warrants if is_known else None

    def _miss(self, request: WarrantsByObject, object_id: ObjectId) -> None:
        by_object = self._warrants.setdefault(request, {})
        missing = self._missing.setdefault(request, {})
        self._capacity -= 1
        for missing_id in (object_id, WILDCARD) if request.has_object_wildcard else (object_id,):
            if missing_id not in by_object:
                missing[missing_id] = None

    def missing(self) -> list[WarrantRead]:
        """Returns the reads that `find` requested since the last call."""
        reads = [WarrantRead(request, tuple(ids)) for request, ids in self._missing.items()]
        reads += [WarrantRead(request, None) for request in self._missing_everywhere]
        self._missing, self._missing_everywhere, self._capacity = {}, {}, OBJECTS_AT_ONCE
        return reads

    def containers(self) -> Sequence[Container]:
        """Returns all that holds warrants, for `free_containers`; nothing if that is little, and freed in no time."""
        return (self._warrants, self._everywhere) if self._size >= ITEMS_AT_ONCE else ()

    def take(self, reads: Sequence[WarrantRead], warrants: Sequence[Sequence[Warrant]]) -> Generator[int, None, None]:
        """Takes the rows of these reads, and yields how many it has processed since it yielded last.

        `find` returns them once the iterator is exhausted.
        """
        for read, stored in zip(reads, warrants, strict=True):
            self._size += len(stored) + len(read.ids or ())
            if read.ids is None:
                self._everywhere[read.request] = yield from sort_in_steps(
                    [*filter(self._counts, stored)], creation_order
                )
                continue
            by_object = self._warrants.setdefault(read.request, {})
            for object_id in read.ids:
                by_object[object_id] = []
            for number, warrant in enumerate(stored, 1):
                if self._counts(warrant):
                    by_object[warrant.object_id].append(warrant)
                if not number % WARRANTS_BETWEEN_CHECKPOINTS:
                    yield WARRANTS_BETWEEN_CHECKPOINTS
            sorted_warrants = 0
            for object_id in read.ids:
                if len(by_object[object_id]) > 1:
                    by_object[object_id] = yield from sort_in_steps(by_object[object_id], creation_order)
                    sorted_warrants += len(by_object[object_id])
                if sorted_warrants >= WARRANTS_BETWEEN_CHECKPOINTS:
                    yield sorted_warrants
                    sorted_warrants = 0
