"""Spreads refusals over time, so that most of the processor is left to the requests that are answered.

A client that is refused at once and tries again at once sends hundreds of requests a second, each of which has to be
read before it can be refused. While it waits for the refusal, it sends none. See
docs/decisions/0064-requests-beyond-a-queue-are-refused.md."""

import asyncio
from collections import deque
from collections.abc import Callable
from math import ceil

TICK_SECONDS = 0.01
REFUSED_PER_TICK = 10
"""Sets how many requests are refused at once: 1,000 a second, each of which takes 30 to 50 µs to read and refuse."""
MOST_TICKS = 100
"""Limits how long a refusal is held, to one second: a client that gives up and connects again costs more than a
refusal. If more refusals are held than the pace allows in that time, the pace grows until all are sent."""


class RefusalPace:
    """Calls back for each refusal when it may be sent, in the order of the requests."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._per_tick = self._left = REFUSED_PER_TICK
        self._is_ticking = False

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def schedule(self, refuse: Callable[[], None]) -> None:
        """Calls `refuse` at once if the pace allows it, otherwise within about a second."""
        if not self._is_ticking:
            self._is_ticking = True
            asyncio.get_running_loop().call_later(TICK_SECONDS, self._begin_tick)
        if self._left > 0 and not self._waiting:
            self._left -= 1
            refuse()
        else:
            self._waiting.append(refuse)
            self._per_tick = max(self._per_tick, ceil(len(self._waiting) / MOST_TICKS))

    async def wait(self) -> None:
        """Waits until a refusal may be sent."""
        due = asyncio.get_running_loop().create_future()
        self.schedule(lambda: None if due.done() else due.set_result(None))
        await due

    def _begin_tick(self) -> None:
        if not self._waiting and self._left == self._per_tick:
            self._is_ticking = False  # nothing was refused since the tick before
            return
        asyncio.get_running_loop().call_later(TICK_SECONDS, self._begin_tick)
        self._left = self._per_tick
        while self._waiting and self._left > 0:
            self._left -= 1
            self._waiting.popleft()()
        if not self._waiting:
            self._left = min(self._left, REFUSED_PER_TICK)
            self._per_tick = REFUSED_PER_TICK
