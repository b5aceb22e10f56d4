"""Clients that are slow, silent or many."""

import socket
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial

from benchmarks.fairness.asking import NO_ANSWER, RESET, Answer
from benchmarks.fairness.stage import Act, Attack, Stage
from benchmarks.fairness.workers import owners_of
from benchmarks.keep_alive import request_bytes

SLOW_CLIENTS = 100
SECONDS = 3.0
BURST = 40
PROBE = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


def slow(stage: Stage) -> Iterator[tuple[str, Act]]:
    whole = request_bytes("POST", "/v2/objects", b'{"objectType":"d"' + b" " * 10_000 + b"}")
    head_end = whole.index(b"\r\n\r\n") + 4
    yield f"{SLOW_CLIENTS} clients that send a head byte by byte", partial(_dribble, stage, whole[:head_end])
    yield f"{SLOW_CLIENTS} clients that send a body byte by byte", partial(_dribble, stage, whole, head_end)
    yield "20 clients that do not read 1,000 large objects", partial(_do_not_read, stage)


def _dribble(stage: Stage, request: bytes, at_once: int = 10) -> list[Answer]:
    started = time.perf_counter()
    refused = 0
    with ExitStack() as stack:
        connections = [stack.enter_context(stage.caller.connect()) for _ in range(SLOW_CLIENTS)]
        for connection in connections:
            connection.sendall(request[:at_once])
        for place in range(at_once, len(request) - 1):
            if time.perf_counter() - started > SECONDS:
                break
            for connection in connections:
                try:
                    connection.sendall(request[place : place + 1])
                except OSError:
                    refused += 1
            time.sleep(0.005)
    return [Answer("hung up" if refused else "open", time.perf_counter() - started)]


def _do_not_read(stage: Stage) -> list[Answer]:
    started = time.perf_counter()
    with ExitStack() as stack:
        for _ in range(20):
            connection = stack.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            connection.settimeout(stage.caller.deadline_seconds)
            connection.connect(stage.caller.address)
            connection.sendall(request_bytes("GET", "/v2/objects?objectType=big&limit=1000"))
        time.sleep(SECONDS)
    return [Answer("open", time.perf_counter() - started)]


def bursts(stage: Stage) -> Iterator[tuple[str, Act]]:
    def burst() -> list[Answer]:
        """How many connections each worker got: the status says it."""
        started = time.perf_counter()
        with ExitStack() as stack:
            connections = [stack.enter_context(stage.caller.connect()) for _ in range(BURST)]
            for connection in connections:
                connection.sendall(PROBE)
            for connection in connections:
                with suppress(OSError):
                    connection.recv(65_536)
            owners = Counter(owners_of(connections, stage.worker_pids))
        shares = "/".join(str(owners[pid]) for pid in stage.worker_pids)
        return [Answer(f"{shares} of {BURST}", time.perf_counter() - started)]

    for number in (1, 2):
        yield f"a burst of {BURST} connections, #{number}", burst


def hang_up(stage: Stage) -> Iterator[tuple[str, Act]]:
    """A client that requests something large and disconnects must not cost what it would have cost."""

    def ask_and_go() -> list[Answer]:
        started = time.perf_counter()
        for _ in range(50):
            with stage.caller.connect() as connection, suppress(OSError):
                connection.sendall(request_bytes("GET", "/v2/objects?objectType=big&limit=1000"))
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        return [Answer(RESET, time.perf_counter() - started)]

    yield "50 large lists that nobody waits for", ask_and_go


def in_pieces(stage: Stage) -> Iterator[tuple[str, Act]]:
    """A body as large as may be, in very many small pieces: each must not cost as much as all before it."""
    size, piece = 8_000_000, 1_000
    head = request_bytes("POST", "/v2/check", b"x").partition(b"Content-Length: ")[0]

    def send(pieces: Iterator[bytes], description: bytes) -> list[Answer]:
        started = time.perf_counter()
        with stage.caller.connect() as connection, suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(head + description)
            for one in pieces:
                if time.perf_counter() - started > stage.caller.deadline_seconds:
                    return [Answer(NO_ANSWER, time.perf_counter() - started)]
                connection.sendall(one)
            status = connection.recv(65_536)[9:12].decode()
            return [Answer(status, time.perf_counter() - started)]
        return [Answer(RESET, time.perf_counter() - started)]

    pieces = (b"[" + b" " * (piece - 1) if number == 0 else b" " * piece for number in range(size // piece))
    yield "8 MB in pieces of 1 KB", partial(send, pieces, b"Content-Length: %d\r\n\r\n" % size)
    chunks = (b"1\r\n \r\n" * 10_000 for _ in range(100))
    yield "1,000,000 chunks of one byte", partial(send, chunks, b"Transfer-Encoding: chunked\r\n\r\n")


def anonymous(stage: Stage) -> Iterator[tuple[str, Act]]:
    """What can be requested without a key."""

    def flood(path: str) -> list[Answer]:
        caller = stage.caller.holding("")
        with ThreadPoolExecutor(BURST) as threads:
            return [*threads.map(lambda _: caller.ask("GET", path), range(400))]

    for path in ("/readyz", "/openapi.json", "/docs"):
        yield f"400 times {path} without a key, {BURST} at a time", partial(flood, path)


CLIENTS: dict[str, Attack] = {
    "slow-clients": slow,
    "bursts": bursts,
    "hang-ups": hang_up,
    "pieces": in_pieces,
    "anonymous": anonymous,
}
