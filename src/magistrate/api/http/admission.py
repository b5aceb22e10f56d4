"""Keeps the time short for which requests wait when more arrive than can be answered.

A bounded number of requests of each scope run at the same time, and a bounded number wait, each for a bounded time. The
others are refused, at a pace that costs little. Without that, all requests would be answered ever later, until none is
answered before its client has given up. Scopes do not share their bounds, so no number of queries keeps a check
waiting. See docs/decisions/0064-requests-beyond-a-queue-are-refused.md."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from types import TracebackType
from typing import NamedTuple

from magistrate.api.http.request_values import MAX_VALUES
from magistrate.errors import Overloaded
from magistrate.operations.keys.callers import Scope
from magistrate.tracing import open_span

TICK_SECONDS = 0.01
REFUSED_PER_TICK = 10
"""Sets how many requests are refused at once: 1,000 a second, each of which takes 30 to 50 µs to read and refuse."""
MAX_TICKS = 100
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
            self._per_tick = max(self._per_tick, ceil(len(self._waiting) / MAX_TICKS))

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


SLICE_SECONDS = 0.005
"""Sets for how long requests may begin in one iteration of the event loop. What has arrived by then waits, so that
further requests are read, and refused, soon; otherwise those that need not wait for anything would be a queue that
nobody sees."""
MAX_AT_ONCE = 64
"""Limits the waiting requests that begin in one iteration."""
LATE_SHARE = 0.75
"""Sets the part of the time for which requests may wait after which the oldest one is late. Those that come then would
wait for nothing, and refusing a request that has waited costs several times as much as refusing it when it comes."""


BYTES_OF_A_VALUE = 200
"""Estimates what a value in a body takes besides its text: most for an object with a single member."""
BYTES_OF_A_CHARACTER = 4
"""Counts the bytes that each character of a text takes in memory if one of them needs so many."""


class WaitingRequest(NamedTuple):
    """Holds the place of a request in the queue, and when it entered the queue."""

    place: asyncio.Future[None]
    since: float


class RequestBodies:
    """Counts the bytes of the bodies of all requests of a worker, from when they arrive until the requests are
    answered: as they were sent, and what they are decoded to."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self.bytes = 0
        self.refused = 0
        """Counts the requests that were refused."""

    def open_account(self) -> "BodyAccount":
        return BodyAccount(self)

    def add(self, account: "BodyAccount", size: int) -> None:
        """Counts more bytes of one body. Raises Overloaded if it is too much, unless there is no other body."""
        if size and self.bytes + size > self._max_bytes and self.bytes > account.bytes:
            self.refused += 1
            raise Overloaded
        self.bytes += size
        account.bytes += size

    def release(self, account: "BodyAccount") -> None:
        self.bytes -= account.bytes
        account.bytes = 0


class BodyAccount:
    """Counts the bytes of one body, as a context manager: behind it, the request has been answered."""

    __slots__ = ("_bodies", "bytes")

    def __init__(self, bodies: RequestBodies) -> None:
        self.bytes = 0
        self._bodies = bodies

    def add(self, size: int) -> None:
        """Counts bytes that were received. Raises Overloaded."""
        self._bodies.add(self, size)

    def add_decoded(self, body: bytes) -> None:
        """Counts an estimate of what a body of JSON is decoded to. Raises Overloaded."""
        values = min(body.count(b",") + body.count(b"{") + body.count(b"["), MAX_VALUES)
        width = 1 if body.isascii() else BYTES_OF_A_CHARACTER
        self._bodies.add(self, width * len(body) + BYTES_OF_A_VALUE * values)

    def __enter__(self) -> "BodyAccount":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bodies.release(self)


class Admission:
    """Admits the requests of one scope, each of which runs within it as an async context manager. Those that wait run
    in the order of their arrival. `clock` returns seconds of this thread's processor time, `wall_clock` those that
    pass."""

    def __init__(
        self,
        max_running: int,
        max_waiting: int,
        wait_ms: int,
        clock: Callable[[], float] = time.thread_time,
        wall_clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_running = max_running
        self._max_waiting = max_waiting
        self._wait_seconds = wait_ms / 1000
        self._late_seconds = LATE_SHARE * self._wait_seconds
        self._clock = clock
        self._wall_clock = wall_clock
        self._queue: deque[WaitingRequest] = deque()
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
        """Returns whether no more requests may wait: there is no place, or they would wait too long."""
        if not self._queue:
            return False
        is_late = self._wall_clock() - self._queue[0].since > self._late_seconds
        return is_late or len(self._queue) >= self._max_waiting

    async def __aenter__(self) -> None:
        """Waits until the request may run. Raises Overloaded."""
        if self._may_begin():
            self._count_iterations()
            self.running += 1
            return
        if self.is_full:
            raise self._refusal()
        with open_span("wait for admission"):
            await self._wait_in_queue()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_request()

    def _end_request(self) -> None:
        self.running -= 1
        if self._queue:
            self._count_iterations()

    async def _wait_in_queue(self) -> None:
        place = asyncio.get_running_loop().create_future()
        waiting = WaitingRequest(place, self._wall_clock())
        self._queue.append(waiting)
        try:
            async with asyncio.timeout(self._wait_seconds):
                await place
        except BaseException as error:
            if place.done() and not place.cancelled():
                self._end_request()  # it was admitted in the same moment
            else:
                with suppress(ValueError):
                    self._queue.remove(waiting)
            if isinstance(error, TimeoutError):
                raise self._refusal() from error
            raise

    def _may_begin(self) -> bool:
        """Returns whether a request may begin now."""
        if self._queue or self.running >= self._max_running:
            return False
        return not self._is_counting or self._clock() - self._slice_began < SLICE_SECONDS

    def _count_iterations(self) -> None:
        if not self._is_counting:
            self._is_counting, self._slice_began = True, self._clock()
            asyncio.get_running_loop().call_soon(self._begin_iteration)

    def _begin_iteration(self) -> None:
        """Lets as many waiting requests begin as take one slice, by what the iteration before took."""
        now = self._clock()
        is_long = now - self._slice_began > SLICE_SECONDS
        self._at_once = max(1, self._at_once // 2) if is_long else min(self._at_once * 2, MAX_AT_ONCE)
        loop = asyncio.get_running_loop()
        if self._queue:
            loop.call_soon(self._begin_slice)  # before those that begin below, and after what is read in between
        count = min(self._at_once, self._max_running - self.running)
        while count > 0 and self._queue:
            place = self._queue.popleft().place
            if not place.done():
                place.set_result(None)
                self.running += 1
                count -= 1
        self._is_counting = bool(self._queue) and self.running < self._max_running
        if self._is_counting:
            loop.call_soon(self._begin_iteration)

    def _begin_slice(self) -> None:
        self._slice_began = self._clock()

    def _refusal(self) -> Overloaded:
        self.shed += 1
        return Overloaded()


@dataclass(frozen=True, slots=True)
class Admissions:
    """Holds the admission of each scope, and for all scopes the pace of the refusals and the bodies."""

    by_scope: Mapping[Scope, Admission]
    pace: RefusalPace
    bodies: RequestBodies


def admissions(max_running: int, max_waiting: int, wait_ms: int, max_body_bytes: int) -> Admissions:
    """Returns the admissions of a worker; `max_body_bytes` limits the bodies of all requests."""
    by_scope = {scope: Admission(max_running, max_waiting, wait_ms) for scope in Scope}
    return Admissions(by_scope, RefusalPace(), RequestBodies(max_body_bytes))
