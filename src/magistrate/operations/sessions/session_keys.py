"""Manages the keys that sign session tokens, as one process knows them.

They are kept in the store, so that every process on it knows the tokens of all others. A key signs for SIGNING_DAYS;
the next session then gets a new one. It is accepted until the last token it signed has expired, plus a day for clocks
that differ, and is worthless after that even if it leaks."""

import asyncio
import math
import re
import secrets
import time
from collections.abc import Callable, Mapping

from magistrate.operations.scheduling import SharedLock
from magistrate.store.contract.keys import SessionKey, SessionKeyStore
from magistrate.store.contract.lists import Snapshot

MAX_TTL_SECONDS = 604_800
"""Limits the lifetime of a token to seven days."""
SIGNING_DAYS = 30
KNOWN_DAYS = SIGNING_DAYS + 7 + 1

REVOKED_WITHIN_SECONDS = 10.0
"""Limits how old the cached keys may be when a token is accepted."""
READ_EVERY_SECONDS = 0.25
"""Limits how often keys are read: however many tokens name unknown keys, they wait for the next read."""

MICROSECONDS_PER_DAY = 86_400_000_000

_KEY_ID = re.compile(r"[0-9a-f]{16}")


class SessionKeys:
    """Caches the keys of a store for one process."""

    def __init__(
        self, store: SessionKeyStore, now: Callable[[], int], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._now = now
        self._monotonic = monotonic
        self._known: Mapping[str, SessionKey] = {}
        self._read_at = -math.inf
        self._read_lock = SharedLock()

    async def signing(self) -> Snapshot[SessionKey]:
        """Returns the key that signs now, created if there is none. It is read from the store, so it has not been
        revoked before.

        Raises StoreUnavailable.
        """
        now = self._now()
        oldest = now - SIGNING_DAYS * MICROSECONDS_PER_DAY
        kept = await self._store.session_keys()
        if not kept.value or kept.value[0].created_at <= oldest:
            new = SessionKey(secrets.token_hex(8), secrets.token_hex(32), now)
            kept = await self._store.keep_session_key(new, oldest, now - KNOWN_DAYS * MICROSECONDS_PER_DAY)
        return Snapshot(kept.revision, kept.value[0])

    async def find(self, key_id: str) -> SessionKey | None:
        """Returns the key with this id, if tokens that it signed may still be valid. Raises StoreUnavailable."""
        if not _KEY_ID.fullmatch(key_id):
            return None
        requested_at = self._monotonic()
        await self._read_since(requested_at - REVOKED_WITHIN_SECONDS)
        if key_id not in self._known:
            await self._read_since(requested_at)
        key = self._known.get(key_id)
        is_over = key is not None and key.created_at + KNOWN_DAYS * MICROSECONDS_PER_DAY <= self._now()
        return None if is_over else key

    async def _read_since(self, since: float) -> None:
        """Reads the keys unless they were read at that time or later; one read serves all that wait, and they all get
        its error.

        Raises StoreUnavailable.
        """
        if self._read_at >= since:
            return
        async with self._read_lock.acquire():
            if self._read_at >= since:
                return
            await asyncio.sleep(max(0.0, self._read_at + READ_EVERY_SECONDS - self._monotonic()))
            began_at = self._monotonic()
            kept = await self._store.session_keys()
            self._known = {key.id: key for key in kept.value}
            self._read_at = began_at
