"""Writes objects, as scripts."""

from collections.abc import Callable, Sequence

from magistrate.engine.terms import ObjectRef, Revision
from magistrate.errors import NotFound
from magistrate.store import sql
from magistrate.store.contract import NewObject, Snapshot, Stamp, StoredObject
from magistrate.store.database import Execute, Row, Rows, Script, Select
from magistrate.store.versioned import Effect, Key, Versioned, WriteOutcome, end, put, write


def build_object(row: Row) -> StoredObject:
    return StoredObject(*row)


ENDED_AT_ONCE = 1_000
"""Limits how many warrants of a deleted object are read and ended together, to keep few of them in memory."""

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
        wanted: dict[Key, str | None] = {(new.type, new.id): new.meta for new in objects}
        fresh = {(new.type, new.id) for new in objects if new.fresh}
        stored, effects = yield from put(OBJECTS, wanted, stamp, revision, fresh=fresh)
        return WriteOutcome(tuple(stored[new.type, new.id] for new in objects), effects)

    return lambda head: write(head, stamp, tuple[StoredObject, ...], work)


def replace_meta(ref: ObjectRef, meta: str | None, stamp: Stamp) -> Callable[[Revision], Written]:
    def work(revision: Revision) -> Script[WriteOutcome[StoredObject]]:
        key = (ref.type, ref.id)
        stored, effects = yield from put(OBJECTS, {key: meta}, stamp, revision, must_exist=True)
        return WriteOutcome((stored[key],), effects)

    return lambda head: write(head, stamp, tuple[StoredObject, ...], work)


def delete_objects(refs: Sequence[ObjectRef], stamp: Stamp) -> Callable[[Revision], Written]:
    def work(revision: Revision) -> Script[WriteOutcome[StoredObject]]:
        effects = yield from end(OBJECTS, ((ref.type, ref.id) for ref in refs), revision)
        for ref in refs:
            for statement in (sql.WARRANTS_OF_OBJECT, sql.WARRANTS_OF_SUBJECT):
                effects += yield from _end_warrants(statement, ref, revision)
        return WriteOutcome((), effects)

    return lambda head: write(head, stamp, tuple[StoredObject, ...], work)


def _end_warrants(statement: str, ref: ObjectRef, revision: Revision) -> Script[list[Effect]]:
    effects: list[Effect] = []
    found: Rows = [()]
    while found:
        [found] = yield Select(statement, [(ref.id, ref.type, ENDED_AT_ONCE)])
        yield Execute(sql.END_NUMBERED_WARRANT, [(revision, number) for *_, number in found])
        effects += [Effect("deleted", "warrant", tuple(key), policy, None) for *key, policy, _ in found]
    return effects
