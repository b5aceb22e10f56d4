"""One system after another, one mix after another: as fast as it goes, then at half that rate."""

import itertools
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from benchmarks.cores import machine_seconds
from benchmarks.mixed.asks import Ask, Verdict, judged
from benchmarks.mixed.generator import Driven, Schedule, closed_loop, constant_rate
from benchmarks.mixed.latency import Latency, latency_of
from benchmarks.mixed.mixes import CHECK, WRITE, WRITE_CHECKED, mixes_of
from benchmarks.mixed.systems import System

CONNECTIONS = 16
OPEN_CONNECTIONS = 64
"""At a constant rate: enough for no request to wait for a connection unless the server falls far behind."""
ROUNDS = 5
"""Of the check and the constant answer, in turn."""
LOAD_SHARE = 0.5
"""Of the requests a second that were possible, sent at the constant rate."""
WARM_ROUNDS = 2
MAX_SECONDS = 600
"""For what is sent only once."""


@dataclass(frozen=True, slots=True)
class Effort:
    """`seconds`: for each measurement. `sample_every`: one answer of so many is compared with what is known, where the
    answers are single checks; of batches and lists there are fewer, and all are compared."""

    seconds: float
    sample_every: int
    questions: int

    def sampling(self, mix: str) -> int:
        return self.sample_every if mix in (CHECK, WRITE, WRITE_CHECKED) else 1


@dataclass(frozen=True, slots=True)
class Figures:
    """`server_busy`, `load_busy` and `other_busy`: processor time in seconds a second, of the server, of the load, and
    of all other programs on the machine, databases included. If that of the server is not known it is None, and counts
    as of others. `count`: of the answers."""

    rate: float
    latency: Latency
    server_busy: float | None
    load_busy: float
    other_busy: float
    verdict: Verdict
    count: int

    @property
    def server_microseconds(self) -> float | None:
        """Returns the processor time of the server for each request."""
        return None if self.server_busy is None else self.server_busy / self.rate * 1_000_000


@dataclass(frozen=True, slots=True)
class Measured:
    """A mix on a system."""

    system: System
    mix: str
    closed: Figures
    paced: Figures


@dataclass(frozen=True, slots=True)
class Tail:
    """A round at the same constant rate, first of constant answers, then of checks."""

    constant: Latency
    check: Latency

    @property
    def ratio(self) -> float:
        return self.check.p99 / self.constant.p99


def tail_ratio(tails: Sequence[Tail]) -> float:
    """The p99 of checks in that of constant answers, the median over the rounds: what else the machine does makes both
    worse, and which of them it meets is chance."""
    return statistics.median(tail.ratio for tail in tails)


@dataclass(frozen=True, slots=True)
class Case:
    """A system with everything measured on it. `share`: the checks a second of the constant answers a second, the
    median over the rounds. `tails`: at half of what the slower of the two can do."""

    system: System
    constant: Figures
    share: float
    mixes: list[Measured]
    tails: list[Tail]

    def of(self, mix: str) -> Measured:
        return next(measured for measured in self.mixes if measured.mix == mix)


def measure_case(system: System, effort: Effort) -> Case:
    """Every check is made before the first figure is taken: all of them are of a warm server.

    Raises RuntimeError if a request is not answered with 200.
    """
    mixes = mixes_of(system.dataset, system.dialect, effort.questions)
    once = itertools.chain(mixes.first, *[mixes.once] * WARM_ROUNDS)
    closed_loop(system.url, once, CONNECTIONS, MAX_SECONDS)
    loads = {name: Load(system, asks, effort.seconds, effort.sampling(name)) for name, asks in mixes.endless.items()}
    constants = Load(system, itertools.repeat(Ask(system.dialect.constant)), effort.seconds, 0)
    rounds = [_measure_round(constants, loads[CHECK]) for _ in range(ROUNDS)]
    share = statistics.median(one.check.rate / one.constant.rate for one in rounds)
    constant, check = _median([one.constant for one in rounds]), _median([one.check for one in rounds])
    paced = _median([one.paced_check for one in rounds], lambda figures: figures.latency.p99)
    tails = [one.tail for one in rounds]
    measured = [
        Measured(system, CHECK, check, paced)
        if name == CHECK
        else Measured(system, name, closed := load.closed(), load.paced(closed.rate))
        for name, load in loads.items()
    ]
    return Case(system, constant, share, measured, tails)


def _measure_round(constants: "Load", checks: "Load") -> "_Round":
    """Both as fast as they go, then both at half the rate of the slower one in this round, which is the constant answer
    where checks take the fast path: on a busy machine it is another rate in each round."""
    constant, check = constants.closed(), checks.closed()
    common, half = min(constant.rate, check.rate), checks.paced(check.rate)
    return _Round(constant, check, half, Tail(constants.paced(common).latency, checks.paced(common).latency))


def _median(rounds: Sequence[Figures], by: Callable[[Figures], float] = lambda figures: figures.rate) -> Figures:
    """The round with the median rate, or of what `by` returns; every verdict counts."""
    middle = sorted(rounds, key=by)[len(rounds) // 2]
    compared, wrong = (sum(one.verdict[place] for one in rounds) for place in (0, 1))
    return replace(middle, verdict=Verdict(compared, wrong))


@dataclass(frozen=True, slots=True)
class _Round:
    constant: Figures
    check: Figures
    paced_check: Figures
    tail: Tail


@dataclass(frozen=True, slots=True)
class Load:
    """Requests of one kind to a system; each measurement goes on where the last one stopped."""

    system: System
    asks: Iterator[Ask]
    seconds: float
    sample_every: int
    connections: int = CONNECTIONS

    def closed(self) -> Figures:
        used = self._used()
        driven = closed_loop(self.system.url, self.asks, self.connections, self.seconds, self.sample_every)
        return self._figures(driven, used)

    def paced(self, possible: float) -> Figures:
        rate = possible * LOAD_SHARE
        used = self._used()
        schedule = Schedule(rate, max(1, int(rate * self.seconds)))
        driven = constant_rate(self.system.url, self.asks, OPEN_CONNECTIONS, schedule, self.sample_every)
        return self._figures(driven, used)

    def _used(self) -> tuple[float | None, float]:
        """Processor time so far, of the server and of the whole machine."""
        return self.system.cpu_seconds() if self.system.cpu_seconds else None, machine_seconds()

    def _figures(self, driven: Driven, before: tuple[float | None, float]) -> Figures:
        (used, machine), (used_before, machine_before) = self._used(), before
        busy = None if used is None or used_before is None else (used - used_before) / driven.seconds
        others = max(0.0, (machine - machine_before) / driven.seconds - (busy or 0.0) - driven.busy)
        verdict, count = judged(driven.sampled), len(driven.latencies)
        return Figures(driven.rate, latency_of(driven.latencies), busy, driven.busy, others, verdict, count)
