"""Every hostile request beside a pulse: one row for each."""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.fairness.asking import NO_ANSWER, Answer, statuses
from benchmarks.fairness.hostile import ATTACKS
from benchmarks.fairness.pulse import Beat, Beats
from benchmarks.fairness.running import CHECK, HEALTH, Service, running_service
from benchmarks.fairness.stage import Act
from benchmarks.table import markdown_table

TARGET_MS = 50.0
NOTHING_SECONDS = 3.0
HEADER = (
    "hostile request",
    "store",
    "workers",
    "ms",
    "status",
    "pause, wall ms",
    "hold ms",
    "of it busy ms",
    "check ms",
    "verdict",
)
NO_BEAT = Beat("", 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Case:
    store: str
    workers: int
    database_url: str


@dataclass(frozen=True, slots=True)
class Row:
    """`seconds`: what the hostile request took. `faults`: why the target is missed."""

    name: str
    case: Case
    seconds: float
    status: str
    beats: Beats
    faults: Sequence[str]

    def cells(self) -> tuple[str, ...]:
        health = self.beats.worst.get("stuck") or self.beats.worst.get(HEALTH, NO_BEAT)
        check = self.beats.worst.get(CHECK, NO_BEAT)
        figures = (self.beats.longest, health.hold, health.cpu, check.hold)
        verdict = "; ".join(self.faults) or "ok"
        times = (f"{seconds * 1_000:,.0f}" for seconds in figures)
        return (
            self.name,
            self.case.store,
            str(self.case.workers),
            f"{self.seconds * 1_000:,.0f}",
            self.status,
            *times,
            verdict,
        )


def measure_pauses(case: Case, names: Sequence[str], deadline_seconds: float) -> Iterator[Row]:
    """The first row is what the machine itself does to a service that nobody attacks."""
    with running_service(case.database_url, case.workers, deadline_seconds) as service:
        yield _measured(service, case, "nothing, for comparison", _nothing)
        for name in names:
            for about, act in ATTACKS[name](service.stage):
                row = _measured(service, case, about, act)
                print(" | ".join(row.cells()), file=sys.stderr, flush=True)
                yield row
                if row.beats.is_stuck or row.beats.lost:
                    service.restart()
                else:
                    service.settle()


def pauses_table(rows: Sequence[Row], case: Case) -> str:
    """Returns the table of one case."""
    workers = "one worker" if case.workers == 1 else f"{case.workers} workers"
    title = f"Hostile requests beside a pulse: {case.store}, {workers}"
    return markdown_table(title, HEADER, [row.cells() for row in rows])


def _nothing() -> list[Answer]:
    time.sleep(NOTHING_SECONDS)
    return []


def _measured(service: Service, case: Case, name: str, act: Act) -> Row:
    service.begin()
    started = time.perf_counter()
    try:
        answers = act()
    except OSError as error:
        answers = [Answer(f"{type(error).__name__}", 0.0)]
    seconds = time.perf_counter() - started
    beats = service.end()
    faults = [*_faults(answers, beats)]
    if service.unreached_workers and act is _nothing:
        faults.append(f"{service.unreached_workers} WORKERS GET NO CONNECTION")
    return Row(name, case, seconds, statuses(answers), beats, faults)


def _faults(answers: Sequence[Answer], beats: Beats) -> Iterator[str]:
    held = max((beat.hold for kind, beat in beats.worst.items() if kind != CHECK), default=0.0) * 1_000
    if beats.is_stuck:
        yield "STUCK"
    elif held > TARGET_MS:
        yield f"HELD {held:,.0f} ms"
    if beats.lost:
        yield "PULSE CUT OFF"
    if any(answer.status == NO_ANSWER for answer in answers):
        yield "NOT ANSWERED"
    if any(answer.status == "500" for answer in answers):
        yield "500"
