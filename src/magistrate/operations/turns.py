"""Who of several tasks goes on, in the event loop or at the store."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from magistrate.errors import StoreUnavailable


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


async def give_way() -> None:
    """Whoever else has work gets a turn."""
    await asyncio.sleep(0)
