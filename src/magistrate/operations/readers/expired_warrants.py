"""Reads warrants together with those that have expired, so that an explanation can name them."""

from collections.abc import Awaitable, Sequence

from magistrate.engine.names import Revision
from magistrate.engine.warrants.reader import AnyRead, ReadResult
from magistrate.store.contract.store import Store


class ReaderWithExpired:
    """Implements WarrantReader: returns also the warrants that have expired. They do not change a decision, because a
    warrant does not count outside its time limits."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def read_warrants(self, reads: Sequence[AnyRead], at: Revision | None, most: int) -> Awaitable[ReadResult]:
        return self._store.read_warrants(reads, at, most, with_expired=True)
