"""Implements connections whose requests are answered before the web framework sees them, where possible."""

from asyncio import BaseTransport
from functools import partial
from http import HTTPStatus

from magistrate.api.http.client_transport import UNSENT_BYTES
from magistrate.api.http.connection import BoundedProtocol
from magistrate.api.http.connection_state import Phase
from magistrate.api.http.fast_path import END_OF_HEAD, FastPath, PendingRefusal
from magistrate.api.http.pipeline import BEGUN, BegunRequest

MOST_PIECES = 100
"""Limits the pieces of a body that is held: a client that sends more of them is slow."""


class FastPathProtocol(BoundedProtocol):
    """Answers requests by the application's fast path where possible. A request that qualifies is held until all of it
    has arrived, or for as long as its head may take. A refusal is sent when the pace of refusals allows it; until then,
    nothing else of the connection is parsed."""

    _fast_path: FastPath
    _pending: BegunRequest | PendingRefusal | None = None
    _refusal: PendingRefusal | None = None
    _pieces: tuple[bytes, ...] = ()
    _is_between_requests = True
    """Says that the parser has read nothing of the next request."""
    _received = b""
    """Holds what was received since the beginning of the request, if that was in one piece."""
    _begun: BegunRequest | None = None
    """Holds the request that the web framework is to go on with."""

    def connection_made(self, transport: BaseTransport) -> None:
        self._fast_path = self.app.fast_path  # the application must be an Application
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._refusal = None
        super().connection_lost(exc)

    def eof_received(self) -> bool:  # type: ignore[override]  # as in BoundedProtocol
        self._send_refusal()
        return super().eof_received()

    def receive(self, data: bytes) -> None:
        cycle = self.cycle
        self._received = b""
        if (
            self._is_between_requests
            and self._phase is Phase.SERVING
            and (cycle is None or cycle.response_complete)
            and not self._head.earlier
            and not self.flow.write_paused
        ):
            if self._answer_known(data):
                return
            self._received = data
        super().receive(data)
        if self._pending is not None and self._deadline is None:
            self._start_deadline()

    def on_message_begin(self) -> None:
        self._is_between_requests = False
        super().on_message_begin()

    def on_body(self, body: bytes) -> None:
        if self._pending is None:
            super().on_body(body)
        else:
            self._head.idle_bytes = 0
            self._pieces += (body,)
            if len(self._pieces) > MOST_PIECES:
                self._release()

    def on_message_complete(self) -> None:
        self._is_between_requests = True
        pending, received = self._pending, self._received
        self._received = b""
        if pending is not None and not self.parser.should_upgrade():
            if isinstance(pending, PendingRefusal):
                self._pending, self._refusal, self._pieces = None, pending, ()
                self._expect_head()
                self.pause_parsing()
                pending.admissions.pace.schedule(partial(self._send_refusal, pending))
                return
            body, default_headers = b"".join(self._pieces), self.server_state.default_headers
            answer = self._fast_path.answer(pending, body, default_headers)
            if answer is not None:
                self._pending = None
                if received and not self._head.coding:
                    self._fast_path.remember(received, pending.head)
                self._expect_head()
                self._send(answer)
                self.on_response_complete()
                return
            self._release()
        super().on_message_complete()

    def _answer_known(self, data: bytes) -> bool:
        """Answers a request without parsing it, if it arrived as a whole and its head is known, and returns whether it
        did. The connection waits for a request."""
        fast_path = self._fast_path
        end = data.find(END_OF_HEAD) + 4
        known = data[:end]
        head = fast_path.known_heads.get(known)
        if head is None or len(data) - end != head.length or (begun := fast_path.begin(head)) is None:
            return False
        fast_path.known_heads.move_to_end(known)
        answer = fast_path.answer(begun, data[end:], self.server_state.default_headers)
        if answer is None:
            self._begun = begun
            return False
        if self._deadline is not None:
            self._stop_deadline()
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

    def _count_waiting_body(self) -> int:
        return super()._count_waiting_body() + (sum(map(len, self._pieces)) if self._pending is not None else 0)

    def shutdown(self) -> None:
        self._release()
        self._send_refusal()
        super().shutdown()

    def _send_refusal(self, scheduled: PendingRefusal | None = None) -> None:
        """Sends the refusal that is held, if there is one and, at its turn, if it was not sent before."""
        refusal = self._refusal
        if refusal is None or (scheduled is not None and scheduled is not refusal):
            return
        self._refusal = None
        if not self.transport.is_closing():
            self.transport.write(self._fast_path.refuse(refusal, self.server_state.default_headers))
            self.on_response_complete()
        self.resume_parsing()

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        self._send_refusal()
        super()._refuse(status, message)

    def _start(self) -> None:
        if self._refusal is not None:
            self._send_refusal()  # the client did not wait for it
        is_plain = (
            self._begun is None
            and not self._is_answering()
            and self._phase is Phase.SERVING
            and not self.flow.write_paused
            and not self.expect_100_continue
            and self.parser.should_keep_alive()
            and self.parser.get_http_version() == "1.1"
        )
        pending = self._fast_path.begin_request(self.parser.get_method(), self.url, self.headers) if is_plain else None
        if pending is None:
            super()._start()
        else:
            self._pending, self._pieces = pending, ()

    def _make_scope(self) -> None:
        super()._make_scope()
        if self._begun is not None:
            self.scope |= {BEGUN: self._begun}  # type: ignore[misc]  # servers may add entries
            self._begun = None

    def _is_late(self) -> None:
        if self._pending is not None:
            self._release()
        else:
            super()._is_late()

    def _release(self) -> None:
        """Releases the held request to the web framework."""
        if self._pending is not None and not self.transport.is_closing():
            self._begun = self._pending if isinstance(self._pending, BegunRequest) else None
            self._pending = None
            self._stop_deadline()
            super()._start()
            super().on_body(b"".join(self._pieces))
