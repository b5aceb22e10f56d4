"""Writes objects, as scripts."""

from __future__ import annotations  # those of nested functions are evaluated for each write: 4 µs

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import NamedTuple

import msgspec

from magistrate.engine.names import Revision
from magistrate.engine.terms import ObjectRef
from magistrate.errors import NotFound
from magistrate.store.contract.new_rows import NewObject, Stamp
from magistrate.store.contract.stored_rows import StoredObject
from magistrate.store.database import Execute, Row, Rows, Script, Select
from magistrate.store.scripts.versions import (
    Effect,
    Key,
    Versioned,
    VersionedWrite,
    WriteOutcome,
    describe_expiry,
    end,
    has_expired,
    put,
    write,
    write_effects,
)
from magistrate.store.sql.objects import OBJECT
from magistrate.store.sql.warrants import (
    END_EXPIRED_OF_OBJECT,
    END_EXPIRED_OF_SUBJECT,
    END_WARRANTS_OF_OBJECT,
    END_WARRANTS_OF_SUBJECT,
    WARRANT,
    WARRANTS_OF_OBJECT,
    WARRANTS_OF_SUBJECT,
)

OBJECTS: Versioned[StoredObject] = Versioned(
    kind="object",
    key_length=2,
    statements=OBJECT,
    stored=StoredObject,
    missing=lambda key: NotFound(*key),
)


def put_objects(head: Revision, objects: Sequence[NewObject], stamp: Stamp) -> VersionedWrite[tuple[StoredObject, ...]]:
    def work(revision: Revision) -> Script[WriteOutcome[StoredObject]]:
        stored, effects = yield from put_all(objects, stamp, revision)
        return WriteOutcome(tuple(stored[new.type, new.id] for new in objects), effects)

    return write(head, stamp, tuple[StoredObject, ...], work(Revision(head + 1)))


def put_all(
    objects: Sequence[NewObject], stamp: Stamp, revision: Revision
) -> Script[tuple[dict[Key, StoredObject], list[Effect]]]:
    """Creates or replaces the objects. Returns each as it is then, and what was changed."""
    metas: dict[Key, str | None] = {(new.type, new.id): new.meta for new in objects}
    fresh = {(new.type, new.id) for new in objects if new.fresh}
    return (yield from put(OBJECTS, metas, stamp, revision, fresh=fresh))


def replace_meta(
    head: Revision, ref: ObjectRef, meta: str | None, stamp: Stamp
) -> VersionedWrite[tuple[StoredObject, ...]]:
    def work(revision: Revision) -> Script[WriteOutcome[StoredObject]]:
        stored, effects = yield from put(OBJECTS, {(ref.type, ref.id): meta}, stamp, revision, must_exist=True)
        return WriteOutcome(tuple(stored.values()), effects)

    return write(head, stamp, tuple[StoredObject, ...], work(Revision(head + 1)))


# Ends deleted objects, and with each the warrants in which it is the object or the subject.


READ_AT_ONCE = 1_000
"""Limits how many warrants of a deleted object are read together."""


class _Cascade(NamedTuple):
    """Holds the statements for the warrants in which an object has one role. They are read in the order of the columns
    `order`, those of an index, so that each is read once."""

    read: str
    end: str
    end_expired: str
    order: Callable[[Row], Row]


_CASCADES = (
    _Cascade(WARRANTS_OF_OBJECT, END_WARRANTS_OF_OBJECT, END_EXPIRED_OF_OBJECT, itemgetter(2, 5, 3, 4, 6)),
    _Cascade(WARRANTS_OF_SUBJECT, END_WARRANTS_OF_SUBJECT, END_EXPIRED_OF_SUBJECT, itemgetter(5, 0, 2, 1, 6)),
)
_NUMBER = itemgetter(7)


def delete_objects(head: Revision, refs: Sequence[ObjectRef], stamp: Stamp) -> Script[Revision]:
    return write_effects(head, stamp, end_objects(refs, stamp.at, Revision(head + 1)))


def end_objects(refs: Sequence[ObjectRef], at: int, revision: Revision) -> Script[list[Effect]]:
    """Ends the objects, and then every warrant in which one of them is the object or the subject; those that have
    expired by then end as expired. Raises NotFound, as `end` does."""
    effects = yield from end(OBJECTS, ((ref.type, ref.id) for ref in refs), revision)
    for ref in refs:
        for cascade in _CASCADES:
            effects += yield from _end_warrants(cascade, ref, at, revision)
    return effects


def _end_warrants(cascade: _Cascade, ref: ObjectRef, at: int, revision: Revision) -> Script[list[Effect]]:
    """Ends all warrants of an object together: one by one, hundreds of thousands took half a minute."""
    ended_with = msgspec.json.encode((ref.type, ref.id)).decode()
    effects: list[Effect] = []
    has_any_expired = False
    after: Row = ("",) * 5
    rows: Rows = [()]
    while rows:
        [rows] = yield Select(cascade.read, [(ref.id, ref.type, *after, READ_AT_ONCE)])
        after = cascade.order(rows[-1]) if rows else after
        effects += (_describe_end(row, at, ended_with) for row in sorted(rows, key=_NUMBER))
        has_any_expired = has_any_expired or any(has_expired(row, at) for row in rows)
    if not effects:
        return effects
    changes = {WARRANT.find: dict.fromkeys(effect.key for effect in effects)} if len(effects) <= READ_AT_ONCE else None
    if has_any_expired:
        yield Execute(cascade.end_expired, [(revision, revision, ref.id, ref.type, at)], changes)
    yield Execute(cascade.end, [(revision, ref.id, ref.type)], changes)
    return effects


def _describe_end(row: Row, at: int, ended_with: str) -> Effect:
    if has_expired(row, at):
        return describe_expiry(row)
    return Effect("deleted", "warrant", row[:7], before=row[10], after=ended_with)
