"""Divides the bytes that caches may take in a process among the stores that it serves.

Each open store has a share, which limits its caches; the shares never exceed the budget together. A share begins small
and doubles when its caches are full. If no bytes are free, they are taken back from the shares that were used least
recently, but none is brought below an equal part of the budget: so no store, and no number of them, evicts what
another one keeps within its equal part. See docs/decisions/0093-caches-of-stores-share-one-budget.md."""

from collections.abc import Callable

FIRST_BYTES = 65_536
"""Limits what a share begins with (64 KiB)."""
IDLE_ROUNDS = 40
"""Counts the rounds after which a share counts as unused: one above its equal part takes bytes back from such shares
only. Rounds take a quarter of a second."""
MAX_TAKEN_BACK = 8
"""Limits the shares that are reduced for one other, each of which takes some fractions of a millisecond."""


def _resize_nothing(max_bytes: int) -> None:
    """Is for a share without caches."""


class CacheShare:
    """Holds the limit on the caches of one store. `resize` is called with each new one, and evicts what exceeds it."""

    __slots__ = ("_budget", "bytes", "refused_in", "resize", "used_in")

    def __init__(self, budget: "CacheBudget", max_bytes: int) -> None:
        self._budget = budget
        self.bytes = max_bytes
        self.resize: Callable[[int], None] = _resize_nothing
        self.used_in = budget.round
        """Is the last round in which a request used the store."""
        self.refused_in = -1
        """Is the last round in which there were too few bytes for it."""

    def use(self) -> None:
        """Notes that a request uses the store."""
        self.used_in = self._budget.round

    def grow(self) -> bool:
        """Takes more bytes, if there are any, and returns whether it has."""
        return self._budget.grow(self)

    def begin_round(self) -> int:
        """Begins the next round of the budget, and returns its number."""
        self._budget.round += 1
        return self._budget.round

    def close(self) -> None:
        """Gives all bytes back. The caches must not be used afterwards."""
        self._budget.close(self)


class CacheBudget:
    """Holds the limit on the caches of all stores. `max_shares` limits how many are open at the same time."""

    def __init__(self, max_bytes: int, max_shares: int = 1) -> None:
        self.max_bytes = max_bytes
        self.round = 0
        self._first_bytes = max_bytes if max_shares == 1 else min(FIRST_BYTES, max_bytes // max_shares)
        self._free = max_bytes
        self._shares: dict[CacheShare, None] = {}

    def open(self) -> CacheShare:
        """Opens a share."""
        share = CacheShare(self, 0)
        self._shares[share] = None
        while self._free < self._first_bytes and self._take_back(share, self._first_bytes - self._free):
            pass
        self._give(share, min(self._first_bytes, self._free))
        return share

    def close(self, share: CacheShare) -> None:
        if share in self._shares:
            del self._shares[share]
            self._free += share.bytes
        share.resize = _resize_nothing

    def grow(self, share: CacheShare) -> bool:
        more = min(max(share.bytes, self._first_bytes), self.max_bytes - share.bytes)
        if more <= 0 or share.refused_in == self.round or share not in self._shares:
            return False
        if self._free < more:
            self._take_back(share, more - self._free)
        available = min(more, self._free)
        if available < more:
            share.refused_in = self.round
        if available:
            self._give(share, available)
        return available > 0

    def _give(self, share: CacheShare, more: int) -> None:
        self._free -= more
        share.bytes += more
        share.resize(share.bytes)

    def _take_back(self, share: CacheShare, missing: int) -> bool:
        """Takes bytes back for a share from some of the others, and returns whether it has."""
        equal = self.max_bytes // len(self._shares)
        used_by = self.round - IDLE_ROUNDS
        if share.bytes < equal:
            used_by, missing = self.round, min(missing, equal - share.bytes)
        larger = [other for other in self._shares if other is not share and other.bytes > equal]
        larger = [other for other in larger if other.used_in <= used_by]
        for other in sorted(larger, key=lambda other: other.used_in)[:MAX_TAKEN_BACK]:
            less = min(missing, other.bytes - equal)
            other.bytes -= less
            self._free += less
            missing -= less
            other.resize(other.bytes)
            if not missing:
                break
        return bool(larger)
