"""A receiver of webhooks on a real socket, which answers as a test says, and notes what it gets."""

import json
import socket
import ssl
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from tests.http_server import SilentHandler, serving


@dataclass(frozen=True)
class Received:
    """A request: its headers, with names in lower case, and its body."""

    headers: Mapping[str, str]
    body: bytes
    path: str = "/"

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def data(self) -> Any:
        return json.loads(self.body)["data"]


Answer = Callable[[SilentHandler], None]


def answer_status(status: int, body: bytes = b"", **headers: str) -> Answer:
    def answer(handler: SilentHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def reset(handler: SilentHandler) -> None:
    """Ends the connection by RST."""
    handler.close_connection = True
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


def answer_endlessly(handler: SilentHandler) -> None:
    """A status of success, and a body without an end."""
    handler.send_response(200)
    handler.end_headers()
    handler.close_connection = True
    with suppress(OSError):
        while True:
            handler.wfile.write(b"x" * 65_536)


def answer_long_head(handler: SilentHandler) -> None:
    """A head without an end."""
    handler.close_connection = True
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    with suppress(OSError):
        while True:
            handler.wfile.write(b"X-Name: " + b"x" * 8_192 + b"\r\n")


def answer_nonsense(handler: SilentHandler) -> None:
    handler.close_connection = True
    handler.wfile.write(b"SSH-2.0-OpenSSH_9.6\r\n")


@dataclass
class WebhookReceiver:
    """Answers 204 when there are no other `answers` left. `release` ends all that never answers."""

    url: str = ""
    received: list[Received] = field(default_factory=list)
    answers: deque[Answer] = field(default_factory=deque)
    released: threading.Event = field(default_factory=threading.Event)

    def never_answer(self, handler: SilentHandler) -> None:
        self.released.wait(60)
        handler.close_connection = True

    def answer_slowly(self, handler: SilentHandler) -> None:
        """A head that comes byte by byte, without an end."""
        handler.close_connection = True
        with suppress(OSError):
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Name: ")
            while not self.released.wait(0.02):
                handler.wfile.write(b"x")

    def wait_for(self, number: int) -> None:
        """Waits until so many messages have been received."""
        deadline = time.monotonic() + 60
        while len(self.received) < number:
            assert time.monotonic() < deadline, f"{len(self.received)} of {number} messages have come"
            time.sleep(0.01)

    @property
    def ids(self) -> list[str]:
        return [each.id for each in self.received]

    @property
    def tokens(self) -> list[str]:
        return [each.data["token"] for each in self.received]


@contextmanager
def receiving(tls: ssl.SSLContext | None = None) -> Iterator[WebhookReceiver]:
    receiver = WebhookReceiver()

    class Handler(SilentHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.received.append(Received(headers, body, self.path))
            answer = receiver.answers.popleft() if receiver.answers else answer_status(204)
            answer(self)

    with serving(Handler, tls) as url:
        receiver.url = url
        try:
            yield receiver
        finally:
            receiver.released.set()
