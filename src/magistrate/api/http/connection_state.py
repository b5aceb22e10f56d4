"""Defines the states of a connection: whether it goes on, what its next bytes are, and which request is its last."""

from asyncio import AbstractEventLoop
from asyncio.events import TimerHandle
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from http import HTTPStatus

from uuid_utils import uuid7
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from magistrate.api.http.json_values import render_json

NOT_HTTP = "Request is not valid HTTP"
UNKNOWN_CODING = (HTTPStatus.NOT_IMPLEMENTED, "Transfer-Encoding must be chunked")

AROUND_A_REQUEST_LINE = len("  HTTP/1.1\r\n")
AROUND_A_HEADER = len(": \r\n")
"""Counts the bytes around a header's name and value; the constant beside it counts those around method and target."""


class Phase(Enum):
    """Says whether the connection goes on: SERVING → STOPPING → REFUSED, of which STOPPING may be skipped."""

    SERVING = auto()
    STOPPING = auto()
    """The service is shutting down: the connection closes between two requests, announced in the last answer."""
    REFUSED = auto()
    """The client has been, or will be, answered before its request was complete, and nothing more is read."""


class StreamPosition(Enum):
    """Says what the next bytes belong to: HEAD → BODY when a head is complete, BODY → HEAD when a message is."""

    HEAD = auto()
    BODY = auto()


class LastAnswer:
    """Represents an answer that announces the end of the connection although the request allows another. It is taken
    back if the reason goes away before the answer begins."""

    __slots__ = ("_cycle", "is_for_body")

    def __init__(self, cycle: RequestResponseCycle, is_for_body: bool) -> None:
        """`is_for_body` says that the reason is a body which is not complete; otherwise it is the shutdown."""
        cycle.keep_alive = False
        self._cycle = cycle
        self.is_for_body = is_for_body

    def take_back(self) -> None:
        if not self._cycle.response_started:
            self._cycle.keep_alive = True


@dataclass(slots=True, eq=False)
class RequestHead:
    """Holds what is known of the head that is being received, over several segments, and counts the bytes towards its
    limit. The protocol updates it, in place of methods, because this is done for every request."""

    max_bytes: int
    may_be_too_large: bool = False
    """Says whether a head that ends in the current segment can be too large."""
    is_behind_request: bool = False
    began_behind_request: bool = False
    """These say whether a request has ended in the current segment: by now, and when the head began."""
    earlier: bytes = b""
    """Holds the bytes of the head from earlier segments."""
    idle_bytes: int = 0
    """Counts the bytes received since the last byte that completed a head or that will be read."""
    hosts: int = 0
    """Counts the Host headers."""
    coding: bytes = b""
    """Holds the transfer coding in lower case; several headers are joined by commas."""

    def find_fault(self, version: str) -> tuple[HTTPStatus, str] | None:
        """Returns the status and message if the complete head is not valid HTTP or requires something that is not
        supported."""
        if version not in ("1.0", "1.1"):
            return HTTPStatus.BAD_REQUEST, NOT_HTTP
        if self.hosts != 1 and (self.hosts or version == "1.1"):
            return HTTPStatus.BAD_REQUEST, "Request must have exactly one Host header"
        if self.coding and version == "1.0":
            return HTTPStatus.BAD_REQUEST, "Transfer-Encoding is not defined in HTTP/1.0"
        return UNKNOWN_CODING if self.coding not in (b"", b"chunked") else None


class Timer:
    """Calls a function after some time, unless it is stopped or started again before. `handle` is None until it is
    started, and once it is stopped."""

    __slots__ = ("_loop", "handle")

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._loop = loop
        self.handle: TimerHandle | None = None

    def start(self, seconds: float, call: Callable[..., None], *arguments: object) -> None:
        self.stop()
        self.handle = self._loop.call_later(seconds, call, *arguments)

    def stop(self) -> None:
        if self.handle is not None:
            self.handle.cancel()
            self.handle = None


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


class RejectedRequest(Exception):
    """Stops the parser at a request that is answered with this status, whatever follows it."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def render_refusal(status: HTTPStatus, code: str, message: str, more_headers: str = "") -> bytes:
    """Returns a whole response that announces the end of the connection. Each line of `more_headers` ends in CRLF."""
    body = render_json({"code": code, "message": message})
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\n{more_headers}"
        f"content-length: {len(body)}\r\nwarrant-request-id: {uuid7()}\r\nconnection: close\r\n\r\n"
    )
    return head.encode("ascii") + body
