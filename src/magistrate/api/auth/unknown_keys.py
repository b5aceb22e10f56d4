"""Looks up in the store keys that a worker does not know, before they are refused: another worker may have made them a
moment ago.

Requests with such keys wait for a round that begins after they came, and share it. Rounds are a pause apart, so a flood
of unknown keys is no load on the store; what is unknown is not remembered."""

import asyncio
import time
from collections.abc import Awaitable, Callable

PAUSE_SECONDS = 0.05
"""Sets the time between the beginnings of two rounds: 20 lookups a second in each worker."""
MOST_WAITING = 1_000
"""Limits the requests that wait for a round; others are refused at once."""


class UnknownKeys:
    """Looks up unknown keys by `take_over`, which takes over all changes of the stored keys, within a bounded time, and
    raises nothing."""

    def __init__(self, take_over: Callable[[], Awaitable[None]], now: Callable[[], float] = time.monotonic) -> None:
        self._take_over = take_over
        self._now = now
        self._running = asyncio.Lock()
        self._next_round: asyncio.Task[None] | None = None
        self._next_at = now()
        self._waiting = 0

    async def look_up(self) -> None:
        """Returns when all keys are known that were stored before the call, or when that takes too long."""
        if self._waiting >= MOST_WAITING:
            return
        if self._next_round is None:
            self._next_round = asyncio.create_task(self._run_round())
        self._waiting += 1
        try:
            await asyncio.shield(self._next_round)  # the others wait on if one of them is cancelled
        finally:
            self._waiting -= 1

    async def _run_round(self) -> None:
        async with self._running:
            await asyncio.sleep(max(0.0, self._next_at - self._now()))
            self._next_round = None  # whoever comes from now on needs another one
            self._next_at = self._now() + PAUSE_SECONDS
            await self._take_over()
