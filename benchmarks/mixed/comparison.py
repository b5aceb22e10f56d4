"""Renders what was measured of first requests, and every figure of our own servers beside those of others that got the
same work."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.mixed.first_requests import BATCHES, FILLED, LISTS, FirstRequests
from benchmarks.mixed.measure import Case, Figures
from benchmarks.mixed.systems import System
from benchmarks.table import markdown_table

TARGET_TIMES = 10.0
"""How many times as much our own server answers as the best of the others."""
NOT_FILLED = "does not fill its cache before it answers"

_Work = tuple[str, int, str]
"""Has the data set, its size, and what was sent."""


def first_requests_table(measured: Sequence[FirstRequests]) -> str:
    header = ("", "requests/s", "p50 ms", "p99 ms", "µs a request", "statements a request", "server", "others", "wrong")
    rows = [_first_row(one) for one in measured]
    return (
        markdown_table("Requests that come for the first time, and such that come again", header, rows) if rows else ""
    )


def _first_row(measured: FirstRequests) -> tuple[str, ...]:
    name, figures = f"{measured.system.case}: {measured.kind}, {measured.state}", measured.figures
    if figures is None:
        return (name, NOT_FILLED, *[""] * 7)
    latency, used, busy = figures.latency, figures.server_microseconds, figures.server_busy
    return (
        name,
        _rate(figures),
        f"{latency.p50:.2f}",
        f"{latency.p99:.2f}",
        "" if used is None else f"{used:,.0f}",
        "" if measured.statements is None else f"{measured.statements:.3f}",
        "" if busy is None else f"{busy:.0%}",
        f"{figures.other_busy:.0%}",
        f"{figures.verdict.wrong} of {figures.verdict.compared:,}",
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """Has the requests a second of one kind of work, by the name of the system: of our own and of the others."""

    work: _Work
    own: Mapping[str, Figures]
    others: Mapping[str, Figures]

    @property
    def best(self) -> float:
        return max(figures.rate for figures in self.others.values())

    def times(self, name: str) -> float:
        return self.own[name].rate / self.best


def compare(cases: Sequence[Case], measured: Sequence[FirstRequests]) -> list[Comparison]:
    """Returns what our own server and at least one other got. Those that cannot fill their cache are compared as they
    are when warming with ours when it is filled."""
    own, others = dict[_Work, dict[str, Figures]](), dict[_Work, dict[str, Figures]]()
    for system, sent, figures in _all_figures(cases, measured):
        work = (system.dataset.name, system.dataset.size, sent)
        (others if system.own is None else own).setdefault(work, {})[system.name] = figures
    return [Comparison(work, figures, others[work]) for work, figures in own.items() if work in others]


def _all_figures(cases: Sequence[Case], measured: Sequence[FirstRequests]) -> Iterator[tuple[System, str, Figures]]:
    warmest = {(one.system.name, one.system.case, one.kind): one.figures for one in measured if one.figures is not None}
    for one in measured:
        figures = one.figures or warmest[one.system.name, one.system.case, one.kind]
        yield one.system, f"{one.kind}, {one.state}", figures
        if one.kind in (BATCHES, LISTS) and one.system.own is None:
            yield one.system, f"{one.kind}, {FILLED}", figures
    for case in cases:
        for mix in case.mixes:
            yield case.system, mix.mix, mix.closed


def comparison_table(comparisons: Sequence[Comparison]) -> str:
    """Each cell has requests a second and the p99 in ms; the last columns say how many times as much as the best of the
    others each of our own answers."""
    own = list(dict.fromkeys(name for one in comparisons for name in one.own))
    others = list(dict.fromkeys(name for one in comparisons for name in one.others))
    header = ("requests/s (p99 ms)", *own, *others, *(f"{name} in the best other" for name in own), "target")
    rows = [_comparison_row(one, own, others) for one in comparisons]
    return markdown_table("Beside other servers, on the same work", header, rows) if rows else ""


def _comparison_row(one: Comparison, own: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    dataset, size, sent = one.work
    cells = [_cell(one.own.get(name)) for name in own] + [_cell(one.others.get(name)) for name in others]
    times = [f"{one.times(name):.1f} times" if name in one.own else "" for name in own]
    is_kept = all(one.times(name) >= TARGET_TIMES for name in one.own)
    return (f"{dataset}, {size:,}: {sent}", *cells, *times, f"≥ {TARGET_TIMES:.0f}" if is_kept else "missed")


def _cell(figures: Figures | None) -> str:
    return "" if figures is None else f"{_rate(figures)} ({figures.latency.p99:.2f})"


def _rate(figures: Figures) -> str:
    return f"{figures.rate:,.0f}" if figures.rate >= 100 else f"{figures.rate:.1f}"
