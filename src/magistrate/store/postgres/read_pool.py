"""Runs reads on the connections to one server, each within a timeout."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from magistrate.store.postgres.connections import ConnectionPool, ConnectionUse, Conninfo, Pooling, translate_error
from magistrate.store.postgres.pipeline import Connection

T = TypeVar("T")

CLOSE_WITHIN_SECONDS = 1.0
"""Limits the wait for statements that have no caller any more; their connections are cut already, or soon."""

ABANDONED_SECONDS = 0.1
"""Limits for how long a statement runs on whose caller has left: most end within milliseconds, and to break one off
costs a connection."""


class ReadPool:
    """Runs reads on a pool of connections, in tasks that can be abandoned."""

    def __init__(self, conninfo: Conninfo, pooling: Pooling) -> None:
        self.timeout = pooling.timeout_ms / 1000
        self.pool = ConnectionPool(conninfo, pooling)
        self._abandoned: set[asyncio.Task[Any]] = set()

    async def read(self, once: Callable[[Connection], Awaitable[T]]) -> T:
        """Runs `once` on a connection, within the timeout. Raises StoreUnavailable."""
        try:
            return await self._read_within_timeout(once)
        except Exception as error:
            translated = translate_error(error)
            if translated is error:
                raise
            raise translated from error

    async def _read_within_timeout(self, once: Callable[[Connection], Awaitable[T]]) -> T:
        """Runs the attempts in a task that can be abandoned. Raises TimeoutError."""
        use = ConnectionUse()
        task = asyncio.create_task(self.pool.attempt(once, lambda: True, use))
        try:
            await asyncio.wait({task}, timeout=self.timeout)
        except asyncio.CancelledError:
            self._abandon(use, task, ABANDONED_SECONDS)
            raise
        if not task.done():
            self._abandon(use, task, 0)
            raise TimeoutError
        return task.result()

    def _abandon(self, use: ConnectionUse, task: asyncio.Task[Any], seconds: float) -> None:
        """Makes a task that has no caller any more end: at once if it waits for a connection, otherwise within this
        time."""
        self._abandoned.add(task)
        task.add_done_callback(self._discard_abandoned)
        if seconds and use.connection is not None:
            timer = asyncio.get_running_loop().call_later(seconds, _break_off, use, task)
            task.add_done_callback(lambda _: timer.cancel())
        else:
            _break_off(use, task)

    def _discard_abandoned(self, task: asyncio.Task[Any]) -> None:
        self._abandoned.discard(task)
        if not task.cancelled():
            task.exception()  # otherwise asyncio would log that it was never retrieved

    async def close(self) -> None:
        """Closes the connections."""
        await self.pool.close()

    async def finish_abandoned(self) -> None:
        """Waits a moment for the tasks that have no caller any more."""
        if self._abandoned:
            await asyncio.wait(self._abandoned, timeout=CLOSE_WITHIN_SECONDS)


def _break_off(use: ConnectionUse, task: asyncio.Task[Any]) -> None:
    """Ends a task that uses a connection, or waits for one."""
    if use.connection is None:
        task.cancel()
    use.break_off()
