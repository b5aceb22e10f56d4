"""Ends connections that wait too long for their next request.

uvicorn starts a timer of the event loop after every answer and cancels it when the next request arrives, which is a
twentieth of the cost of a cached check. Here a timer that ends early is started again for the time that is left, so a
busy connection needs one for each timeout, not one for each request."""

from asyncio import AbstractEventLoop
from asyncio.events import TimerHandle
from collections.abc import Callable


class KeepAliveTimer:
    """Calls `close` when no request has arrived for `seconds` after an answer."""

    __slots__ = ("_close", "_idle_since", "_loop", "_seconds", "_timer")

    def __init__(self, loop: AbstractEventLoop, seconds: float, close: Callable[[], None]) -> None:
        self._loop = loop
        self._seconds = seconds
        self._close = close
        self._idle_since: float | None = None
        self._timer: TimerHandle | None = None

    def start(self) -> None:
        """Starts the time anew; to be called after each answer."""
        self._idle_since = self._loop.time()
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._end)

    def stop(self) -> None:
        """Stops the time, because the client is sending."""
        self._idle_since = None

    def cancel(self) -> None:
        """Cancels the timer of the event loop; to be called when the connection is lost."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end(self) -> None:
        self._timer = None
        if self._idle_since is None:
            return  # the next answer starts it
        seconds_left = self._idle_since + self._seconds - self._loop.time()
        if seconds_left > 0:
            self._timer = self._loop.call_later(seconds_left, self._end)
        else:
            self._close()
