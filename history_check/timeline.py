"""Orders the operations of a history: which revision each write made, and whether revisions and real time agree.

What is kept of an operation are some numbers, so that a million of them take about a hundred megabytes; the replay
reads the lines again."""

from array import array
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from itertools import accumulate
from math import inf

from history_check.findings import Fault, Findings
from history_check.history_file import HistoryFile
from history_check.operations import (
    LATEST,
    MARK,
    QUERIES,
    AccessEvent,
    AnyOperation,
    Check,
    Difference,
    Event,
    Header,
    Listing,
    Outcome,
    Write,
    is_past,
    name_kind,
)
from history_check.readers import ReaderPositions
from history_check.tokens import read_revision

NO_REVISION = -1
UNAVAILABLE = "unavailable"
"""Begins the code of a refusal that no state has to explain: the service could not make the write."""
READS_PAST, READS_FRESH, READS_STALE, WRITES, FOLLOWS = range(5)
"""Say what the order of real time requires of an operation: nothing but that its revision exists; all that was
acknowledged before; all but what was acknowledged just before; a revision behind all that; nothing for events."""


@dataclass(slots=True)
class Timeline:
    """Has numbers of each operation, in the order of the file, and the write of each revision."""

    base: int
    places: "array[int]" = field(default_factory=lambda: array("q"))
    begins: "array[float]" = field(default_factory=lambda: array("d"))
    ends: "array[float]" = field(default_factory=lambda: array("d"))
    revisions: "array[int]" = field(default_factory=lambda: array("q"))
    duties: "array[int]" = field(default_factory=lambda: array("b"))
    writers: dict[int, int] = field(default_factory=dict)
    """Has the operation that wrote each revision."""
    evidence: dict[int, int] = field(default_factory=dict)
    """Has the first event of each revision."""
    refusals: list[int] = field(default_factory=list)
    """Has the refused writes that a state has to explain."""
    windows: list[tuple[int, int, int]] = field(default_factory=list)
    """Has the first and the last revision at which each of these may have been refused, and its operation."""
    differences: list[tuple[int, int]] = field(default_factory=list)
    """Has the first revision of each difference, and its operation."""
    counts: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    made_unknown: int = 0
    """Counts the writes with an unknown outcome that were made."""

    @property
    def last(self) -> int:
        return max(max(self.writers, default=self.base), max(self.evidence, default=self.base))

    def line(self, operation: int) -> int:
        """Returns the number of its line: the header is the first."""
        return operation + 2


class TimelineReader:
    """Reads the timeline of a history, and finds what is wrong with it before any answer is looked at."""

    def __init__(self, header: Header, findings: Findings) -> None:
        self.timeline = Timeline(read_revision(header.base))
        self._findings = findings
        self._stale_seconds = header.stale_seconds
        self._tokens = {self.timeline.base: header.base}
        self._sessions: dict[str, int] = {}
        self._readers = ReaderPositions(findings)
        self._marks: dict[str, tuple[int, Outcome]] = {}
        self._marked: dict[int, str] = {}
        """Has the mark of each revision that an event shows."""

    def read(self, file: HistoryFile) -> Timeline:
        for place, operation in file.read_all():
            if isinstance(operation, ValueError):
                self._add_numbers(place, 0.0, 0.0, NO_REVISION, READS_PAST)
                self._findings.add(Fault.UNREADABLE, len(self.timeline.places) + 1, str(operation))
            else:
                self._add(place, operation)
        self._readers.end()
        self._attribute_revisions()
        self._verify_order()
        return self.timeline

    def _add(self, place: int, operation: AnyOperation) -> None:
        timeline = self.timeline
        timeline.counts[name_kind(operation)] += 1
        if isinstance(operation, Write):
            timeline.outcomes[operation.outcome] += 1
        number = len(timeline.places)
        revision = self._read_token(operation, timeline.line(number))
        end = operation.end if operation.outcome != Outcome.UNKNOWN else inf
        self._add_numbers(place, operation.begin, end, revision, self._find_duty(operation))
        if isinstance(operation, Write):
            self._add_write(number, operation, revision)
        elif isinstance(operation, Event):
            self._add_event(number, operation, revision)
        elif isinstance(operation, AccessEvent):
            self._verify_session(number, operation, revision)
        elif operation.outcome == Outcome.REFUSED and not operation.refusal.startswith(UNAVAILABLE):
            self._findings.add(Fault.READ_REFUSED, timeline.line(number), operation.refusal)
        elif revision != NO_REVISION:
            if isinstance(operation, Difference):
                timeline.differences.append((read_revision(operation.since), number))
            if not is_past(operation):
                self._verify_session(number, operation, revision)

    def _add_numbers(self, place: int, begin: float, end: float, revision: int, duty: int) -> None:
        timeline = self.timeline
        timeline.places.append(place)
        timeline.begins.append(begin)
        timeline.ends.append(end)
        timeline.revisions.append(revision)
        timeline.duties.append(duty)

    def _find_duty(self, operation: AnyOperation) -> int:
        if isinstance(operation, Write):
            return WRITES
        if isinstance(operation, Event | AccessEvent):
            return FOLLOWS
        if is_past(operation):
            return READS_PAST
        may_be_stale = isinstance(operation, Check) or (isinstance(operation, Listing) and operation.lists in QUERIES)
        is_stale = may_be_stale and operation.at_least != LATEST and self._stale_seconds
        return READS_STALE if is_stale else READS_FRESH

    def _read_token(self, operation: AnyOperation, line: int) -> int:
        """Returns the revision of the answer, which no other token may name."""
        if not operation.token:
            return NO_REVISION
        try:
            revision = read_revision(operation.token)
        except ValueError as error:
            self._findings.add(Fault.UNREADABLE, line, str(error))
            return NO_REVISION
        if self._tokens.setdefault(revision, operation.token) != operation.token:
            self._findings.add(Fault.REVISION_TWICE, line, f"{revision} is {operation.token}, and another token")
        return revision

    def _add_write(self, number: int, write: Write, revision: int) -> None:
        timeline = self.timeline
        self._marks[write.mark] = (number, write.outcome)
        if write.outcome == Outcome.REFUSED and not write.refusal.startswith(UNAVAILABLE):
            timeline.refusals.append(number)
        if write.outcome != Outcome.ACKNOWLEDGED or revision == NO_REVISION:
            return
        other = timeline.writers.setdefault(revision, number)
        if other != number:
            text = f"{revision} is that of the write in line {timeline.line(other)}, too"
            self._findings.add(Fault.REVISION_TWICE, timeline.line(number), text)
        self._verify_session(number, write, revision)

    def _add_event(self, number: int, event: Event, revision: int) -> None:
        line = self.timeline.line(number)
        self._readers.add(event, revision, line)
        if event.event != "revision" or revision == NO_REVISION:
            return
        self.timeline.evidence.setdefault(revision, number)
        mark = find_mark(event)
        if mark and self._marked.setdefault(revision, mark) != mark:
            self._findings.add(
                Fault.REVISION_TWICE, line, f"{revision} is the write {mark}, and {self._marked[revision]}"
            )

    def _verify_session(self, number: int, operation: AnyOperation, revision: int) -> None:
        """Compares an answer with what its process has seen, unless it may go back."""
        timeline, line = self.timeline, self.timeline.line(number)
        newest = self._sessions.get(operation.process, timeline.base)
        self._sessions[operation.process] = max(newest, revision)
        demanded = operation.at_least
        if demanded and demanded != LATEST and revision < read_revision(demanded):
            text = f"{revision} was answered, and at least {read_revision(demanded)} demanded"
            self._findings.add(Fault.DEMAND_NOT_MET, line, text)
        elif revision < newest and (demanded or timeline.duties[number] != READS_STALE):
            text = f"{operation.process} had seen {newest}, and was answered at {revision}"
            self._findings.add(Fault.TOKEN_WENT_BACK, line, text)

    def _attribute_revisions(self) -> None:
        """Finds the write of each revision by the marks that events show."""
        timeline, findings = self.timeline, self._findings
        seen: dict[str, int] = {}
        for revision, mark in sorted(self._marked.items()):
            line = timeline.line(timeline.evidence[revision])
            number, outcome = self._marks.get(mark, (-1, Outcome.UNKNOWN))
            if mark in seen:
                findings.add(Fault.WRITTEN_TWICE, line, f"{mark} is {seen[mark]} and {revision}")
                continue
            seen[mark] = revision
            if number < 0:
                findings.add(Fault.WRITTEN_BY_NOBODY, line, f"{revision} is the write {mark}, which nobody made")
            elif outcome == Outcome.REFUSED:
                findings.add(Fault.REFUSED_WRITE_MADE, line, f"{mark} is {revision}")
            elif outcome == Outcome.UNKNOWN and revision not in timeline.writers:
                timeline.writers[revision] = number
                timeline.revisions[number] = revision
                timeline.made_unknown += 1
        self._find_lost_writes(seen)
        self._find_revisions_of_nobody()

    def _find_lost_writes(self, seen: dict[str, int]) -> None:
        timeline = self.timeline
        first, last = min(timeline.evidence, default=0), max(timeline.evidence, default=-1)
        for mark, (number, outcome) in self._marks.items():
            revision = timeline.revisions[number]
            if outcome != Outcome.ACKNOWLEDGED or seen.get(mark) == revision:
                continue
            if mark in seen:
                text = f"{mark} was answered as {revision}, and is {seen[mark]}"
                self._findings.add(Fault.WRITTEN_TWICE, timeline.line(number), text)
            elif revision == NO_REVISION or first <= revision <= last:
                text = f"{mark} was answered as {revision}, and no event has it"
                self._findings.add(Fault.LOST_WRITE, timeline.line(number), text)

    def _find_revisions_of_nobody(self) -> None:
        timeline = self.timeline
        for revision in range(timeline.base + 1, timeline.last + 1):
            if revision not in timeline.writers and revision not in self._marked:
                line = timeline.line(timeline.evidence[revision]) if revision in timeline.evidence else 0
                self._findings.add(Fault.WRITTEN_BY_NOBODY, line, f"no write was answered as {revision}")

    def _verify_order(self) -> None:
        """Compares each operation with the newest revision that had been answered when it began, and with the newest
        whose write had begun when it ended."""
        timeline = self.timeline
        numbers = range(len(timeline.places))
        slack = [self._stale_seconds if duty == READS_STALE else 0.0 for duty in timeline.duties]
        by_begin = sorted(numbers, key=lambda number: timeline.begins[number] - slack[number])
        answered = [number for number in numbers if _is_answered(timeline, number)]
        answered.sort(key=timeline.ends.__getitem__)
        floor, place = timeline.base, 0
        floors = dict.fromkeys(timeline.refusals, floor)
        for number in by_begin:
            begin = timeline.begins[number] - slack[number]
            while place < len(answered) and timeline.ends[answered[place]] < begin:
                floor = max(floor, timeline.revisions[answered[place]])
                place += 1
            self._compare_with_floor(number, floor)
            if number in floors:
                floors[number] = floor
        self._find_windows(floors)
        for number in answered:
            writer = timeline.writers.get(timeline.revisions[number])
            if writer is not None and timeline.begins[writer] > timeline.ends[number]:
                text = f"{timeline.revisions[number]} was written only later, in line {timeline.line(writer)}"
                self._findings.add(Fault.ANSWER_FROM_THE_FUTURE, timeline.line(number), text)

    def _find_windows(self, floors: dict[int, int]) -> None:
        timeline = self.timeline
        writers = sorted((timeline.begins[number], revision) for revision, number in timeline.writers.items())
        begins = [begin for begin, _ in writers]
        newest = [timeline.base, *accumulate((revision for _, revision in writers), max)]
        for number, floor in floors.items():
            ceiling = newest[bisect_right(begins, timeline.ends[number])]
            timeline.windows.append((floor, max(floor, ceiling), number))
        timeline.windows.sort()

    def _compare_with_floor(self, number: int, floor: int) -> None:
        timeline = self.timeline
        revision, duty, line = timeline.revisions[number], timeline.duties[number], timeline.line(number)
        if revision == NO_REVISION:
            return
        if duty == WRITES and revision <= floor:
            text = f"{revision} was made after {floor} had been answered"
            self._findings.add(Fault.WRITES_OUT_OF_ORDER, line, text)
        elif duty in (READS_FRESH, READS_STALE) and revision < floor:
            text = f"it was answered at {revision} after {floor} had been"
            self._findings.add(Fault.STALE_ANSWER, line, text)


def _is_answered(timeline: Timeline, number: int) -> bool:
    """Returns whether a client knew at the end of the operation that its revision had been made."""
    revision = timeline.revisions[number]
    return revision != NO_REVISION and timeline.ends[number] < inf


def find_mark(event: Event) -> str:
    """Returns the mark of the write that an event shows; empty if it shows none."""
    for text in (*event.created_objects, *event.updated_objects):
        if text.startswith(f"{MARK}:"):
            return text.partition("=")[2]
    return next(iter(event.types.values()), "")
