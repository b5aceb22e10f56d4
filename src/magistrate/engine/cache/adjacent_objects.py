"""Defines what an entry of the adjacency holds, the objects of the warrants to one subject, and unites several."""

import sys
from array import array
from collections.abc import Iterator, Sequence, Set
from itertools import repeat

import msgspec
from pyroaring import BitMap

from magistrate.engine.byte_sizes import measure_bitmap, measure_warrant
from magistrate.engine.names import ObjectId
from magistrate.engine.warrants.warrant import Warrant

MAX_PACKED_NUMBERS = 256
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


class EntryBatch:
    """Holds entries to be added, by the number of the subject in ascending order. `weight` says how many bytes those
    take that are not empty. `objects` has the object's number for each of `singles`, the subjects of one unconditional
    warrant, and `entries` the entry of each of `others`, which have more; those of `empty` have no warrants."""

    __slots__ = ("empty", "entries", "objects", "others", "singles", "weight")

    def __init__(self) -> None:
        self.weight = 0
        self.singles, self.objects = array("I"), array("I")
        self.others, self.entries = array("I"), list[AdjacentObjects]()
        self.empty = array("I")

    def list_each(self) -> Iterator[tuple[int, AdjacentObjects]]:
        """Yields each entry with the number of its subject."""
        yield from zip(self.singles, self.objects, strict=True)
        yield from zip(self.others, self.entries, strict=True)
        yield from zip(self.empty, repeat(b""), strict=False)

    def exclude(self, numbers: Set[int]) -> "EntryBatch":
        """Returns the entries of all subjects but these."""
        remaining = EntryBatch()
        for number, entry in self.list_each():
            if number not in numbers:
                remaining.add(number, entry)
        return remaining

    def add_single(self, number: int, object_number: int) -> None:
        self.weight += SINGLE_BYTES
        self.singles.append(number)
        self.objects.append(object_number)

    def add(self, number: int, entry: AdjacentObjects) -> None:
        """Adds an entry; its number must be greater than all others."""
        if isinstance(entry, int):
            self.add_single(number, entry)
        elif is_empty(entry):
            self.empty.append(number)
        else:
            self.weight += measure_objects(entry)
            self.others.append(number)
            self.entries.append(entry)


class EntryDrafts:
    """Collects the warrants to some subjects, from which their entries are made."""

    __slots__ = ("_conditional", "_numbers")

    def __init__(self) -> None:
        # Most subjects have one warrant: its object stands for itself. Arrays are no concern of the garbage collector,
        # of which there may be tens of thousands here.
        self._numbers: dict[ObjectId, int | array[int]] = {}
        self._conditional: dict[ObjectId, list[Warrant]] = {}

    def add_each(self, warrants: Sequence[Warrant], numbers: Sequence[int]) -> None:
        """Adds warrants, given the numbers of their objects."""
        collected = self._numbers
        for warrant, number in zip(warrants, numbers, strict=True):
            subject = warrant.subject_id
            if warrant.policy or warrant.expires_at or warrant.starts_at:  # not a property: this runs very often
                self._conditional.setdefault(subject, []).append(warrant)
            elif subject not in collected:
                collected[subject] = number
            elif isinstance(former := collected[subject], int):
                collected[subject] = array("I", (former, number))
            else:
                former.append(number)

    def build_each(self, subjects: Sequence[tuple[int, ObjectId]]) -> EntryBatch:
        """Returns the entries of subjects, with the numbers that these have, in ascending order. What was collected for
        them is freed: for all at once it would take milliseconds."""
        pop, conditional, batch = self._numbers.pop, self._conditional, EntryBatch()
        for number, subject_id in subjects:
            objects = pop(subject_id, None)
            if conditional and subject_id in conditional:
                batch.add(number, ConditionalObjects(_pack(objects), tuple(conditional.pop(subject_id))))
            elif objects is None:
                batch.empty.append(number)
            elif isinstance(objects, int):
                batch.add_single(number, objects)
            else:
                batch.add(number, objects.tobytes() if len(objects) <= MAX_PACKED_NUMBERS else BitMap(objects))
        return batch


def _pack(objects: "int | array[int] | None") -> bytes:
    if objects is None:
        return b""
    return objects.to_bytes(4, sys.byteorder) if isinstance(objects, int) else objects.tobytes()
