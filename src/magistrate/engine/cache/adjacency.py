"""Caches which objects the warrants to one subject are on, as sets of numbers.

There is one index for each relation on objects of one type, and each kind of subjects: the subjects of a type, or the
usersets of one relation on objects of a type. An entry has all such warrants to one subject. It is read when a list
first needs it, and evicted when a warrant to this subject begins or ends, like every entry of the graph cache.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Sized
from typing import Generic, NamedTuple, Protocol, TypeVar

from pyroaring import BitMap

from magistrate.engine.cache.adjacent_objects import ReachedObjects
from magistrate.engine.cache.ids import IdTable
from magistrate.engine.cache.object_entries import EntrySegment, ReadEntries
from magistrate.engine.cache.segments import Capacity, Removable
from magistrate.engine.names import ObjectId, RelationName, TypeName
from magistrate.engine.warrants.warrant import Warrant, WarrantNames
from magistrate.engine.work import Work

HASHES = 1 << 24
"""Bounds the hashes that identify lists. Two lists with the same hash count as one, so the second is computed with the
graph cache already when it first comes."""
MAX_YOUNG = HASHES // 32
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
        if number not in self._young and len(self._young) >= MAX_YOUNG:
            self.age()
        self._young.add(number)
        return has_come

    def age(self) -> None:
        self._old, self._young = self._young, BitMap()

    def evict_all(self) -> None:
        self._young, self._old = BitMap(), BitMap()

    def clear(self) -> None:
        self.evict_all()


class AdjacencyKey(NamedTuple):
    """Names the relation of warrants, the type of their objects and the kind of their subjects; `subject_relation` is
    the empty text for subjects that are no userset."""

    object_type: TypeName
    relation: RelationName
    subject_type: TypeName
    subject_relation: str


class AdjacencyIndex:
    """Holds the entries of one key by the number of the subject. `objects` numbers the objects, `subjects` the
    subjects."""

    __slots__ = ("entries", "key", "objects", "subjects")

    def __init__(self, key: AdjacencyKey, objects: IdTable, subjects: IdTable, capacity: Capacity) -> None:
        self.key = key
        self.objects = objects
        self.subjects = subjects
        self.entries = EntrySegment(capacity)

    def collect(self, numbers: BitMap, read: ReadEntries) -> ReachedObjects:
        """Returns what the entries of these subjects have; `read` has further entries."""
        reached = ReachedObjects()
        unknown = self.entries.collect(numbers, reached)
        if unknown:
            reached.missing += read.collect(unknown, reached)
        return reached

    def has_entry(self, object_id: ObjectId) -> bool:
        """Returns whether the entry of a subject is cached."""
        number = self.subjects.find(object_id)
        return number is not None and self.entries.has(number)

    def evict_entry(self, change: WarrantNames) -> None:
        """Evicts the entry that has this warrant."""
        number = self.subjects.find(ObjectId(change.subject_id))
        if number is not None:
            self.entries.evict(number)


class IndexEntries(Removable, Sized, Protocol):
    """Represents the entries of an index of either direction."""


class Index(Protocol):
    """Represents an index of either direction."""

    def __init__(self, key: AdjacencyKey, objects: IdTable, subjects: IdTable, capacity: Capacity) -> None: ...

    @property
    def entries(self) -> IndexEntries: ...

    def has_entry(self, object_id: ObjectId) -> bool: ...

    def evict_entry(self, change: WarrantNames) -> None: ...


IndexT = TypeVar("IndexT", bound=Index)
IdTables = defaultdict[TypeName, IdTable]


class Indexes(Generic[IndexT]):
    """Holds the indexes of one direction, which are made when they are first needed. `tables` holds the numbers of ids
    by type."""

    def __init__(self, make: type[IndexT], tables: IdTables, capacity: Capacity) -> None:
        self._make = make
        self._tables = tables
        self._capacity = capacity
        self._indexes: dict[AdjacencyKey, IndexT] = {}
        self._by_relation: dict[tuple[TypeName, RelationName], list[IndexT]] = defaultdict(list)

    def index(self, key: AdjacencyKey) -> IndexT:
        index = self._indexes.get(key)
        if index is None:
            objects, subjects = self._tables[key.object_type], self._tables[key.subject_type]
            index = self._indexes[key] = self._make(key, objects, subjects, self._capacity)
            self._by_relation[key.object_type, key.relation].append(index)
        return index

    def __iter__(self) -> Iterator[IndexT]:
        """Yields all indexes."""
        return iter(self._indexes.values())

    def list_indexes(self, of_type: TypeName, relations: Iterable[RelationName]) -> list[IndexT]:
        """Returns the indexes there are for warrants of these relations on objects of a type."""
        indexes = self._by_relation
        return [index for relation in relations for index in indexes.get((of_type, relation), ())]

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
        self.tables: IdTables = defaultdict(IdTable)
        super().__init__(AdjacencyIndex, self.tables, capacity)
        self.numbering = object()
        self.former_lists = FormerLists(capacity)

    def release(self) -> None:
        super().release()
        self._capacity.remove(self.former_lists)

    def count_ids(self) -> int:
        return sum(map(len, self.tables.values()))

    def measure_ids(self) -> int:
        """Returns what the ids take in memory."""
        return sum([table.bytes for table in self.tables.values()])

    def pack_ids(self, work: Work) -> Iterator[None]:
        """Packs the ids that have arrived recently. Yields None at the end of a time slice."""
        for table in [*self.tables.values()]:
            yield from table.pack_blocks(work)

    def table(self, of_type: TypeName) -> IdTable:
        return self.tables[of_type]


def group_indexes(
    numbers_by_index: Mapping[IndexT, BitMap], find_kind: Callable[[IndexT], Hashable], most: int
) -> Iterator[tuple[Sequence[IndexT], Sequence[int]]]:
    """Yields the indexes of one kind together of which the same entries are needed, with up to `most` of the numbers of
    these in ascending order."""
    groups: dict[tuple[Hashable, bytes], list[IndexT]] = defaultdict(list)
    for index, numbers in numbers_by_index.items():
        groups[find_kind(index), numbers.serialize()].append(index)
    for indexes in groups.values():
        shared = numbers_by_index[indexes[0]].to_array()  # an array is freed at once, however long it is
        for start in range(0, len(shared), most):
            yield indexes, shared[start : start + most]


def read_key(names: WarrantNames | Warrant) -> AdjacencyKey:
    return AdjacencyKey(names.object_type, names.relation, names.subject_type, names.subject_relation)
