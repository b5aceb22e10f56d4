"""Reads and writes the keys of callers, as scripts."""

import asyncio
import secrets
from collections.abc import Mapping, Sequence

import msgspec

from magistrate.engine.names import Revision
from magistrate.errors import Conflict, NotFound
from magistrate.store.contract.keys import KeptKeys, NewSecret, SessionKey, StoredKey, StoredKeys
from magistrate.store.contract.lists import Snapshot
from magistrate.store.database import Execute, Row, Rows, Script, Select
from magistrate.store.scripts.key_encryption import Sealing
from magistrate.store.sql.keys import (
    DELETE_KEY,
    DELETE_KEY_DIGESTS,
    DELETE_SESSION_KEYS,
    FIND_KEY,
    INSERT_KEY,
    KEEP_KEY_DIGEST,
    KEEP_SESSION_KEY,
    LIST_KEY_DIGESTS,
    LIST_KEY_NAMES,
    LIST_SESSION_KEYS,
    MOVE_KEYS_VERSION,
    NOTE_KEY_USE,
    REPLACE_SESSION_SECRET,
    ROTATE_KEY,
)

KEYS_AT_ONCE = 100
"""Limits the keys that are built before others may run: a millisecond or two, if each has many object types."""
BYTES_OF_BITS = 4


def draw_bits() -> str:
    """Returns the random bits of a change of keys, as 8 hex digits."""
    return secrets.token_hex(BYTES_OF_BITS)


async def build_keys(rows: Rows) -> StoredKeys:
    """Builds the keys from rows (*NEWEST, version, *columns), and lets others run in between; the columns are None if
    there is no key."""
    revision, _, _, version = rows[0][:4]
    keys: list[StoredKey] = []
    for start in range(0, len(rows), KEYS_AT_ONCE):
        if start:
            await asyncio.sleep(0)
        keys += (build_key(row[4:]) for row in rows[start : start + KEYS_AT_ONCE] if row[4] is not None)
    return StoredKeys(Revision(revision), version, tuple(keys))


def create_key(head: Revision, new: StoredKey, most: int) -> Script[Revision]:
    [stored] = yield Select(LIST_KEY_NAMES, [()])
    if (new.name,) in stored:
        raise Conflict(f"there is a key with the name {new.name} already: choose another, or rotate that one")
    if len(stored) >= most:
        raise Conflict(f"there are {len(stored)} keys, which is the most: delete one that nobody uses")
    object_types = None if new.object_types is None else _encode(new.object_types)
    row = (new.id, new.name, new.prefix, new.digest, _encode(new.scopes), object_types)
    yield Execute(INSERT_KEY, [(*row, new.created_at, new.created_by, new.expires_at)])
    yield Execute(MOVE_KEYS_VERSION, [(draw_bits(),)])
    return head


def rotate_key(head: Revision, key_id: str, new: NewSecret) -> Script[Snapshot[StoredKey]]:
    yield from _find(key_id)
    yield Execute(ROTATE_KEY, [(new.previous_until, new.prefix, new.digest, key_id)])
    yield Execute(MOVE_KEYS_VERSION, [(draw_bits(),)])
    return Snapshot(head, (yield from _find(key_id)))


def delete_key(head: Revision, key_id: str) -> Script[Revision]:
    yield from _find(key_id)
    yield Execute(DELETE_KEY, [(key_id,)])
    yield Execute(MOVE_KEYS_VERSION, [(draw_bits(),)])
    return head


def note_key_uses(head: Revision, uses: Mapping[str, int], pause: int) -> Script[None]:
    yield Execute(NOTE_KEY_USE, [(at, key_id, at - pause) for key_id, at in uses.items()])


def _find(key_id: str) -> Script[StoredKey]:
    [rows] = yield Select(FIND_KEY, [(key_id,)])
    if not rows:
        raise NotFound("Key", key_id)
    return build_key(rows[0])


def build_key(row: Row) -> StoredKey:
    *names, scopes, object_types = row[:6]
    columns: Row = (*names, _decode(scopes), None if object_types is None else _decode(object_types), *row[6:])
    return StoredKey(*columns)


def _encode(names: Sequence[str]) -> str:
    return msgspec.json.encode(names).decode()


def _decode(text: str) -> tuple[str, ...]:
    return msgspec.json.decode(text, type=tuple[str, ...])


def keep_key_digest(head: Revision, digest: str, at: int) -> Script[bool]:
    [kept] = yield Select(LIST_KEY_DIGESTS, [()])
    if not kept:
        yield Execute(KEEP_KEY_DIGEST, [(digest, at)])
        yield Execute(MOVE_KEYS_VERSION, [(draw_bits(),)])
    return not kept


def replace_key_digests(head: Revision, digest: str, at: int) -> Script[int]:
    [replaced] = yield Select(LIST_KEY_DIGESTS, [()])
    yield Execute(DELETE_KEY_DIGESTS, [()])
    yield Execute(KEEP_KEY_DIGEST, [(digest, at)])
    yield Execute(MOVE_KEYS_VERSION, [(draw_bits(),)])
    return len(replaced)


def keep_session_key(
    head: Revision, sealing: Sealing, new: SessionKey, unless_after: int, delete_by: int
) -> Script[KeptKeys]:
    [rows] = yield Select(LIST_SESSION_KEYS, [()])
    kept = open_kept_keys(rows, sealing)
    if any(key.created_at > unless_after for key in kept.value):
        return kept
    yield Execute(DELETE_SESSION_KEYS, [(delete_by,)])
    sealed = sealing.seal(new.secret, _binding(new.id, new.created_at))
    yield Execute(KEEP_SESSION_KEY, [(new.id, sealed, new.created_at)])
    [rows] = yield Select(LIST_SESSION_KEYS, [()])
    return open_kept_keys(rows, sealing)


def seal_session_keys(head: Revision, sealing: Sealing) -> Script[int]:
    [rows] = yield Select(LIST_SESSION_KEYS, [()])
    changed = []
    for key_id, kept, created_at in _keys_in(rows):
        binding = _binding(key_id, created_at)
        secret = sealing.unseal(kept, binding)
        if not sealing.is_current(kept, binding):
            changed.append((sealing.seal(secret, binding), key_id))
    yield Execute(REPLACE_SESSION_SECRET, changed)
    return len(changed)


def delete_session_keys(head: Revision) -> Script[int]:
    [rows] = yield Select(LIST_SESSION_KEYS, [()])
    times = [created_at for *_, created_at in _keys_in(rows)]
    yield Execute(DELETE_SESSION_KEYS, [(max(times),)] if times else [])
    return len(times)


def open_kept_keys(rows: Rows, sealing: Sealing) -> KeptKeys:
    """Builds the keys from the rows of LIST_SESSION_KEYS. Raises SigningKeysLocked."""
    keys = (
        SessionKey(key_id, sealing.unseal(kept, _binding(key_id, created_at)), created_at)
        for key_id, kept, created_at in _keys_in(rows)
    )
    return KeptKeys(Revision(rows[0][0]), tuple(keys))


def _keys_in(rows: Rows) -> list[Row]:
    return [row[3:] for row in rows if row[3] is not None]


def _binding(key_id: str, created_at: int) -> str:
    return f"{key_id} {created_at}"
