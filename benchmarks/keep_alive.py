"""A small HTTP client over kept-alive connections: requests go out as the bytes they are given as, answers are only
counted and timed. Nothing faster comes with Python, and it must not be what is measured."""

import asyncio
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import cast
from urllib.parse import urlsplit

import uvloop

from benchmarks.cores import LOAD_CORE, on_core
from benchmarks.server import AUTHORIZATION

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)
_GRACE_SECONDS = 30


@dataclass(slots=True)
class Driven:
    """What came of some requests: the seconds from the first one sent to the last one answered, and those each answer
    took."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)


def request_bytes(method: str, path: str, body: bytes = b"", authorization: str = AUTHORIZATION) -> bytes:
    """A whole request, with the key of the benchmark unless another is given, or none."""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
    head += f"Authorization: {authorization}\r\n" if authorization else ""
    described = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
    return f"{head}{described}\r\n".encode() + body


def drive(url: str, requests: Iterator[bytes], connections: int, max_seconds: float) -> Driven:
    """Sends the requests over so many connections, on each the next one when the last one is answered, until none is
    left or the time is over.

    Raises RuntimeError if one is not answered with 200.
    """
    with on_core(LOAD_CORE):
        return uvloop.run(_drive(url, requests, connections, max_seconds))


async def _drive(url: str, requests: Iterator[bytes], connections: int, max_seconds: float) -> Driven:
    driven, loop = Driven(), asyncio.get_running_loop()
    started = time.perf_counter()
    connected = [_Connection(requests, started + max_seconds, driven.latencies) for _ in range(connections)]
    host, port = urlsplit(url).netloc.split(":")
    for connection in connected:
        await loop.create_connection(partial(_itself, connection), host, int(port))
    async with asyncio.timeout(max_seconds + _GRACE_SECONDS):
        await asyncio.gather(*(connection.finished for connection in connected))
    driven.seconds = time.perf_counter() - started
    return driven


def _itself(connection: "_Connection") -> "_Connection":
    return connection


class _Connection(asyncio.Protocol):
    def __init__(self, requests: Iterator[bytes], deadline: float, latencies: list[float]) -> None:
        self.finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._requests = requests
        self._deadline = deadline
        self._latencies = latencies
        self._received = b""
        self._sent_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end:
            return
        length = _LENGTH.search(head + b"\r\n")
        if not head.startswith(b"HTTP/1.1 200 ") or length is None:
            self._fail(f"the server answered {self._received!r}")
        elif len(body) >= int(length[1]):
            self._latencies.append(time.perf_counter() - self._sent_at)
            self._received = b""
            self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(f"the server hung up: {exc}")

    def _send(self) -> None:
        request = next(self._requests, None) if time.perf_counter() < self._deadline else None
        if request is not None:
            self._sent_at = time.perf_counter()
            self._transport.write(request)
        elif not self.finished.done():
            self.finished.set_result(None)
            self._transport.close()

    def _fail(self, reason: str) -> None:
        if not self.finished.done():
            self.finished.set_exception(RuntimeError(reason))
            self._transport.close()
