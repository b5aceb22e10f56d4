"""Renders the figures as Markdown tables, with the targets beside them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from benchmarks.mixed.comparison import compare, comparison_table, first_requests_table
from benchmarks.mixed.first_requests import FirstRequests
from benchmarks.mixed.latency import latency_of
from benchmarks.mixed.measure import LOAD_SHARE, Case, Figures, Measured, tail_ratio
from benchmarks.mixed.memory import Memory
from benchmarks.mixed.mixes import CHECK
from benchmarks.mixed.probe import KINDS, Staleness
from benchmarks.mixed.workers import WorkersCase, speedup, speedup_without_limit
from benchmarks.table import markdown_table

TARGET_OF_CONSTANT, AIM_OF_CONSTANT = 0.45, 0.65
"""For a warm check of the drive data set with 1,000,000 warrants, on SQLite."""
TARGET_SPEEDUP = 1.7
"""Of two workers over one."""
TARGET_GROWTH = 1.3
"""How much dearer a warm check may be with the largest size than with the smallest."""
TARGET_BYTES = 400
"""Of memory for each warrant that is kept."""
TARGET_TAIL = 5.0
"""p99 in p50, at half the load."""
TARGET_TAIL_OF_CONSTANT = 3.0
"""p99 of checks at half their rate in that of constant answers at the same rate."""
TARGET_VISIBLE_MS = 100.0
"""p99 of the time until another node answers freshly without a token, on PostgreSQL."""

CHECKED_DATASET, CHECKED_STORE = "drive", "SQLite"
FULL = 0.95
"""A core that is busy so much of the time can do no more."""

MOST = 0.65
"""Of the work of two workers: more of it for one of them is no even share."""


@dataclass(slots=True)
class Results:
    """What has been measured so far; by store where there is one of each for a store."""

    cases: list[Case] = field(default_factory=list)
    first: list[FirstRequests] = field(default_factory=list)
    workers: dict[str, list[WorkersCase]] = field(default_factory=dict)
    memory: dict[str, Memory] = field(default_factory=dict)
    staleness: dict[str, Staleness] = field(default_factory=dict)

    def wrong(self) -> int:
        """Wrong answers and stale ones."""
        mixes = (measured for case in self.cases for measured in case.mixes)
        wrong = sum(figures.verdict.wrong for measured in mixes for figures in (measured.closed, measured.paced))
        wrong += sum(one.figures.verdict.wrong for one in self.first if one.figures is not None)
        return wrong + sum(found.violations.total() for found in self.staleness.values())

    def largest(self, store: str, dataset: str) -> Case | None:
        cases = [case for case in self.cases if (case.system.name, case.system.dataset.name) == (store, dataset)]
        return max(cases, key=lambda case: case.system.dataset.size, default=None)


def markdown(results: Results) -> str:
    """All tables; those with nothing in them are left out."""
    tables = [
        first_requests_table(results.first),
        comparison_table(compare(results.cases, results.first)),
        _closed_table(results.cases),
        _paced_table(results.cases),
        _tails_table(results.cases),
        _workers_table(results.workers),
        _staleness_table(results.staleness),
        _targets_table(results),
    ]
    return "\n".join(table for table in tables if table)


def _table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return markdown_table(title, header, rows) if rows else ""


def _closed_table(cases: Sequence[Case]) -> str:
    header = (
        "",
        "requests/s",
        "of the constant answer",
        "p50 ms",
        "p95 ms",
        "p99 ms",
        "server",
        "load",
        "others",
        "wrong",
    )
    rows = [row for case in cases for row in _closed_rows(case)]
    return _table("Mixed load, as fast as it goes", header, rows)


def _closed_rows(case: Case) -> Iterator[tuple[str, ...]]:
    yield _closed_row(f"{case.system.case}: constant answer", case.constant, "100%")
    for measured in case.mixes:
        share = case.share if measured.mix == CHECK else measured.closed.rate / case.constant.rate
        yield _closed_row(f"{measured.system.case}: {measured.mix}", measured.closed, f"{share:.0%}")


def _closed_row(name: str, figures: Figures, share: str) -> tuple[str, ...]:
    latency = figures.latency
    times = (f"{value:.2f}" for value in (latency.p50, latency.p95, latency.p99))
    return (name, f"{figures.rate:,.0f}", share, *times, *_busy(figures), _wrong(figures))


def _paced_table(cases: Sequence[Case]) -> str:
    header = ("", "requests/s", "p50 ms", "p99 ms", "p99 / p50", "target", "server", "load", "others", "wrong")
    rows = [_paced_row(measured) for case in cases for measured in case.mixes]
    return _table("Mixed load, half as many requests at a constant rate", header, rows)


def _paced_row(measured: Measured) -> tuple[str, ...]:
    figures, latency = measured.paced, measured.paced.latency
    tail = f"{latency.p99 / latency.p50:.1f}"
    times = (f"{latency.p50:.2f}", f"{latency.p99:.2f}", tail, f"≤ {TARGET_TAIL:.0f}")
    name = f"{measured.system.case}: {measured.mix}"
    return (name, f"{figures.rate:,.0f}", *times, *_busy(figures), _wrong(figures))


def _tails_table(cases: Sequence[Case]) -> str:
    header = ("", "requests/s", "constant answer, p99 ms", "check, p99 ms", "check in constant answer", "target")
    rows = [_tails_row(case) for case in cases]
    return _table("Checks and constant answers alternating, at half the rate of the slower", header, rows)


def _tails_row(case: Case) -> tuple[str, ...]:
    constants = ", ".join(f"{tail.constant.p99:.2f}" for tail in case.tails)
    checks = ", ".join(f"{tail.check.p99:.2f}" for tail in case.tails)
    rate = f"{min(case.constant.rate, case.of(CHECK).closed.rate) * LOAD_SHARE:,.0f}"
    return (
        case.system.case,
        rate,
        constants,
        checks,
        f"{tail_ratio(case.tails):.1f}",
        f"≤ {TARGET_TAIL_OF_CONSTANT:.0f}",
    )


def _busy(figures: Figures) -> tuple[str, ...]:
    server = "" if figures.server_busy is None else f"{figures.server_busy:.0%}"
    return server, f"{figures.load_busy:.0%}", f"{figures.other_busy:.0%}"


def _wrong(figures: Figures) -> str:
    return f"{figures.verdict.wrong} of {figures.verdict.compared:,}"


def _workers_table(workers: dict[str, list[WorkersCase]]) -> str:
    header = ("", "checks/s", "server", "busiest of its processes", "load", "others")
    rows = [
        (
            f"{store}, workers: {case.workers}",
            f"{one.rate:,.0f}",
            *(f"{busy:.0%}" for busy in (one.server_busy, one.busiest, one.load_busy, one.other_busy)),
        )
        for store, cases in workers.items()
        for case in cases
        for one in [case.median]
    ]
    return _table("Workers, sharing all cores with the load", header, rows)


def _staleness_table(staleness: dict[str, Staleness]) -> str:
    header = ("", "pairs", *(f"stale: {kind}" for kind in KINDS), "visible p50 ms", "visible p99 ms", "checks/s beside")
    rows = []
    for store, found in staleness.items():
        visible = latency_of(found.delays) if found.delays else None
        times = (f"{visible.p50:.1f}", f"{visible.p99:.1f}") if visible else ("", "")
        counts = (str(found.violations[kind]) for kind in KINDS)
        rows.append((store, f"{found.pairs:,}", *counts, *times, f"{found.load / found.seconds:,.0f}"))
    return _table("Stale answers", header, rows)


def _targets_table(results: Results) -> str:
    rows = [
        *_constant_rows(results),
        *_growth_rows(results),
        *_tail_rows(results),
        *_workers_rows(results),
        *_memory_rows(results),
        *_staleness_rows(results),
    ]
    return _table("Targets and results", ("what", "target", "measured", ""), rows)


def _constant_rows(results: Results) -> Iterator[tuple[str, ...]]:
    case = results.largest(CHECKED_STORE, CHECKED_DATASET)
    if case:
        target = f"≥ {TARGET_OF_CONSTANT:.0%}, aim {AIM_OF_CONSTANT:.0%}"
        name = f"warm check, {case.system.case}, of the constant answer"
        yield name, target, f"{case.share:.0%}", _kept(case.share >= TARGET_OF_CONSTANT)


def _growth_rows(results: Results) -> Iterator[tuple[str, ...]]:
    """Each size is compared by its share of the constant answer, measured in turn with it: what else the machine does
    falls out."""
    for case in results.cases:
        same = [
            other
            for other in results.cases
            if (other.system.name, other.system.dataset.name) == (case.system.name, case.system.dataset.name)
        ]
        smallest = min(same, key=lambda other: other.system.dataset.size)
        if smallest is not case:
            growth = smallest.share / case.share
            name = f"warm check, {case.system.case} instead of {smallest.system.dataset.size:,}"
            yield name, f"≤ {TARGET_GROWTH} times", f"{growth:.2f} times", _kept(growth <= TARGET_GROWTH)


def _tail_rows(results: Results) -> Iterator[tuple[str, ...]]:
    """Yields the tail of checks on the data set with the strictest target, by store.

    The other tails are in their own table."""
    for store in dict.fromkeys(case.system.name for case in results.cases):
        case = results.largest(store, CHECKED_DATASET)
        if case:
            latency = case.of(CHECK).paced.latency
            tail = latency.p99 / latency.p50
            name = f"p99 of a check in p50, {case.system.case}, at half the load"
            yield name, f"≤ {TARGET_TAIL:.0f}", f"{tail:.1f}", _kept(tail <= TARGET_TAIL)
            ratio, target = tail_ratio(case.tails), TARGET_TAIL_OF_CONSTANT
            name = f"p99 of a check, {case.system.case}, in that of the constant answer at the same rate"
            yield name, f"≤ {target:.0f} times", f"{ratio:.1f} times", _kept(ratio <= target)


def _workers_rows(results: Results) -> Iterator[tuple[str, ...]]:
    for store, cases in results.workers.items():
        measured = speedup(cases)
        remark = _kept(measured >= TARGET_SPEEDUP) and _what_was_the_limit(cases)
        yield f"two workers, {store}, instead of one", f"≥ {TARGET_SPEEDUP} times", f"{measured:.2f} times", remark


def _what_was_the_limit(cases: Sequence[WorkersCase]) -> str:
    more, workers = cases[-1].median, cases[-1].workers
    if more.server_busy >= FULL * workers:
        return "missed"
    got = (more.server_busy, more.load_busy, more.other_busy)
    reason = "the workers got {:.2f} cores, the load {:.2f}, other programs {:.2f}".format(*got)
    if more.busiest > more.server_busy * MOST:
        reason = f"one worker did {more.busiest / more.server_busy:.0%} of the work: it had most of the connections"
    by_time = f"by their processor time it would be {speedup_without_limit(cases):.2f} times"
    return f"missed, but {reason}; {by_time}"


def _memory_rows(results: Results) -> Iterator[tuple[str, ...]]:
    for name, memory in results.memory.items():
        each = memory.bytes_a_warrant
        if each is None:
            yield (
                f"memory, {name}",
                f"≤ {TARGET_BYTES} bytes a warrant kept",
                f"{memory.grown / 1e6:.0f} MB",
                "number unknown",
            )
        else:
            yield (
                f"memory for each of {memory.held:,.0f} warrants kept, {name}",
                f"≤ {TARGET_BYTES} bytes",
                f"{each:.0f} bytes",
                _kept(each <= TARGET_BYTES),
            )


def _staleness_rows(results: Results) -> Iterator[tuple[str, ...]]:
    for store, found in results.staleness.items():
        stale = found.violations.total()
        yield f"stale answers, {store}", "0", f"{stale} in {found.pairs:,} pairs", _kept(not stale)
        if store == "PostgreSQL" and found.delays:
            p99 = latency_of(found.delays).p99
            target, kept = f"≤ {TARGET_VISIBLE_MS:.0f} ms", _kept(p99 <= TARGET_VISIBLE_MS)
            yield f"visible to another node without a token, {store}, p99", target, f"{p99:.0f} ms", kept


def _kept(is_kept: bool) -> str:
    return "" if is_kept else "missed"
