"""Caches which subjects the warrants on one object are to, as sets of numbers: the adjacency from the object's side.

There is one index for each relation on objects of one type, and each kind of subjects, like those of adjacency.py. An
entry has all such warrants on one object, in the order in which they were created. It is evicted when a warrant on this
object begins or ends. The entry of number 0 has the warrants that are on every object.
"""

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec
from pyroaring import BitMap

from magistrate.engine.byte_sizes import measure_bitmap, measure_warrant
from magistrate.engine.cache.adjacency import Adjacency, AdjacencyKey, Indexes
from magistrate.engine.cache.adjacent_objects import ENTRY_BYTES, MAX_PACKED_NUMBERS, ReachedEntries, unpack_numbers
from magistrate.engine.cache.ids import IdTable
from magistrate.engine.cache.segments import Capacity, SparseSegment
from magistrate.engine.names import ObjectId
from magistrate.engine.warrants.warrant import Warrant, WarrantNames

NUMBERS_AT_ONCE = 20_000
"""Limits the numbers that are added to a bitmap before the time slice may end; about a millisecond."""


class SubjectEntry(msgspec.Struct, frozen=True, gc=False):
    """Holds the packed numbers of the subjects of unconditional warrants, oldest first, and the conditional warrants.
    `bitmap` has the same numbers if they are many, None otherwise."""

    packed: bytes
    bitmap: BitMap | None
    warrants: tuple[Warrant, ...]


NO_SUBJECTS = b""

AdjacentSubjects = bytes | SubjectEntry
"""Holds the subjects of the warrants on one object. Packed numbers alone stand for a SubjectEntry with nothing else."""


def count_subjects(entry: AdjacentSubjects) -> int:
    """Returns the number of warrants, at least 1."""
    if isinstance(entry, bytes):
        return len(entry) // 4 or 1
    return len(entry.packed) // 4 + len(entry.warrants)


def measure_subjects(entry: AdjacentSubjects) -> int:
    """Returns the bytes that an entry takes."""
    if isinstance(entry, bytes):
        return ENTRY_BYTES + len(entry)
    bitmap = 0 if entry.bitmap is None else measure_bitmap(entry.bitmap)
    return ENTRY_BYTES + len(entry.packed) + bitmap + sum(map(measure_warrant, entry.warrants))


def pack_subjects(entry: AdjacentSubjects) -> bytes:
    """Returns the packed numbers of an entry."""
    return entry if isinstance(entry, bytes) else entry.packed


def list_conditional(entry: AdjacentSubjects) -> tuple[Warrant, ...]:
    return () if isinstance(entry, bytes) else entry.warrants


class ReachedSubjects(ReachedEntries):
    """Holds the subjects that the entries of some objects have together."""

    __slots__ = ()

    def add(self, entry: AdjacentSubjects) -> None:
        if isinstance(entry, bytes):
            self._packed.append(entry)
            return
        self.conditional += entry.warrants
        if entry.bitmap is None:
            self._packed.append(entry.packed)
        else:
            self._bitmaps.append(entry.bitmap)


class SubjectIndex:
    """Holds the entries of one key by the number of the object."""

    __slots__ = ("entries", "key", "objects", "subjects")

    def __init__(self, key: AdjacencyKey, objects: IdTable, subjects: IdTable, capacity: Capacity) -> None:
        self.key = key
        self.objects = objects
        self.subjects = subjects
        self.entries: SparseSegment[AdjacentSubjects] = SparseSegment(capacity, measure_subjects, NO_SUBJECTS)

    def collect(self, numbers: Iterable[int], collected: dict[int, AdjacentSubjects]) -> ReachedSubjects:
        """Returns what the entries of these objects have. Adds the entries to `collected`, where they are looked up
        first."""
        entries, reached = self.entries, ReachedSubjects()
        young, absent = entries.young, entries.absent.young
        for number in numbers:
            entry = collected.get(number)
            if entry is None:
                entry = NO_SUBJECTS if number in absent else young.get(number)  # most are empty
                if entry is None:
                    entry = entries.find(number)
                    if entry is None:
                        reached.missing.append(number)
                        continue
                    young, absent = entries.young, entries.absent.young  # others may have aged
                collected[number] = entry
            if entry:
                reached.add(entry)
        return reached

    def has_entry(self, object_id: ObjectId) -> bool:
        """Returns whether the entry of an object is cached."""
        number = self.objects.find(object_id)
        return number is not None and self.entries.has(number)

    def evict_entry(self, change: WarrantNames) -> None:
        """Evicts the entry that has this warrant."""
        number = self.objects.find(ObjectId(change.object_id))
        if number is not None:
            self.entries.evict(number)


class SubjectDrafts:
    """Collects the warrants of one index, oldest first, from which the entries of objects are made."""

    __slots__ = ("_conditional", "_numbers", "_table")

    def __init__(self, index: SubjectIndex) -> None:
        self._table = index.subjects
        # Arrays are no concern of the garbage collector, of which there may be tens of thousands here.
        self._numbers: dict[ObjectId, array[int]] = {}
        self._conditional: dict[ObjectId, list[Warrant]] = {}

    def add_each(self, warrants: Sequence[Warrant]) -> None:
        numbers, collected = self._table.assign_each([warrant.subject_id for warrant in warrants]), self._numbers
        for warrant, number in zip(warrants, numbers, strict=True):
            if warrant.policy or warrant.expires_at or warrant.starts_at:  # not a property: this runs very often
                self._conditional.setdefault(warrant.object_id, []).append(warrant)
            elif (subjects := collected.get(warrant.object_id)) is None:
                collected[warrant.object_id] = array("I", (number,))
            else:
                subjects.append(number)

    @property
    def has_warrants(self) -> bool:
        """Returns whether there are warrants from which no entry has been made."""
        return bool(self._numbers or self._conditional)

    def build(self, object_id: ObjectId) -> Iterator[AdjacentSubjects | None]:
        """Yields None after every NUMBERS_AT_ONCE, and the entry at last. What was collected for it is freed: for all
        objects at once it would take milliseconds."""
        numbers, conditional = self._numbers.pop(object_id, None), tuple(self._conditional.pop(object_id, ()))
        packed = b"" if numbers is None else numbers.tobytes()
        if numbers is None or len(numbers) <= MAX_PACKED_NUMBERS:
            yield SubjectEntry(packed, None, conditional) if conditional else packed
            return
        bitmap = BitMap()
        for start in range(0, len(numbers), NUMBERS_AT_ONCE):
            bitmap |= BitMap(numbers[start : start + NUMBERS_AT_ONCE])
            yield None
        yield SubjectEntry(packed, bitmap, conditional)


def select_subjects(entry: AdjacentSubjects, candidates: Collection[int]) -> list[int]:
    """Returns those of the wanted numbers that an entry has, in any order."""
    if isinstance(entry, SubjectEntry) and entry.bitmap is not None:
        return [number for number in candidates if number in entry.bitmap]
    return [number for number in unpack_numbers(pack_subjects(entry)) if number in candidates]


def select_in_order(entry: AdjacentSubjects, candidates: Collection[int]) -> Iterator[list[int]]:
    """Yields those of the wanted numbers that an entry has, oldest first, after every NUMBERS_AT_ONCE that it has."""
    numbers = unpack_numbers(pack_subjects(entry))
    for start in range(0, len(numbers), NUMBERS_AT_ONCE):
        yield [number for number in numbers[start : start + NUMBERS_AT_ONCE] if number in candidates]


class SubjectAdjacency(Indexes[SubjectIndex]):
    """Holds the indexes by object of a graph. Their numbers are those of the tables of an Adjacency."""

    def __init__(self, adjacency: Adjacency, capacity: Capacity) -> None:
        super().__init__(SubjectIndex, adjacency.tables, capacity)
