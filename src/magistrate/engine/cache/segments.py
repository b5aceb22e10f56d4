"""Stores what is cached in segments with a young and an old generation each, within one capacity in bytes.

When the young generation fills half of the capacity, the old one is evicted and the young one becomes old. Finding an
entry therefore costs one lookup in a dict, with no order to maintain, and what has not been used for longest goes
first.

Half of a million entries take a tenth of a second to free. What is evicted together is therefore passed to a function
that may free it in steps.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import Generic, Protocol, TypeVar

from magistrate.engine.byte_sizes import (
    NUMBER_BYTES,
    SEQUENCE_BYTES,
    SLOT_BYTES,
    TEXT_BYTES,
    CacheBytes,
    measure_text,
    measure_texts,
)
from magistrate.engine.work import Container

E = TypeVar("E")
K = TypeVar("K", bound=Hashable)

Key = Hashable

MAX_ITEMS_FREED_AT_ONCE = 1_000
"""Limits the evicted items that are freed at once; it takes a fraction of a millisecond."""


def free_at_once(evicted: Container) -> None:
    """Frees what was evicted as soon as it returns, for callers whom nobody waits for."""


def stay_as_large() -> bool:
    """Stands for a capacity whose limit is fixed."""
    return False


def measure_key(key: Key) -> int:
    """Returns the bytes of a key and of its place in a container."""
    return SLOT_BYTES + (measure_text(key) if isinstance(key, str) else _measure_other(key))


def measure_keys(keys: Collection[Key]) -> int:
    """Returns the bytes of keys that are all texts, or all numbers, and of their places in a container."""
    texts = [key for key in keys if isinstance(key, str)]
    return measure_texts(texts) if texts else measure_key(0) * len(keys)


def _measure_other(key: object) -> int:
    if isinstance(key, tuple):
        return SEQUENCE_BYTES + sum(
            [measure_text(element) if isinstance(element, str) else _measure_other(element) for element in key]
        )
    return TEXT_BYTES + len(key) if isinstance(key, bytes) else NUMBER_BYTES


class Aging(Protocol):
    """Represents what is evicted along with the entries of a capacity: `age` is called when the old generation of all
    segments is evicted, `clear` when everything is."""

    def age(self) -> None: ...

    def clear(self) -> None: ...


class Removable(Aging, Protocol):
    """Represents what may be removed from a capacity: `evict_all` evicts everything and frees what it took of it."""

    def evict_all(self) -> None: ...


class Capacity:
    """Limits the bytes that all segments hold together; a single entry may exceed it. `absent` is the
    capacity for keys that have nothing, so that these do not evict what exists. `discard` gets every container of more
    than MAX_ITEMS_FREED_AT_ONCE that is evicted; nothing else refers to it. `grow` is called when there is no space: it
    may raise `max_bytes`, and returns whether it is worth another look."""

    def __init__(
        self,
        max_bytes: int,
        discard: Callable[[Container], None] = free_at_once,
        absent: "Capacity | None" = None,
        grow: Callable[[], bool] = stay_as_large,
    ) -> None:
        self.max_bytes = max_bytes
        self.absent = absent or self
        self._discard = discard
        self._grow = grow
        self._young = 0
        self._old = 0
        self._segments: dict[Aging, None] = {}
        self.generations = 0
        """Counts the young generations that have become old."""

    @property
    def bytes(self) -> int:
        return self._young + self._old

    def measure(self, cache: str) -> CacheBytes:
        return CacheBytes(cache, self.bytes, self.max_bytes)

    def add(self, segment: Aging) -> None:
        self._segments[segment] = None

    def remove(self, segment: Removable) -> None:
        """Evicts all entries of the segment and unregisters it."""
        segment.evict_all()
        self._segments.pop(segment, None)

    def fits(self, weight: int) -> bool:
        """Returns whether this much can be taken without evicting anything."""
        return self._has_space(self._young + weight)

    def can_hold(self, weight: int) -> bool:
        """Returns whether an entry of this weight is worth adding: others would have to go as soon as it came."""
        return self._has_space(weight)

    def _has_space(self, young: int) -> bool:
        while 2 * young > self.max_bytes:
            if not self._grow():
                return False
        return True

    def resize(self, max_bytes: int) -> None:
        """Sets the limit, and evicts what exceeds it."""
        self.max_bytes = max_bytes
        for _ in range(2):
            if self.bytes > max_bytes:
                self.age()

    def release(self) -> None:
        """Unregisters all segments, so that nothing refers to itself. Neither it nor they can be used afterwards."""
        self._segments.clear()
        absent = self.absent
        del self.absent
        if absent is not self:
            absent.release()

    def take(self, weight: int) -> None:
        """Counts an entry that is about to be added to the young generation; others become old if there is no space."""
        if 2 * (self._young + weight) > self.max_bytes and not self._has_space(self._young + weight):
            self.age()
            if self._old + weight > self.max_bytes:  # because of a single large entry, this one or one of the others
                self.age()
        self._young += weight

    def age(self) -> None:
        """Evicts the old generation of all segments; the young one becomes old."""
        self.generations += 1
        for segment in self._segments:
            segment.age()
        self._old, self._young = self._young, 0

    def move(self, weight: int) -> None:
        """Counts an entry that has left the old generation and is about to be added to the young one."""
        self._old -= weight
        self.take(weight)

    def free(self, young: int, old: int) -> None:
        self._young, self._old = self._young - young, self._old - old

    def discard(self, evicted: Container) -> None:
        """Takes what a segment has evicted, and no longer refers to."""
        if len(evicted) > MAX_ITEMS_FREED_AT_ONCE:
            self._discard(evicted)

    def clear(self) -> None:
        for segment in self._segments:
            segment.clear()
        self._young = self._old = 0
        if self.absent is not self:
            self.absent.clear()


class CacheSegment(Generic[E]):
    """Holds entries of one kind by key; `weigh` returns the bytes of a value; changes of them are noted.
    For speed, callers read `young` first and call `find` only when the key is not there."""

    __slots__ = ("_capacity", "_old", "_old_weight", "_weigh_value", "_young_weight", "young")

    def __init__(self, capacity: Capacity, weigh: Callable[[E], int]) -> None:
        self.young: dict[Key, E] = {}
        self._old: dict[Key, E] = {}
        self._capacity = capacity
        self._weigh_value = weigh
        self._young_weight = self._old_weight = 0
        capacity.add(self)

    def __len__(self) -> int:
        return len(self.young) + len(self._old)

    def find(self, key: Key) -> E | None:
        """Returns an entry of the old generation, which moves into the young one."""
        value = self._old.pop(key, None)
        if value is not None:
            weight = self._weigh(key, value)
            self._old_weight -= weight
            self._capacity.move(weight)
            self.young[key] = value
            self._young_weight += weight
        return value

    def keep(self, key: Key, value: E) -> None:
        if key in self.young or key in self._old:
            self.evict(key)
        self.add(key, value)

    def add(self, key: Key, value: E) -> None:
        """Keeps an entry whose key is not there, in half the time."""
        self._capacity.take(weight := self._weigh(key, value))
        self.young[key] = value
        self._young_weight += weight

    def keep_each(self, entries: Mapping[K, E], even_large: bool = False) -> None:
        """Keeps many entries, in a fraction of the time, except those that the capacity cannot hold, unless
        `even_large`."""
        weight = measure_keys(entries) + sum(map(self._weigh_value, entries.values()))
        if self._capacity.fits(weight) and not self._has_any(entries):
            self._capacity.take(weight)
            self.young.update(entries.items())
            self._young_weight += weight
            return
        for key, value in entries.items():
            self.evict(key)
            if even_large or self._capacity.can_hold(self._weigh(key, value)):
                self.keep(key, value)

    def _has_any(self, keys: Iterable[Key]) -> bool:
        return not (self.young.keys().isdisjoint(keys) and self._old.keys().isdisjoint(keys))

    def has(self, key: Key) -> bool:
        """Returns whether there is an entry, which stays in its generation."""
        return key in self.young or key in self._old

    def evict(self, key: Key) -> bool:
        """Evicts an entry, and returns whether there was one."""
        if key not in self.young and key not in self._old:
            return False
        young, old = self.young.pop(key, None), self._old.pop(key, None)
        young_weight = 0 if young is None else self._weigh(key, young)
        old_weight = 0 if old is None else self._weigh(key, old)
        self._young_weight -= young_weight
        self._old_weight -= old_weight
        self._capacity.free(young_weight, old_weight)
        return True

    def note_growth(self, key: Key, more: int) -> None:
        """Counts that the value of a key takes so many bytes more than before, if it is still here."""
        if key in self.young:
            self._young_weight += more
            self._capacity.free(-more, 0)
        elif key in self._old:
            self._old_weight += more
            self._capacity.free(0, -more)

    def evict_all(self) -> None:
        self._capacity.free(self._young_weight, self._old_weight)
        self.clear()

    def remove(self) -> None:
        """Evicts all entries, and unregisters the segment."""
        self._capacity.remove(self)

    def _weigh(self, key: Key, value: E) -> int:
        return measure_key(key) + self._weigh_value(value)

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


class SparseSegment(CacheSegment[E]):
    """Holds entries most of which are `nothing`: of these, only the keys count, and they are in `absent`, which
    has a capacity of its own.
    `find` returns them too. For speed, callers look into `absent.young` before they call it."""

    __slots__ = ("_nothing", "absent")

    def __init__(self, capacity: Capacity, weigh: Callable[[E], int], nothing: E) -> None:
        super().__init__(capacity, weigh)
        self._nothing = nothing
        self.absent: CacheSegment[E] = CacheSegment(capacity.absent, _weigh_nothing)

    def __len__(self) -> int:
        return super().__len__() + len(self.absent)

    def find(self, key: Key) -> E | None:
        if self._old and (value := super().find(key)) is not None:
            return value
        absent = self.absent
        return self._nothing if key in absent.young or (absent._old and absent.find(key) is not None) else None

    def keep(self, key: Key, value: E) -> None:
        if value is self._nothing:
            super().evict(key)
            self.absent.keep(key, value)
            return
        if key in self.absent.young or key in self.absent._old:
            self.absent.evict(key)
        super().keep(key, value)

    def add(self, key: Key, value: E) -> None:
        if value is self._nothing:
            self.absent.add(key, value)
        else:
            super().add(key, value)

    def keep_each(self, entries: Mapping[K, E], even_large: bool = False) -> None:
        present = {key: value for key, value in entries.items() if value is not self._nothing}
        for key in present if len(self.absent) else ():
            self.absent.evict(key)
        super().keep_each(present, even_large)
        if len(present) < len(entries):
            nothing = entries.keys() - present.keys()
            for key in nothing if self.young or self._old else ():
                super().evict(key)
            self.absent.keep_each(dict.fromkeys(nothing, self._nothing), even_large)

    def has(self, key: Key) -> bool:
        return super().has(key) or self.absent.has(key)

    def evict(self, key: Key) -> bool:
        was_absent = self.absent.evict(key)
        return super().evict(key) or was_absent

    def evict_all(self) -> None:
        super().evict_all()
        self.absent.evict_all()

    def remove(self) -> None:
        super().remove()
        self.absent.remove()


def _weigh_nothing(nothing: object) -> int:
    return 0
