"""Writes the list of stores, as scripts of the store `default`."""

import secrets
import time
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from magistrate.engine.names import Revision
from magistrate.errors import Conflict, NotFound
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.stores import (
    DEFAULT_STORE,
    NewStore,
    StoredStore,
    StoreLimits,
    build_store,
    generate_ulid_after,
)
from magistrate.store.database import NOTHING, Execute, Row, Script, Select
from magistrate.store.scripts.keys import draw_bits
from magistrate.store.scripts.versions import BITS, Effect, build_log_rows
from magistrate.store.sql.changes import INSERT_CHANGE
from magistrate.store.sql.dialect import Dialect
from magistrate.store.sql.head import MAKE_HEAD
from magistrate.store.sql.models import LIST_DEFINITIONS, LIST_POLICIES, NAMED_POLICY, OBJECT_TYPE
from magistrate.store.sql.revisions import INSERT_REVISION
from magistrate.store.sql.stores import (
    BEGIN_REMOVAL,
    DELETE_FREED_STORES,
    DELETE_HEAD,
    DELETE_STORE,
    FIND_NAMED_STORE,
    FIND_STORE,
    FREE_NAME,
    HAS_ID,
    LAST_NUMBER,
    LIMIT_STORE,
    MAKE_STORE,
    MARK_STORE_MOVED,
    UPDATE_STORE,
    list_stored_rows,
)

CURSOR_KEY_BYTES = 16
MAX_GAP = 65_536
"""Limits the numbers that are left out before that of a new store, at random: if the database is restored to a time
before a store was made, the next one gets another number, and nobody who still knows the first one reads its rows."""
FIRST = Revision(1)
NAMED_BY_ID = "openfga-"
"""Begins the name of a store that is made without one."""


def create_store(head: Revision, new: NewStore) -> Script[StoredStore]:
    if new.name:
        yield from _require_free(new.name)
    if new.model_of is not None:
        yield from _find(new.model_of)
    types, policies = yield from _read_model(new)
    [[(last, last_id)]] = yield Select(LAST_NUMBER, [()])
    store_id = yield from _choose_id(new, last_id)
    stored = StoredStore(
        last + 1 + secrets.randbelow(MAX_GAP),
        store_id,
        new.name or f"{NAMED_BY_ID}{store_id.lower()}",
        new.description,
        new.limits,
        secrets.token_hex(CURSOR_KEY_BYTES),
        new.at,
        openfga_name=new.openfga_name,
    )
    yield Execute(MAKE_STORE, [store_row(stored)], NOTHING)
    bits = secrets.randbits(BITS)
    yield Execute(MAKE_HEAD, [head_row(stored, RevisionId(FIRST, bits))], NOTHING)
    yield Execute(INSERT_REVISION, [(1, FIRST, bits, new.at, new.actor, None)], NOTHING, store=stored.number)
    for statement, definitions in ((OBJECT_TYPE.insert, types), (NAMED_POLICY.insert, policies)):
        yield Execute(statement, [(*row, new.at, FIRST) for row in definitions], NOTHING, store=stored.number)
    effects = [Effect("created", "object-type", (name,), after=definition) for name, definition in types]
    effects += [Effect("created", "policy", (name,), after=definition) for name, definition in policies]
    yield Execute(INSERT_CHANGE, build_log_rows(FIRST, 0, effects), NOTHING, store=stored.number)
    return stored


def _choose_id(new: NewStore, last_id: str) -> Script[str]:
    if new.wanted_id is not None:
        [rows] = yield Select(HAS_ID, [(new.wanted_id,)])
        if not rows:
            return new.wanted_id
    return generate_ulid_after(new.at, last_id)


def store_row(stored: StoredStore) -> Row:
    """Returns the values of MAKE_STORE."""
    columns = (stored.number, stored.id, stored.name, stored.description)
    return *columns, stored.cursor_key, stored.created_at, stored.openfga_name


def head_row(stored: StoredStore, first: RevisionId) -> Row:
    """Returns the values of MAKE_HEAD."""
    return stored.number, first.revision, first.bits, first.revision, _encode_limits(stored.limits)


def _encode_limits(limits: StoreLimits) -> str:
    return msgspec.json.encode(limits).decode()


def _read_model(new: NewStore) -> Script[tuple[Sequence[Row], Sequence[Row]]]:
    """Returns the names and definitions of the object types and policies of the model of a new store."""
    if new.model_of is None:
        return [(object_type.name, object_type.definition) for object_type in new.types], []
    [types] = yield Select(LIST_DEFINITIONS, [()], store=new.model_of)
    [policies] = yield Select(LIST_POLICIES, [()], store=new.model_of)
    return types, policies


def update_store(head: Revision, number: int, name: str, description: str, limits: StoreLimits) -> Script[StoredStore]:
    stored = yield from _find(number)
    if name != stored.name:
        yield from _require_free(name)
    yield Execute(UPDATE_STORE, [(name, description, number)], NOTHING)
    yield Execute(LIMIT_STORE, [(_encode_limits(limits), draw_bits(), number)], NOTHING)
    return (yield from _find(number))


def delete_store(head: Revision, number: int, at: int) -> Script[None]:
    stored = yield from _find(number)
    if number == DEFAULT_STORE:
        raise Conflict("the store default cannot be deleted")
    yield Execute(DELETE_STORE, [(at, stored.number)], NOTHING)


class RowPlace(NamedTuple):
    """Says from where on the rows of a deleted store are left: the place of a table in `list_stored_rows`, and a key in
    that table, or nothing for its first. The process that has removed those before did so at `removed_at`."""

    store: int
    removed_at: int | None
    table: int
    key: Row


def begin_removal(store: int, removed_at: int | None) -> RowPlace:
    return RowPlace(store, removed_at, 0, ())


class RemovedChunk(NamedTuple):
    """Says how many rows were removed, when that began by `time.monotonic`, and where the next ones are; None if all
    are removed, or if another process removes them."""

    rows: int
    began_at: float
    following: RowPlace | None


def delete_rows(head: Revision, place: RowPlace, at: int, most: int, dialect: Dialect) -> Script[RemovedChunk]:
    [rows] = yield Select(BEGIN_REMOVAL, [(at, place.store, place.removed_at)])
    began_at = time.monotonic()
    if not rows:
        return RemovedChunk(0, began_at, None)
    removed, key = 0, place.key
    tables = list_stored_rows(dialect)
    for table in range(place.table, len(tables)):
        statement, first = tables[table]
        [keys] = yield Select(statement, [(place.store, *(key or first), most - removed)])
        removed += len(keys)
        if removed == most:
            return RemovedChunk(removed, began_at, RowPlace(place.store, at, table, max(keys, default=key)))
        key = ()
    yield Execute(FREE_NAME, [(place.store,)], NOTHING)
    # Before the row is gone that may have been the last one to change, so that `moved` only grows.
    yield Execute(MARK_STORE_MOVED, [(DEFAULT_STORE,)], NOTHING)
    yield Execute(DELETE_HEAD, [(place.store,)], NOTHING)
    yield Execute(DELETE_FREED_STORES, [()], NOTHING)
    return RemovedChunk(removed + 1, began_at, None)


def _require_free(name: str) -> Script[None]:
    [rows] = yield Select(FIND_NAMED_STORE, [(name,)])
    if rows:
        reason = "there is a store" if build_store(rows[0]).deleted_at is None else "there was a store until just now"
        raise Conflict(f"{reason} with the name {name} already: choose another")


def _find(number: int) -> Script[StoredStore]:
    [rows] = yield Select(FIND_STORE, [(number,)])
    if not rows or (stored := build_store(rows[0])).deleted_at is not None:
        raise NotFound("Store", str(number))
    return stored
