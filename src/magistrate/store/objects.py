"""Writes of objects, as scripts."""

from collections.abc import Callable, Sequence

from magistrate.engine.terms import ObjectRef
from magistrate.errors import NotFound
from magistrate.store import sql
from magistrate.store.contract import NewObject, Revision, Snapshot, Stamp, StoredObject
from magistrate.store.database import Row, Script
from magistrate.store.versioned import Key, Outcome, Versioned, end, put, write


def stored_object(row: Row) -> StoredObject:
    return StoredObject(*row)


OBJECTS: Versioned[StoredObject] = Versioned(
    kind="object",
    find=sql.FIND_OBJECT,
    find_any=sql.FIND_OBJECTS,
    end=sql.END_OBJECT,
    insert=sql.INSERT_OBJECT,
    stored=stored_object,
    missing=lambda key: NotFound(*key),
)

Written = Script[Snapshot[tuple[StoredObject, ...]]]


def put_objects(objects: Sequence[NewObject], stamp: Stamp) -> Callable[[Revision], Written]:
    def work(revision: Revision) -> Script[Outcome[StoredObject]]:
        wanted: dict[Key, str | None] = {(new.type, new.id): new.meta for new in objects}
        fresh = {(new.type, new.id) for new in objects if new.fresh}
        stored, effects = yield from put(OBJECTS, wanted, stamp, revision, fresh=fresh)
        return Outcome(tuple(stored[new.type, new.id] for new in objects), effects)

    return lambda head: write(head, stamp, tuple[StoredObject, ...], work)


def replace_meta(ref: ObjectRef, meta: str | None, stamp: Stamp) -> Callable[[Revision], Written]:
    def work(revision: Revision) -> Script[Outcome[StoredObject]]:
        key = (ref.type, ref.id)
        stored, effects = yield from put(OBJECTS, {key: meta}, stamp, revision, must_exist=True)
        return Outcome((stored[key],), effects)

    return lambda head: write(head, stamp, tuple[StoredObject, ...], work)


def delete_objects(refs: Sequence[ObjectRef], stamp: Stamp) -> Callable[[Revision], Written]:
    def work(revision: Revision) -> Script[Outcome[StoredObject]]:
        effects = yield from end(OBJECTS, ((ref.type, ref.id) for ref in refs), revision)
        return Outcome((), effects)

    return lambda head: write(head, stamp, tuple[StoredObject, ...], work)
