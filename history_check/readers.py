"""Follows the readers of a watch: each revision comes once and in order, whatever the streams that it comes by."""

from dataclasses import dataclass, field

from history_check.findings import Fault, Findings
from history_check.operations import Event

MAX_SKIPPED = 10_000


@dataclass(slots=True)
class Position:
    """Is up to where a reader has got everything, but for the revisions in `skipped`."""

    revision: int
    skipped: dict[int, int] = field(default_factory=dict)
    """Has the line at which each was noticed."""


class ReaderPositions:
    """Has the position of each reader, by its process."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._positions: dict[str, Position] = {}

    def add(self, event: Event, revision: int, line: int) -> None:
        position = self._positions.setdefault(event.process, Position(revision))
        if event.event == "begin":
            self._skip(position, revision, line)
        elif event.event == "checkpoint":
            self._skip(position, revision, line)
            if revision < position.revision:
                text = f"{event.process} was at {position.revision}, and got a checkpoint of {revision}"
                self._findings.add(Fault.EVENT_OUT_OF_ORDER, line, text)
        elif revision in position.skipped:
            del position.skipped[revision]
            text = f"{event.process} got {revision} after {position.revision}"
            self._findings.add(Fault.EVENT_OUT_OF_ORDER, line, text)
        elif revision <= position.revision:
            self._findings.add(Fault.EVENT_DUPLICATED, line, f"{event.process} had got {revision}")
        else:
            self._skip(position, revision - 1, line)
            position.revision = revision

    def end(self) -> None:
        """Reports what never came."""
        for name, position in self._positions.items():
            for revision, line in position.skipped.items():
                self._findings.add(Fault.EVENT_SKIPPED, line, f"{name} did not get {revision}")

    def _skip(self, position: Position, revision: int, line: int) -> None:
        """Notes that everything up to a revision has come, or was left out."""
        for skipped in range(position.revision + 1, min(revision, position.revision + MAX_SKIPPED) + 1):
            position.skipped[skipped] = line
        position.revision = max(position.revision, revision)
