"""Reads warrants from a store through an overlay, or together with those that have expired."""

from collections.abc import Awaitable, Sequence
from dataclasses import replace

from magistrate.engine.names import Revision
from magistrate.engine.warrants.overlay import Overlay
from magistrate.engine.warrants.reader import AnyRead, ReadResult, WarrantReader
from magistrate.store.contract.store import Store


class OverlaidReader:
    """Implements WarrantReader: returns what `reader` would return with the changes of the overlay."""

    def __init__(self, reader: WarrantReader, overlay: Overlay) -> None:
        self._reader = reader
        self._overlay = overlay

    async def read_warrants(self, reads: Sequence[AnyRead], at: Revision | None, most: int) -> ReadResult:
        result = await self._reader.read_warrants(reads, at, most)
        if sum(map(len, result.warrants)) >= most:
            return result  # some may be missing; the caller recognizes by their number that the limit is reached
        merged = [self._overlay.merge(read, stored) for read, stored in zip(reads, result.warrants, strict=True)]
        return replace(result, warrants=merged)


class ReaderWithExpired:
    """Implements WarrantReader: returns also the warrants that have expired. They do not change a decision, because a
    warrant does not count outside its time limits."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def read_warrants(self, reads: Sequence[AnyRead], at: Revision | None, most: int) -> Awaitable[ReadResult]:
        return self._store.read_warrants(reads, at, most, with_expired=True)
