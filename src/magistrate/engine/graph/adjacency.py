"""Caches which objects the warrants to one subject are on, as sets of numbers.

There is one index for each relation on objects of one type, and each kind of subjects: the subjects of a type, or the
usersets of one relation on objects of a type. An entry has all such warrants to one subject. It is read when a list
first needs it, and evicted when a warrant to this subject begins or ends, like every entry of the graph cache.
"""

import sys
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast

import msgspec
from pyroaring import BitMap

from magistrate.engine.graph.former_lists import FormerLists
from magistrate.engine.graph.id_table import IdTable
from magistrate.engine.graph.segments import CacheSegment, Capacity, Key
from magistrate.engine.names import WarrantNames
from magistrate.engine.terms import ObjectId, RelationName, TypeName
from magistrate.engine.warrants import Warrant
from magistrate.engine.work import Work

FEW_NUMBERS = 256
"""Limits the numbers that are held packed, four bytes each. A bitmap of so few may take more."""


class AdjacencyKey(NamedTuple):
    """Names the relation of warrants, the type of their objects and the kind of their subjects; `subject_relation` is
    the empty text for subjects that are no userset."""

    object_type: TypeName
    relation: RelationName
    subject_type: TypeName
    subject_relation: str


class ConditionalObjects(msgspec.Struct, frozen=True, gc=False):
    """Holds the packed numbers of the objects that unconditional warrants are on, and the conditional warrants."""

    packed: bytes
    warrants: tuple[Warrant, ...]


_PACKED = frozenset({bytes})

AdjacentObjects = bytes | BitMap | ConditionalObjects
"""Holds the objects of the warrants to one subject: packed numbers, or a bitmap if there are many."""


def weigh_objects(entry: AdjacentObjects) -> int:
    """Returns the number of warrants, at least 1."""
    if isinstance(entry, bytes):
        return len(entry) // 4 or 1
    if isinstance(entry, ConditionalObjects):
        return len(entry.packed) // 4 + len(entry.warrants)
    return len(entry)


class EntrySegment(CacheSegment[AdjacentObjects]):
    """Holds entries by the number of the subject. Those of subjects without warrants, which are most in many indexes,
    are bits of `empty`: they take no capacity, and stay when others are evicted because of it."""

    __slots__ = ("empty",)

    def __init__(self, capacity: Capacity) -> None:
        super().__init__(capacity, weigh_objects)
        self.empty = BitMap()

    def find(self, key: Key) -> AdjacentObjects | None:
        return b"" if cast(int, key) in self.empty else super().find(key)

    def has(self, key: Key) -> bool:
        return super().has(key) or cast(int, key) in self.empty

    def keep(self, key: Key, value: AdjacentObjects) -> None:
        if value == b"":
            self.evict(key)
            self.empty.add(cast(int, key))
        else:
            super().keep(key, value)

    def keep_each(self, entries: Mapping[int, AdjacentObjects]) -> None:
        empty = [number for number, entry in entries.items() if not entry]
        others = {number: entry for number, entry in entries.items() if entry} if empty else entries
        for number in empty if self._has_any(empty) else ():
            super().evict(number)
        self.empty.update(empty)
        if self.empty:
            self.empty.difference_update(BitMap(others))
        super().keep_each(others)

    def evict(self, key: Key) -> bool:
        was_empty = cast(int, key) in self.empty
        self.empty.discard(cast(int, key))
        return super().evict(key) or was_empty

    def clear(self) -> None:
        super().clear()
        self.empty = BitMap()


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

    def add_packed(self, entries: Sequence[AdjacentObjects | None]) -> bool:
        """Adds all entries if they are packed numbers, which takes a fraction of the time, and returns whether they
        are."""
        if not _PACKED.issuperset(map(type, entries)):
            return False
        self._packed += cast(Sequence[bytes], entries)
        return True

    def add(self, entry: AdjacentObjects) -> None:
        if isinstance(entry, bytes):
            self._packed.append(entry)
        elif isinstance(entry, ConditionalObjects):
            self._packed.append(entry.packed)
            self.conditional += entry.warrants
        else:
            self._bitmaps.append(entry)


def unpack_numbers(packed: bytes) -> "array[int]":
    numbers = array("I")
    numbers.frombytes(packed)
    return numbers


class AdjacencyIndex:
    """Holds the entries of one key by the number of the subject. `objects` numbers the objects, `subjects` the
    subjects."""

    __slots__ = ("entries", "key", "objects", "subjects")

    def __init__(self, key: AdjacencyKey, objects: IdTable, subjects: IdTable, capacity: Capacity) -> None:
        self.key = key
        self.objects = objects
        self.subjects = subjects
        self.entries = EntrySegment(capacity)

    def collect(self, numbers: Sequence[int], read: Mapping[int, AdjacentObjects]) -> ReachedObjects:
        """Returns what the entries of these subjects have; `read` has further entries."""
        found, reached = [*map(self.entries.young.get, numbers)], ReachedObjects()
        if reached.add_packed(found):
            return reached
        unknown = [number for number, entry in zip(numbers, found, strict=True) if entry is None]
        if not self.entries.has_old and read.keys().isdisjoint(unknown):
            reached.missing += unknown
        else:
            for number in unknown:
                entry = self._find(number, read)
                if entry is None:
                    reached.missing.append(number)
                else:
                    reached.add(entry)
        for entry in found:
            if entry is not None:
                reached.add(entry)
        return reached

    def _find(self, number: int, read: Mapping[int, AdjacentObjects]) -> AdjacentObjects | None:
        entry = self.entries.find(number)
        return read.get(number) if entry is None else entry

    def has_entry(self, id: ObjectId) -> bool:
        """Returns whether the entry of a subject is cached."""
        number = self.subjects.find(id)
        return number is not None and self.entries.has(number)

    def evict_entry(self, change: WarrantNames) -> None:
        """Evicts the entry that has this warrant."""
        number = self.subjects.find(ObjectId(change.subject_id))
        if number is not None:
            self.entries.evict(number)


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
            elif isinstance(known := collected[subject], int):
                collected[subject] = array("I", (known, number))
            else:
                known.append(number)

    def build_each(self, subjects: Sequence[tuple[int, ObjectId]]) -> dict[int, AdjacentObjects]:
        """Returns the entries of subjects, by the numbers that these have. What was collected for them is freed: for
        all at once it would take milliseconds."""
        pop, conditional = self._numbers.pop, self._conditional
        if not conditional:
            return {number: _build_entry(pop(id, None)) for number, id in subjects}
        return {number: _build_entry(pop(id, None), conditional.pop(id, ())) for number, id in subjects}


def _build_entry(numbers: "int | array[int] | None", conditional: Sequence[Warrant] = ()) -> AdjacentObjects:
    if numbers is None:
        packed = b""
    elif isinstance(numbers, int):
        packed = numbers.to_bytes(4, sys.byteorder)
    else:
        packed = numbers.tobytes()
    if conditional:
        return ConditionalObjects(packed, tuple(conditional))
    return packed if len(packed) <= 4 * FEW_NUMBERS else BitMap(unpack_numbers(packed))


class Index(Protocol):
    """Represents an index of either direction."""

    def __init__(self, key: AdjacencyKey, objects: IdTable, subjects: IdTable, capacity: Capacity) -> None: ...

    @property
    def entries(self) -> CacheSegment[Any]: ...

    def has_entry(self, id: ObjectId) -> bool: ...

    def evict_entry(self, change: WarrantNames) -> None: ...


IndexT = TypeVar("IndexT", bound=Index)


class Indexes(Generic[IndexT]):
    """Holds the indexes of one direction, which are made when they are first needed. `table` returns the numbers of the
    ids of a type."""

    def __init__(self, make: type[IndexT], table: Callable[[TypeName], IdTable], capacity: Capacity) -> None:
        self._make = make
        self._find_table = table
        self._capacity = capacity
        self._indexes: dict[AdjacencyKey, IndexT] = {}
        self._by_relation: dict[tuple[TypeName, RelationName], list[IndexT]] = defaultdict(list)

    def index(self, key: AdjacencyKey) -> IndexT:
        index = self._indexes.get(key)
        if index is None:
            objects, subjects = self._find_table(key.object_type), self._find_table(key.subject_type)
            index = self._indexes[key] = self._make(key, objects, subjects, self._capacity)
            self._by_relation[key.object_type, key.relation].append(index)
        return index

    def list_indexes(self, of_type: TypeName, relations: Iterable[RelationName]) -> list[IndexT]:
        """Returns the indexes there are for warrants of these relations on objects of a type."""
        known = self._by_relation
        return [index for relation in relations for index in known.get((of_type, relation), ())]

    def invalidate(self, change: WarrantNames) -> None:
        """Evicts the entry that has this warrant."""
        index = self._indexes.get(read_key(change))
        if index is not None:
            index.evict_entry(change)

    def release(self) -> None:
        """Evicts everything, and releases the capacity that it used."""
        for index in self._indexes.values():
            self._capacity.remove(index.entries)


class Adjacency(Indexes[AdjacencyIndex]):
    """Holds the indexes by subject of a graph, and the numbers of ids. Entries take capacity, ids do not. `numbering`
    is an object of its own for each adjacency: numbers of different ones must not be compared."""

    def __init__(self, capacity: Capacity) -> None:
        super().__init__(AdjacencyIndex, self.table, capacity)
        self.numbering = object()
        self.former_lists = FormerLists(capacity)
        self._tables: dict[TypeName, IdTable] = defaultdict(IdTable)

    def release(self) -> None:
        super().release()
        self._capacity.remove(self.former_lists)

    def count_ids(self) -> int:
        return sum(map(len, self._tables.values()))

    def pack_ids(self, work: Work) -> Iterator[None]:
        """Packs the ids that have arrived recently. Yields None at the end of a time slice."""
        for table in [*self._tables.values()]:
            yield from table.pack_blocks(work)

    def table(self, of_type: TypeName) -> IdTable:
        return self._tables[of_type]


def read_key(names: WarrantNames | Warrant) -> AdjacencyKey:
    return AdjacencyKey(names.object_type, names.relation, names.subject_type, names.subject_relation)
