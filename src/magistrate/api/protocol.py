"""What uvicorn leaves unbounded: how large the head of a request may be, and how long a client may take to send it.

Without this, one client can fill memory with a header (or a trailer) that never ends, and any number can hold
connections open in silence. Bodies have limits of their own in app.py."""

from asyncio import BaseTransport, Transport
from asyncio.events import TimerHandle
from http import HTTPStatus
from typing import Any, cast

import uvicorn
from uuid_utils import uuid7
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from magistrate.api.render import rendered


class BoundedConfig(uvicorn.Config):
    """Makes every connection a BoundedProtocol with these limits. Picklable, as worker processes need it."""

    def __init__(self, app: Any, max_head_bytes: int, head_timeout_ms: int, **others: Any) -> None:
        super().__init__(app, http=BoundedProtocol, **others)
        self.max_head_bytes = max_head_bytes
        self.head_timeout_ms = head_timeout_ms


class BoundedProtocol(HttpToolsProtocol):
    """Refuses what is too large with 431, what is too slow with 408, and what is no HTTP with 400, then hangs up."""

    config: BoundedConfig
    _in_head = True
    _idle_bytes = 0
    """Bytes received since the last that made a head complete or belonged to a body."""
    _head_timer: TimerHandle | None = None

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(cast(Transport, transport))
        self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_head_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._idle_bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._idle_bytes > self.config.max_head_bytes:
            limit = f"Request line and headers must not be larger than {self.config.max_head_bytes} bytes"
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, limit)
        elif self._in_head and self._idle_bytes and self._head_timer is None:
            self._start_head_timer()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # trailers are of no use here
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._idle_bytes = 0
        self._stop_head_timer()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._idle_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_head = True
        self._idle_bytes = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(HTTPStatus.BAD_REQUEST, "Request is not valid HTTP")

    def _start_head_timer(self) -> None:
        self._head_timer = self.loop.call_later(self.config.head_timeout_ms / 1000, self._head_is_late)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        if not self.transport.is_closing():
            limit = f"Request line and headers were not complete within {self.config.head_timeout_ms} milliseconds"
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, limit)

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        """Hangs up, after an answer in the shape of every error (contract section 1.0) unless another has begun."""
        under_way = self.cycle is not None and not self.cycle.response_complete
        if under_way:
            self.cycle.disconnected = True  # whatever the application answers now is not sent
        if not (under_way and self.cycle.response_started):
            body = rendered({"code": "invalid_request", "message": message})
            head = (
                f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\n"
                f"content-length: {len(body)}\r\nwarrant-request-id: {uuid7()}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode("ascii") + body)
        self.transport.close()
