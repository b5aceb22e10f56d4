"""The load: as fast as it goes over some connections, or at a constant rate whatever the server does.

Pure Python on raw sockets: at the rates of these servers it keeps its core less busy than they keep their own, and each
measurement says how busy. Answers are not looked into until the clock has stopped.
"""

import gc
import select
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field

from benchmarks.cores import LOAD_CORE, on_core
from benchmarks.mixed.asks import Answer, Ask
from benchmarks.mixed.wire import Wire

_GRACE_SECONDS = 300


@dataclass(slots=True)
class Driven:
    """`seconds`: from the first request to the last answer; `latencies` in seconds, in the order of the answers;
    `busy`: processor time of the generator, in seconds a second; `sampled`: one answer of
    every `sample_every`, none for 0."""

    seconds: float = 0.0
    busy: float = 0.0
    latencies: list[float] = field(default_factory=list)
    sampled: list[Answer] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.latencies) / self.seconds


@dataclass(frozen=True, slots=True)
class Schedule:
    """When each of `count` requests is due, in seconds after the first: evenly, whatever becomes of the others."""

    rate: float
    count: int

    def due(self, number: int) -> float:
        return number / self.rate

    def due_by(self, seconds: float) -> int:
        """How many are due by then."""
        return min(self.count, int(seconds * self.rate) + 1)


def closed_loop(url: str, asks: Iterator[Ask], connections: int, max_seconds: float, sample_every: int = 0) -> Driven:
    """On each connection the next request as soon as the last one is answered, until none is left or the time is over.

    Raises RuntimeError if one is not answered with 200 or 201.
    """
    with _wires(url, connections) as wires, _measured() as driven:
        return _closed_loop(wires, asks, max_seconds, sample_every, driven)


def _closed_loop(
    wires: Sequence[Wire], asks: Iterator[Ask], max_seconds: float, sample_every: int, driven: Driven
) -> Driven:
    waiting = select.epoll()
    asked: dict[int, tuple[Wire, Ask]] = {}
    clock, latencies = time.perf_counter, driven.latencies
    deadline = clock() + max_seconds

    def send(wire: Wire) -> None:
        wire.since = clock()
        ask = next(asks, None) if wire.since < deadline else None
        if ask is None:
            asked.pop(wire.fileno(), None)
        else:
            wire.send(ask.request)
            asked[wire.fileno()] = wire, ask

    for wire in wires:
        waiting.register(wire.fileno(), select.EPOLLIN)
        send(wire)
    while asked:
        for descriptor, _ in waiting.poll(_left(deadline)):
            wire, ask = asked[descriptor]
            body = wire.receive()
            if body is not None:
                latencies.append(clock() - wire.since)
                if sample_every and not len(latencies) % sample_every:
                    driven.sampled.append(Answer(ask, body))
                send(wire)
    waiting.close()
    return driven


def constant_rate(url: str, asks: Iterator[Ask], connections: int, schedule: Schedule, sample_every: int = 0) -> Driven:
    """Each request goes out when it is due, or as soon after as a connection is free; its latency counts from when it
    was due, so what a slow answer does to those behind it is not lost.

    Raises RuntimeError if one is not answered with 200 or 201.
    """
    with _wires(url, connections) as wires, _measured() as driven:
        return _constant_rate(wires, asks, schedule, sample_every, driven)


def _constant_rate(
    wires: Sequence[Wire], asks: Iterator[Ask], schedule: Schedule, sample_every: int, driven: Driven
) -> Driven:
    idle, asked = deque(wires), dict[Wire, Ask]()
    clock, latencies, sent = time.perf_counter, driven.latencies, 0
    started = clock()
    deadline = started + schedule.due(schedule.count)
    while len(latencies) < schedule.count:
        due = schedule.due_by(clock() - started)
        while sent < due and idle:
            wire, ask = idle.popleft(), next(asks)
            wire.since = started + schedule.due(sent)
            wire.send(ask.request)
            asked[wire] = ask
            sent += 1
        # select, not epoll: its time-out has microseconds, not milliseconds, and there are few sockets.
        left = _left(deadline)
        pause = min(left, max(0.0, started + schedule.due(sent) - clock())) if sent < schedule.count and idle else left
        for wire in select.select(list(asked), (), (), pause)[0]:
            body = wire.receive()
            if body is not None:
                latencies.append(clock() - wire.since)
                if sample_every and not len(latencies) % sample_every:
                    driven.sampled.append(Answer(asked[wire], body))
                del asked[wire]
                idle.append(wire)
    return driven


def _left(deadline: float) -> float:
    left = deadline + _GRACE_SECONDS - time.perf_counter()
    if left < 0:
        raise RuntimeError(f"requests were not answered within {_GRACE_SECONDS} seconds after the end")
    return left


@contextmanager
def _wires(url: str, connections: int) -> Iterator[list[Wire]]:
    with ExitStack() as stack:
        yield [stack.enter_context(closing(Wire(url))) for _ in range(connections)]


@contextmanager
def _measured() -> Iterator[Driven]:
    driven = Driven()
    with on_core(LOAD_CORE):
        gc.disable()  # else what is sampled would be walked again and again while answers wait
        try:
            started, used = time.perf_counter(), time.process_time()
            yield driven
            driven.seconds = time.perf_counter() - started
            driven.busy = (time.process_time() - used) / driven.seconds
        finally:
            gc.enable()
