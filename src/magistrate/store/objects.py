"""Writes objects, as scripts."""

from collections.abc import Callable, Sequence

from magistrate.engine.terms import ObjectRef, Revision
from magistrate.errors import NotFound
from magistrate.store import sql
from magistrate.store.contract import NewObject, Snapshot, Stamp, StoredObject
from magistrate.store.database import Row, Script
from magistrate.store.versioned import Effect, Key, Versioned, WriteOutcome, put, write


def build_object(row: Row) -> StoredObject:
    return StoredObject(*row)


OBJECTS: Versioned[StoredObject] = Versioned(
    kind="object",
    key_length=2,
    find=sql.FIND_OBJECT,
    find_any=sql.FIND_OBJECTS,
    end=sql.END_OBJECT,
    insert=sql.INSERT_OBJECT,
    stored=build_object,
    missing=lambda key: NotFound(*key),
)

Written = Script[Snapshot[tuple[StoredObject, ...]]]


def put_objects(objects: Sequence[NewObject], stamp: Stamp) -> Callable[[Revision], Written]:
    def work(revision: Revision) -> Script[WriteOutcome[StoredObject]]:
        stored, effects = yield from put_all(objects, stamp, revision)
        return WriteOutcome(tuple(stored[new.type, new.id] for new in objects), effects)

    return lambda head: write(head, stamp, tuple[StoredObject, ...], work)


def put_all(
    objects: Sequence[NewObject], stamp: Stamp, revision: Revision
) -> Script[tuple[dict[Key, StoredObject], list[Effect]]]:
    """Creates or replaces the objects. Returns each as it is then, and what was changed."""
    wanted: dict[Key, str | None] = {(new.type, new.id): new.meta for new in objects}
    fresh = {(new.type, new.id) for new in objects if new.fresh}
    return (yield from put(OBJECTS, wanted, stamp, revision, fresh=fresh))


def replace_meta(ref: ObjectRef, meta: str | None, stamp: Stamp) -> Callable[[Revision], Written]:
    def work(revision: Revision) -> Script[WriteOutcome[StoredObject]]:
        key = (ref.type, ref.id)
        stored, effects = yield from put(OBJECTS, {key: meta}, stamp, revision, must_exist=True)
        return WriteOutcome((stored[key],), effects)

    return lambda head: write(head, stamp, tuple[StoredObject, ...], work)
