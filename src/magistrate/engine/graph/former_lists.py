"""Remembers which lists have come before, in a few bytes each."""

from collections.abc import Hashable

from pyroaring import BitMap

from magistrate.engine.segments import Capacity

HASHES = 1 << 24
"""Bounds the hashes that identify lists. Two lists with the same hash count as one, so the second is computed with the
graph cache already when it first comes."""
MOST_YOUNG = HASHES // 32
"""Limits the lists of the young generation. Of lists that have not come before, one of sixteen at most is taken for
another that has."""


class FormerLists:
    """Holds the hashes of lists in two generations, which age like the entries that the lists use. They take no
    capacity."""

    __slots__ = ("_old", "_young")

    def __init__(self, capacity: Capacity) -> None:
        self._young, self._old = BitMap(), BitMap()
        capacity.add(self)

    def note(self, name: Hashable) -> bool:
        """Notes that the list of this name has come, and returns whether it had come before."""
        number = hash(name) % HASHES
        has_come = number in self._young or number in self._old
        if number not in self._young and len(self._young) >= MOST_YOUNG:
            self.age()
        self._young.add(number)
        return has_come

    def age(self) -> None:
        self._old, self._young = self._young, BitMap()

    def evict_all(self) -> None:
        self._young, self._old = BitMap(), BitMap()

    def clear(self) -> None:
        self.evict_all()
