"""Schedules tasks that share the event loop or the store."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar
from weakref import WeakKeyDictionary

from magistrate.errors import StoreUnavailable

T = TypeVar("T")

SMALL_BYTES = 16_384
"""Limits the bytes of definitions that are read in the event loop (16 KiB); they take one or two milliseconds."""


class SharedLock:
    """Lets one task at a time do work that serves all. If it fails because the store is unavailable, all tasks that
    wait by then get that error: each would wait just as long, and the last for the sum of it."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._failures = 0
        self._last_failure = ""

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[None]:
        """Waits for the lock. Raises StoreUnavailable."""
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
    """Yields to other tasks. Of those that have yielded here, one resumes in each iteration of the event loop: if all
    did, everybody else would wait for one turn of each of them."""
    loop = asyncio.get_running_loop()
    resuming = _resuming.get(loop)
    if resuming is None:
        resuming = _resuming[loop] = asyncio.Lock()
    async with resuming:
        await asyncio.sleep(0)


_resuming: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


async def aside(work: Callable[[], T], size: int) -> T:
    """Returns the result of some work that waits for nothing, and takes about as long as reading `size` bytes of
    definitions: if that is long, the work runs in a thread, so that the event loop stays free."""
    return work() if size <= SMALL_BYTES else await asyncio.to_thread(work)
