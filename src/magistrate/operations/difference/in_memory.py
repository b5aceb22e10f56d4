"""Lets differences be computed over warrants in memory, where nothing is stored."""

from collections.abc import Sequence

from magistrate.engine.overlay import Overlay
from magistrate.engine.terms import ObjectRef, Revision, TypeName
from magistrate.engine.warrant_reader import AnyRead, ReadResult
from magistrate.store.contract import ObjectName, Snapshot, StoredObject

ONLY_REVISION = Revision(1)


class StoreInMemory:
    """Implements WarrantReader and ExistingNames: the warrants are those of an overlay that nothing is under, and the
    objects those that they name."""

    def __init__(self, overlay: Overlay) -> None:
        self._overlay = overlay
        self._names = sorted((of_type, id) for of_type in overlay.objects for id in overlay.merge_objects(of_type, ()))

    async def read_warrants(self, reads: Sequence[AnyRead], at: Revision | None, most: int) -> ReadResult:
        warrants = [self._overlay.merge(read, ()) for read in reads]
        return ReadResult(ONLY_REVISION, ONLY_REVISION, ONLY_REVISION, warrants, is_prefetched=True)

    async def find_objects(self, refs: Sequence[ObjectRef], at: Revision) -> Snapshot[tuple[StoredObject, ...]]:
        existing = {*self._names}
        found = (StoredObject(ref.type, ref.id, None, 0) for ref in refs if (ref.type, ref.id) in existing)
        return Snapshot(ONLY_REVISION, tuple(found))

    async def list_names(
        self, of_type: TypeName | None, after: ObjectName | None, limit: int, at: Revision
    ) -> Snapshot[tuple[ObjectName, ...]]:
        names = [name for name in self._names if of_type in (None, name[0]) and (after is None or name > after)]
        return Snapshot(ONLY_REVISION, tuple(names[:limit]))
