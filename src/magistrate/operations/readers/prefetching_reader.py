"""Reads ahead for one evaluation: what its later reads need comes with the first one, in one statement."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from magistrate.engine.names import WILDCARD, ObjectId, Revision
from magistrate.engine.warrants.read_ahead import AheadReader, AheadResult, PlacedRead, ReadsAhead
from magistrate.engine.warrants.reader import AnyRead, ReadResult, WarrantRead, WarrantReader, WarrantsByObject
from magistrate.engine.warrants.warrant import Warrant

MAX_ROWS_AHEAD = 200
"""Limits the warrants that are read ahead, which takes a millisecond or two."""
MAX_TIMES = 4
"""Limits how often an evaluation reads ahead, and with MAX_ROWS_AHEAD what is kept for it."""
MAX_IDS = 20
"""Limits the objects from which is read ahead. A larger read is worth a statement of its own."""


class Predicting(Protocol):
    @property
    def ahead(self) -> ReadsAhead | None:
        """Returns what follows from the reads of an evaluation, if that is known."""
        ...


class BegunRead(msgspec.Struct, frozen=True):
    """Holds what was read ahead for a check before its evaluation began. Unless it is complete, some warrants may be
    missing."""

    reads: Sequence[PlacedRead]
    ahead: ReadsAhead
    result: AheadResult
    is_complete: bool


class PrefetchingReader:
    """Implements WarrantReader for one evaluation, the `run`: returns what `reader` returns, from `ahead_reader` if it
    can.

    The evaluation makes the same reads as without it, and spends its budget on their rows only. What was `begun` before
    answers its first reads. If there are too many rows, which may be unused, `reader` reads the rest level by level.
    """

    def __init__(
        self, ahead_reader: AheadReader, reader: WarrantReader, run: Predicting | None, begun: BegunRead | None = None
    ) -> None:
        self._ahead_reader = ahead_reader
        self._reader = reader
        self._begun = begun
        self._times_left = MAX_TIMES
        self.known: dict[WarrantsByObject, dict[ObjectId, list[Warrant]]] = {}
        self.run = run

    @property
    def _ahead(self) -> ReadsAhead | None:
        return None if self.run is None else self.run.ahead

    async def read_warrants(self, reads: Sequence[AnyRead], at: Revision | None, most: int) -> ReadResult:
        begun, self._begun = self._begun, None
        if begun is not None and (taken := self._take(begun, reads, at)) is not None:
            return taken
        if at is not None and self.known:
            answers = self._find(reads)
            if answers is not None:
                return ReadResult(at, at, at, answers)
        ahead = self._ahead if self._times_left else None
        placed = None if ahead is None else _select(reads, ahead)
        if ahead is None or not placed:
            return await self._reader.read_warrants(reads, at, most)
        limit = min(MAX_ROWS_AHEAD, most)
        result = await self._ahead_reader.read_ahead(placed, ahead, at, limit)
        self._times_left -= 1
        if len(result.warrants) >= limit:
            self._times_left = 0
            return await self._reader.read_warrants(reads, at, most)
        self._keep(placed, ahead, result.warrants)
        answers = self._find(reads)
        assert answers is not None
        return ReadResult(result.revision, result.newest, result.model_revision, answers)

    def _take(self, begun: BegunRead, reads: Sequence[AnyRead], at: Revision | None) -> ReadResult | None:
        """Keeps what was begun, and returns what answers the first reads; None if it does not."""
        ahead, result = self._ahead, begun.result
        if ahead is None or ahead.outline is not begun.ahead.outline or ahead.subject_id != begun.ahead.subject_id:
            return None  # another model, or relations that were compiled since
        if at not in (None, result.revision):
            return None
        if not begun.is_complete:
            self._times_left = 0
            return None
        self._keep(begun.reads, ahead, result.warrants)
        answers = self._find(reads)
        if answers is None:
            self.known.clear()  # the next read may be at another revision
            return None
        self._times_left -= 1
        return ReadResult(result.revision, result.newest, result.model_revision, answers)

    def _find(self, reads: Sequence[AnyRead]) -> list[list[Warrant]] | None:
        """Returns the warrants of all reads, or None if some are not known."""
        answers: list[list[Warrant]] = []
        for read in reads:
            ids, entries = read.ids, self.known.get(read.request) if isinstance(read, WarrantRead) else None
            if entries is None or ids is None:
                return None
            if len(ids) == 1:
                warrants = entries.get(ids[0])
                if warrants is None:
                    return None
                answers.append(warrants)
            else:
                try:
                    answers.append([warrant for object_id in ids for warrant in entries[object_id]])
                except KeyError:
                    return None
        return answers

    def _keep(self, reads: Sequence[PlacedRead], ahead: ReadsAhead, placed: Sequence[tuple[int, Warrant]]) -> None:
        """Keeps the warrants on the objects of the reads, and on all objects to which one of the warrants leads."""
        requests, following = ahead.requests, ahead.outline.following
        fresh: list[dict[ObjectId, list[Warrant]]] = [{} for _ in requests]
        for place, ids in reads:
            fresh[place] = {object_id: [] for object_id in ids}
        for place, warrant in placed:
            if warrant.subject_id != WILDCARD:
                for step in following[place]:
                    if step.follows(warrant):
                        fresh[step.request].setdefault(warrant.subject_id, [])
        for place, warrant in placed:
            entry = fresh[place].get(warrant.object_id)
            if entry is not None:
                entry.append(warrant)
        for request, entries in zip(requests, fresh, strict=True):
            self.known.setdefault(request, {}).update(entries)


def _select(reads: Sequence[AnyRead], ahead: ReadsAhead) -> Sequence[PlacedRead]:
    """Returns the reads if all of them are of a few objects and of known requests, otherwise none."""
    if not ahead.outline.steps:
        return ()
    first: list[PlacedRead] = []
    for read in reads:
        place = ahead.places.get(read.request) if isinstance(read, WarrantRead) else None
        if place is None or not read.ids:
            return ()
        first.append(PlacedRead(place, read.ids))
    return ahead.outline.complete_first(first) if sum(len(read.ids) for read in first) <= MAX_IDS else ()
