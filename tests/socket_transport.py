"""How clients in tests send requests: a transport of httpx over plain sockets.

The default one of httpx takes four times as long for a request, in Python, and tests send several hundred thousand."""

import select
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import httptools
import httpx

KEPT_SECONDS = 5.0
"""A connection that was idle for longer is not used again. The default of httpx."""

READ_BYTES = 262_144


class Answer:
    """What the parser has seen of a response."""

    def __init__(self) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        self.body: list[bytes] = []
        self.has_all_headers = False
        self.is_complete = False
        self.has_surplus = False
        self.keeps_connection = True

    def on_message_begin(self) -> None:
        self.has_surplus = self.is_complete

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name, value))
        if name.lower() == b"connection" and value.lower() == b"close":
            self.keeps_connection = False

    def on_headers_complete(self) -> None:
        self.has_all_headers = True

    def on_body(self, part: bytes) -> None:
        self.body.append(part)

    def on_message_complete(self) -> None:
        self.is_complete = True

    def lasts_until_the_end(self) -> bool:
        """Whether the end of the connection is that of the body, because nothing else says how long it is."""
        names = {name.lower() for name, _ in self.headers}
        return self.has_all_headers and not names & {b"content-length", b"transfer-encoding"}

    def has_events(self) -> bool:
        return any(value.startswith(b"text/event-stream") for _, value in self.headers)


class Message(NamedTuple):
    """A request as it is sent: its body in parts."""

    method: str
    target: bytes
    headers: Sequence[tuple[bytes, bytes]]
    body: Iterable[bytes]


class SocketResponse(httpx.Response):
    """A response that makes its request only if somebody wants to see it."""

    build_request: Callable[[], httpx.Request] | None = None

    @property
    def request(self) -> httpx.Request:
        if self._request is None and self.build_request is not None:
            self._request = self.build_request()
        return super().request

    @request.setter
    def request(self, value: httpx.Request) -> None:
        self._request = value

    def raise_for_status(self) -> httpx.Response:
        if self.is_success:
            return self
        assert self.request
        return super().raise_for_status()


class SocketTransport(httpx.BaseTransport):
    """Sends requests to one service, and keeps its connections; threads may share it. A response is read whole, but for
    a stream of events, of which only the first piece is. None is an interim one: no request needs those."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._idle: deque[tuple[socket.socket, float]] = deque()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        message = Message(request.method, request.url.raw_path, request.headers.raw, _encoded(request))
        timeout = httpx.Timeout(**request.extensions["timeout"])
        return self.exchange(message, timeout)

    def exchange(self, message: Message, timeout: httpx.Timeout) -> "SocketResponse":
        connection = self._idle_connection() or self._connect(timeout.connect)
        try:
            connection.settimeout(timeout.write)
            _send(connection, message)
            connection.settimeout(timeout.read)
            response, is_kept = _receive(connection, message.method)
        except BaseException:
            connection.close()
            raise
        if is_kept:
            self._idle.append((connection, time.monotonic()))
        else:
            connection.close()
        return response

    def close(self) -> None:
        while self._idle:
            self._idle.pop()[0].close()

    def _connect(self, seconds: float | None) -> socket.socket:
        try:
            connection = socket.create_connection(self._address, seconds)
        except TimeoutError as error:
            raise httpx.ConnectTimeout(str(error)) from error
        except OSError as error:
            raise httpx.ConnectError(str(error)) from error
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def _idle_connection(self) -> socket.socket | None:
        """Returns one that the service has not closed meanwhile."""
        while self._idle:
            try:
                connection, since = self._idle.pop()
            except IndexError:  # another thread took the last one
                return None
            readable = select.poll()
            readable.register(connection, select.POLLIN)
            if time.monotonic() - since < KEPT_SECONDS and not readable.poll(0):
                return connection
            connection.close()
        return None


def _send(connection: socket.socket, message: Message) -> None:
    unsent = bytearray(b"%b %b HTTP/1.1\r\n" % (message.method.encode(), message.target))
    for header in message.headers:
        unsent += b"%b: %b\r\n" % header
    unsent += b"\r\n"
    try:
        for part in message.body:
            unsent += part
            connection.sendall(unsent)
            unsent.clear()
        connection.sendall(unsent)
    except TimeoutError as error:
        raise httpx.WriteTimeout(str(error)) from error
    except OSError:
        pass  # a service that has read enough answers and closes the connection


def _encoded(request: httpx.Request) -> Iterator[bytes]:
    """Yields the body in the parts that it is given in, as chunks if its length is not said."""
    assert isinstance(request.stream, httpx.SyncByteStream)
    is_chunked = "Transfer-Encoding" in request.headers
    for part in request.stream:
        if part:
            yield b"%x\r\n%b\r\n" % (len(part), part) if is_chunked else part
    if is_chunked:
        yield b"0\r\n\r\n"


def _receive(connection: socket.socket, method: str) -> tuple["SocketResponse", bool]:
    """Returns the response, and whether the connection can be used again."""
    answer = Answer()
    parser: Any = httptools.HttpResponseParser(answer)
    while not answer.is_complete:
        received = _read(connection)
        if not received:
            if not answer.lasts_until_the_end():
                raise httpx.RemoteProtocolError("the connection ended before the response did")
            break
        try:
            parser.feed_data(received)
        except httptools.HttpParserError as error:
            raise httpx.RemoteProtocolError(str(error)) from error
        if answer.has_surplus:
            raise httpx.RemoteProtocolError("more was sent than the response")
        if answer.body and answer.has_events():
            break
        if method == "HEAD" and answer.has_all_headers:
            break  # the parser waits for a body that never comes
    response = SocketResponse(
        parser.get_status_code(), headers=answer.headers, stream=httpx.ByteStream(b"".join(answer.body))
    )
    return response, answer.is_complete and answer.keeps_connection


def _read(connection: socket.socket) -> bytes:
    try:
        return connection.recv(READ_BYTES)
    except TimeoutError as error:
        raise httpx.ReadTimeout(str(error)) from error
    except OSError as error:
        raise httpx.ReadError(str(error)) from error
