"""One connection of a client to one of several services, which it chooses anew after each fault and now and then.

It does what a client of a history needs and no more, in a tenth of the time of a whole HTTP client."""

import random
import socket
import time
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from tests.leaks import KEY

TIMEOUT_SECONDS = 10.0
AWAY_SECONDS, PAUSE_SECONDS = 60.0, 0.05
"""Say for how long, and how often, a client tries to reach a service that is not there."""
CHANGES_SERVICE = 1 / 50
"""Is how often a client goes to another service though nothing is wrong."""


class Answer(NamedTuple):
    """Is an answer; the token is empty if it has none."""

    status: int
    token: str
    body: bytes


class Connection:
    """Sends requests one after the other. Raises OSError if there is no whole answer."""

    def __init__(self, urls: Sequence[str], rng: random.Random) -> None:
        self._addresses = [(urlsplit(url).hostname or "", urlsplit(url).port or 80) for url in urls]
        self._rng = rng
        self._socket: socket.socket | None = None

    def send(self, method: str, target: str, body: bytes = b"", headers: str = "") -> Answer:
        if self._socket is None or self._rng.random() < CHANGES_SERVICE:
            self.close()
            self._socket = self._connect()
        head = f"{method} {target} HTTP/1.1\r\nHost: service\r\nAuthorization: ApiKey {KEY}\r\n{headers}"
        try:
            self._socket.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            return self._receive(self._socket)
        except OSError:
            self.close()
            raise

    def _connect(self) -> socket.socket:
        """Returns a connection to a service that runs. A request that could not be sent is none."""
        deadline = time.monotonic() + AWAY_SECONDS
        while True:
            try:
                connection = socket.create_connection(self._rng.choice(self._addresses), TIMEOUT_SECONDS)
            except ConnectionRefusedError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(PAUSE_SECONDS)
                continue
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _receive(self, connection: socket.socket) -> Answer:
        received = b""
        while (end := received.find(b"\r\n\r\n")) < 0:
            received += _read(connection)
        lines = received[:end].decode().lower().split("\r\n"), received[:end].decode().split("\r\n")
        values = {
            name: line.partition(": ")[2]
            for name, line in zip((line.partition(":")[0] for line in lines[0]), lines[1], strict=True)
        }
        length = end + 4 + int(values.get("content-length", "0"))
        while len(received) < length:
            received += _read(connection)
        if values.get("connection") == "close":
            self.close()
        status = int(lines[1][0].split(" ")[1])
        return Answer(status, values.get("service-token", ""), received[end + 4 : length])


def _read(connection: socket.socket) -> bytes:
    received = connection.recv(262_144)
    if not received:
        raise ConnectionError("the connection ended before the answer did")
    return received
