"""The public keys of a provider that publishes them at a URL, and replaces them when it likes.

They are fetched now and then beside everything else, so that no check waits for it; and when a token names a key that
is not among them, but not every time: anybody can send such tokens."""

import asyncio
import math
import time
from collections.abc import Callable, Sequence

import httpx
import msgspec
import structlog

from magistrate.api.provider_keys import ProviderKey, read_keys
from magistrate.errors import ProviderUnavailable
from magistrate.operations.bearer_tokens import TokenHead

FETCH_EVERY_SECONDS = 300.0
PAUSE_SECONDS = 10.0
"""Between the beginnings of two fetches at the least."""
KEPT_SECONDS = 86_400.0
"""So long the keys are used when no fetch succeeds any more (a day)."""
TIMEOUT_SECONDS = 5.0
"""Of a whole fetch."""
MAX_BYTES = 262_144
"""Of an answer (256 KiB)."""

_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity"}

_FAILURES = (httpx.HTTPError, httpx.InvalidURL, TimeoutError, ValueError, msgspec.MsgspecError, RecursionError)

log = structlog.get_logger()


class FetchedKeys:
    """A KeySource."""

    def __init__(self, url: str, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._url = url
        self._monotonic = monotonic
        self._client = httpx.AsyncClient(headers=_HEADERS, timeout=TIMEOUT_SECONDS, follow_redirects=False)
        self._keys: Sequence[ProviderKey] = ()
        self._fetched_at = -math.inf
        self._tried_at = -math.inf
        self._failure: Exception | None = None
        """Of the last fetch."""
        self._fetching = asyncio.Lock()

    async def fitting(self, head: TokenHead) -> Sequence[ProviderKey]:
        found = self._kept(head)
        if not found:
            await self._fetch()
            found = self._kept(head)
        if not found and self._failure is not None:
            raise ProviderUnavailable("the keys of the token provider cannot be fetched") from self._failure
        return found

    async def keep_fresh(self) -> None:
        async with self._client:
            while True:
                await self._fetch()
                await asyncio.sleep(FETCH_EVERY_SECONDS if self._failure is None else PAUSE_SECONDS)

    def _kept(self, head: TokenHead) -> Sequence[ProviderKey]:
        if self._monotonic() - self._fetched_at > KEPT_SECONDS:
            return ()
        return [key for key in self._keys if key.fits(head)]

    async def _fetch(self) -> None:
        """Unless that was tried a moment ago. Whoever comes while it is going on waits for it."""
        async with self._fetching:
            now = self._monotonic()
            if now - self._tried_at < PAUSE_SECONDS:
                return
            self._tried_at = now
            try:
                self._keys = read_keys(await self._content())
            except _FAILURES as error:
                self._failure = error
                log.warning("the keys of the token provider cannot be fetched", cause=repr(error))
            else:
                self._fetched_at, self._failure = now, None
                if not self._keys:
                    log.warning("the token provider has no key for RS256 or ES256")

    async def _content(self) -> bytes:
        """Raises ValueError unless the answer is 200 and short enough."""
        content = b""
        async with asyncio.timeout(TIMEOUT_SECONDS), self._client.stream("GET", self._url) as answer:
            if answer.status_code != 200:
                raise ValueError(f"the answer has the status {answer.status_code}")
            async for chunk in answer.aiter_raw():
                content += chunk
                if len(content) > MAX_BYTES:
                    raise ValueError(f"the answer is longer than {MAX_BYTES} bytes")
        return content
