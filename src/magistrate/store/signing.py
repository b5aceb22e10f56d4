"""Reads and writes the keys that session tokens are signed with, as scripts."""

from collections.abc import Callable

from magistrate.engine.terms import Revision
from magistrate.store import sql_credentials
from magistrate.store.database import Execute, Row, Rows, Script, Select
from magistrate.store.sealing import Sealing
from magistrate.store.session_keys import KeptKeys, SessionKey


def keep_session_key(
    new: SessionKey, unless_after: int, delete_by: int, sealing: Sealing
) -> Callable[[Revision], Script[KeptKeys]]:
    def script(head: Revision) -> Script[KeptKeys]:
        [rows] = yield Select(sql_credentials.LIST_SESSION_KEYS, [()])
        kept = open_kept_keys(rows, sealing)
        if any(key.created_at > unless_after for key in kept.keys):
            return kept
        yield Execute(sql_credentials.DELETE_SESSION_KEYS, [(delete_by,)])
        sealed = sealing.seal(new.secret, _binding(new.id, new.created_at))
        yield Execute(sql_credentials.KEEP_SESSION_KEY, [(new.id, sealed, new.created_at)])
        [rows] = yield Select(sql_credentials.LIST_SESSION_KEYS, [()])
        return open_kept_keys(rows, sealing)

    return script


def seal_session_keys(sealing: Sealing) -> Callable[[Revision], Script[int]]:
    def script(head: Revision) -> Script[int]:
        [rows] = yield Select(sql_credentials.LIST_SESSION_KEYS, [()])
        changed = []
        for id, kept, created_at in _keys_in(rows):
            binding = _binding(id, created_at)
            secret = sealing.unseal(kept, binding)
            if not sealing.is_current(kept, binding):
                changed.append((sealing.seal(secret, binding), id))
        yield Execute(sql_credentials.REPLACE_SESSION_SECRET, changed)
        return len(changed)

    return script


def delete_session_keys(head: Revision) -> Script[int]:
    [rows] = yield Select(sql_credentials.LIST_SESSION_KEYS, [()])
    times = [created_at for *_, created_at in _keys_in(rows)]
    yield Execute(sql_credentials.DELETE_SESSION_KEYS, [(max(times),)] if times else [])
    return len(times)


def open_kept_keys(rows: Rows, sealing: Sealing) -> KeptKeys:
    """Builds the keys from the rows of LIST_SESSION_KEYS. Raises SigningKeysLocked."""
    keys = (
        SessionKey(id, sealing.unseal(kept, _binding(id, created_at)), created_at)
        for id, kept, created_at in _keys_in(rows)
    )
    return KeptKeys(Revision(rows[0][0]), tuple(keys))


def _keys_in(rows: Rows) -> list[Row]:
    return [row[3:] for row in rows if row[3] is not None]


def _binding(id: str, created_at: int) -> str:
    return f"{id} {created_at}"
