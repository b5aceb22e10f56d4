"""Defines what an entry of the adjacency holds, the objects of the warrants to one subject, and unites several."""

import sys
from array import array
from collections.abc import Sequence

import msgspec
from pyroaring import BitMap

from magistrate.engine.byte_sizes import measure_bitmap, measure_warrant
from magistrate.engine.warrants import Warrant

FEW_NUMBERS = 256
"""Limits the numbers that are held packed, four bytes each. A bitmap of so few may take more."""


class ConditionalObjects(msgspec.Struct, frozen=True, gc=False):
    """Holds the packed numbers of the objects that unconditional warrants are on, and the conditional warrants."""

    packed: bytes
    warrants: tuple[Warrant, ...]


_PACKED = frozenset({bytes})

AdjacentObjects = int | bytes | BitMap | ConditionalObjects
"""Holds the objects of the warrants to one subject: a single number, packed numbers, or a bitmap if there are many. No
bytes stand for no objects."""


SINGLE_BYTES = 96
"""Counts an entry that is a single number, which takes 4 to 64 bytes in a page that is an array, and up to 150 in one
that is a dict."""
ENTRY_BYTES = 160
"""Counts any other entry without its numbers and warrants."""


def measure_objects(entry: AdjacentObjects) -> int:
    """Returns the bytes that an entry takes."""
    if isinstance(entry, int):
        return SINGLE_BYTES
    if isinstance(entry, bytes):
        return ENTRY_BYTES + len(entry)
    if isinstance(entry, ConditionalObjects):
        return ENTRY_BYTES + len(entry.packed) + sum(map(measure_warrant, entry.warrants))
    return ENTRY_BYTES + measure_bitmap(entry)


def count_objects(entry: AdjacentObjects) -> int:
    """Returns the number of warrants."""
    if isinstance(entry, int):
        return 1
    if isinstance(entry, ConditionalObjects):
        return len(entry.packed) // 4 + len(entry.warrants)
    return len(entry) // 4 if isinstance(entry, bytes) else len(entry)


def is_empty(entry: AdjacentObjects) -> bool:
    return isinstance(entry, bytes) and not entry


def unpack_numbers(packed: bytes) -> "array[int]":
    numbers = array("I")
    numbers.frombytes(packed)
    return numbers


class ReachedEntries:
    """Holds what some entries have together: `conditional` has their conditional warrants, `missing` the numbers of the
    entries that have to be read."""

    __slots__ = ("_bitmaps", "_packed", "conditional", "missing")

    def __init__(self) -> None:
        self._packed: list[bytes] = []
        self._bitmaps: list[BitMap] = []
        self.conditional: list[Warrant] = []
        self.missing: list[int] = []

    @property
    def has_any(self) -> bool:
        """Returns whether there may be anything."""
        return bool(self._packed or self._bitmaps or self.conditional)

    def unite(self) -> BitMap:
        """Returns the numbers that the entries have of unconditional warrants."""
        joined = BitMap(unpack_numbers(b"".join(self._packed)))
        return BitMap.union(joined, *self._bitmaps) if self._bitmaps else joined


class ReachedObjects(ReachedEntries):
    """Holds the objects that the entries of some subjects have together."""

    __slots__ = ()

    def add_numbers(self, numbers: Sequence[int]) -> None:
        """Adds entries that are single numbers."""
        self._packed.append(array("I", numbers).tobytes())

    def add_each(self, entries: Sequence[AdjacentObjects]) -> None:
        """Adds entries of any kind; if all are packed, it takes a fraction of the time."""
        if _PACKED.issuperset(map(type, entries)):
            self._packed += entries  # type: ignore[arg-type]  # bytes, as has just been found out
        else:
            for entry in entries:
                self.add(entry)

    def add(self, entry: AdjacentObjects) -> None:
        if isinstance(entry, bytes):
            self._packed.append(entry)
        elif isinstance(entry, int):
            self._packed.append(entry.to_bytes(4, sys.byteorder))
        elif isinstance(entry, ConditionalObjects):
            self._packed.append(entry.packed)
            self.conditional += entry.warrants
        else:
            self._bitmaps.append(entry)
