"""The graph cache against no cache: the same checks, by two services on one database alternately.

What is compared is processor time of the thread that runs the event loop of the one worker each service has. On a busy
machine, anything else would compare two services that take turns with whatever runs beside them."""

import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from benchmarks.cores import ALL_CORES
from benchmarks.fairness.asking import NO_ANSWER, Answer, Caller, statuses
from benchmarks.fairness.population import shaped_groups
from benchmarks.fairness.shapes import Groups
from benchmarks.fairness.stage import Stage
from benchmarks.fairness.thread_time import ThreadClock
from benchmarks.server import Server, serving
from benchmarks.table import markdown_table

ROUNDS = 3
KEY_BATCH, TOKEN_BATCH = 1_000, 100
MORE_MEASUREMENTS = 2
TARGET_RATIO = 2.0
NO_DIFFERENCE_MS = 3.0
"""What is slower by less is not slower: so much a single answer differs from the next."""
HEADER = ("checks", "store", "first, CPU ms", "without", "later, CPU ms", "without", "ratio", "status", "verdict")

Ask = Callable[[Stage], list[Answer]]


@dataclass(slots=True)
class Side:
    """A service; `milliseconds` of each round, the first of which finds nothing in memory."""

    stage: Stage
    server: Server
    clock: ThreadClock
    milliseconds: list[float] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)

    def ask(self, ask: Ask) -> None:
        before = self.clock.read()
        self.answers += ask(self.stage)
        self.milliseconds.append((self.clock.read() - before).cpu * 1_000)

    @property
    def is_stuck(self) -> bool:
        return any(answer.status == NO_ANSWER for answer in self.answers)


@dataclass(frozen=True, slots=True)
class Compared:
    name: str
    store: str
    first: tuple[float, float]
    later: tuple[float, float]
    """With the cache, and without, in milliseconds of processor time."""
    status: str
    is_answered: bool

    @property
    def ratio(self) -> float:
        pairs = (self.first, self.later)
        return max(1.0 if own - other < NO_DIFFERENCE_MS else own / other for own, other in pairs)

    @property
    def verdict(self) -> str:
        if not self.is_answered:
            return "NOT ANSWERED WITH 200"
        return "ok" if self.ratio <= TARGET_RATIO else "SLOWER"

    def cells(self) -> tuple[str, ...]:
        times = (f"{one:,.1f}" for one in (*self.first, *self.later))
        return self.name, self.store, *times, f"{self.ratio:.1f}", self.status, self.verdict


def compare_with_no_graph(store: str, database_url: str, deadline_seconds: float) -> Iterator[Compared]:
    """A graph with a row above the target is measured twice more; the medians of its three measurements count. The
    first checks are made only once each time, and take twice as long now and then."""
    for groups in shaped_groups():
        rows = _compare_shape(groups, store, database_url, deadline_seconds)
        if any(row.is_answered and row.ratio > TARGET_RATIO for row in rows):
            more = [_compare_shape(groups, store, database_url, deadline_seconds) for _ in range(MORE_MEASUREMENTS)]
            measured = [row for one in (rows, *more) for row in one]
            rows = [_median_of([row for row in measured if row.name == name]) for name in [row.name for row in rows]]
        yield from rows


def _compare_shape(groups: Groups, store: str, database_url: str, deadline_seconds: float) -> list[Compared]:
    """Services are new for each graph: what one of them does to a service must not be charged to the next."""
    rows: list[Compared] = []
    with ExitStack() as stack:
        sides = [_side(stack, database_url, deadline_seconds, flags) for flags in ((), ("--cache-bytes", "0"))]
        for name, ask in _asks(groups):
            rows.append(_compared(f"{groups.shape} of {groups.size:,}: {name}", store, sides, ask))
            if any(side.is_stuck for side in sides):
                break
        for side in sides:
            if side.is_stuck:
                side.server.kill()
    return rows


def _median_of(rows: Sequence[Compared]) -> Compared:
    first_own, first_other = (statistics.median(times) for times in zip(*(row.first for row in rows), strict=True))
    later_own, later_other = (statistics.median(times) for times in zip(*(row.later for row in rows), strict=True))
    is_answered = all(row.is_answered for row in rows)
    status = next((row.status for row in rows if not row.is_answered), rows[0].status)
    return replace(
        rows[0],
        first=(first_own, first_other),
        later=(later_own, later_other),
        status=status,
        is_answered=is_answered,
    )


def comparison_table(rows: Sequence[Compared]) -> str:
    return markdown_table("Checks with the graph cache and without", HEADER, [row.cells() for row in rows])


def _side(stack: ExitStack, database_url: str, deadline_seconds: float, flags: Sequence[str]) -> Side:
    server = stack.enter_context(serving(database_url, 1, ALL_CORES, flags))
    url = urlsplit(server.url)
    caller = Caller((url.hostname or "", url.port or 0), deadline_seconds)
    stage = Stage(caller, database_url, [server.pid])
    stage.check(Groups("none", 0).claims(1))  # statements and plans are made
    return Side(stage, server, ThreadClock(server.pid))


def _asks(groups: Groups) -> Iterator[tuple[str, Ask]]:
    claims = groups.claims(KEY_BATCH)
    yield "one", lambda stage: stage.check(claims[:1])
    yield "one, by token", lambda stage: stage.check_as(groups.user, claims[:1])
    yield f"{TOKEN_BATCH:,}, by token", lambda stage: stage.check_as(groups.user, claims[:TOKEN_BATCH])
    yield f"{KEY_BATCH:,}", lambda stage: stage.check(claims)


def _compared(name: str, store: str, sides: Sequence[Side], ask: Ask) -> Compared:
    for side in sides:
        side.milliseconds, side.answers = [], []
    for number in range(1 + ROUNDS):
        for side in sides if number % 2 else reversed(sides):
            if not side.is_stuck:
                side.ask(ask)
    own, other = ([*side.milliseconds, *side.milliseconds[-1:]] for side in sides)
    answers = [answer for side in sides for answer in side.answers]
    row = Compared(
        name,
        store,
        (own[0], other[0]),
        (statistics.median(own[1:]), statistics.median(other[1:])),
        statuses(answers),
        all(answer.status == "200" for answer in answers),
    )
    print(" | ".join(row.cells()), file=sys.stderr, flush=True)
    return row
