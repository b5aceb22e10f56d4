"""Finds values that are equal to ones met before, so that entries with the same contents share them.

Most entries repeat what others have: the documents of a folder all reach that folder, and the users of a tenant are
all in the same group. Equal values are looked up in an array, at a place that follows from the hash. A value takes the
place of another one there, so some that are repeated are not noticed, and nothing has to be evicted
(docs/decisions/0132-entries-share-equal-contents.md).
"""

from typing import TypeVar

from magistrate.engine.cache.segments import Capacity

V = TypeVar("V")

MAX_SHARED_BYTES = 256
"""Limits what a shared value takes. Longer ones are rare."""
PLACE_BYTES = 128
"""Counts a place in both arrays, and what it may be the last to refer to."""


class SharedValues:
    """Holds values that were seen recently, in about `max_bytes`. Like entries, they have a young and an old
    generation, so those that are met again remain when the array grows, or when entries become old."""

    __slots__ = ("_capacity", "_old", "_young")

    def __init__(self, max_bytes: int, capacity: Capacity) -> None:
        self._capacity = capacity
        self._young = self._old = list[object]()
        self.resize(max_bytes)
        capacity.add(self)

    def share(self, value: V) -> V:
        """Returns an equal value, which is the object that was seen before, if it was recently. The value must not
        change, and takes at most MAX_SHARED_BYTES."""
        young, old = self._young, self._old
        code = hash(value)
        place = code % len(young)
        former = young[place]
        if former != value:
            former = old[code % len(old)]
            young[place] = value = former if former == value else value
            return value
        return former

    def resize(self, max_bytes: int) -> None:
        """Sets how many values are held."""
        self._replace_old(self._young or [None], max(1, max_bytes // PLACE_BYTES))

    def age(self) -> None:
        self._replace_old(self._young, len(self._young))

    def clear(self) -> None:
        self._replace_old([None], len(self._young))

    def _replace_old(self, old: list[object], young_places: int) -> None:
        evicted = (self._young, self._old)
        self._young, self._old = [None] * young_places, old
        for places in evicted:
            if places is not old:
                self._capacity.discard(places)
