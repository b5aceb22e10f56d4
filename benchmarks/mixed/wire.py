"""One connection on a raw socket: HTTP/1.1, one request at a time, answers read just as far as to find their end."""

import re
import socket
from contextlib import closing
from urllib.parse import urlsplit

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked\r\n", re.IGNORECASE)
_END = b"\r\n\r\n"
_READ_BYTES = 262_144
_TIMEOUT_SECONDS = 30


class Wire:
    """`since`: when what is sent was sent, or when it should have been; for whoever measures."""

    __slots__ = ("_received", "_socket", "since")

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._socket = socket.create_connection((parts.hostname, parts.port or 80), _TIMEOUT_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""
        self.since = 0.0

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, request: bytes) -> None:
        self._socket.sendall(request)

    def receive(self) -> bytes | None:
        """The body of the answer, or None if more of it is to come; reads once.

        Raises RuntimeError if the answer is not 200 or 201, or the server hangs up.
        """
        received = self._socket.recv(_READ_BYTES)
        if not received:
            raise RuntimeError(f"the server hung up after {self._received!r}")
        self._received += received
        body = body_of(self._received)
        if body is not None:
            self._received = b""
        return body

    def close(self) -> None:
        self._socket.close()


def body_of(received: bytes) -> bytes | None:
    """The body, once all of the answer is there.

    Raises RuntimeError if the answer is not 200 or 201, or has neither a length nor chunks.
    """
    end = received.find(_END)
    if end < 0:
        return None
    if not received.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 201 ")):
        raise RuntimeError(f"the server answered {received!r}")
    length = _LENGTH.search(received, 0, end + 2)
    body = received[end + len(_END) :]
    if length is not None:
        return body if len(body) >= int(length[1]) else None
    if _CHUNKED.search(received, 0, end + 2):
        return _joined(body) if body.endswith(b"0" + _END) else None
    raise RuntimeError(f"the server does not tell how long its answer is: {received[:end]!r}")


def answered(url: str, request: bytes) -> bytes:
    """The body of the answer to one request, on a connection of its own."""
    with closing(Wire(url)) as wire:
        wire.send(request)
        while (body := wire.receive()) is None:
            pass
        return body


def _joined(chunks: bytes) -> bytes:
    """Chunks are a length in hexadecimal digits, the bytes, and an end of line; the last has length 0."""
    joined = b""
    while True:
        line, _, rest = chunks.partition(b"\r\n")
        size = int(line.partition(b";")[0], 16)
        if not size:
            return joined
        joined, chunks = joined + rest[:size], rest[size + 2 :]
