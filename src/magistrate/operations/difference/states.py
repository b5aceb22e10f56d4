"""Defines the two states that are compared."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from typing import Protocol

from magistrate.engine.difference.comparison import Existence
from magistrate.engine.difference.origins import WarrantChange
from magistrate.engine.model.model import Model
from magistrate.engine.names import ObjectId, PolicyName, Revision, TypeName
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.reader import AnyRead, ReadResult, WarrantReader
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import Work
from magistrate.operations.scheduling import checkpoint
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.stored_rows import ObjectName, StoredObject


@dataclass(frozen=True, slots=True)
class ComparedState:
    """Represents a state: the warrants that `reader` reads at this revision, and the time at which policies are
    evaluated, in microseconds since 1970 UTC."""

    model: Model
    reader: WarrantReader
    at: Revision
    now: int


@dataclass(frozen=True, slots=True)
class StateComparison:
    """Holds two states and what differs between them, except the object types. `united` reads the warrants of both.
    `timed_policies` are the named policies that have another value because of the time alone."""

    before: ComparedState
    after: ComparedState
    united: WarrantReader
    warrants: Sequence[WarrantChange]
    existence: Existence
    timed_policies: Collection[PolicyName] = frozenset()

    @property
    def models(self) -> tuple[Model, Model]:
        return self.before.model, self.after.model

    @property
    def has_same_warrants(self) -> bool:
        """Returns whether the same warrants count in both states, so that the object types alone differ."""
        return not self.warrants and self.before.model.orphaned == self.after.model.orphaned

    def without_rules(self) -> "StateComparison":
        """Returns the comparison of what warrants give explicitly."""
        before = replace(self.before, model=self.before.model.without_rules())
        return replace(self, before=before, after=replace(self.after, model=self.after.model.without_rules()))


class UnitedReader:
    """Implements WarrantReader: returns the warrants of two revisions, each once."""

    def __init__(self, reader: WarrantReader, first: Revision, second: Revision) -> None:
        self._reader = reader
        self._first = first
        self._second = second

    async def read_warrants(self, reads: Sequence[AnyRead], at: Revision | None, most: int) -> ReadResult:
        first = await self._reader.read_warrants(reads, self._first, most)
        if self._first == self._second:
            return first
        second = await self._reader.read_warrants(reads, self._second, most)
        both = zip(first.warrants, second.warrants, strict=True)
        return replace(second, warrants=[_unite(earlier, later) for earlier, later in both])


def _unite(earlier: Sequence[Warrant], later: Sequence[Warrant]) -> Sequence[Warrant]:
    return (
        [*{warrant.number: warrant for warrant in (*earlier, *later)}.values()]
        if earlier and later
        else earlier or later
    )


NAMES_AT_ONCE = 2_000


class ExistingNames(Protocol):
    """Knows which objects exist, as a Store does."""

    async def find_objects(self, refs: Sequence[ObjectRef], at: Revision) -> Snapshot[tuple[StoredObject, ...]]: ...

    async def list_names(
        self, of_type: TypeName | None, after: ObjectName | None, limit: int, at: Revision
    ) -> Snapshot[tuple[ObjectName, ...]]: ...


class ExistingObjects:
    """Lists objects: those that exist at a revision, and those of `existence`. Whole types are listed once."""

    def __init__(self, store: ExistingNames, at: Revision, existence: Existence, work: Work) -> None:
        self._store = store
        self._at = at
        self.existence = existence
        self._work = work
        self._by_type: dict[TypeName, Sequence[ObjectId]] = {}
        self._has_all = False

    async def contains(self, ref: ObjectRef) -> bool:
        """Returns whether an object exists in one of the states."""
        if ref in self.existence.created or ref in self.existence.deleted:
            return True
        return bool((await self._store.find_objects([ref], self._at)).value)

    async def list_types(self, types: Collection[TypeName | None]) -> Mapping[TypeName, Sequence[ObjectId]]:
        """Returns the ids of all objects of these types, in order; None stands for all types."""
        if None in types:
            await self._list_all()
            return self._by_type
        listed = {name: await self._list_type(name) for name in types if name is not None}
        return listed

    async def iterate(self, of_type: TypeName, since: ObjectId | None) -> AsyncIterator[Sequence[ObjectId]]:
        """Yields the ids of the objects of a type in order, in batches; `since` is the first of them, if it exists."""
        further = sorted(
            object_id for object_id in {*self.existence.list_ids(of_type)} if since is None or object_id >= since
        )
        after: ObjectName | None = None if since is None else (of_type, since)
        pending = [] if since is None else [since]
        while True:
            names = (await self._store.list_names(of_type, after, NAMES_AT_ONCE, self._at)).value
            self._work.spend(len(names) + 1)
            ids = [*pending, *(object_id for _, object_id in names)]
            pending = []
            is_last = len(names) < NAMES_AT_ONCE
            passed = [object_id for object_id in further if is_last or object_id <= ids[-1]]
            further = further[len(passed) :]
            yield [*dict.fromkeys(merge(ids, passed))]
            await checkpoint()
            if is_last:
                return
            after = names[-1]

    async def _list_type(self, of_type: TypeName) -> Sequence[ObjectId]:
        if of_type not in self._by_type:
            ids: list[ObjectId] = []
            async for some in self.iterate(of_type, None):
                ids += some
            self._by_type[of_type] = ids
        return self._by_type[of_type]

    async def _list_all(self) -> None:
        if self._has_all:
            return
        types: dict[TypeName, None] = dict.fromkeys(self.existence.types)
        after: ObjectName | None = None
        while True:
            names = (await self._store.list_names(None, after, NAMES_AT_ONCE, self._at)).value
            self._work.spend(len(names) + 1)
            types.update((of_type, None) for of_type, _ in names)
            await checkpoint()
            if len(names) < NAMES_AT_ONCE:
                break
            after = names[-1]
        for of_type in types:
            await self._list_type(of_type)
        self._has_all = True
