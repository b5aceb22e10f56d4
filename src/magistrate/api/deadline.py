"""Limits the time that a request may take: one deadline, set on arrival, covers everything that the request waits for.

At the deadline, the operation that the request is waiting for is cancelled: a connection, a statement, a yield or the
queue of writes. Stores leave nothing half-done in that case. The time that the client takes to send its body has a
limit of its own and does not count.

One timer per process serves all requests, because a timer for each would cost up to a fifth of a cached check."""

import asyncio
import math
from time import monotonic
from types import TracebackType

from magistrate.errors import DeadlineExceeded

LOOK_EVERY_SECONDS = 0.05
"""Bounds the time by which a request may exceed its limit."""


class Deadlines:
    """Holds the deadlines of all requests that run in one event loop."""

    def __init__(self) -> None:
        self._running: set[RequestDeadline] = set()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, limit_ms: int, writes: bool) -> "RequestDeadline":
        """Returns a context manager that raises DeadlineExceeded when the code in it waits longer than the limit.
        `writes` says that something may have been written by then."""
        return RequestDeadline(self, limit_ms, writes)

    @property
    def is_looking(self) -> bool:
        """Returns whether the timer is running; it stops shortly after the last request."""
        return self._timer is not None

    def add(self, deadline: "RequestDeadline") -> None:
        self._running.add(deadline)
        if self._timer is None:
            self._look_later()

    def remove(self, deadline: "RequestDeadline") -> None:
        self._running.discard(deadline)

    def _look_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(LOOK_EVERY_SECONDS, self._look)

    def _look(self) -> None:
        self._timer = None
        now = monotonic()
        for deadline in self._running:
            if deadline.ends_at <= now:
                deadline.expire()
        if self._running:
            self._look_later()


class RequestDeadline:
    """Represents the deadline of the task that enters it. `ends_at` is a time of the monotonic clock."""

    __slots__ = ("_cancelling", "_deadlines", "_is_expired", "_limit_ms", "_paused", "_task", "_writes", "ends_at")

    def __init__(self, deadlines: Deadlines, limit_ms: int, writes: bool) -> None:
        self._deadlines = deadlines
        self._limit_ms = limit_ms
        self._writes = writes
        self._is_expired = False

    def __enter__(self) -> "RequestDeadline":
        task = asyncio.current_task()
        assert task is not None
        self._task, self._cancelling = task, task.cancelling()
        self.ends_at = monotonic() + self._limit_ms / 1000
        self._deadlines.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._deadlines.remove(self)
        # As in asyncio.timeout: if another caller cancelled the task too, the task must end.
        if self._is_expired and self._task.uncancel() <= self._cancelling and isinstance(error, asyncio.CancelledError):
            raise DeadlineExceeded(self._limit_ms, self._writes) from error

    def pause(self) -> None:
        """Stops the clock until `resume` is called."""
        now = monotonic()
        self._paused, self.ends_at = self.ends_at - now, math.inf

    def resume(self) -> None:
        self.ends_at = monotonic() + self._paused

    def expire(self) -> None:
        """Cancels the task, once."""
        self._is_expired, self.ends_at = True, math.inf
        self._task.cancel()
