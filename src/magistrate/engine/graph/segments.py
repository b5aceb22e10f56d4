"""Stores the graph cache in segments with a young and an old generation each, within one capacity.

When the young generation fills half of the capacity, the old one is evicted and the young one becomes old. Finding an
entry therefore costs one lookup in a dict, with no order to maintain.

Half of a million entries take a tenth of a second to free. What is evicted together is therefore passed to a function
that may free it in steps.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Generic, Protocol, TypeVar

from magistrate.engine.dismantling import Container

E = TypeVar("E")

Key = Hashable

FEW_ITEMS = 1_000
"""Limits the evicted items that are freed at once; it takes a fraction of a millisecond."""


def free_at_once(evicted: Container) -> None:
    """Frees what was evicted as soon as it returns, for callers whom nobody waits for."""


class Aging(Protocol):
    """Represents what is evicted along with the entries of a capacity: `age` is called when the old generation of all
    segments is evicted, `clear` when everything is."""

    def age(self) -> None: ...

    def clear(self) -> None: ...


class Removable(Aging, Protocol):
    """Represents what may be removed from a capacity: `evict_all` evicts everything and frees what it took of it."""

    def evict_all(self) -> None: ...


class Capacity:
    """Limits the warrants that all segments hold together. Each entry counts as one at least. `discard` gets every
    container of more than FEW_ITEMS that is evicted; nothing else refers to it."""

    def __init__(self, most: int, discard: Callable[[Container], None] = free_at_once) -> None:
        self._most = most
        self._discard = discard
        self._young = 0
        self._old = 0
        self._segments: dict[Aging, None] = {}

    @property
    def size(self) -> int:
        return self._young + self._old

    def add(self, segment: Aging) -> None:
        self._segments[segment] = None

    def remove(self, segment: Removable) -> None:
        """Evicts all entries of the segment and unregisters it."""
        segment.evict_all()
        self._segments.pop(segment, None)

    def fits(self, weight: int) -> bool:
        """Returns whether this much can be taken without evicting anything."""
        return 2 * (self._young + weight) <= self._most

    def take(self, weight: int) -> None:
        self._young += weight
        if 2 * self._young > self._most:
            for segment in self._segments:
                segment.age()
            self._old, self._young = self._young, 0

    def move(self, weight: int) -> None:
        """Moves this weight from the old generation to the young one."""
        self._old -= weight
        self.take(weight)

    def free(self, young: int, old: int) -> None:
        self._young -= young
        self._old -= old

    def discard(self, evicted: Container) -> None:
        """Takes what a segment has evicted, and no longer refers to."""
        if len(evicted) > FEW_ITEMS:
            self._discard(evicted)

    def clear(self) -> None:
        for segment in self._segments:
            segment.clear()
        self._young = self._old = 0


class CacheSegment(Generic[E]):
    """Holds entries of one kind by key. For speed, callers read `young` first and call `find` only when the key is
    not there."""

    __slots__ = ("_capacity", "_old", "_old_weight", "_weight", "_young_weight", "young")

    def __init__(self, capacity: Capacity, weight: Callable[[E], int]) -> None:
        self.young: dict[Key, E] = {}
        self._old: dict[Key, E] = {}
        self._capacity = capacity
        self._weight = weight
        self._young_weight = self._old_weight = 0
        capacity.add(self)

    def find(self, key: Key) -> E | None:
        """Returns an entry of the old generation, which moves into the young one."""
        found = self._old.pop(key, None)
        if found is not None:
            weight = self._weight(found)
            self.young[key] = found
            self._young_weight += weight
            self._old_weight -= weight
            self._capacity.move(weight)
        return found

    def keep(self, key: Key, value: E) -> None:
        self.evict(key)
        weight = self._weight(value)
        self.young[key] = value
        self._young_weight += weight
        self._capacity.take(weight)

    def keep_each(self, entries: Mapping[int, E]) -> None:
        """Keeps many entries, in a fraction of the time."""
        weight = sum(map(self._weight, entries.values()))
        if self._capacity.fits(weight) and not self._has_any(entries):
            self.young.update(entries.items())
            self._young_weight += weight
            self._capacity.take(weight)
            return
        for key, value in entries.items():
            self.keep(key, value)

    def _has_any(self, keys: Iterable[int]) -> bool:
        return not (self.young.keys().isdisjoint(keys) and self._old.keys().isdisjoint(keys))

    def has(self, key: Key) -> bool:
        """Returns whether there is an entry, which stays in its generation."""
        return key in self.young or key in self._old

    @property
    def has_old(self) -> bool:
        """Returns whether `find` may find anything."""
        return bool(self._old)

    def evict(self, key: Key) -> bool:
        """Evicts an entry, and returns whether there was one."""
        young, old = self.young.pop(key, None), self._old.pop(key, None)
        if young is not None or old is not None:
            young_weight, old_weight = self._weigh(young), self._weigh(old)
            self._young_weight -= young_weight
            self._old_weight -= old_weight
            self._capacity.free(young_weight, old_weight)
            return True
        return False

    def evict_all(self) -> None:
        self._capacity.free(self._young_weight, self._old_weight)
        self.clear()

    def _weigh(self, value: E | None) -> int:
        return 0 if value is None else self._weight(value)

    def age(self) -> None:
        old, self._old, self.young = self._old, self.young, {}
        self._old_weight, self._young_weight = self._young_weight, 0
        self._capacity.discard(old)

    def clear(self) -> None:
        young, old = self.young, self._old
        if not young and not old:
            return
        self.young, self._old = {}, {}
        self._young_weight = self._old_weight = 0
        self._capacity.discard(young)
        self._capacity.discard(old)
