"""Renders requests and reads answers of HTTP/1.1, without any I/O.

A check through a general HTTP library takes several times the processor time of the check itself, so this package has
the part of the protocol that Magistrate and the proxies before it speak
(docs/decisions/0108-the-python-client-speaks-http-itself.md)."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import NamedTuple

MAX_HEAD_BYTES = 65_536
MAX_BODY_BYTES = 134_217_728
"""Limits an answer, as decoded (128 MiB): a page of a list has some kilobytes, and a model may have megabytes."""

_NO_BODY = (204, 304)
_HEX_DIGITS = b"0123456789abcdefABCDEF"


class BrokenAnswer(Exception):
    """Reports that what came is no complete answer."""


class Request(NamedTuple):
    """Holds a request: `target` is the path with its query; `headers` are those of this request alone."""

    method: str
    target: str
    body: bytes | None
    headers: Sequence[tuple[str, str]] = ()


def render_request(request: Request, fixed_headers: str) -> bytes:
    """Returns the bytes of a request. `fixed_headers` are the lines that all requests have."""
    head = f"{request.method} {request.target} HTTP/1.1\r\n{fixed_headers}"
    for name, value in request.headers:
        head += f"{name}: {value}\r\n"
    if request.body is None:
        return (head + "\r\n").encode("latin-1")
    return f"{head}Content-Length: {len(request.body)}\r\n\r\n".encode("latin-1") + request.body


class AnswerReader:
    """Reads one answer from the pieces in which it arrives. `is_complete` says that nothing is missing."""

    def __init__(self, is_stream: bool = False) -> None:
        self._is_stream = is_stream
        self._received = b""
        self._head = b""
        self._lower_head = b""
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._missing: int | None = None
        self._chunks: _Chunks | None = None
        self.status = 0
        self.has_head = False
        self.is_complete = False
        self.keeps_open = True

    def header(self, name: bytes) -> str | None:
        """Returns the value of a header, whose name is in lower case, or None."""
        begin = self._lower_head.find(b"\r\n" + name + b":")
        if begin < 0:
            return None
        begin += len(name) + 3
        return self._head[begin : self._head.find(b"\r\n", begin)].strip().decode("latin-1")

    def receive(self, data: bytes) -> None:
        """Takes the next bytes of the connection. Raises BrokenAnswer if they cannot be those of an answer."""
        if self.is_complete:
            raise BrokenAnswer("more than one answer came")
        while data and not self.has_head:
            data = self._receive_head(data)
        if data and not self.is_complete:
            self._receive_body(data)

    def receive_end(self) -> None:
        """Takes the end of the connection. Raises BrokenAnswer if something is missing."""
        if self.has_head and self._missing is None and self._chunks is None:
            self.is_complete = True
        if not self.is_complete:
            raise BrokenAnswer("the connection ended before the answer was complete")

    def take_body(self) -> bytes:
        """Returns what of the body has come since it was last taken, without its content coding."""
        body = b"".join(self._body)
        self._body.clear()
        if self._is_stream:
            self._body_bytes = 0
        return self._decode(body) if self.header(b"content-encoding") else body

    def _receive_head(self, data: bytes) -> bytes:
        """Reads the head if it is complete, and returns what follows it."""
        received = self._received + data
        head, end, rest = received.partition(b"\r\n\r\n")
        if not end:
            self._received = received
            if len(received) > MAX_HEAD_BYTES:
                raise BrokenAnswer("the head of the answer is too long")
            return b""
        self._received = b""
        self._head = head + b"\r\n"
        self._lower_head = self._head.lower()
        if not head.startswith(b"HTTP/1.") or not head[9:12].isdigit():
            raise BrokenAnswer("what answers does not speak HTTP/1.1")
        self.status = int(head[9:12])
        if self.status >= 200:  # others announce the answer that follows
            self._read_framing()
        return rest

    def _read_framing(self) -> None:
        self.has_head = True
        connection = self.header(b"connection")
        self.keeps_open = self._head.startswith(b"HTTP/1.1") and (connection or "").lower() != "close"
        length = self.header(b"content-length")
        if (self.header(b"transfer-encoding") or "").lower() == "chunked":
            self._chunks = _Chunks()
        elif length is not None:
            if not length.isdigit():
                raise BrokenAnswer("the length of the answer cannot be read")
            self._missing = int(length)
            self.is_complete = self._missing == 0
        elif self.status in _NO_BODY:
            self.is_complete = True
        else:
            self.keeps_open = False

    def _receive_body(self, data: bytes) -> None:
        if self._chunks is not None:
            data = self._chunks.decode(data)
            self.is_complete = self._chunks.is_complete
        elif self._missing is not None:
            if len(data) > self._missing:
                raise BrokenAnswer("the answer is longer than it says")
            self._missing -= len(data)
            self.is_complete = self._missing == 0
        self._body.append(data)
        self._body_bytes += len(data)
        if self._body_bytes > MAX_BODY_BYTES:
            raise BrokenAnswer(f"the answer is larger than {MAX_BODY_BYTES} bytes")

    def _decode(self, body: bytes) -> bytes:
        if self.header(b"content-encoding") != "gzip":
            raise BrokenAnswer("the answer has a content coding that was not requested")
        decoder = zlib.decompressobj(wbits=31)
        try:
            decoded = decoder.decompress(body, MAX_BODY_BYTES)
        except zlib.error as error:
            raise BrokenAnswer("the answer is damaged") from error
        if not decoder.eof:
            raise BrokenAnswer("the answer ends early, or is too large")
        return decoded


class _Chunks:
    """Decodes a body in chunks."""

    def __init__(self) -> None:
        self._rest = b""
        self._missing = 0
        self._ends_chunk = False
        self._in_trailer = False
        self.is_complete = False

    def decode(self, data: bytes) -> bytes:
        """Returns what the next bytes of the connection have of the body."""
        data = self._rest + data
        decoded = []
        place = 0
        while place < len(data) and not self.is_complete:
            if self._missing:
                piece = data[place : place + self._missing]
                decoded.append(piece)
                self._missing -= len(piece)
                place += len(piece)
                continue
            end = data.find(b"\r\n", place)
            if end < 0:
                break
            self._read_line(data[place:end])
            place = end + 2
        self._rest = data[place:]
        if len(self._rest) > MAX_HEAD_BYTES or (self.is_complete and self._rest):
            raise BrokenAnswer("the chunks of the answer cannot be read")
        return b"".join(decoded)

    def _read_line(self, line: bytes) -> None:
        """Reads the line that ends a chunk, that begins one, or that is of the trailer."""
        if self._in_trailer:
            self.is_complete = not line
        elif self._ends_chunk:
            self._ends_chunk = False
            if line:
                raise BrokenAnswer("a chunk of the answer is longer than it says")
        else:
            size = line.partition(b";")[0].rstrip(b" \t")
            if not size or size.strip(_HEX_DIGITS):  # int() takes signs and more
                raise BrokenAnswer("the chunks of the answer cannot be read")
            self._missing = int(size, 16)
            self._in_trailer = self._missing == 0
            self._ends_chunk = self._missing > 0
