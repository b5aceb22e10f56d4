"""Who of several tasks goes on, in the event loop or at the store."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from magistrate.errors import StoreUnavailable

T = TypeVar("T")

SMALL_BYTES = 16_384
"""Of definitions: so many take one or two milliseconds to be read (16 KiB)."""


class Turns:
    """At what one task at a time does for all. If it fails because the store is away, that is told to all who wait by
    then: each would wait just as long, and the last for the sum of it."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._failures = 0
        self._last_failure = ""

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Raises StoreUnavailable."""
        failures = self._failures
        async with self._lock:
            if self._failures > failures:
                raise StoreUnavailable(self._last_failure)
            try:
                yield
            except StoreUnavailable as error:
                self._failures += 1
                self._last_failure = error.message
                raise


async def checkpoint() -> None:
    """Whoever else has work gets a turn."""
    await asyncio.sleep(0)


async def aside(work: Callable[[], T], size: int) -> T:
    """What some work comes to that waits for nothing, and takes about as long as reading so many bytes of definitions:
    if that is long, it is done in a thread, so that others get a turn meanwhile."""
    return work() if size <= SMALL_BYTES else await asyncio.to_thread(work)
