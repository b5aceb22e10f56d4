"""Reads one path over many connections at once, and says when which of the objects of a benchmark has arrived.

`python -m benchmarks.feed_readers URL PATH COUNT` prints a line when every stream has begun. When its input ends, it
prints an Arrivals for each object as a line of JSON."""

import re
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit

import msgspec

from benchmarks.cores import LOAD_CORE, on_core
from benchmarks.keep_alive import request_bytes

CONNECT_SECONDS = 60
RECEIVED_BYTES = 262_144

_NUMBER = re.compile(rb'"objectId":"n(\d+)"')


class Arrivals(msgspec.Struct):
    """Says when the event that names an object has arrived, at the first reader and at the last one, as seconds of the
    monotonic clock, which all processes share."""

    readers: int
    first: float
    last: float


class Receiver:
    """Represents what receives events, in a process of its own. `beginning` is the line that it has printed when it
    began."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.beginning = process.stdout.readline().strip()
        self._process = process

    def finish(self) -> Mapping[int, Arrivals]:
        """Ends it, and returns what has arrived."""
        printed, _ = self._process.communicate("", timeout=CONNECT_SECONDS)
        return msgspec.json.decode(printed, type=dict[int, Arrivals])


@contextmanager
def receiving(*module: str) -> Iterator[Receiver]:
    """Runs a module with its arguments until it is finished. Raises RuntimeError if it ends at once."""
    with on_core(LOAD_CORE):
        process = subprocess.Popen(
            [sys.executable, "-m", *module], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
    try:
        receiver = Receiver(process)
        if not receiver.beginning:
            raise RuntimeError(f"{module} has ended")
        yield receiver
    finally:
        process.kill()
        process.communicate()


@contextmanager
def reading(url: str, path: str, count: int) -> Iterator[Receiver]:
    """Starts so many readers, and returns when all streams have begun."""
    with receiving("benchmarks.feed_readers", url, path, str(count)) as receiver:
        yield receiver


def main(url: str, path: str, count: int) -> None:
    arrivals: dict[int, Arrivals] = {}
    with selectors.DefaultSelector() as selector:
        for _ in range(count):
            selector.register(_open_stream(url, path), selectors.EVENT_READ, bytearray())
        print("ready", flush=True)
        selector.register(sys.stdin, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is sys.stdin:
                    sys.stdout.buffer.write(msgspec.json.encode(arrivals))
                    return
                _receive(key, arrivals)


def _open_stream(url: str, path: str) -> socket.socket:
    """Opens a stream, and reads its first event."""
    host, port = urlsplit(url).netloc.split(":")
    opened = socket.create_connection((host, int(port)), CONNECT_SECONDS)
    opened.sendall(request_bytes("GET", path))
    received = b""
    while not (b"checkpoint" in received and received.endswith(b"\n\n\r\n")):
        received += _read(opened)
    return opened


def _read(stream: socket.socket) -> bytes:
    received = stream.recv(RECEIVED_BYTES)
    if not received:
        raise RuntimeError("a stream has ended")
    return received


def _receive(key: selectors.SelectorKey, arrivals: dict[int, Arrivals]) -> None:
    """Notes each object that is named in whole events, once for each reader."""
    assert isinstance(key.fileobj, socket.socket)
    unread: bytearray = key.data
    unread += _read(key.fileobj)
    now = time.monotonic()
    end = unread.rfind(b"\n\n")
    for number in {int(found) for found in _NUMBER.findall(unread, 0, max(end, 0))}:
        known = arrivals.setdefault(number, Arrivals(0, now, now))
        known.readers += 1
        known.last = now
    del unread[: max(end, 0)]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
