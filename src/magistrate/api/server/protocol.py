"""Adds the limits that uvicorn lacks: the size of a request head, the time a client may take to send or to read, the
number of connections, the handling of invalid HTTP, and how connections end.

Without them, one client could fill memory with an endless header (or trailer), and any number could hold connections
open in silence. Bodies that are read have limits of their own in app.py."""

import re
from asyncio import BaseTransport, Transport
from asyncio.events import TimerHandle
from http import HTTPStatus
from typing import Any, cast

import httptools
import uvicorn
from uuid_utils import uuid7
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from magistrate.api.render import render_json
from magistrate.api.server.client_transport import ClientTransport
from magistrate.api.server.throttled_warning import ThrottledWarning

UNSENT_BYTES = 65_536
"""Sets the unsent bytes of an answer up to which reading is not timed (64 KiB): the kernel takes most answers at
once."""

GRACE_SECONDS = 1.0
"""Sets how long an idle connection stays open during shutdown, so that a request that may be on its way is answered,
and the answer announces that the connection is closed. Busy clients send one within that time."""

MOST_REFUSED = 64
"""Limits the surplus connections that are answered 503 at the same time; others are closed without an answer."""

AROUND_A_REQUEST_LINE = len("  HTTP/1.1\r\n")
AROUND_A_HEADER = len(": \r\n")
"""Counts the bytes around a header's name and value; the constant beside it counts those around method and target."""

NOT_HTTP = "Request is not valid HTTP"
UNKNOWN_CODING = (HTTPStatus.NOT_IMPLEMENTED, "Transfer-Encoding must be chunked")

_UPGRADE_HEADER = re.compile(rb"\r\nupgrade:[^\r\n]*", re.IGNORECASE)


class BoundedConfig(uvicorn.Config):
    """Makes every connection a BoundedProtocol with these limits, or a subclass of it. It is picklable, as worker
    processes require."""

    def __init__(
        self,
        app: Any,
        max_head_bytes: int,
        head_timeout_ms: int,
        body_timeout_ms: int,
        keep_alive_timeout_ms: int,
        max_connections: int,
        protocol: "type[BoundedProtocol]",
        **others: Any,
    ) -> None:
        super().__init__(app, http=protocol, **others)
        self.max_head_bytes = max_head_bytes
        self.head_timeout_ms = head_timeout_ms
        self.body_timeout_ms = body_timeout_ms
        self.keep_alive_timeout_ms = keep_alive_timeout_ms
        self.max_connections = max_connections


class BoundedProtocol(HttpToolsProtocol):
    """Refuses what is too large with 431, what is too slow with 408, what is not HTTP with 400, a transfer coding other
    than chunked with 501, and surplus connections with 503, and then closes the connection."""

    config: BoundedConfig
    transport: ClientTransport  # type: ignore[assignment]  # it has what uvicorn uses of one
    _is_refused = False
    """Says whether the client has been, or will be, answered before its request was complete."""
    _is_going_down = False
    _announced: RequestResponseCycle | None = None
    """Holds the request that was made the last of its connection because the service is shutting down."""
    _incomplete: RequestResponseCycle | None = None
    """Holds the request that is the last of its connection for as long as its body is incomplete."""
    _grace: TimerHandle | None = None
    _hosts = 0
    """Counts the Host headers in the head being read."""
    _coding = b""
    """Holds the transfer coding of the head being read, in lower case; several headers are joined by commas."""
    _in_head = True
    """Says whether the next bytes belong to a request line or headers."""
    _head = b""
    """Holds the bytes of the head from earlier segments."""
    _is_inside_segment = False
    _began_inside_segment = False
    """Says whether a request had ended in the current segment when the head began; `_is_inside_segment` says whether
    one has ended by now."""
    _idle_bytes = 0
    """Counts the bytes received since the last byte that completed a head or that will be read."""
    _may_be_too_large = False
    """Says whether a head that ends in the current segment must be measured."""
    _deadline: TimerHandle | None = None
    _reading_deadline: TimerHandle | None = None

    def connection_made(self, transport: BaseTransport) -> None:
        linger_seconds = self.config.body_timeout_ms / 1000
        client = ClientTransport(cast(Transport, transport), self.loop, linger_seconds, self._is_client_sending)
        super().connection_made(cast(Transport, client))
        self.timeout_keep_alive = self.config.keep_alive_timeout_ms / 1000  # type: ignore[assignment]  # may be a float
        surplus = len(self.connections) - self.config.max_connections
        if surplus > 0:
            self._refuse_connection(surplus)
        else:
            self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_deadline()
        self._stop_expecting()
        self._stop_grace()
        self._unset_keepalive_if_required()
        self.transport.connection_lost()
        super().connection_lost(exc)

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio lets it answer whether to stay open
        """Keeps the connection open for the answer if the client closes its side after sending its request."""
        if self.transport.is_lingering or not self._is_answering() or not self._in_head:
            return False
        self.cycle.keep_alive = False
        return True

    def data_received(self, data: bytes) -> None:
        if self.transport.is_lingering:
            self.transport.discard(data)
            return
        self._unset_keepalive_if_required()
        self._stop_grace()
        self._idle_bytes += len(data)
        self._is_inside_segment = False
        self._may_be_too_large = self._idle_bytes > self.config.max_head_bytes
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._read_on_without_upgrade(self._head + data, len(self._head) + upgrade.args[0])
            return
        except httptools.HttpParserError as error:
            self._refuse(*self._reason_of(error))
            return
        if self.transport.is_closing():
            return
        if self._is_going_down:
            self._announce_last_answer()
        if self._in_head and self._idle_bytes:
            self._head += data
        if self._idle_bytes > self.config.max_head_bytes:
            self._refuse(*self._head_too_large())
        elif self._in_head and self._idle_bytes and self._deadline is None:
            self._start_deadline()

    def on_message_begin(self) -> None:
        self._began_inside_segment = self._is_inside_segment
        self._hosts = 0
        self._coding = b""
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_head:
            return  # trailers are ignored
        name = name.lower()
        if name == b"host":
            self._hosts += 1
        elif name == b"transfer-encoding":
            self._coding += b"," + value.lower() if self._coding else value.lower()
        elif name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            return  # data_received continues when the parser has stopped
        may_be_too_large = self._may_be_too_large or self._began_inside_segment
        if may_be_too_large and self._head_bytes() > self.config.max_head_bytes:
            raise _RejectedRequest(*self._head_too_large())  # stops the parser, whatever follows
        self._check_head()
        self._in_head = False
        self._head = b""
        self._idle_bytes = 0
        self._stop_deadline()
        preceding = self.cycle
        self._start()
        if self._announced is not None and self._announced is preceding and not preceding.response_started:
            preceding.keep_alive = True  # it is no longer the last

    def on_body(self, body: bytes) -> None:
        if self._is_answering():
            self._idle_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        self._expect_head()
        if self._incomplete is not None and not self._incomplete.response_started:
            self._incomplete.keep_alive = True
        self._incomplete = None
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._in_head:
            self._start_deadline()  # for the rest of a body that nobody reads
        if self._is_going_down and not self._is_answering() and not self.transport.is_closing():
            self._start_grace()
        unsent = self.transport.get_write_buffer_size()
        if unsent > UNSENT_BYTES:
            self._expect_reading(unsent)

    def send_400_response(self, msg: str) -> None:
        self._refuse(HTTPStatus.BAD_REQUEST, NOT_HTTP)

    def timeout_keep_alive_handler(self) -> None:
        """Closes an idle connection, unless its next request has arrived while the loop was busy."""
        if not self.transport.is_closing() and not self.transport.has_unread_bytes():
            self.transport.close()

    def shutdown(self) -> None:
        """Begins to close the connection: between two requests, and announced in the last answer."""
        self._is_going_down = True
        if self.transport.is_lingering:
            self.transport.hurry()
        elif self._is_answering():
            self._announce_last_answer()
        else:
            self._start_grace()

    def _announce_last_answer(self) -> None:
        """Makes the newest request the last, unless its answer has begun or another request is waiting to be read."""
        if self._is_answering() and not self.cycle.response_started and self.cycle.keep_alive:
            if self.transport.has_unread_bytes():
                return
            self.cycle.keep_alive = False
            self._announced = self.cycle

    def _start_grace(self) -> None:
        self._stop_grace()
        self._grace = self.loop.call_later(GRACE_SECONDS, self._end_grace)

    def _stop_grace(self) -> None:
        if self._grace is not None:
            self._grace.cancel()
            self._grace = None

    def _end_grace(self) -> None:
        """Closes an idle connection. One that has begun a request has the time that a head may take."""
        if self.transport.has_unread_bytes():
            self._start_grace()
        elif not self._is_answering() and not self._head:
            self.transport.close()  # does nothing if it is closed already

    def _is_client_sending(self) -> bool:
        return self._is_refused or self._is_going_down or not self._in_head

    def _head_too_large(self) -> tuple[HTTPStatus, str]:
        limit = f"Request line and headers must not be larger than {self.config.max_head_bytes} bytes"
        return HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, limit

    def _check_head(self) -> None:
        """Raises _RejectedRequest if a complete head is not valid HTTP or asks for something that is not supported."""
        version = self.parser.get_http_version()
        if version not in ("1.0", "1.1"):
            raise _RejectedRequest(HTTPStatus.BAD_REQUEST, NOT_HTTP)
        if self._hosts != 1 and (self._hosts or version == "1.1"):
            raise _RejectedRequest(HTTPStatus.BAD_REQUEST, "Request must have exactly one Host header")
        if self._coding:
            if version == "1.0":
                raise _RejectedRequest(HTTPStatus.BAD_REQUEST, "Transfer-Encoding is not defined in HTTP/1.0")
            if self._coding != b"chunked":
                raise _RejectedRequest(*UNKNOWN_CODING)

    def _reason_of(self, error: httptools.HttpParserError) -> tuple[HTTPStatus, str]:
        """Returns the status and message for the error at which the parser stopped."""
        if isinstance(error.__context__, _RejectedRequest):
            return error.__context__.status, error.__context__.message
        if self._in_head and self._coding not in (b"", b"chunked") and self.parser.get_http_version() == "1.1":
            return UNKNOWN_CODING  # the parser stops at some of them by itself
        return HTTPStatus.BAD_REQUEST, NOT_HTTP

    def _head_bytes(self) -> int:
        """Returns the size of a complete head."""
        line = len(self.parser.get_method()) + len(self.url) + AROUND_A_REQUEST_LINE
        return line + sum(len(name) + len(value) + AROUND_A_HEADER for name, value in self.headers)

    def _start(self) -> None:
        """Starts a request whose head is complete. Until all of a long body has arrived, the answer says that it is the
        last of the connection, because a request may be answered without its body being read, and the rest of a long
        body is not waited for."""
        super().on_headers_complete()
        if self.cycle.keep_alive and self._has_long_body():
            self.cycle.keep_alive = False
            self._incomplete = self.cycle

    def _has_long_body(self) -> bool:
        """Returns whether the body may be larger than what is discarded between two requests."""
        if self._coding:
            return True
        lengths = (value for name, value in self.headers if name == b"content-length")
        return any(int(length) > self.config.max_head_bytes for length in lengths)

    def _expect_head(self) -> None:
        self._in_head = True
        self._is_inside_segment = True
        self._head = b""
        self._idle_bytes = 0
        self._stop_deadline()

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _read_on_without_upgrade(self, received: bytes, head_end: int) -> None:
        """Ignores the offer of another protocol (RFC 9110, section 7.8). The parser would take the following bytes for
        that protocol and leave a body to be read as the next request, so the head is parsed again without the offer. A
        request that began behind another one in the same segment is refused, because its start is unknown."""
        head = received[:head_end]
        is_whole = not self._began_inside_segment and head.count(b"\r\n\r\n") == 1
        if self._is_answering() or not is_whole or not _UPGRADE_HEADER.search(head):
            self.send_400_response("")
            return
        self._head = b""
        self._idle_bytes = 0
        self.parser = httptools.HttpRequestParser(self)
        self.data_received(_UPGRADE_HEADER.sub(b"", head) + received[head_end:])

    def _start_deadline(self) -> None:
        self._stop_deadline()
        self._deadline = self.loop.call_later(self.config.head_timeout_ms / 1000, self._is_late)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _is_late(self) -> None:
        if self._is_answering():
            self._start_deadline()  # the next request may wait as long as this one takes
        elif not self._in_head:
            self.transport.abort()  # it was answered long ago
        elif not self.transport.is_closing():
            limit = f"Request line and headers were not complete within {self.config.head_timeout_ms} milliseconds"
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, limit)

    def _abort_if_unread(self, unsent: int) -> None:
        """Aborts a connection whose client does not read; a client that reads, however slowly, is left alone."""
        remaining = self.transport.get_write_buffer_size()
        if remaining >= unsent:
            self.transport.abort()
        elif remaining:
            self._expect_reading(remaining)

    def _expect_reading(self, unsent: int) -> None:
        """Starts the time for reading anew for each answer. No answer is begun while much of the one before it is
        unread."""
        self._stop_expecting()
        seconds = self.config.body_timeout_ms / 1000
        self._reading_deadline = self.loop.call_later(seconds, self._abort_if_unread, unsent)

    def _stop_expecting(self) -> None:
        if self._reading_deadline is not None:
            self._reading_deadline.cancel()
            self._reading_deadline = None

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        """Closes the connection after an error answer, unless another answer has begun.

        An error in the next request is not reported in place of the current answer: only that answer is sent."""
        self._is_refused = True
        if self._is_answering() and self._in_head:
            self.cycle.keep_alive = False
            self.flow.pause_reading()
            return
        begun = not self._in_head and (not self._is_answering() or self.cycle.response_started)
        if self._is_answering():
            self.cycle.disconnected = True  # the application's answer is not sent any more
            self.cycle.message_event.set()
        if not begun:
            self.transport.write(_last_answer(status, "invalid_request", message))
        self.transport.close()

    def _refuse_connection(self, surplus: int) -> None:
        """Answers a surplus connection before it sends a request."""
        _too_many_connections(limit=self.config.max_connections)
        if surplus > MOST_REFUSED:
            self.transport.abort()
            return
        self._is_refused = True
        message = "the service has as many connections as it may"
        self.transport.write(_last_answer(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", message, "retry-after: 1\r\n"))
        self.transport.close()


_too_many_connections = ThrottledWarning("too many connections")


def _last_answer(status: HTTPStatus, code: str, message: str, more_headers: str = "") -> bytes:
    body = render_json({"code": code, "message": message})
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\n{more_headers}"
        f"content-length: {len(body)}\r\nwarrant-request-id: {uuid7()}\r\nconnection: close\r\n\r\n"
    )
    return head.encode("ascii") + body


class _RejectedRequest(Exception):
    """Stops the parser at a request that is answered with this status, whatever follows it."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
