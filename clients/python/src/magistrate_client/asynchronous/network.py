"""Exchanges requests and answers over asyncio's transports. The deadline holds for each exchange as a whole."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, cast

from magistrate_client.answers import Answer
from magistrate_client.attempts import ConnectionFailed, DeadlinePassed
from magistrate_client.http_messages import AnswerReader, BrokenAnswer, Request, render_request
from magistrate_client.settings import Settings
from magistrate_client.transport import (
    IDLE_SECONDS,
    MAX_CONNECTIONS,
    MAX_IDLE,
    Address,
    build_answer,
    load_trust,
)

if TYPE_CHECKING:
    import ssl

PAUSE_BYTES = 1_048_576
"""Limits what a stream holds that its reader has not taken (1 MiB), after which the service is not read from."""


class Connection(asyncio.Protocol):
    """Is a connection on which one request after the other is answered."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._reader: AnswerReader | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._ends_at_head = False
        self._failure: ConnectionFailed | None = None
        self._unread = 0
        self._is_paused = False
        self.idle_since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # those of other loops are no subclass

    def data_received(self, data: bytes) -> None:
        if self._reader is None:
            self._fail("more came than an answer")
            return
        try:
            self._reader.receive(data)
        except BrokenAnswer as error:
            self._fail(str(error))
            return
        if self._ends_at_head:
            self._unread += len(data)
            if self._unread > PAUSE_BYTES and self._transport is not None:
                self._is_paused = True
                self._transport.pause_reading()
        if self._reader.is_complete or (self._ends_at_head and self._reader.has_head):
            self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        reason = "the connection ended before the answer was complete"
        if isinstance(exc, OSError):
            reason = exc.strerror or str(exc) or reason
        elif self._reader is not None and not self._reader.is_complete:
            try:
                self._reader.receive_end()
            except BrokenAnswer as error:
                reason = str(error)
        self._failure = self._failure or ConnectionFailed(reason, was_sent=True)
        self._wake()

    def is_usable(self) -> bool:
        """Returns whether an idle connection can take a request: not once its other end has closed it."""
        is_open = self._failure is None and self._transport is not None and not self._transport.is_closing()
        return is_open and time.monotonic() - self.idle_since <= IDLE_SECONDS

    async def exchange(self, message: bytes, reader: AnswerReader, deadline: float, ends_at_head: bool) -> None:
        """Sends a request and waits for its answer, or for the head of a stream. Raises DeadlinePassed or
        ConnectionFailed."""
        assert self._transport is not None
        self._reader, self._ends_at_head = reader, ends_at_head
        self._transport.write(message)
        await self._wait(deadline)
        if not ends_at_head:
            self._reader = None

    async def read_piece(self, seconds: float) -> bytes:
        """Returns the next bytes of a stream, none at its end. Raises DeadlinePassed or ConnectionFailed."""
        deadline = time.monotonic() + seconds
        assert self._reader is not None
        while not (piece := self._reader.take_body()):
            if self._reader.is_complete:
                return b""
            await self._wait(deadline, begins_anew=True)
        self._unread = 0
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
        return piece

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def _wait(self, deadline: float, begins_anew: bool = False) -> None:
        """Waits until something came that was waited for."""
        self._raise_failure()
        left = deadline - time.monotonic()
        if left <= 0:
            raise DeadlinePassed
        if not begins_anew and self._reader is not None and self._reader.is_complete:
            return
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        timer = loop.call_later(left, self._expire)
        try:
            await self._waiting
        finally:
            timer.cancel()
            self._waiting = None
        if self._reader is None or not self._reader.is_complete:
            self._raise_failure()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _expire(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(DeadlinePassed())

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _fail(self, reason: str) -> None:
        self._failure = ConnectionFailed(reason, was_sent=True)
        self.close()
        self._wake()


class Stream:
    """Is an answer that is read while it is made."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def read_piece(self, seconds: float) -> bytes:
        """Returns the next bytes, none at the end. Raises DeadlinePassed if there are none for so long, or
        ConnectionFailed."""
        return await self._connection.read_piece(seconds)

    async def aclose(self) -> None:
        self._connection.close()


class Connections:
    """Keeps connections to the service, for all tasks of an event loop; another loop gets its own."""

    def __init__(self, settings: Settings) -> None:
        self._address = Address(settings)
        self._trust: ssl.SSLContext | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._idle: deque[Connection] = deque(maxlen=MAX_IDLE)
        self._running = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_closed = False

    async def exchange(self, request: Request, deadline: float) -> Answer:
        """Returns the answer to a request. Raises DeadlinePassed or ConnectionFailed."""
        self._follow_loop()
        if self._running >= MAX_CONNECTIONS:
            await self._wait_for_place(deadline)
        self._running += 1
        try:
            connection = self._take_idle() or await self._connect(deadline)
            is_reusable = False
            try:
                reader = AnswerReader()
                await connection.exchange(self._render(request), reader, deadline, ends_at_head=False)
                is_reusable = reader.keeps_open
                return _build_answer(reader)
            finally:
                self._release(connection, is_reusable)
        finally:
            self._running -= 1
            self._pass_place_on()

    async def open_stream(self, request: Request, deadline: float) -> Answer | Stream:
        """Returns the answer to a request while it is made, or the whole of one that is an error. Raises DeadlinePassed
        or ConnectionFailed."""
        connection = await self._connect(deadline)
        is_open = False
        try:
            reader = AnswerReader(is_stream=True)
            await connection.exchange(self._render(request), reader, deadline, ends_at_head=True)
            if reader.status == 200:
                is_open = True
                return Stream(connection)
            body = []
            while piece := await connection.read_piece(max(0.0, deadline - time.monotonic())):
                body.append(piece)
            return _build_answer(reader)._replace(body=b"".join(body))
        finally:
            if not is_open:
                connection.close()

    async def aclose(self) -> None:
        """Closes the connections that are not in use; those that are end with their requests."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().close()

    def _render(self, request: Request) -> bytes:
        if self._address.path:
            request = request._replace(target=self._address.path + request.target)
        return render_request(request, self._address.fixed_headers)

    def _follow_loop(self) -> None:
        """Leaves the connections of another event loop behind: they ended with it."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop = loop
            self._idle.clear()
            self._waiting.clear()
            self._running = 0

    async def _wait_for_place(self, deadline: float) -> None:
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.append(turn)
        timer = loop.call_later(max(0.0, deadline - time.monotonic()), _expire_turn, turn)
        try:
            await turn
        finally:
            timer.cancel()
            if turn in self._waiting:
                self._waiting.remove(turn)

    def _pass_place_on(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return

    def _take_idle(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable():
                return connection
            connection.close()
        return None

    def _release(self, connection: Connection, is_reusable: bool) -> None:
        if not is_reusable or self._is_closed or len(self._idle) >= MAX_IDLE:
            connection.close()
            return
        connection.idle_since = time.monotonic()
        self._idle.append(connection)

    async def _connect(self, deadline: float) -> Connection:
        loop = asyncio.get_running_loop()
        address = self._address
        if address.is_secure and self._trust is None:
            self._trust = load_trust()
        connecting = loop.create_connection(Connection, address.host, address.port, ssl=self._trust)
        try:
            _, connection = await asyncio.wait_for(connecting, max(0.0, deadline - time.monotonic()))
        except (asyncio.TimeoutError, TimeoutError) as error:
            raise DeadlinePassed from error
        except OSError as error:
            raise ConnectionFailed(error.strerror or str(error) or type(error).__name__, was_sent=False) from error
        return connection


def _expire_turn(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_exception(DeadlinePassed())


def _build_answer(reader: AnswerReader) -> Answer:
    try:
        return build_answer(reader)
    except BrokenAnswer as error:
        raise ConnectionFailed(str(error), was_sent=True) from error
