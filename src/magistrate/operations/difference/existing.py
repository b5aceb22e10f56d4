"""Lists the objects that exist in one of two states."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from heapq import merge
from typing import Protocol

from magistrate.engine.difference.comparing import Existence
from magistrate.engine.terms import ObjectId, ObjectRef, Revision, TypeName
from magistrate.engine.work import Work
from magistrate.operations.scheduling import checkpoint
from magistrate.store.contract import ObjectName, Snapshot, StoredObject

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
        further = sorted(id for id in {*self.existence.list_ids(of_type)} if since is None or id >= since)
        after: ObjectName | None = None if since is None else (of_type, since)
        pending = [] if since is None else [since]
        while True:
            names = (await self._store.list_names(of_type, after, NAMES_AT_ONCE, self._at)).value
            self._work.spend(len(names) + 1)
            ids = [*pending, *(id for _, id in names)]
            pending = []
            is_last = len(names) < NAMES_AT_ONCE
            passed = [id for id in further if is_last or id <= ids[-1]]
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
