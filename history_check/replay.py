"""Goes through a history revision by revision: makes each write, and compares every answer with the state that its
token names."""

from collections import Counter, deque
from collections.abc import Iterator
from itertools import groupby

from history_check.decisions import Decisions, make_subject, read_access
from history_check.findings import Fault, Findings
from history_check.history_file import HistoryFile
from history_check.operations import AccessEvent, Check, Difference, Event, Listing, Write
from history_check.state import Effects, State, read_warrant
from history_check.timeline import NO_REVISION, Timeline
from history_check.tokens import read_revision
from magistrate.engine.subjects import Subject
from tests.oracle import Node

MAX_ROWS = 5
"""Bounds how many rows of a difference a finding shows."""


class Replay:
    """Replays one history. It holds one state, the beginnings of the differences that have begun, and what the readers
    of the effective feed have."""

    def __init__(self, file: HistoryFile, timeline: Timeline, findings: Findings) -> None:
        self._file, self._timeline, self._findings = file, timeline, findings
        self._state = State(file.header.types, timeline.base)
        self.decisions = Decisions(self._state)
        self.answers = 0
        self._differences, self._windows = deque(sorted(timeline.differences)), deque(timeline.windows)
        self._begun: dict[tuple[int, str], frozenset[str]] = {}
        self._uses = Counter[tuple[int, str]]()
        self._followed: dict[str, frozenset[str]] = {}
        self._waiting: list[tuple[int, int, Write]] = []
        """Has the refusals that no state has explained so far: the last revision that may, the line and the write."""

    def run(self) -> None:
        timeline = self._timeline
        numbers = [number for number, revision in enumerate(timeline.revisions) if revision != NO_REVISION]
        numbers.sort(key=timeline.revisions.__getitem__)
        by_revision = groupby(numbers, timeline.revisions.__getitem__)
        revision, operations = next(by_revision, (NO_REVISION, iter(())))
        while revision != NO_REVISION and revision < timeline.base:
            revision, operations = next(by_revision, (NO_REVISION, iter(())))
        for current in range(timeline.base, timeline.last + 1):
            effects = self._write(current) if current > timeline.base else None
            self._begin_differences(current)
            self._explain_refusals(current)
            if revision == current:
                self._compare(operations, effects)
                revision, operations = next(by_revision, (NO_REVISION, iter(())))

    def _write(self, revision: int) -> Effects | None:
        """Makes the write of a revision, and returns what it changes; if it is not in the history, what an event says
        is made, and None returned."""
        timeline = self._timeline
        number = timeline.writers.get(revision)
        if number is None:
            if revision in timeline.evidence:
                event = self._file.read_at(timeline.places[timeline.evidence[revision]])
                assert isinstance(event, Event)
                self._state.follow(event, revision)
            return None
        write, line = self._file.read_at(timeline.places[number]), timeline.line(number)
        assert isinstance(write, Write)
        if refusals := self._state.list_refusals(write):
            self._findings.add(Fault.UNJUSTIFIED_WRITE, line, f"{write.mark}: {', '.join(sorted(refusals))}")
        effects = self._state.apply(write, revision)
        if write.counts is not None and write.counts != effects.counts:
            text = f"{write.mark} was answered with {write.counts}, and is {effects.counts}"
            self._findings.add(Fault.WRONG_COUNTS, line, text)
        return effects

    def _begin_differences(self, revision: int) -> None:
        """Keeps the access at the first revision of differences."""
        while self._differences and self._differences[0][0] <= revision:
            since, number = self._differences.popleft()
            difference = self._file.read_at(self._timeline.places[number])
            assert isinstance(difference, Difference)
            key = (since, difference.of)
            if since == revision:
                if key not in self._begun:
                    self._begun[key] = self.decisions.list_access(read_access(difference.of))
                self._uses[key] += 1

    def _explain_refusals(self, revision: int) -> None:
        """Looks for refusals that this state explains, and reports those that no later one may."""
        while self._windows and self._windows[0][0] <= revision:
            _, last, number = self._windows.popleft()
            write = self._file.read_at(self._timeline.places[number])
            assert isinstance(write, Write)
            self._waiting.append((last, self._timeline.line(number), write))
        waiting, self._waiting = self._waiting, []
        for last, line, write in waiting:
            if write.refusal in self._state.list_refusals(write):
                continue
            if last > revision:
                self._waiting.append((last, line, write))
            else:
                text = f"{write.mark} was refused with {write.refusal}"
                self._findings.add(Fault.UNJUSTIFIED_REFUSAL, line, text)

    def _compare(self, numbers: Iterator[int], effects: Effects | None) -> None:
        for number in numbers:
            operation, line = self._file.read_at(self._timeline.places[number]), self._timeline.line(number)
            self.answers += 1
            match operation:
                case Check():
                    self._compare_check(operation, line)
                case Listing():
                    self._compare_list(operation, line)
                case Difference():
                    self._compare_difference(operation, line)
                case Event() if operation.event == "revision" and effects is not None:
                    self._compare_event(operation, effects, line)
                case AccessEvent():
                    self._compare_access(operation, line)

    def _compare_past(self, operation: Check | Listing, line: int) -> None:
        if operation.as_of and read_revision(operation.as_of) != self._state.revision:
            text = f"{read_revision(operation.as_of)} was requested, and {self._state.revision} answered"
            self._findings.add(Fault.OTHER_REVISION, line, text)

    def _compare_check(self, check: Check, line: int) -> None:
        self._compare_past(check, line)
        for text, is_allowed in zip(check.warrants, check.allowed, strict=True):
            node, subject = read_check(text)
            if self.decisions.holds(node, subject) != is_allowed:
                fault = Fault.WRONG_PAST if check.as_of else Fault.WRONG_CHECK
                answer = "allowed" if is_allowed else "denied"
                self._findings.add(fault, line, f"{text} was {answer} at {self._state.revision}")

    def _compare_list(self, listing: Listing, line: int) -> None:
        self._compare_past(listing, line)
        expected = self._list_rows(listing)
        if len(listing.rows) != len({*listing.rows}) or {*listing.rows} != expected:
            fault = Fault.WRONG_PAST if listing.as_of else Fault.WRONG_LIST
            text = f"{listing.lists} {listing.type} {listing.relation} {listing.subject or listing.object}"
            difference = show_difference(expected, {*listing.rows})
            self._findings.add(fault, line, f"{text} at {self._state.revision}: {difference}")

    def _list_rows(self, listing: Listing) -> set[str]:
        match listing.lists:
            case "warrants":
                return self._state.list_warrants(listing.type)
            case "objects":
                return self._state.list_objects(listing.type)
            case "objects with":
                subject = make_subject(*listing.subject.split(":"))
                return self.decisions.list_objects(listing.type, listing.relation, subject)
            case _:
                object_type, _, object_id = listing.object.partition(":")
                node = Node(object_type, object_id, listing.relation)
                return self.decisions.list_subjects(listing.type, node)

    def _compare_difference(self, difference: Difference, line: int) -> None:
        if difference.until and read_revision(difference.until) != self._state.revision:
            text = f"{read_revision(difference.until)} was requested, and {self._state.revision} answered"
            self._findings.add(Fault.OTHER_REVISION, line, text)
        key = (read_revision(difference.since), difference.of)
        before = self._begun.get(key)
        self._uses[key] -= 1
        if self._uses[key] <= 0:
            self._begun.pop(key, None)
            del self._uses[key]
        if before is None:
            self._findings.add(Fault.WRONG_DIFFERENCE, line, f"it begins at {key[0]}, which is not before its end")
            return
        expected = {*list_changes(before, self.decisions.list_access(read_access(difference.of)))}
        if {*difference.rows} != expected or len(difference.rows) != len(expected):
            text = f"{difference.of} from {key[0]} to {self._state.revision}"
            shown = show_difference(expected, {*difference.rows})
            self._findings.add(Fault.WRONG_DIFFERENCE, line, f"{text}: {shown}")

    def _compare_event(self, event: Event, effects: Effects, line: int) -> None:
        pairs = (
            (event.created_objects, effects.created_objects),
            (event.updated_objects, effects.updated_objects),
            (event.deleted_objects, effects.deleted_objects),
            (event.created_warrants, effects.created_warrants),
            (event.deleted_warrants, effects.deleted_warrants),
            ([*event.types.items()], {*effects.types.items()}),
        )
        if all(len(rows) == len(expected) and {*rows} == expected for rows, expected in pairs):
            return
        is_part = all({*rows} <= expected for rows, expected in pairs)
        expected = {str(row) for _, expected in pairs for row in expected}
        text = show_difference(expected, {str(row) for rows, _ in pairs for row in rows})
        fault = Fault.HALF_A_WRITE if is_part else Fault.WRONG_EVENT
        self._findings.add(fault, line, f"{self._state.revision}: {text}")

    def _compare_access(self, event: AccessEvent, line: int) -> None:
        """Applies an event to what its reader has, which then has to be the access of the state."""
        expected = self.decisions.list_access(read_access(event.of))
        before = self._followed.get(event.process)
        self._followed[event.process] = expected
        if before is None:
            return
        lost = {row[1:] for row in event.rows if row.startswith("-")}
        gained = {row[1:] for row in event.rows if row.startswith("+")}
        is_change = lost <= before and not gained & before
        if not is_change or (before - lost) | gained != expected:
            shown = show_difference({*expected}, {*((before - lost) | gained)})
            self._findings.add(Fault.WRONG_ACCESS_EVENT, line, f"{event.of} at {self._state.revision}: {shown}")


def read_check(text: str) -> tuple[Node, Subject]:
    warrant = read_warrant(text)
    subject = make_subject(warrant.subject_type, warrant.subject_id, warrant.subject_relation)
    return Node(warrant.object_type, warrant.object_id, warrant.relation), subject


def list_changes(before: frozenset[str], after: frozenset[str]) -> Iterator[str]:
    """Yields the rows of the difference of access."""
    yield from (f"+{row}" for row in after - before)
    yield from (f"-{row}" for row in before - after)


def show_difference(expected: set[str], rows: set[str]) -> str:
    """Returns what a finding says of rows: which are missing, and which are too many."""
    parts = []
    for word, differing in (("lacks", expected - rows), ("has wrongly", rows - expected)):
        if differing:
            more = f" and {len(differing) - MAX_ROWS} more" if len(differing) > MAX_ROWS else ""
            parts.append(f"it {word} {', '.join(sorted(differing)[:MAX_ROWS])}{more}")
    return "; ".join(parts) or "it has a row twice"
