"""Writes objects, as scripts."""

from collections.abc import Callable, Sequence

import msgspec

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


def delete_objects(refs: Sequence[ObjectRef], stamp: Stamp) -> Callable[[Revision], Written]:
    def work(revision: Revision) -> Script[WriteOutcome[StoredObject]]:
        effects = yield from end_objects(refs, revision)
        return WriteOutcome((), effects)

    return lambda head: write(head, stamp, tuple[StoredObject, ...], work)


def end_objects(refs: Sequence[ObjectRef], revision: Revision) -> Script[list[Effect]]:
    """Ends the objects, and then every warrant in which one of them is the object or the subject. Raises NotFound, as
    `end` does."""
    effects = yield from end(OBJECTS, ((ref.type, ref.id) for ref in refs), revision)
    for ref in refs:
        for statement in (sql.WARRANTS_OF_OBJECT, sql.WARRANTS_OF_SUBJECT):
            effects += yield from _end_warrants(statement, ref, revision)
    return effects


def _end_warrants(statement: str, ref: ObjectRef, revision: Revision) -> Script[list[Effect]]:
    effects: list[Effect] = []
    ended_with = msgspec.json.encode((ref.type, ref.id)).decode()
    found: Rows = [()]
    while found:
        [found] = yield Select(statement, [(ref.id, ref.type, ENDED_AT_ONCE)])
        ended = [(revision, number) for *_, number in found]
        yield Execute(sql.END_NUMBERED_WARRANT, ended, {sql.FIND_WARRANT: [row[:7] for row in found]})
        effects += [Effect("deleted", "warrant", tuple(key), policy, ended_with) for *key, policy, _ in found]
    return effects
