"""Writes of the keys that session tokens are signed with, as scripts."""

from collections.abc import Callable

from magistrate.engine.terms import Revision
from magistrate.store import sql
from magistrate.store.database import Execute, Rows, Script, Select
from magistrate.store.session_keys import KeptKeys, SessionKey


def keep_session_key(new: SessionKey, unless_after: int, forget_by: int) -> Callable[[Revision], Script[KeptKeys]]:
    def script(head: Revision) -> Script[KeptKeys]:
        [rows] = yield Select(sql.LIST_SESSION_KEYS, [()])
        kept = kept_keys(rows)
        if any(key.created_at > unless_after for key in kept.keys):
            return kept
        yield Execute(sql.DROP_SESSION_KEYS, [(forget_by,)])
        yield Execute(sql.KEEP_SESSION_KEY, [(new.id, new.secret, new.created_at)])
        [rows] = yield Select(sql.LIST_SESSION_KEYS, [()])
        return kept_keys(rows)

    return script


def forget_session_keys(head: Revision) -> Script[int]:
    [rows] = yield Select(sql.LIST_SESSION_KEYS, [()])
    kept = kept_keys(rows).keys
    yield Execute(sql.DROP_SESSION_KEYS, [(max(key.created_at for key in kept),)] if kept else [])
    return len(kept)


def kept_keys(rows: Rows) -> KeptKeys:
    """Of the rows of LIST_SESSION_KEYS."""
    return KeptKeys(Revision(rows[0][0]), tuple(SessionKey(*row[1:]) for row in rows if row[1] is not None))
