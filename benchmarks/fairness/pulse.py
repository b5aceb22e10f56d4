"""A process that sends each worker of a service cheap requests, all the time, and reports the longest waits.

Of each answer it is known how long it took, and how much of that was not the doing of the service: the time in which
the thread of the event loop was runnable and had no core, and the same of this process. What is left is the *hold*: the
event loop was busy, or blocked. How much of it was busy says its processor time."""

import multiprocessing
import os
import select
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

from benchmarks.fairness.thread_time import NOTHING, ThreadClock

EVERY_SECONDS = 0.004
SILENT_SECONDS = 10.0
"""Whoever does not answer within so long after a request has ended is taken to be stuck."""


@dataclass(frozen=True, slots=True)
class Beat:
    """One answer, in seconds. `hold` is at most `wall`, and `cpu` about as much as the loop was busy in it."""

    kind: str
    wall: float
    hold: float
    cpu: float


@dataclass(slots=True)
class Beats:
    """The worst of each kind, by hold; and the longest wait of any, by wall. `is_stuck`: a worker did not answer any
    more. `lost`: connections that ended."""

    count: int = 0
    lost: int = 0
    is_stuck: bool = False
    worst: dict[str, Beat] = field(default_factory=dict)
    longest: float = 0.0

    def add(self, beat: Beat) -> None:
        self.count += 1
        self.longest = max(self.longest, beat.wall)
        if beat.kind not in self.worst or self.worst[beat.kind].hold < beat.hold:
            self.worst[beat.kind] = beat


@contextmanager
def pulse(address: tuple[str, int], requests: Mapping[str, bytes], worker_pids: Sequence[int]) -> Iterator["Pulse"]:
    """`requests` by kind: each is sent over a connection of its own. Raises RuntimeError if there is no connection."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_beat, args=(theirs, address, dict(requests), list(worker_pids)), daemon=True)
    process.start()
    theirs.close()
    try:
        begun = ours.recv()
        if isinstance(begun, str):
            raise RuntimeError(begun)
        yield Pulse(ours, begun)
    finally:
        ours.close()
        process.join(5)
        if process.is_alive():
            process.kill()


class Pulse:
    """`unreached`: to so many workers no connection was to be had."""

    def __init__(self, process: Connection, unreached: int) -> None:
        self._process = process
        self.unreached = unreached

    def begin(self) -> None:
        """What was counted before is discarded."""
        self._process.send("begin")
        self._process.recv()

    def end(self) -> Beats:
        """What came since, with the answers that are still awaited, if they come within SILENT_SECONDS."""
        self._process.send("end")
        beats: Beats = self._process.recv()
        return beats


class _Wire:
    """A connection to one worker, over which the same request is repeated."""

    def __init__(self, connection: socket.socket, clock: ThreadClock, kind: str, request: bytes) -> None:
        self.connection = connection
        self._clock = clock
        self._kind = kind
        self._request = request
        self._received = b""
        self.sent_at: float | None = None
        self._before = NOTHING

    def send(self) -> None:
        self._received = b""
        self._before = self._clock.read()
        self.sent_at = time.perf_counter()
        self.connection.sendall(self._request)

    def receive(self, late: float) -> Beat | None:
        """None if not all of the answer has come. `late`: for so long it may have been there. Raises
        ConnectionError."""
        chunk = self.connection.recv(65_536)
        if not chunk:
            raise ConnectionResetError
        self._received += chunk
        head, end, body = self._received.partition(b"\r\n\r\n")
        length = head.lower().partition(b"\r\ncontent-length: ")[2].split(b"\r\n")[0]
        if not end or len(body) < int(length or 0):
            return None
        beat = self.beat(self._kind, late)
        self.sent_at = None
        return beat

    def waited(self) -> float:
        return 0.0 if self.sent_at is None else time.perf_counter() - self.sent_at

    def beat(self, kind: str, late: float) -> Beat:
        """As if the answer had come now."""
        wall = self.waited()
        server = self._clock.read() - self._before
        hold = max(0.0, wall - server.delay - late)
        return Beat(kind, wall, hold, min(server.cpu, hold))


def _beat(orders: Connection, address: tuple[str, int], requests: dict[str, bytes], worker_pids: Sequence[int]) -> None:
    from benchmarks.fairness.workers import connect_to_each

    own = ThreadClock(os.getpid())
    try:
        connections = connect_to_each(address, worker_pids, each=len(requests))
    except OSError as error:
        orders.send(f"no pulse: {error}")
        return
    places: dict[int, Iterator[tuple[str, bytes]]] = {pid: iter(requests.items()) for pid in worker_pids}
    wires = [_Wire(connection, ThreadClock(pid), *next(places[pid])) for pid, connection in connections]
    orders.send(len(set(worker_pids) - {pid for pid, _ in connections}))
    with suppress(EOFError, OSError):  # whoever wanted to know is gone
        _Beating(orders, wires, own).run()


class _Beating:
    def __init__(self, orders: Connection, wires: list[_Wire], own: ThreadClock) -> None:
        self._orders = orders
        self._wires = wires
        self._own = own
        self._beats = Beats()
        self._ending_at: float | None = None
        self._awaited: list[_Wire] = []
        """Those whose answers belong to what is ending. The others go on, or the service would close them."""

    def run(self) -> None:
        due = time.perf_counter()
        while True:
            now = time.perf_counter()
            if now >= due:
                due = now + EVERY_SECONDS
                self._send()
            self._receive(max(0.0, min(due - now, EVERY_SECONDS)))
            if self._orders.poll():
                self._obey(self._orders.recv())
            if self._ending_at is not None:
                self._tell_if_over()

    def _send(self) -> None:
        for wire in [wire for wire in self._wires if wire.sent_at is None]:
            try:
                wire.send()
            except OSError:
                self._lose(wire)

    def _receive(self, pause: float) -> None:
        waiting = {wire.connection: wire for wire in self._wires if wire.sent_at is not None}
        if not waiting:
            time.sleep(pause or EVERY_SECONDS)
            return
        before = self._own.read()
        readable = select.select(list(waiting), (), (), pause)[0]
        # In select this process sleeps; it waits for a core when there is something to read, or the pause is over.
        late = (self._own.read() - before).delay
        for connection in readable:
            try:
                beat = waiting[connection].receive(late)
            except OSError:
                self._lose(waiting[connection])
            else:
                if beat is not None:
                    self._beats.add(beat)

    def _lose(self, wire: _Wire) -> None:
        self._beats.lost += 1
        wire.connection.close()
        wire.sent_at = None
        self._wires.remove(wire)

    def _obey(self, order: str) -> None:
        if order == "begin":
            self._beats = Beats(lost=0 if self._wires else 1)
            self._orders.send(None)
        else:
            self._ending_at = time.perf_counter()
            self._awaited = [wire for wire in self._wires if wire.sent_at is not None]

    def _tell_if_over(self) -> None:
        assert self._ending_at is not None
        waiting = [wire for wire in self._awaited if wire.sent_at is not None and wire.sent_at < self._ending_at]
        is_late = time.perf_counter() - self._ending_at > SILENT_SECONDS
        if waiting and not is_late:
            return
        for wire in waiting:
            self._beats.is_stuck = True
            self._beats.add(wire.beat("stuck", late=0.0))
        self._ending_at = None
        self._orders.send(self._beats)
