"""Limits the time that a request may take: one deadline, set on arrival, covers everything that the request waits for.

At the deadline, the operation that the request is waiting for is cancelled: a connection, a statement, a yield or the
queue of writes. Stores leave nothing half-done in that case. The time that the client takes to send its body does not
count; it has a limit of its own, which is kept in the same way.

One timer per process serves all requests, because a timer for each would cost up to a fifth of a cached check."""

import asyncio
import math
from dataclasses import dataclass, field
from time import monotonic
from types import TracebackType
from typing import Any

from magistrate.errors import BodyTooSlow, DeadlineExceeded

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


@dataclass(slots=True, eq=False)
class RequestDeadline:
    """Represents the deadline of the task that enters it. `ends_at` is a time of the monotonic clock."""

    _deadlines: Deadlines
    _limit_ms: int
    _writes: bool
    ends_at: float = math.inf
    _task: asyncio.Task[Any] = field(init=False)
    _cancelling: int = 0
    _left_seconds: float = 0.0
    _body_limit_ms: int | None = None
    _fault: Exception | None = None

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
        if self._fault is None or self._task.uncancel() > self._cancelling:
            return
        if isinstance(error, asyncio.CancelledError):
            raise self._fault from error

    def begin_body(self, limit_ms: int) -> None:
        """Limits the wait for the body instead, until `end_body` is called. When that takes longer, the code raises
        BodyTooSlow."""
        now = monotonic()
        self._left_seconds, self.ends_at = self.ends_at - now, now + limit_ms / 1000
        self._body_limit_ms = limit_ms

    def end_body(self) -> None:
        self._body_limit_ms = None
        if self._fault is None:
            self.ends_at = monotonic() + self._left_seconds

    def expire(self) -> None:
        """Cancels the task, once."""
        limit_ms = self._body_limit_ms
        self.end(DeadlineExceeded(self._limit_ms, self._writes) if limit_ms is None else BodyTooSlow(limit_ms))

    def end(self, fault: Exception) -> None:
        """Cancels the task, once, so that the code raises this."""
        self.ends_at = math.inf
        if self._fault is None:
            self._fault = fault
            self._task.cancel()
