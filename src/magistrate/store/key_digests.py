"""Keeps the digests of generated API keys, as scripts."""

from collections.abc import Callable

from magistrate.engine.terms import Revision
from magistrate.store import sql_credentials
from magistrate.store.database import Execute, Script, Select


def keep_key_digest(digest: str, at: int) -> Callable[[Revision], Script[bool]]:
    def script(head: Revision) -> Script[bool]:
        [kept] = yield Select(sql_credentials.LIST_KEY_DIGESTS, [()])
        if not kept:
            yield Execute(sql_credentials.KEEP_KEY_DIGEST, [(digest, at)])
            yield Execute(sql_credentials.MOVE_KEYS_VERSION, [()])
        return not kept

    return script


def replace_key_digests(digest: str, at: int) -> Callable[[Revision], Script[int]]:
    def script(head: Revision) -> Script[int]:
        [replaced] = yield Select(sql_credentials.LIST_KEY_DIGESTS, [()])
        yield Execute(sql_credentials.DELETE_KEY_DIGESTS, [()])
        yield Execute(sql_credentials.KEEP_KEY_DIGEST, [(digest, at)])
        yield Execute(sql_credentials.MOVE_KEYS_VERSION, [()])
        return len(replaced)

    return script
