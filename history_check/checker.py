"""Checks a history: reads its timeline, replays it, and makes the report."""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from history_check.findings import Finding, Findings
from history_check.history_file import HistoryFile
from history_check.replay import Replay
from history_check.timeline import TimelineReader


@dataclass(frozen=True, slots=True)
class Report:
    """Says what a history has, and what is wrong with it. `findings` are the first ones; `faults` counts all."""

    database: str
    operations: Counter[str]
    writes: Counter[str]
    made_unknown: int
    revisions: int
    answers: int
    decisions: int
    reused: int
    seconds: float
    findings: list[Finding]
    faults: Counter[str]

    def lines(self) -> Iterator[str]:
        """Yields the report as rows of a table, and then the findings."""
        yield from (f"{name:24} {number:>12,}" for name, number in self.rows())
        yield f"{'seconds of the checker':24} {self.seconds:12.1f}"
        yield f"{'findings':24} {self.faults.total():12,}"
        yield from (f"  {fault}: {number:,}" for fault, number in self.faults.most_common())
        yield from (str(finding) for finding in self.findings)

    def rows(self) -> Iterator[tuple[str, int]]:
        yield ("operations", self.operations.total())
        yield from ((f"  {kind}", number) for kind, number in sorted(self.operations.items()))
        yield from ((f"writes {outcome}", number) for outcome, number in sorted(self.writes.items()))
        yield ("  of these made", self.made_unknown)
        yield ("revisions", self.revisions)
        yield ("answers compared", self.answers)
        yield ("decisions of the oracle", self.decisions)
        yield ("  used again", self.reused)


def check_history(path: Path) -> Report:
    """Returns the report of a history. Raises ValueError if the file has no header."""
    began_at, findings = time.monotonic(), Findings()
    with HistoryFile(path) as file:
        timeline = TimelineReader(file.header, findings).read(file)
        replay = Replay(file, timeline, findings)
        replay.run()
        return Report(
            database=file.header.database,
            operations=timeline.counts,
            writes=timeline.outcomes,
            made_unknown=timeline.made_unknown,
            revisions=timeline.last - timeline.base,
            answers=replay.answers,
            decisions=replay.decisions.made,
            reused=replay.decisions.reused,
            seconds=time.monotonic() - began_at,
            findings=findings.first,
            faults=Counter({str(fault): number for fault, number in findings.counts.items()}),
        )
