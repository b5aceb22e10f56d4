"""Fetches the public keys of a token provider, which may replace them at any time.

Keys are fetched periodically in the background, so that no check waits for it. They are also fetched when a token names
an unknown key, but at a limited rate, because anybody can send such tokens."""

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec
import structlog

from magistrate.api.auth.provider_keys import ProviderKey, read_keys, read_limited
from magistrate.errors import ProviderUnavailable
from magistrate.operations.sessions.bearer_tokens import TokenHeader

PAUSE_SECONDS = 10.0
"""Sets the minimum time between the starts of two fetches."""
KEPT_SECONDS = 86_400.0
"""Limits how long keys are used after the last successful fetch (a day)."""

_FAILURES = (OSError, ValueError, msgspec.MsgspecError, RecursionError)

log = structlog.get_logger()


class KeyOrigin(Protocol):
    """Fetches keys from a source, which is read every `every_seconds`."""

    every_seconds: float

    async def content(self) -> bytes:
        """Returns PEM or a key set. Raises OSError or ValueError."""
        ...

    async def close(self) -> None: ...


class KeyFile:
    """Reads keys from a file, as a KeyOrigin."""

    every_seconds = PAUSE_SECONDS

    def __init__(self, path: str) -> None:
        self._path = path

    async def content(self) -> bytes:
        return await asyncio.to_thread(read_limited, self._path)

    async def close(self) -> None:
        """Does nothing, because no resource is held."""


class FetchedKeys:
    """Holds the keys of one provider."""

    def __init__(self, origin: KeyOrigin, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._origin = origin
        self._monotonic = monotonic
        self._keys: Sequence[ProviderKey] = ()
        self._fetched_at = -math.inf
        self._tried_at = -math.inf
        self._failure: Exception | None = None
        """Holds the error of the last fetch, or None if it succeeded."""
        self._fetching = asyncio.Lock()

    async def fitting(self, header: TokenHeader) -> Sequence[ProviderKey]:
        """Returns the keys that a token with this head may be signed with. Raises ProviderUnavailable."""
        keys = self._get_cached(header)
        if not keys:
            await self._fetch()
            keys = self._get_cached(header)
        if not keys and self._failure is not None:
            raise ProviderUnavailable("the keys of the token provider cannot be fetched") from self._failure
        return keys

    async def keep_fresh(self) -> None:
        """Fetches the keys periodically, and closes the origin when it ends. It must run once, as a background task."""
        try:
            while True:
                await self._fetch()
                await asyncio.sleep(self._origin.every_seconds if self._failure is None else PAUSE_SECONDS)
        finally:
            await self._origin.close()

    def _get_cached(self, header: TokenHeader) -> Sequence[ProviderKey]:
        if self._monotonic() - self._fetched_at > KEPT_SECONDS:
            return ()
        return [key for key in self._keys if key.fits(header)]

    async def _fetch(self) -> None:
        """Fetches the keys unless a fetch was started recently. A caller that arrives during a fetch waits for it."""
        async with self._fetching:
            now = self._monotonic()
            if now - self._tried_at < PAUSE_SECONDS:
                return
            self._tried_at = now
            self._failure = TimeoutError("the fetch was given up")  # kept if the fetch is cancelled
            try:
                self._keys = read_keys(await self._origin.content())
            except _FAILURES as error:
                self._failure = error
                log.warning(
                    "the keys of the token provider cannot be fetched", outage="token provider", cause=repr(error)
                )
            else:
                self._fetched_at, self._failure = now, None
                if not self._keys:
                    log.warning("the token provider has no key for RS256 or ES256")
