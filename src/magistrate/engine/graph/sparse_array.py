"""Maps numbers to numbers, in four bytes each where most of them follow one another.

Like a roaring bitmap, it has a page for each 65,536 numbers. A page is a dict while few of its numbers have values, an
array otherwise: a dict takes some hundred bytes for each value, an array four for each number up to the greatest.
"""

from array import array
from collections.abc import Iterator, Sequence
from itertools import islice, repeat
from operator import itemgetter
from typing import Protocol, TypeVar

from pyroaring import BitMap

PAGE_BITS = 16
PAGE_SIZE = 1 << PAGE_BITS
LEAST_PACKED = 64
NUMBERS_FOR_A_VALUE = 16
"""Divides the greatest number of a page: with at least that many values, and LEAST_PACKED, it becomes an array."""
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
            if self.count >= LEAST_PACKED and self.count * NUMBERS_FOR_A_VALUE >= self.end:
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
