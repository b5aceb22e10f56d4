"""What a server answers that was not sent to it before, beside what was: pairs that are checked once, and few that are
checked again and again, on a server that has just started, one that goes on, and one that has filled its cache."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.datasets.dataset import AnsweredQuestion, Dataset
from benchmarks.keep_alive import request_bytes
from benchmarks.mixed.asks import Ask
from benchmarks.mixed.measure import CONNECTIONS, Effort, Figures, Load
from benchmarks.mixed.mixes import CHECK, LIST, PLACES, batch_ask, check_ask, lists_of_users
from benchmarks.mixed.systems import Startable, System
from benchmarks.mixed.wire import answered

DISTINCT, REPEATED = "distinct checks", "repeated checks"
BATCHES, LISTS = "batches of 1,000 distinct checks", "lists, each user once"
KINDS = (DISTINCT, REPEATED, BATCHES, LISTS)
COLD, WARMING, FILLED = "just started", "warming", "filled"

SEED, REPEATED_SEED = 3, 4
REPEATED_PAIRS = 3_000
PAIRS_A_SECOND = 30_000
"""Distinct pairs for each second of a measurement, to last for those that follow each other on one server."""
MAX_DRAWS = 4
"""Limits the draws for each distinct pair: popular ones come again and again."""
WARMING_TIMES = 3
"""Warming is measured for so many times as long as just started, right after it."""
BATCH_SIZE, BATCHES_SENT = 1_000, 10
USERS = 10_000
ONCE_TIMES = 10
"""Batches and lists, whose number is fixed, are measured for so many times as long as checks at most."""

_STATEMENTS = re.compile(r"^magistrate_statements_total(?:\{[^}]*\})? (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FirstRequests:
    """What was measured of one of KINDS on a server in a `state`; `figures` is None if the server cannot be in it.
    `statements`: of the server for each request, if it counts them."""

    system: System
    kind: str
    state: str
    figures: Figures | None
    statements: float | None = None


@dataclass(frozen=True, slots=True)
class _Pairs:
    """`distinct` are checked once on each server, `repeated` again and again."""

    distinct: Sequence[AnsweredQuestion]
    repeated: Sequence[AnsweredQuestion]

    def asks(self, kind: str, system: System) -> Iterator[Ask]:
        dialect = system.dialect
        if kind == DISTINCT:
            return (check_ask(dialect, pair) for pair in self.distinct)
        if kind == REPEATED:
            return itertools.cycle([check_ask(dialect, pair) for pair in self.repeated])
        if kind == LISTS:
            return lists_of_users(dialect, PLACES[system.dataset.name], self.distinct, USERS)
        last = self.distinct[::-1]  # those that are not checked one by one on the same server
        count = max(1, min(BATCHES_SENT, len(last) // BATCH_SIZE))
        return (batch_ask(dialect, last[number * BATCH_SIZE : (number + 1) * BATCH_SIZE]) for number in range(count))


def measure_first_requests(startable: Startable, dataset: Dataset, effort: Effort) -> list[FirstRequests]:
    """Measures each of KINDS on a server that has just started, then all of them on one that has filled its cache.

    Raises RuntimeError if a request is not answered with 200.
    """
    pairs = _Pairs(
        distinct_pairs(dataset, max(2 * effort.questions, int(effort.seconds * PAIRS_A_SECOND)), SEED),
        distinct_pairs(dataset, min(REPEATED_PAIRS, effort.questions), REPEATED_SEED),
    )
    measured = list[FirstRequests]()
    for kind in KINDS:
        with startable.start() as system:
            if kind != BATCHES or system.dialect.max_checks >= BATCH_SIZE:
                measured += _measure_states(system, kind, pairs, effort)
    if not startable.can_preload:
        return [*measured, *(FirstRequests(system, kind, FILLED, None) for kind in (DISTINCT, REPEATED))]
    with startable.start(is_preloaded=True) as system:
        for kind in KINDS:
            measured.append(_measure(_load(system, kind, pairs, effort), kind, FILLED))
    return measured


def distinct_pairs(dataset: Dataset, count: int, seed: int) -> list[AnsweredQuestion]:
    """Returns checks of which no two are the same, `count` unless MAX_DRAWS times as many draws have fewer."""
    pairs = dict[AnsweredQuestion, None]()
    for pair in itertools.islice(dataset.endless_questions(seed), count * MAX_DRAWS):
        pairs[pair] = None
        if len(pairs) == count:
            break
    return list(pairs)


def _measure_states(system: System, kind: str, pairs: _Pairs, effort: Effort) -> Iterator[FirstRequests]:
    load = _load(system, kind, pairs, effort)
    yield _measure(load, kind, COLD)
    if kind in (DISTINCT, REPEATED):
        longer = Load(system, load.asks, load.seconds * WARMING_TIMES, load.sample_every)
        yield _measure(longer, kind, WARMING)


def _load(system: System, kind: str, pairs: _Pairs, effort: Effort) -> Load:
    is_check = kind in (DISTINCT, REPEATED)
    seconds = effort.seconds if is_check else effort.seconds * ONCE_TIMES
    sample_every = effort.sampling(CHECK if is_check else LIST)
    return Load(system, pairs.asks(kind, system), seconds, sample_every, 1 if kind == BATCHES else CONNECTIONS)


def _measure(load: Load, kind: str, state: str) -> FirstRequests:
    before = _count_statements(load.system)
    figures = load.closed()
    after = _count_statements(load.system)
    statements = None if before is None or after is None else (after - before) / figures.count
    return FirstRequests(load.system, kind, state, figures, statements)


def _count_statements(system: System) -> float | None:
    if system.own is None:
        return None
    return float(_STATEMENTS.findall(answered(system.url, request_bytes("GET", "/metrics")).decode())[0])
