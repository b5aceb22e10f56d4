"""Reads and writes the keys of callers, as scripts."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

import msgspec

from magistrate.engine.terms import Revision
from magistrate.errors import Conflict, NotFound
from magistrate.store import sql_credentials
from magistrate.store.database import Execute, Row, Rows, Script, Select
from magistrate.store.keys import NewSecret, StoredKey, StoredKeys
from magistrate.store.slices import Snapshot

KEYS_AT_ONCE = 100
"""Limits the keys that are built before others may run: a millisecond or two, if each has many object types."""


async def build_keys(rows: Rows) -> StoredKeys:
    """Builds the keys from rows (*NEWEST, version, *columns), and lets others run in between; the columns are None if
    there is no key."""
    revision, _, _, version = rows[0][:4]
    keys: list[StoredKey] = []
    for start in range(0, len(rows), KEYS_AT_ONCE):
        if start:
            await asyncio.sleep(0)
        keys += (_build_key(row[4:]) for row in rows[start : start + KEYS_AT_ONCE] if row[4] is not None)
    return StoredKeys(Revision(revision), version, tuple(keys))


def create_key(new: StoredKey, most: int) -> Callable[[Revision], Script[Revision]]:
    def script(head: Revision) -> Script[Revision]:
        [stored] = yield Select(sql_credentials.LIST_KEY_NAMES, [()])
        if (new.name,) in stored:
            raise Conflict(f"there is a key with the name {new.name} already: choose another, or rotate that one")
        if len(stored) >= most:
            raise Conflict(f"there are {len(stored)} keys, which is the most: delete one that nobody uses")
        object_types = None if new.object_types is None else _encode(new.object_types)
        row = (new.id, new.name, new.prefix, new.digest, _encode(new.scopes), object_types)
        yield Execute(sql_credentials.INSERT_KEY, [(*row, new.created_at, new.created_by, new.expires_at)])
        yield Execute(sql_credentials.MOVE_KEYS_VERSION, [()])
        return head

    return script


def rotate_key(id: str, new: NewSecret) -> Callable[[Revision], Script[Snapshot[StoredKey]]]:
    def script(head: Revision) -> Script[Snapshot[StoredKey]]:
        yield from _find(id)
        yield Execute(sql_credentials.ROTATE_KEY, [(new.previous_until, new.prefix, new.digest, id)])
        yield Execute(sql_credentials.MOVE_KEYS_VERSION, [()])
        return Snapshot(head, (yield from _find(id)))

    return script


def delete_key(id: str) -> Callable[[Revision], Script[Revision]]:
    def script(head: Revision) -> Script[Revision]:
        yield from _find(id)
        yield Execute(sql_credentials.DELETE_KEY, [(id,)])
        yield Execute(sql_credentials.MOVE_KEYS_VERSION, [()])
        return head

    return script


def note_key_uses(uses: Mapping[str, int], pause: int) -> Callable[[Revision], Script[None]]:
    def script(head: Revision) -> Script[None]:
        yield Execute(sql_credentials.NOTE_KEY_USE, [(at, id, at - pause) for id, at in uses.items()])

    return script


def _find(id: str) -> Script[StoredKey]:
    [rows] = yield Select(sql_credentials.FIND_KEY, [(id,)])
    if not rows:
        raise NotFound("Key", id)
    return _build_key(rows[0])


def _build_key(row: Row) -> StoredKey:
    id, name, prefix, digest, scopes, object_types, *others = row
    limited_to = None if object_types is None else _decode(object_types)
    return StoredKey(id, name, prefix, digest, _decode(scopes), limited_to, *others)


def _encode(names: Sequence[str]) -> str:
    return msgspec.json.encode(names).decode()


def _decode(text: str) -> tuple[str, ...]:
    return msgspec.json.decode(text, type=tuple[str, ...])
