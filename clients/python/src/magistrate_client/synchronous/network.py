"""Exchanges requests and answers over sockets, for threads. The deadline holds for each exchange as a whole."""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from magistrate_client.answers import Answer
from magistrate_client.attempts import ConnectionFailed, DeadlinePassed
from magistrate_client.http_messages import AnswerReader, BrokenAnswer, Request, render_request
from magistrate_client.settings import Settings
from magistrate_client.transport import (
    IDLE_SECONDS,
    MAX_CONNECTIONS,
    MAX_IDLE,
    READ_BYTES,
    Address,
    build_answer,
    load_trust,
)

if TYPE_CHECKING:
    import ssl


class Connection:
    """Is a socket on which one request after the other is answered."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._poll = select.poll() if hasattr(select, "poll") else None
        if self._poll is not None:
            self._poll.register(connected, select.POLLIN)
        self.idle_since = 0.0

    def is_usable(self) -> bool:
        """Returns whether an idle connection can take a request: it is not, once its other end has closed it."""
        if time.monotonic() - self.idle_since > IDLE_SECONDS:
            return False
        if self._poll is not None:
            return not self._poll.poll(0)
        return not select.select([self._socket], [], [], 0)[0]

    def send(self, message: bytes, deadline: float) -> None:
        """Sends a request. Raises DeadlinePassed or ConnectionFailed."""
        try:
            self._socket.settimeout(_seconds_until(deadline))
            self._socket.sendall(message)
        except socket.timeout as error:
            raise DeadlinePassed from error
        except OSError as error:
            raise ConnectionFailed(describe_failure(error), was_sent=True) from error

    def receive(self, deadline: float) -> bytes:
        """Returns the next bytes, none at the end. Raises DeadlinePassed or ConnectionFailed."""
        try:
            self._socket.settimeout(_seconds_until(deadline))
            return self._socket.recv(READ_BYTES)
        except socket.timeout as error:
            raise DeadlinePassed from error
        except OSError as error:
            raise ConnectionFailed(describe_failure(error), was_sent=True) from error

    def close(self) -> None:
        self._socket.close()


class Stream:
    """Is an answer that is read while it is made."""

    def __init__(self, connection: Connection, reader: AnswerReader) -> None:
        self._connection = connection
        self._reader = reader

    def read_piece(self, seconds: float) -> bytes:
        """Returns the next bytes, none at the end. Raises DeadlinePassed if there are none for so long, or
        ConnectionFailed."""
        deadline = time.monotonic() + seconds
        while not (piece := self._reader.take_body()):
            if self._reader.is_complete:
                return b""
            _receive_into(self._reader, self._connection, deadline)
        return piece

    def close(self) -> None:
        self._connection.close()


class Connections:
    """Keeps connections to the service, for all threads of a process."""

    def __init__(self, settings: Settings) -> None:
        self._address = Address(settings)
        self._trust: ssl.SSLContext | None = None
        self._idle: deque[Connection] = deque(maxlen=MAX_IDLE)
        self._places = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self._process = os.getpid()
        self._is_closed = False

    def exchange(self, request: Request, deadline: float) -> Answer:
        """Returns the answer to a request. Raises DeadlinePassed or ConnectionFailed."""
        if not self._places.acquire(timeout=_seconds_until(deadline)):
            raise DeadlinePassed
        try:
            connection = self._acquire(deadline)
            is_reusable = False
            try:
                connection.send(self._render(request), deadline)
                reader = AnswerReader()
                while not reader.is_complete:
                    _receive_into(reader, connection, deadline)
                is_reusable = reader.keeps_open
                return _build_answer(reader)
            finally:
                self._release(connection, is_reusable)
        finally:
            self._places.release()

    def open_stream(self, request: Request, deadline: float) -> Answer | Stream:
        """Returns the answer to a request while it is made, or the whole of one that is an error. Raises DeadlinePassed
        or ConnectionFailed."""
        connection = self._connect(deadline)
        is_open = False
        try:
            connection.send(self._render(request), deadline)
            reader = AnswerReader(is_stream=True)
            while not reader.has_head:
                _receive_into(reader, connection, deadline)
            if reader.status == 200:
                is_open = True
                return Stream(connection, reader)
            while not reader.is_complete:
                _receive_into(reader, connection, deadline)
            return _build_answer(reader)
        finally:
            if not is_open:
                connection.close()

    def close(self) -> None:
        """Closes the connections that are not in use; those that are end with their requests."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().close()

    def _render(self, request: Request) -> bytes:
        if self._address.path:
            request = request._replace(target=self._address.path + request.target)
        return render_request(request, self._address.fixed_headers)

    def _acquire(self, deadline: float) -> Connection:
        if self._process != os.getpid():  # this process was forked: the connections are those of the other one
            self._process = os.getpid()
            while self._idle:
                self._idle.pop().close()  # closes what this process has of it, and not the connection
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # another thread was first
                break
            if connection.is_usable():
                return connection
            connection.close()
        return self._connect(deadline)

    def _release(self, connection: Connection, is_reusable: bool) -> None:
        if not is_reusable or self._is_closed or len(self._idle) >= MAX_IDLE:
            connection.close()
            return
        connection.idle_since = time.monotonic()
        self._idle.append(connection)

    def _connect(self, deadline: float) -> Connection:
        address = self._address
        connected: socket.socket | None = None
        try:
            connected = socket.create_connection((address.host, address.port), _seconds_until(deadline))
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if address.is_secure:
                if self._trust is None:
                    self._trust = load_trust()
                connected.settimeout(_seconds_until(deadline))
                connected = self._trust.wrap_socket(connected, server_hostname=address.host)
        except OSError as error:
            if connected is not None:
                connected.close()
            if isinstance(error, socket.timeout):
                raise DeadlinePassed from error
            raise ConnectionFailed(describe_failure(error), was_sent=False) from error
        return Connection(connected)


def describe_failure(error: OSError) -> str:
    """Returns what happened, in the words of the system."""
    return error.strerror or str(error) or type(error).__name__


def _seconds_until(deadline: float) -> float:
    """Returns the time that is left. Raises DeadlinePassed if there is none."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise DeadlinePassed
    return left


def _receive_into(reader: AnswerReader, connection: Connection, deadline: float) -> None:
    data = connection.receive(deadline)
    try:
        if data:
            reader.receive(data)
        else:
            reader.receive_end()
    except BrokenAnswer as error:
        raise ConnectionFailed(str(error), was_sent=True) from error


def _build_answer(reader: AnswerReader) -> Answer:
    try:
        return build_answer(reader)
    except BrokenAnswer as error:
        raise ConnectionFailed(str(error), was_sent=True) from error
