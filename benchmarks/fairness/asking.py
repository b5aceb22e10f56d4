"""One request, one connection, one deadline: what a client sees of a service that may be in trouble."""

import itertools
import os
import socket
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from benchmarks.keep_alive import request_bytes
from benchmarks.server import AUTHORIZATION

NO_ANSWER, RESET, CUT_OFF = "no answer", "reset", " cut off"
MAX_KEPT_BYTES = 1_048_576


@dataclass(frozen=True, slots=True)
class Answer:
    """`status`: digits, NO_ANSWER or RESET; digits and CUT_OFF if the service would not read all of the request, which
    most clients take for a reset. `body` is cut off at MAX_KEPT_BYTES."""

    status: str
    seconds: float
    body: bytes = b""

    def json(self) -> Any:
        return msgspec.json.decode(self.body)


@dataclass(frozen=True, slots=True)
class Caller:
    """`deadline_seconds`: for each request, from connecting to the last byte."""

    address: tuple[str, int]
    deadline_seconds: float
    authorization: str = AUTHORIZATION

    def holding(self, authorization: str) -> "Caller":
        """The same with another key or token."""
        return Caller(self.address, self.deadline_seconds, authorization)

    def ask(self, method: str, path: str, body: Any = None, *headers: str) -> Answer:
        """`body`: bytes as they are, anything else as JSON."""
        content = body if isinstance(body, bytes) else b"" if body is None else msgspec.json.encode(body)
        request = request_bytes(method, path, content, self.authorization)
        line, _, rest = request.partition(b"\r\n")
        more = "".join(f"{header}\r\n" for header in ("Connection: close", *headers)).encode()
        return self.send(line + b"\r\n" + more + rest)

    def send(self, request: bytes) -> Answer:
        """Bytes as they are, and what comes back until the service hangs up. An answer that comes while the request
        is still being sent is seen, even if the rest cannot be sent any more."""
        started = time.perf_counter()
        deadline = started + self.deadline_seconds
        received, cut_off = b"", CUT_OFF
        try:
            with socket.create_connection(self.address, timeout=self.deadline_seconds) as connection:
                with suppress(ConnectionError):
                    connection.sendall(request)
                    cut_off = ""
                while True:
                    connection.settimeout(max(0.001, deadline - time.perf_counter()))
                    chunk = connection.recv(262_144)
                    if not chunk:
                        break
                    received += chunk[: MAX_KEPT_BYTES - len(received)]
        except TimeoutError:
            return Answer(NO_ANSWER, time.perf_counter() - started)
        except OSError:
            if not received:
                return Answer(RESET, time.perf_counter() - started)
        head, _, body = received.partition(b"\r\n\r\n")
        status = head[9:12].decode() + cut_off if head.startswith(b"HTTP/") else RESET
        return Answer(status, time.perf_counter() - started, body)

    def connect(self) -> socket.socket:
        return socket.create_connection(self.address, timeout=self.deadline_seconds)


def statuses(answers: Iterable[Answer]) -> str:
    """Each with how often it came: `200 x40`."""
    counted = Counter(answer.status for answer in answers)
    return ", ".join(status if count == 1 else f"{status} x{count}" for status, count in counted.most_common())


_numbers = itertools.count()


def fresh(name: str) -> str:
    """A name that nothing in the database has, in whatever run."""
    return f"{name}-{os.getpid()}-{next(_numbers)}"
