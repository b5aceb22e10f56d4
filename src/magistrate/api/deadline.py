"""How long a request may take: one deadline for all that it waits for, set where it comes in.

At the deadline, whatever the request waits for just then is cancelled: a connection, a statement, a turn, the queue of
writes. Stores leave nothing half-done then. What the client takes to send its body has a limit of its own and does not
count.

One timer of the process looks after all requests: a timer for each would cost as much as a fifth of a warm check."""

import asyncio
import math
from time import monotonic
from types import TracebackType

from magistrate.errors import DeadlineExceeded

LOOK_EVERY_SECONDS = 0.05
"""A request may take so much longer than its limit."""


class Deadlines:
    """Those of all requests that run in one event loop."""

    def __init__(self) -> None:
        self._running: set[RequestDeadline] = set()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, limit_ms: int, writes: bool) -> "RequestDeadline":
        """For `with`, which raises DeadlineExceeded when what is awaited in it takes longer than the limit. `writes`:
        something may have been written by then."""
        return RequestDeadline(self, limit_ms, writes)

    @property
    def is_looking(self) -> bool:
        """Whether there is a timer: there is none a moment after the last request."""
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
    """Of the task that enters it. `ends_at` by the monotonic clock."""

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
        # As asyncio.timeout does: whoever else cancelled the task means that it shall end.
        if self._is_expired and self._task.uncancel() <= self._cancelling and isinstance(error, asyncio.CancelledError):
            raise DeadlineExceeded(self._limit_ms, self._writes) from error

    def pause(self) -> None:
        """Until `resume`, time does not count."""
        now = monotonic()
        self._paused, self.ends_at = self.ends_at - now, math.inf

    def resume(self) -> None:
        self.ends_at = monotonic() + self._paused

    def expire(self) -> None:
        """Cancels the task, once."""
        self._is_expired, self.ends_at = True, math.inf
        self._task.cancel()
