"""Holds the entries of an index of the adjacency, each with the objects of the warrants to one subject.

Most subjects have one warrant. Such an entry is the number of the object, four bytes in an array at the number of the
subject: as a Python object in a dict, it took more than a hundred.
"""

from array import array
from collections.abc import Iterator, Sequence
from itertools import islice, repeat
from operator import itemgetter
from typing import Protocol, TypeVar

from pyroaring import BitMap

from magistrate.engine.cache.adjacent_objects import (
    AdjacentObjects,
    EntryBatch,
    ReachedObjects,
    count_objects,
    is_empty,
    measure_objects,
)
from magistrate.engine.cache.segments import Capacity
from magistrate.engine.work import Container

PAGE_BITS = 16
PAGE_SIZE = 1 << PAGE_BITS
MIN_VALUES_IN_ARRAY = 64
NUMBERS_FOR_A_VALUE = 16
"""Divides the greatest number of a page. The quotient, at least MIN_VALUES_IN_ARRAY, is the number of values from which
on the page becomes an array."""
NUMBERS_FOR_A_RARE_VALUE = 64
"""Divides it likewise: with fewer values, an array becomes a dict again."""

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_MASK = PAGE_SIZE - 1
_ABSENT = (1 << 32) - 1


class Indexable(Protocol[T_co]):
    """Represents what has values by number."""

    def __getitem__(self, number: int, /) -> T_co: ...


def read_places(values: Indexable[T], places: Sequence[int]) -> Sequence[T]:
    """Returns the values at these places, of which there must be one at least. It takes half the time of a loop."""
    return itemgetter(*places)(values) if len(places) > 1 else (values[places[0]],)


class SparseArray:
    """Holds a value, less than 2^32 - 1, for some numbers. The caller knows for which: it must not read or delete
    others, nor set one that is there."""

    __slots__ = ("_pages",)

    def __init__(self) -> None:
        self._pages: dict[int, _NumberPage] = {}

    def read(self, number: int) -> int:
        return self._pages[number >> PAGE_BITS].values[number & _MASK]

    def read_each(self, numbers: BitMap) -> Sequence[int]:
        """Returns the values of these numbers, of which there must be one at least, in their order."""
        if numbers.max() < PAGE_SIZE:
            return read_places(self._pages[0].values, numbers.to_array())
        values: list[int] = []
        for place, offsets in _divide(numbers):
            values += read_places(self._pages[place].values, offsets)
        return values

    def set(self, number: int, value: int) -> None:
        self._find_page(number >> PAGE_BITS).set_each((number & _MASK,), (value,))

    def set_each(self, numbers: "array[int]", values: Sequence[int]) -> None:
        """Sets the values of these numbers, which must be in ascending order."""
        if numbers[-1] < PAGE_SIZE:
            self._find_page(0).set_each(numbers, values)
            return
        remaining = iter(values)
        for place, offsets in _divide(BitMap(numbers)):
            self._find_page(place).set_each(offsets, [*islice(remaining, len(offsets))])

    def delete(self, number: int) -> None:
        place = number >> PAGE_BITS
        page = self._pages[place]
        page.delete(number & _MASK)
        if not page.count:
            del self._pages[place]

    @property
    def dicts(self) -> Iterator[dict[int, int]]:
        """Yields the pages that are dicts."""
        return (page.values for page in self._pages.values() if isinstance(page.values, dict))

    def _find_page(self, place: int) -> "_NumberPage":
        page = self._pages.get(place)
        if page is None:
            page = self._pages[place] = _NumberPage()
        return page


class _NumberPage:
    """Holds `count` values by offset, all less than `end`."""

    __slots__ = ("count", "end", "values")

    def __init__(self) -> None:
        self.values: dict[int, int] | array[int] = {}
        self.count = self.end = 0

    def set_each(self, offsets: Sequence[int], values: Sequence[int]) -> None:
        self.count += len(offsets)
        self.end = max(self.end, offsets[-1] + 1)
        self._unpack_rare()
        if isinstance(self.values, dict):
            self.values.update(zip(offsets, values, strict=True))
            if self.count >= MIN_VALUES_IN_ARRAY and self.count * NUMBERS_FOR_A_VALUE >= self.end:
                self.values = self._pack(self.values)
            return
        self.values.extend(repeat(_ABSENT, self.end - len(self.values)))
        for offset, value in zip(offsets, values, strict=True):
            self.values[offset] = value

    def delete(self, offset: int) -> None:
        """Deletes a value. An array stays one until the next value is set, because all pages of a generation may be
        emptied evenly, and would become dicts together."""
        self.count -= 1
        if isinstance(self.values, dict):
            del self.values[offset]
        else:
            self.values[offset] = _ABSENT

    def _pack(self, values: dict[int, int]) -> "array[int]":
        packed = array("I", repeat(_ABSENT, self.end))
        for offset, value in values.items():
            packed[offset] = value
        return packed

    def _unpack_rare(self) -> None:
        if not isinstance(self.values, dict) and self.count * NUMBERS_FOR_A_RARE_VALUE < self.end:
            self.values = {offset: value for offset, value in enumerate(self.values) if value != _ABSENT}


def _divide(numbers: BitMap) -> "Iterator[tuple[int, array[int]]]":
    """Yields the place of each page that has some of these numbers, and their offsets in it."""
    for place in range(numbers.min() >> PAGE_BITS, (numbers.max() >> PAGE_BITS) + 1):
        start = place << PAGE_BITS
        offsets = (numbers & BitMap(range(start, start + PAGE_SIZE))).shift(-start).to_array()
        if offsets:
            yield place, offsets


BATCHES_AT_ONCE = 10
"""Limits the batches that a search has read and not looked into: of small searches, most are found in the cache."""


class _Generation:
    """Holds entries by the number of the subject; `weight` says how many bytes all of them take.

    `_values` has the object's number for each of `_singles`, and for each of `_others` the place of its entry in
    `_entries`."""

    __slots__ = ("_entries", "_free", "_others", "_singles", "_values", "weight")

    def __init__(self) -> None:
        self.weight = 0
        self._singles = BitMap()
        self._others = BitMap()
        self._values = SparseArray()
        self._entries: list[AdjacentObjects] = []
        self._free: list[int] = []

    def __bool__(self) -> bool:
        return bool(self._singles or self._others)

    def __len__(self) -> int:
        return len(self._singles) + len(self._others)

    def has(self, number: int) -> bool:
        return number in self._singles or number in self._others

    @property
    def subjects(self) -> tuple[BitMap, BitMap]:
        """Returns the subjects that have entries."""
        return self._singles, self._others

    def count_warrants(self) -> int:
        return len(self._singles) + sum(map(count_objects, self._entries))

    def select(self, numbers: BitMap) -> BitMap:
        """Returns those of these subjects that have entries."""
        return (numbers & self._singles) | (numbers & self._others)

    def find(self, number: int) -> AdjacentObjects | None:
        if number in self._singles:
            return self._values.read(number)
        return self._entries[self._values.read(number)] if number in self._others else None

    def collect(self, numbers: BitMap, reached: ReachedObjects) -> BitMap:
        """Adds the entries of these subjects to `reached`, and returns the subjects that have none."""
        others, singles = numbers & self._others, numbers & self._singles
        if others:
            reached.add_each(read_places(self._entries, self._values.read_each(others)))
        if singles:
            reached.add_numbers(self._values.read_each(singles))
        return numbers - others - singles if len(others) + len(singles) < len(numbers) else BitMap()

    def add(self, number: int, entry: AdjacentObjects) -> None:
        """Adds an entry of a subject that has none."""
        self.weight += measure_objects(entry)
        if isinstance(entry, int):
            self._singles.add(number)
            self._values.set(number, entry)
        else:
            self._others.add(number)
            self._values.set(number, self._place(entry))

    def add_each(self, batch: EntryBatch) -> None:
        """Adds the entries of a batch, in a fraction of the time, except those of subjects without warrants."""
        self.weight += batch.weight
        if batch.singles:
            self._singles.update(batch.singles)
            self._values.set_each(batch.singles, batch.objects)
        if batch.others:
            self._others.update(batch.others)
            self._values.set_each(batch.others, [*map(self._place, batch.entries)])

    def _place(self, entry: AdjacentObjects) -> int:
        if self._free:
            place = self._free.pop()
            self._entries[place] = entry
        else:
            place = len(self._entries)
            self._entries.append(entry)
        return place

    def pop(self, number: int) -> AdjacentObjects | None:
        """Removes the entry of a subject and returns it, or None if it has none."""
        entry = self.find(number)
        if entry is None:
            return None
        self.weight -= measure_objects(entry)
        if number in self._others:
            place = self._values.read(number)
            self._entries[place] = b""
            self._free.append(place)
        self._values.delete(number)
        self._singles.discard(number)
        self._others.discard(number)
        return entry

    @property
    def containers(self) -> Iterator[Container]:
        """Yields what may take long to free."""
        yield self._entries
        yield self._free
        yield from self._values.dicts


class EntrySegment:
    """Holds entries by the number of the subject, in a young and an old generation like a CacheSegment. Those of
    subjects without warrants, which are most in many indexes, are bits of `empty`: they take no capacity, and stay when
    others are evicted because of it."""

    __slots__ = ("_capacity", "_old", "_young", "empty")

    def __init__(self, capacity: Capacity) -> None:
        self._capacity = capacity
        self._young, self._old = _Generation(), _Generation()
        self.empty = BitMap()
        capacity.add(self)

    def collect(self, numbers: BitMap, reached: ReachedObjects) -> BitMap:
        """Adds the entries of these subjects to `reached`, and returns the subjects whose entries are not cached."""
        if len(numbers) == 1:  # like most sets of subjects
            entry = self.find(numbers.min())
            if entry is None:
                return numbers
            reached.add(entry)
            return BitMap()
        unknown = self._young.collect(numbers, reached)
        if not unknown:
            return unknown
        for number in self._old.select(unknown):
            if (entry := self.find(number)) is not None:  # all others may be evicted when one of them moves
                reached.add(entry)
                unknown.discard(number)
        return unknown - self.empty

    def find(self, number: int) -> AdjacentObjects | None:
        """Returns an entry; one of the old generation moves into the young one."""
        if number in self.empty:
            return b""
        entry = self._young.find(number)
        if entry is None:
            entry = self._old.pop(number)
            if entry is not None:
                self._capacity.move(measure_objects(entry))
                self._young.add(number, entry)
        return entry

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def count_warrants(self) -> int:
        """Returns how many warrants the entries have. It takes as long as there are entries."""
        return self._young.count_warrants() + self._old.count_warrants()

    def has(self, number: int) -> bool:
        """Returns whether there is an entry, which stays in its generation."""
        return number in self.empty or self._young.has(number) or self._old.has(number)

    def keep(self, number: int, entry: AdjacentObjects) -> None:
        self.evict(number)
        if is_empty(entry):
            self.empty.add(number)
        elif self._capacity.can_hold(weight := measure_objects(entry)):
            self._capacity.take(weight)
            self._young.add(number, entry)

    def keep_each(self, batch: EntryBatch) -> None:
        """Keeps many entries in a fraction of the time."""
        if not self._capacity.fits(batch.weight) or self._has_any(batch):
            for number, entry in batch.list_each():
                self.keep(number, entry)
            return
        self.empty.update(batch.empty)
        self._capacity.take(batch.weight)
        self._young.add_each(batch)

    def _has_any(self, batch: EntryBatch) -> bool:
        """Returns whether a subject of the batch has an entry."""
        numbers = BitMap(batch.singles + batch.others + batch.empty)
        return any(bitmap.intersect(numbers) for bitmap in (self.empty, *self._young.subjects, *self._old.subjects))

    def evict(self, number: int) -> bool:
        """Evicts an entry, and returns whether there was one."""
        if number in self.empty:
            self.empty.discard(number)
            return True
        young, old = self._young.pop(number), self._old.pop(number)
        self._capacity.free(*(0 if entry is None else measure_objects(entry) for entry in (young, old)))
        return young is not None or old is not None

    def evict_all(self) -> None:
        self._capacity.free(self._young.weight, self._old.weight)
        self.clear()

    def age(self) -> None:
        evicted, self._old, self._young = self._old, self._young, _Generation()
        self._discard(evicted)

    def clear(self) -> None:
        evicted = (self._young, self._old)
        self._young, self._old, self.empty = _Generation(), _Generation(), BitMap()
        for generation in evicted:
            self._discard(generation)

    def _discard(self, evicted: _Generation) -> None:
        for container in evicted.containers:
            self._capacity.discard(container)


class ReadEntries:
    """Holds the entries that a search has read, for as long as it lasts: they may be evicted before it has used them,
    or not cached at all."""

    __slots__ = ("_empty", "_entries", "_waiting")

    def __init__(self) -> None:
        self._entries = _Generation()
        self._empty = BitMap()
        self._waiting: list[EntryBatch] = []

    def add(self, batch: EntryBatch) -> None:
        """Adds entries of subjects that have none."""
        self._waiting.append(batch)
        if len(self._waiting) == BATCHES_AT_ONCE:
            self._add_waiting()

    def collect(self, numbers: BitMap, reached: ReachedObjects) -> BitMap:
        """Adds the entries of these subjects to `reached`, and returns the subjects that have none."""
        self._add_waiting()
        return self._entries.collect(numbers - self._empty, reached)

    def _add_waiting(self) -> None:
        for batch in self._waiting:
            self._entries.add_each(batch)
            self._empty.update(batch.empty)
        self._waiting.clear()
