"""Implements connections: what they receive is parsed, and answered by the fast path where possible, otherwise by the
application.

uvicorn lacks limits that are added here: the size of a request head, the time a client may take to send or to read, the
number of connections, the handling of invalid HTTP, and how connections end. Without them, one client could fill memory
with an endless header (or trailer), and any number could hold connections open in silence. Bodies that are read have
limits of their own in responders.py."""

import re
from asyncio import BaseTransport, Transport
from collections import deque
from functools import partial
from http import HTTPStatus
from typing import cast

import httptools
import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from magistrate.api.http.client_transport import UNSENT_BYTES, ClientTransport
from magistrate.api.http.connection_state import (
    AROUND_A_HEADER,
    AROUND_A_REQUEST_LINE,
    NOT_HTTP,
    UNKNOWN_CODING,
    KeepAliveTimer,
    LastAnswer,
    Phase,
    RejectedRequest,
    RequestHead,
    StreamPosition,
    Timer,
    render_refusal,
)
from magistrate.api.http.fast_path import END_OF_HEAD, FastPath, PendingRefusal
from magistrate.api.http.incoming_bytes import PARSED_AT_ONCE, IncomingBytes, Parsing
from magistrate.api.http.pipeline import BEGUN, BegunRequest
from magistrate.api.http.request_scope import TRANSPORT, URL
from magistrate.api.http.server_config import BoundedConfig

log = structlog.get_logger()

REQUEST_BYTES = 6_000
"""Estimates what a request takes besides its head and its body while it waits behind another one, or runs."""
UNCOUNTED_BYTES = 16_384
"""Limits what a connection has received and is not counted (16 KiB): most requests have less."""

GRACE_SECONDS = 1.0
"""Sets how long an idle connection stays open during shutdown, so that a request that may be on its way is answered,
and the answer announces that the connection is closed. Busy clients send one within that time."""

MAX_REFUSED = 64
"""Limits the surplus connections that are answered 503 at the same time; others are closed without an answer."""

MAX_PIPELINED = 8
"""Limits the requests of a connection that wait behind another one: beyond it, no further slice is parsed."""

MAX_PIECES = 100
"""Limits the pieces of a body that is waited for before the application has the request: a client that sends more of
them is slow."""

_UPGRADE_HEADER = re.compile(rb"\r\nupgrade:[^\r\n]*", re.IGNORECASE)


class Connection(HttpToolsProtocol):
    """Refuses what is too large with 431, what is too slow with 408, what is not HTTP with 400, a transfer coding other
    than chunked with 501, and surplus connections with 503, and then closes the connection.

    A request that qualifies for the fast path of the application is pending until all of it has arrived, or for as long
    as its head may take. If the fast path cannot finish it, the application goes on with it. A refusal by the fast path
    is sent when the pace of refusals allows it; until then, nothing else of the connection is parsed."""

    config: BoundedConfig
    transport: ClientTransport  # type: ignore[assignment]  # it has what uvicorn uses of one
    _incoming: IncomingBytes
    _phase = Phase.SERVING
    _sizes: deque[int]
    """Holds the estimated sizes of the requests that are not answered yet, without their bodies."""
    _received_size = 0
    """Says how much of what was received is counted."""
    _unsent = 0
    """Counts the bytes of answers that are in memory until the last of them is sent."""
    _position = StreamPosition.HEAD
    _head: RequestHead
    _keep_alive: KeepAliveTimer
    _last_answer: LastAnswer | None = None
    _fast_path: FastPath | None = None
    _pending: BegunRequest | PendingRefusal | None = None
    _pieces: tuple[bytes, ...] = ()
    """Holds what has arrived of the body of the pending request."""
    _refusal: PendingRefusal | None = None
    _begun: BegunRequest | None = None
    """Holds the request that the application is to go on with."""
    _is_between_requests = True
    """Says that the parser has read nothing of the next request."""
    _segment = b""
    """Holds what was received since the beginning of the request, if that was in one piece."""

    def connection_made(self, transport: BaseTransport) -> None:
        linger_seconds = self.config.body_timeout_ms / 1000
        # Writing is paused by what the kernel does not take at once, until all of it is sent.
        cast(Transport, transport).set_write_buffer_limits(UNSENT_BYTES, 0)
        client = ClientTransport(
            cast(Transport, transport),
            self.loop,
            linger_seconds,
            self._is_client_sending,
            note_written=self._note_written,
        )
        self._head = RequestHead(self.config.max_head_bytes)
        self._sizes = deque[int]()
        self._deadline, self._reading_deadline, self._grace = (Timer(self.loop) for _ in range(3))
        super().connection_made(cast(Transport, client))
        self._incoming = IncomingBytes(self.loop, client, self.flow, Parsing(self.receive, self._has_capacity))
        if self.config.takes_fast_path:
            self._fast_path = self.app.fast_path  # the application must be an Application
        keep_alive_seconds = self.config.keep_alive_timeout_ms / 1000
        self._keep_alive = KeepAliveTimer(self.loop, keep_alive_seconds, self._close_if_idle)
        surplus = len(self.connections) - self.config.max_connections
        if surplus > 0:
            self._refuse_connection(surplus)
        else:
            self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._refusal = None
        self._deadline.stop()
        self._reading_deadline.stop()
        self._grace.stop()
        self._keep_alive.cancel()
        self.transport.connection_lost()
        self.config.unsent.hold(self, 0)
        self.config.received.hold(self, 0)
        super().connection_lost(exc)

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio lets it answer whether to stay open
        """Keeps the connection open for the answer if the client closes its side after sending its request, unless the
        answer comes in chunks: of a stream that waits for something, nothing else shows that nobody reads it. TLS has
        no such state."""
        self._send_refusal()
        if (
            self.scheme == "https"
            or self.transport.is_lingering
            or not self._is_answering()
            or self._position is StreamPosition.BODY
            or self.cycle.chunked_encoding
        ):
            return False
        self.cycle.keep_alive = False
        return True

    def data_received(self, data: bytes) -> None:
        if self._incoming.may_wait or len(data) > PARSED_AT_ONCE:
            self._incoming.add(data)
            self._note_received()
        else:
            self.receive(data)

    def receive(self, data: bytes) -> None:
        """Answers what was received if it is a request with a known head, and parses it otherwise."""
        self._segment = b""
        if self._fast_path is not None and self._is_idle():
            if self._answer_known(self._fast_path, data):
                return
            self._segment = data
        self._parse(data)
        if self._pending is not None and self._deadline.handle is None:
            self._start_deadline()

    def _is_idle(self) -> bool:
        """Returns whether the connection waits for a request, and nothing of one has arrived."""
        cycle = self.cycle
        return (
            self._is_between_requests
            and self._phase is Phase.SERVING
            and (cycle is None or cycle.response_complete)
            and not self._head.earlier
            and not self.flow.write_paused
        )

    def _answer_known(self, fast_path: FastPath, data: bytes) -> bool:
        """Answers a request without parsing it, if it arrived as a whole and its head is known, and returns whether it
        did. The connection waits for a request."""
        end = data.find(END_OF_HEAD) + 4
        begun = fast_path.begin_known(data[:end], len(data) - end)
        if begun is None:
            return False
        answer = fast_path.answer(begun, data[end:], self.server_state.default_headers)
        if answer is None:
            self._begun = begun
            return False
        if self._deadline.handle is not None:
            self._deadline.stop()
        if len(answer) <= UNSENT_BYTES:
            self.transport.write_small(answer)
        else:
            self._send(answer)
        self.server_state.total_requests += 1
        self._keep_alive.start()
        if self.flow.write_paused:
            self._watch_reading()
        return True

    def _send(self, answer: bytes) -> None:
        self.transport.write(answer)
        self.config.unsent.drop_oldest()

    def _parse(self, data: bytes) -> None:
        if self.transport.is_lingering:
            self.transport.discard(data)
            return
        self._keep_alive.stop()
        if self._grace.handle is not None:
            self._grace.stop()
        head = self._head
        head.idle_bytes += len(data)
        head.is_behind_request = False
        head.may_be_too_large = head.idle_bytes > head.max_bytes
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._read_on_without_upgrade(head.earlier + data, len(head.earlier) + upgrade.args[0])
            return
        except httptools.HttpParserError as error:
            self._refuse(*self._reason_of(error))
            return
        if self.transport.is_closing():
            return
        if self._phase is Phase.STOPPING:
            self._announce_last_answer()
        is_head_incomplete = self._position is StreamPosition.HEAD and head.idle_bytes > 0
        if is_head_incomplete:
            head.earlier += data
        if head.idle_bytes > head.max_bytes:
            self._refuse(*self._head_too_large())
        elif is_head_incomplete and self._deadline.handle is None:
            self._start_deadline()
        self._note_received()

    def _has_capacity(self) -> bool:
        return len(self.pipeline) < MAX_PIPELINED

    def _note_received(self) -> None:
        """Notes what was received and not answered yet, if it is more than an ordinary request."""
        size = len(self._incoming.waiting) + len(self._head.earlier) + sum(self._sizes) + self._count_waiting_body()
        size = 0 if size <= UNCOUNTED_BYTES else size
        if size != self._received_size:
            self._received_size = size
            self.config.received.hold(self, size)
            self.config.received.drop_oldest()

    def _count_waiting_body(self) -> int:
        """Returns how much of a body no request has taken yet."""
        cycle = self.cycle
        size = 0 if cycle is None or cycle.response_complete else len(cycle.body)
        return size if self._pending is None else size + sum(map(len, self._pieces))

    def on_message_begin(self) -> None:
        self._is_between_requests = False
        head = self._head
        head.began_behind_request = head.is_behind_request
        head.hosts, head.coding = 0, b""
        self.url, self.headers, self.expect_100_continue = b"", [], False  # the scope is made in `_start`

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._position is StreamPosition.BODY:
            return  # trailers are ignored
        name = name.lower()
        if name == b"host":
            self._head.hosts += 1
        elif name == b"transfer-encoding":
            self._head.coding += b"," + value.lower() if self._head.coding else value.lower()
        elif name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            return  # data_received continues when the parser has stopped
        head = self._head
        may_be_too_large = head.may_be_too_large or head.began_behind_request
        if may_be_too_large and self._head_bytes() > self.config.max_head_bytes:
            raise RejectedRequest(*self._head_too_large())  # stops the parser, whatever follows
        version = self.parser.get_http_version()
        is_unusual = head.hosts != 1 or head.coding or version != "1.1"
        if is_unusual and (fault := head.find_fault(version)) is not None:
            raise RejectedRequest(*fault)
        self._position = StreamPosition.BODY
        head.earlier, head.idle_bytes = b"", 0
        self._deadline.stop()
        if self._last_answer is not None:
            self._take_back_last_answer()  # another request has come
        self._start()

    def on_body(self, body: bytes) -> None:
        if self._pending is not None:
            self._head.idle_bytes = 0
            self._pieces += (body,)
            if len(self._pieces) > MAX_PIECES:
                self._release()
            return
        if self._is_answering():
            self._head.idle_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_between_requests = True
        pending, segment = self._pending, self._segment
        self._segment = b""
        if self.parser.should_upgrade():
            return
        if isinstance(pending, PendingRefusal):
            self._pending, self._refusal, self._pieces = None, pending, ()
            self._expect_head()
            self._incoming.pause()
            pending.admissions.pace.schedule(partial(self._send_refusal, pending))
            return
        if pending is not None:
            if self._answer_pending(pending, segment):
                return
            self._release()
        self._expect_head()
        if self._last_answer is not None and self._last_answer.is_for_body:
            self._take_back_last_answer()
        super().on_message_complete()

    def _answer_pending(self, pending: BegunRequest, segment: bytes) -> bool:
        """Answers the pending request, all of which has arrived, and returns whether the fast path could."""
        assert self._fast_path is not None
        answer = self._fast_path.answer(pending, b"".join(self._pieces), self.server_state.default_headers)
        if answer is None:
            return False
        self._pending = None
        if segment and not self._head.coding:
            self._fast_path.remember(segment, pending.head)
        self._expect_head()
        self._send(answer)
        self.on_response_complete()
        return True

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self._sizes:
            self._sizes.popleft()
        if not self.transport.is_closing():
            self._continue_with_next_request()
        if self._received_size:
            self._note_received()
        if self._position is StreamPosition.BODY:
            self._start_deadline()  # for the rest of a body that nobody reads
        if self._phase is Phase.STOPPING and not self._is_answering() and not self.transport.is_closing():
            self._start_grace()
        self._watch_reading()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reading()  # a stream writes more only when all of this has been read

    def resume_writing(self) -> None:
        super().resume_writing()
        self.config.unsent.hold(self, 0)
        self._unsent = 0

    def drop(self) -> None:
        """Ends the connection because it holds too much, so that others have space."""
        self.transport.abort()
        self._incoming.waiting = b""
        self.pipeline.clear()

    def _note_written(self, size: int) -> None:
        if self.flow.write_paused:
            self._unsent += size
            self.config.unsent.hold(self, self._unsent)

    def send_400_response(self, msg: str) -> None:
        self._refuse(HTTPStatus.BAD_REQUEST, NOT_HTTP)

    def _continue_with_next_request(self) -> None:
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
            if len(self.pipeline) == MAX_PIPELINED - 1:
                self.loop.call_soon(self._incoming.parse_slice)
        else:
            self._keep_alive.start()

    def _close_if_idle(self) -> None:
        """Closes an idle connection, unless its next request has arrived while the loop was busy."""
        if not self.transport.is_closing() and not self._has_unread_bytes():
            self.transport.close()

    def _has_unread_bytes(self) -> bool:
        """Returns whether bytes have arrived that are not parsed yet."""
        return bool(self._incoming.waiting) or self.transport.has_unread_bytes()

    def shutdown(self) -> None:
        """Begins to close the connection: between two requests, and announced in the last answer."""
        self._release()
        self._send_refusal()
        if self._phase is Phase.SERVING:
            self._phase = Phase.STOPPING
        if self.transport.is_lingering:
            self.transport.hurry()
        elif self._is_answering():
            self._announce_last_answer()
        else:
            self._start_grace()

    def _announce_last_answer(self) -> None:
        """Makes the newest request the last, unless its answer has begun or another request is waiting to be read."""
        if self._is_answering() and not self.cycle.response_started and self.cycle.keep_alive:
            if self._has_unread_bytes():
                return
            self._last_answer = LastAnswer(self.cycle, is_for_body=False)

    def _take_back_last_answer(self) -> None:
        if self._last_answer is not None:
            self._last_answer.take_back()
            self._last_answer = None

    def _start_grace(self) -> None:
        self._grace.start(GRACE_SECONDS, self._end_grace)

    def _end_grace(self) -> None:
        """Closes an idle connection. One that has begun a request has the time that a head may take."""
        if self._has_unread_bytes():
            self._start_grace()
        elif not self._is_answering() and not self._head.earlier:
            self.transport.close()  # does nothing if it is closed already

    def _is_client_sending(self) -> bool:
        return self._phase is not Phase.SERVING or self._position is StreamPosition.BODY

    def _head_too_large(self) -> tuple[HTTPStatus, str]:
        limit = f"Request line and headers must not be larger than {self.config.max_head_bytes} bytes"
        return HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, limit

    def _reason_of(self, error: httptools.HttpParserError) -> tuple[HTTPStatus, str]:
        """Returns the status and message for the error at which the parser stopped."""
        if isinstance(error.__context__, RejectedRequest):
            return error.__context__.status, error.__context__.message
        is_coded = self._position is StreamPosition.HEAD and self._head.coding not in (b"", b"chunked")
        if is_coded and self.parser.get_http_version() == "1.1":
            return UNKNOWN_CODING  # the parser stops at some of them by itself
        return HTTPStatus.BAD_REQUEST, NOT_HTTP

    def _head_bytes(self) -> int:
        """Returns the size of a complete head."""
        line = len(self.parser.get_method()) + len(self.url) + AROUND_A_REQUEST_LINE
        return line + sum(len(name) + len(value) + AROUND_A_HEADER for name, value in self.headers)

    def _start(self) -> None:
        """Starts a request whose head is complete: on the fast path if it qualifies for that."""
        if self._refusal is not None:
            self._send_refusal()  # the client did not wait for it
        fast_path = self._fast_path
        if fast_path is not None and self._begun is None and self._is_plain():
            self._pending = fast_path.begin_request(self.parser.get_method(), self.url, self.headers)
            self._pieces = ()
        if self._pending is None:
            self._start_application()

    def _is_plain(self) -> bool:
        """Returns whether a request, whose head is complete, is one that the connection can answer at once."""
        return (
            not self._is_answering()
            and self._phase is Phase.SERVING
            and not self.flow.write_paused
            and not self.expect_100_continue
            and self.parser.should_keep_alive()
            and self.parser.get_http_version() == "1.1"
        )

    def _release(self) -> None:
        """Passes the pending request on to the application."""
        pending = self._pending
        if pending is not None and not self.transport.is_closing():
            self._begun = pending if isinstance(pending, BegunRequest) else None
            self._pending = None
            self._deadline.stop()
            self._start_application()
            super().on_body(b"".join(self._pieces))

    def _start_application(self) -> None:
        """Lets the application answer a request. Until all of a long body has arrived, the answer says that it is the
        last of the connection, because a request may be answered without its body being read, and the rest of a long
        body is not waited for."""
        self._make_scope()
        self._sizes.append(REQUEST_BYTES + self._head_bytes())
        super().on_headers_complete()
        if self.cycle.keep_alive and self._has_long_body():
            self._last_answer = LastAnswer(self.cycle, is_for_body=True)

    def _make_scope(self) -> None:
        """Makes the ASGI scope, as uvicorn does when a request begins; the fast path needs none."""
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        self.headers += headers
        self.scope |= {TRANSPORT: self.transport, URL: url}  # type: ignore[misc]  # servers may add entries
        if self._begun is not None:
            self.scope |= {BEGUN: self._begun}  # type: ignore[misc]
            self._begun = None

    def _send_refusal(self, scheduled: PendingRefusal | None = None) -> None:
        """Sends the refusal that waits, if there is one and, when it is scheduled, if it was not sent before."""
        refusal = self._refusal
        if refusal is None or (scheduled is not None and scheduled is not refusal):
            return
        self._refusal = None
        if not self.transport.is_closing() and self._fast_path is not None:
            self.transport.write(self._fast_path.refuse(refusal, self.server_state.default_headers))
            self.on_response_complete()
        self._incoming.resume()

    def _has_long_body(self) -> bool:
        """Returns whether the body may be larger than what is discarded between two requests."""
        if self._head.coding:
            return True
        lengths = (value for name, value in self.headers if name == b"content-length")
        return any(int(length) > self.config.max_head_bytes for length in lengths)

    def _expect_head(self) -> None:
        self._position = StreamPosition.HEAD
        head = self._head
        head.earlier, head.idle_bytes = b"", 0
        head.is_behind_request = True
        self._deadline.stop()

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _read_on_without_upgrade(self, received: bytes, head_end: int) -> None:
        """Ignores the offer of another protocol (RFC 9110, section 7.8). The parser would take the following bytes for
        that protocol and leave a body to be read as the next request, so the head is parsed again without the offer. A
        request that began behind another one in the same segment is refused, because its start is unknown."""
        head = received[:head_end]
        is_whole = not self._head.began_behind_request and head.count(b"\r\n\r\n") == 1
        if self._is_answering() or not is_whole or not _UPGRADE_HEADER.search(head):
            self.send_400_response("")
            return
        self._head.earlier, self._head.idle_bytes = b"", 0
        self.parser = httptools.HttpRequestParser(self)
        self.receive(_UPGRADE_HEADER.sub(b"", head) + received[head_end:])

    def _start_deadline(self) -> None:
        self._deadline.start(self.config.head_timeout_ms / 1000, self._end_late_request)

    def _end_late_request(self) -> None:
        if self._pending is not None:
            self._release()
        elif self._is_answering():
            self._start_deadline()  # the next request may wait as long as this one takes
        elif self._position is StreamPosition.BODY:
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

    def _watch_reading(self) -> None:
        if self.flow.write_paused:
            self._expect_reading(self.transport.get_write_buffer_size())

    def _expect_reading(self, unsent: int) -> None:
        """Starts the time for reading anew for each answer. No answer is begun while much of the one before it is
        unread."""
        seconds = self.transport.reading_seconds or self.config.body_timeout_ms / 1000
        self._reading_deadline.start(seconds, self._abort_if_unread, unsent)

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        """Closes the connection after an error answer, unless another answer has begun.

        An error in the next request is not reported in place of the current answer: only that answer is sent."""
        self._send_refusal()
        self._phase = Phase.REFUSED
        in_body = self._position is StreamPosition.BODY
        if self._is_answering() and not in_body:
            self.cycle.keep_alive = False
            self.flow.pause_reading()
            return
        begun = in_body and (not self._is_answering() or self.cycle.response_started)
        if self._is_answering():
            self.cycle.disconnected = True  # the application's answer is not sent any more
            self.cycle.message_event.set()
        if not begun:
            self.transport.write(render_refusal(status, "invalid_request", message))
        self.transport.close()

    def _refuse_connection(self, surplus: int) -> None:
        """Answers a surplus connection before it sends a request."""
        log.warning("too many connections", outage="connections", limit=self.config.max_connections)
        if surplus > MAX_REFUSED:
            self.transport.abort()
            return
        self._phase = Phase.REFUSED
        message = "the service has as many connections as it may"
        answer = render_refusal(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", message, "retry-after: 1\r\n")
        self.transport.write(answer)
        self.transport.close()
