"""What uvicorn leaves unbounded: how large the head of a request may be, and how long a client may take to send or to
read.

Without this, one client can fill memory with a header (or a trailer) that never ends, and any number can hold
connections open in silence. Bodies that are read have limits of their own in app.py."""

import re
from asyncio import BaseTransport, Transport
from asyncio.events import TimerHandle
from http import HTTPStatus
from typing import Any, cast

import httptools
import uvicorn
from uuid_utils import uuid7
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from magistrate.api.render import rendered
from magistrate.api.shortcut import Held, Shortcut

UNSENT_BYTES = 65_536
"""What may lie unsent behind an answer without anyone wondering (64 KiB): the kernel takes most answers at once."""

MOST_PIECES = 100
"""Of a body that is held: whoever sends more of them is not in a hurry."""

AROUND_A_REQUEST_LINE = len("  HTTP/1.1\r\n")
AROUND_A_HEADER = len(": \r\n")
"""What stands around the method and the target; around name and value."""

_UPGRADE_HEADER = re.compile(rb"\r\nupgrade:[^\r\n]*", re.IGNORECASE)


class BoundedConfig(uvicorn.Config):
    """Makes every connection a BoundedProtocol with these limits, or a ShortcutProtocol: then the application must be
    an Application. Picklable, as worker processes need it."""

    def __init__(
        self,
        app: Any,
        max_head_bytes: int,
        head_timeout_ms: int,
        body_timeout_ms: int,
        takes_shortcut: bool = False,
        **others: Any,
    ) -> None:
        super().__init__(app, http=ShortcutProtocol if takes_shortcut else BoundedProtocol, **others)
        self.max_head_bytes = max_head_bytes
        self.head_timeout_ms = head_timeout_ms
        self.body_timeout_ms = body_timeout_ms


class BoundedProtocol(HttpToolsProtocol):
    """Refuses what is too large with 431, what is too slow with 408, and what is no HTTP with 400, then hangs up."""

    config: BoundedConfig
    _in_head = True
    """Whether the next bytes belong to a request line or headers."""
    _head = b""
    """What has come of the head so far, in segments before this one."""
    _is_inside_segment = False
    _began_inside_segment = False
    """Whether a request has ended in the segment being read; and had, when the head began."""
    _idle_bytes = 0
    """Bytes received since the last that made a head complete or that someone will read."""
    _may_be_too_large = False
    """Whether a head that ends in the segment being read has to be measured."""
    _deadline: TimerHandle | None = None
    _reading_deadline: TimerHandle | None = None

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(cast(Transport, transport))
        self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_deadline()
        self._stop_expecting()
        super().connection_lost(exc)

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio lets it answer whether to stay open
        """A client may close its side when it has sent its request, and still read the answer."""
        if not self._is_answering() or not self._in_head:
            return False
        self.cycle.keep_alive = False
        return True

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        self._idle_bytes += len(data)
        self._is_inside_segment = False
        self._may_be_too_large = self._idle_bytes > self.config.max_head_bytes
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._read_on_without_upgrade(self._head + data, len(self._head) + upgrade.args[0])
            return
        except httptools.HttpParserError as error:
            if isinstance(error.__context__, _HeadTooLarge):
                self._refuse_head()
            else:
                self.send_400_response("")
            return
        if self.transport.is_closing():
            return
        if self._in_head and self._idle_bytes:
            self._head += data
        if self._idle_bytes > self.config.max_head_bytes and not self._in_head and not self._is_answering():
            self.transport.close()  # a body that nobody reads; its request has had its answer
        elif self._idle_bytes > self.config.max_head_bytes:
            self._refuse_head()
        elif self._in_head and self._idle_bytes and self._deadline is None:
            self._start_deadline()

    def on_message_begin(self) -> None:
        self._began_inside_segment = self._is_inside_segment
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # trailers are of no use here
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            return  # data_received goes on when the parser has stopped
        may_be_too_large = self._may_be_too_large or self._began_inside_segment
        if may_be_too_large and self._head_bytes() > self.config.max_head_bytes:
            raise _HeadTooLarge  # so that the parser stops, whatever follows
        self._in_head = False
        self._head = b""
        self._idle_bytes = 0
        self._stop_deadline()
        if self.parser.get_http_version() not in ("1.0", "1.1"):
            self.send_400_response("")
        else:
            self._start()

    def on_body(self, body: bytes) -> None:
        if self._is_answering():
            self._idle_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        self._expect_head()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._in_head:
            self._start_deadline()  # for the rest of a body that nobody reads
        unsent = self.transport.get_write_buffer_size()
        if unsent > UNSENT_BYTES:
            self._expect_reading(unsent)

    def send_400_response(self, msg: str) -> None:
        self._refuse(HTTPStatus.BAD_REQUEST, "Request is not valid HTTP")

    def _refuse_head(self) -> None:
        limit = f"Request line and headers must not be larger than {self.config.max_head_bytes} bytes"
        self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, limit)

    def _head_bytes(self) -> int:
        """Of a head that is complete."""
        line = len(self.parser.get_method()) + len(self.url) + AROUND_A_REQUEST_LINE
        return line + sum(len(name) + len(value) + AROUND_A_HEADER for name, value in self.headers)

    def _start(self) -> None:
        """A request whose head is complete."""
        super().on_headers_complete()

    def _expect_head(self) -> None:
        self._in_head = True
        self._is_inside_segment = True
        self._head = b""
        self._idle_bytes = 0
        self._stop_deadline()

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _read_on_without_upgrade(self, received: bytes, head_end: int) -> None:
        """Offers of another protocol are ignored (RFC 9110, section 7.8), but the parser takes what follows for that
        protocol, and leaves a body to be read as the next request: so the head is read once more, without the
        offer. One that began behind another request in the same segment is refused: nobody knows where."""
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
            self.transport.close()
        elif not self.transport.is_closing():
            limit = f"Request line and headers were not complete within {self.config.head_timeout_ms} milliseconds"
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, limit)

    def _abort_if_unread(self, unsent: int) -> None:
        """Frees what a client does not read: while it reads on, however slowly, it is left alone."""
        remaining = self.transport.get_write_buffer_size()
        if remaining >= unsent:
            self.transport.abort()
        elif remaining:
            self._expect_reading(remaining)

    def _expect_reading(self, unsent: int) -> None:
        """An answer is not begun while much of the one before it is unread, so each may start the time anew."""
        self._stop_expecting()
        seconds = self.config.body_timeout_ms / 1000
        self._reading_deadline = self.loop.call_later(seconds, self._abort_if_unread, unsent)

    def _stop_expecting(self) -> None:
        if self._reading_deadline is not None:
            self._reading_deadline.cancel()
            self._reading_deadline = None

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        """Hangs up, after an answer in the shape of every error (contract section 1.0) unless another has begun.

        What is wrong with the next request is not said in place of the answer to this one: that goes out, and no other.
        """
        if self._is_answering() and self._in_head:
            self.cycle.keep_alive = False
            self.flow.pause_reading()
            return
        begun = self._is_answering() and self.cycle.response_started
        if self._is_answering():
            self.cycle.disconnected = True  # whatever the application answers now is not sent
        if not begun:
            body = rendered({"code": "invalid_request", "message": message})
            head = (
                f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\n"
                f"content-length: {len(body)}\r\nwarrant-request-id: {uuid7()}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode("ascii") + body)
        self.transport.close()


class _HeadTooLarge(Exception):
    pass


class ShortcutProtocol(BoundedProtocol):
    """Answers by the shortcut of the application what can be. A request that may be is held until all of it has come,
    or for as long as its head may take."""

    _held: Held | None = None
    _pieces: tuple[bytes, ...] = ()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._held is not None and self._deadline is None:
            self._start_deadline()

    def on_body(self, body: bytes) -> None:
        if self._held is None:
            super().on_body(body)
        else:
            self._idle_bytes = 0
            self._pieces += (body,)
            if len(self._pieces) > MOST_PIECES:
                self._release()

    def on_message_complete(self) -> None:
        if self._held is not None and not self.parser.should_upgrade():
            body, default_headers = b"".join(self._pieces), self.server_state.default_headers
            answer = self._shortcut.answer(self._held, body, default_headers)
            if answer is not None:
                self._held = None
                self._expect_head()
                self.transport.write(answer)
                self.on_response_complete()
                return
            self._release()
        super().on_message_complete()

    def shutdown(self) -> None:
        self._release()
        super().shutdown()

    @property
    def _shortcut(self) -> Shortcut:
        shortcut: Shortcut = self.app.shortcut  # see BoundedConfig
        return shortcut

    def _start(self) -> None:
        is_plain = (
            not self._is_answering()
            and not self.flow.write_paused
            and not self.expect_100_continue
            and self.parser.should_keep_alive()
            and self.parser.get_http_version() == "1.1"
        )
        held = self._shortcut.held(self.parser.get_method(), self.url, self.headers) if is_plain else None
        if held is None:
            super()._start()
        else:
            self._held, self._pieces = held, ()

    def _is_late(self) -> None:
        if self._held is not None:
            self._release()
        else:
            super()._is_late()

    def _release(self) -> None:
        """Lets what is held take the ordinary way."""
        if self._held is not None and not self.transport.is_closing():
            self._held = None
            self._stop_deadline()
            super()._start()
            super().on_body(b"".join(self._pieces))
