"""Keeps the time short for which requests wait when more arrive than can be answered.

A bounded number of requests of each scope run at the same time, and a bounded number wait, each for a bounded time. The
others are refused at once, which costs little. Without that, all requests would be answered ever later, until none is
answered before its client has given up. Scopes do not share their bounds, so no number of queries keeps a check
waiting. See docs/decisions/0064-requests-beyond-a-queue-are-refused.md."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType

from magistrate.errors import Overloaded
from magistrate.operations.callers import Scope

SLICE_SECONDS = 0.005
"""Sets for how long requests may begin in one iteration of the event loop. What has arrived by then waits, so that
further requests are read, and refused, soon; otherwise those that need not wait for anything would be a queue that
nobody sees."""
MOST_AT_ONCE = 64
"""Limits the waiting requests that begin in one iteration."""


class Admission:
    """Admits the requests of one scope: an async context manager, in which a request runs. Those that wait run in the
    order of their arrival. `clock` returns seconds of this thread's processor time."""

    def __init__(
        self, most_running: int, most_waiting: int, wait_ms: int, clock: Callable[[], float] = time.thread_time
    ) -> None:
        self._most_running = most_running
        self._most_waiting = most_waiting
        self._wait_seconds = wait_ms / 1000
        self._clock = clock
        self._queue: deque[asyncio.Future[None]] = deque()
        self._is_counting = False
        """Says whether `_begin_iteration` will be called."""
        self._slice_began = 0.0
        self._at_once = 1
        """Counts the waiting requests that begin in one iteration, about as many as take a slice."""
        self.running = 0
        self.shed = 0
        """Counts the requests that were refused."""

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @property
    def is_full(self) -> bool:
        """Returns whether no more requests may wait."""
        return len(self._queue) >= self._most_waiting and not self._may_begin()

    async def __aenter__(self) -> None:
        """Waits until the request may run. Raises Overloaded."""
        if self._may_begin():
            self._count_iterations()
            self.running += 1
            return
        if len(self._queue) >= self._most_waiting:
            raise self._refusal()
        place = asyncio.get_running_loop().create_future()
        self._queue.append(place)
        try:
            async with asyncio.timeout(self._wait_seconds):
                await place
        except BaseException as error:
            if place.done() and not place.cancelled():
                self._end_request()  # its turn came in the same moment
            else:
                with suppress(ValueError):
                    self._queue.remove(place)
            if isinstance(error, TimeoutError):
                raise self._refusal() from error
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_request()

    def _may_begin(self) -> bool:
        """Returns whether a request may begin now."""
        if self._queue or self.running >= self._most_running:
            return False
        return not self._is_counting or self._clock() - self._slice_began < SLICE_SECONDS

    def _end_request(self) -> None:
        self.running -= 1
        if self._queue:
            self._count_iterations()

    def _count_iterations(self) -> None:
        if not self._is_counting:
            self._is_counting, self._slice_began = True, self._clock()
            asyncio.get_running_loop().call_soon(self._begin_iteration)

    def _begin_iteration(self) -> None:
        """Lets as many waiting requests begin as take one slice, judged by the iteration before."""
        now = self._clock()
        is_long = now - self._slice_began > SLICE_SECONDS
        self._at_once = max(1, self._at_once // 2) if is_long else min(self._at_once * 2, MOST_AT_ONCE)
        loop = asyncio.get_running_loop()
        loop.call_soon(self._begin_slice)  # before those that begin below, and after what is read in between
        left = min(self._at_once, self._most_running - self.running)
        while left > 0 and self._queue:
            place = self._queue.popleft()
            if not place.done():
                place.set_result(None)
                self.running += 1
                left -= 1
        self._is_counting = bool(self._queue) and self.running < self._most_running
        if self._is_counting:
            loop.call_soon(self._begin_iteration)

    def _begin_slice(self) -> None:
        self._slice_began = self._clock()

    def _refusal(self) -> Overloaded:
        self.shed += 1
        return Overloaded()


Admissions = Mapping[Scope, Admission]


def admissions(most_running: int, most_waiting: int, wait_ms: int) -> Admissions:
    """Returns the admission of each scope."""
    return {scope: Admission(most_running, most_waiting, wait_ms) for scope in Scope}
