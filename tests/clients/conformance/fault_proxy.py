"""A proxy between a client and the service, which makes faults (clients/conformance/README.md#faults)."""

import json
import select
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from tests.clients.conformance.corpus import Fault

LIMIT_SECONDS = 60.0
"""Limits each wait for either side."""
ENDS_WITH_RESET = struct.pack("ii", 1, 0)
"""A socket that is closed with this option resets its connection."""


class Request(NamedTuple):
    """A request that came: its line, and its headers by their names in lower case."""

    line: str
    headers: dict[str, str]


class _Cut(Exception):
    """The connection to the client is reset."""


class FaultProxy:
    """Passes requests on to the service at `find_target()`, and makes the faults that it was given."""

    def __init__(self, find_target: Callable[[], tuple[str, int]]) -> None:
        self._find_target = find_target
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._lock = threading.Lock()
        self._faults: list[Fault] = []
        self._requests: list[Request] = []
        self._clients: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def begin(self, faults: Sequence[Fault]) -> None:
        """Makes these faults, one for each request from now on, and notes requests anew."""
        with self._lock:
            self._faults, self._requests = [*faults], []

    def requests(self) -> list[Request]:
        """The requests since the last `begin`."""
        with self._lock:
            return [*self._requests]

    def cut(self) -> None:
        """Ends the connections of all clients, as a service does that stops."""
        with self._lock:
            clients = [*self._clients]
        for client in clients:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client = self._listening.accept()[0]
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        client.settimeout(LIMIT_SECONDS)
        with self._lock:
            self._clients.add(client)
        with client, suppress(OSError):
            try:
                while (message := _read_request(client)) is not None:
                    request, raw = message
                    with self._lock:
                        self._requests.append(request)
                        fault = self._faults.pop(0) if self._faults else None
                    self._answer(client, request, raw, fault)
            except _Cut:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ENDS_WITH_RESET)
            finally:
                with self._lock:
                    self._clients.discard(client)

    def _answer(self, client: socket.socket, request: Request, raw: bytes, fault: Fault | None) -> None:
        kind = fault.kind if fault is not None else ""
        if fault is not None and kind == "reset":
            raise _Cut
        if fault is not None and kind in ("status", "page"):
            client.sendall(_render_answer(fault))
            return
        with socket.create_connection(self._find_target(), timeout=LIMIT_SECONDS) as service:
            service.sendall(raw)
            if fault is not None and kind == "slow":
                _hold(client, fault.slow or 0.0)
            pieces = _read_answer(service, client)
            if kind == "drop":
                for _ in pieces:
                    pass
                raise _Cut
            for piece in pieces:
                if kind == "half":
                    _send_half(client, piece, service)
                client.sendall(piece)


def _hold(client: socket.socket, seconds: float) -> None:
    """Waits, and ends the connection if its client has gone before."""
    readable, _, _ = select.select([client], [], [], seconds)
    if readable:
        raise _Cut


def _send_half(client: socket.socket, begun: bytes, service: socket.socket) -> None:
    """Sends the head and half of what follows, and closes the connection."""
    head, _, rest = begun.partition(b"\r\n\r\n")
    if not rest:
        rest = service.recv(65_536)
    client.sendall(head + b"\r\n\r\n" + rest[: len(rest) // 2])
    client.shutdown(socket.SHUT_RDWR)
    raise OSError("closed")


def _render_answer(fault: Fault) -> bytes:
    status = fault.status or fault.page
    value = {"code": fault.code or "unavailable", "message": "made by the proxy"}
    body = b"<html>a proxy</html>" if fault.page else json.dumps(value).encode()
    headers = [
        f"HTTP/1.1 {status} Fault",
        f"content-length: {len(body)}",
        f"content-type: {'text/html' if fault.page else 'application/json'}",
    ]
    if fault.retry_after is not None:
        headers.append(f"retry-after: {fault.retry_after}")
    return "\r\n".join(headers).encode() + b"\r\n\r\n" + body


def _read_request(client: socket.socket) -> tuple[Request, bytes] | None:
    """The next request and all its bytes, or None at the end of the connection."""
    raw = b""
    while b"\r\n\r\n" not in raw:
        if not (data := client.recv(65_536)):
            return None
        raw += data
    head, _, body = raw.partition(b"\r\n\r\n")
    line, headers = _read_head(head)
    assert "transfer-encoding" not in headers, "a request has a Content-Length here"
    missing = int(headers.get("content-length", "0")) - len(body)
    while missing > 0:
        if not (data := client.recv(65_536)):
            return None
        raw += data
        missing -= len(data)
    return Request(line, headers), raw


def _read_head(head: bytes) -> tuple[str, dict[str, str]]:
    line, *fields = head.decode("latin-1").split("\r\n")
    pairs = [field.partition(":") for field in fields]
    return line, {name.strip().lower(): value.strip() for name, _, value in pairs}


def _read_answer(service: socket.socket, client: socket.socket) -> Iterator[bytes]:
    """The pieces of one answer, the first with the whole head, until it is complete or the client has gone."""
    raw = b""
    while b"\r\n\r\n" not in raw:
        if not (data := service.recv(65_536)):
            raise _Cut
        raw += data
    head, _, body = raw.partition(b"\r\n\r\n")
    _, headers = _read_head(head)
    yield raw
    if headers.get("transfer-encoding", "").lower() == "chunked":
        end = body[-5:]
        while end != b"0\r\n\r\n":
            data = _receive(service, client)
            end = (end + data)[-5:]
            yield data
        return
    missing = int(headers.get("content-length", "0")) - len(body)
    while missing > 0:
        data = _receive(service, client)
        missing -= len(data)
        yield data


def _receive(service: socket.socket, client: socket.socket) -> bytes:
    readable, _, _ = select.select([service, client], [], [], LIMIT_SECONDS)
    if service not in readable or not (data := service.recv(65_536)):
        raise _Cut
    return data


@contextmanager
def making_faults(find_target: Callable[[], tuple[str, int]]) -> Iterator[FaultProxy]:
    proxy = FaultProxy(find_target)
    try:
        yield proxy
    finally:
        proxy.close()
