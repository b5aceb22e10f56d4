"""Keeps a table equal to the access that a service has, in transactions each of which ends with an event of its feed
(docs/mirror.md)."""

import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import takewhile

from magistrate.client import Client
from magistrate.errors import (
    InvalidSetting,
    MagistrateError,
    RequestRefused,
    ServiceUnreachable,
    TargetRefused,
    TargetUnavailable,
)
from magistrate.mirror.arrivals import ArrivingLines
from magistrate.mirror.feed_events import (
    ACCESS,
    ACCESS_PATH,
    CHECKPOINT,
    END,
    RESYNC,
    FeedEvent,
    list_rows,
    read_events,
)
from magistrate.mirror.rows import AccessKey, MirrorPosition
from magistrate.mirror.target import MirrorTarget

GATHER_SECONDS = 0.02
"""Sets for how long after a transaction events are gathered for the next one (20 ms), so that many changes are few
transactions. The first change after a pause need not wait."""
LOOK_SECONDS = 0.5
"""Sets how often a mirror that waits looks whether it shall stop."""
FIRST_PAUSE_SECONDS, LAST_PAUSE_SECONDS = 0.5, 30.0
"""Set the pauses between attempts, which double; each is shortened at random by up to half."""
PROGRESS_SECONDS = 10.0
_LOST_STATUSES = (409, 410)
_PASSING_STATUSES = (408, 429)
_PASSING = (ServiceUnreachable, TargetUnavailable)


class FeedInterrupted(Exception):
    """Says why a stream is not read on; `message` is in the words of users."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class StreamEnded(FeedInterrupted):
    """Reports that the service has ended a stream, which can be opened again."""


class SnapshotNeeded(FeedInterrupted):
    """Reports that changes alone do not continue the table any more."""


@dataclass(frozen=True, slots=True)
class MirrorOptions:
    """Says what a table has: the access `of`, as in `document#can-read@user`, each at most once. Without
    `has_wildcards`, rows with `*` are left out. With `once`, a mirror ends when it is up to date, or at a failure."""

    of: Sequence[str]
    has_wildcards: bool = True
    once: bool = False

    @property
    def of_text(self) -> str:
        return ",".join(sorted(set(self.of)))

    def require_same(self, position: MirrorPosition) -> None:
        """Raises TargetRefused for the position of a table that has something else."""
        if position.of != self.of_text:
            raise TargetRefused(f"the table has the access {position.of}; choose another one for {self.of_text}")
        if position.has_wildcards != self.has_wildcards:
            kept = "has" if position.has_wildcards else "leaves out"
            raise TargetRefused(
                f"the table {kept} rows with wildcards; choose another one, or the same option as before"
            )


def read_access(texts: Iterable[str]) -> Sequence[str]:
    """Returns the parts of texts in which they are separated by commas. Raises InvalidSetting if there is none."""
    parts = [part.strip() for text in texts for part in text.split(",")]
    if not all(parts) or not parts:
        raise InvalidSetting("say which access the mirror has, as in document#can-read@user")
    return parts


class Mirror:
    """Keeps one table. `report` is called with each thing that happens, as a sentence; `stop` ends it between two
    transactions."""

    def __init__(
        self,
        client: Client,
        target: MirrorTarget,
        options: MirrorOptions,
        report: Callable[[str], None] = lambda text: None,
        stop: threading.Event | None = None,
    ) -> None:
        self._client = client
        self._target = target
        self._options = options
        self._report = report
        self._stop = stop or threading.Event()
        self._position: MirrorPosition | None = None
        self._is_open = False
        self._needs_snapshot = False
        self._failures = 0

    def run(self) -> None:
        """Follows the feed until `stop` is set or, with `once`, the table is up to date. What can pass is waited out
        and reported, but raised with `once`: ServiceUnreachable, RequestRefused, TargetUnavailable.

        Raises RequestRefused for what will not pass by itself, such as a key that was revoked, and TargetRefused."""
        try:
            while not self._stop.is_set():
                try:
                    return self._follow()
                except SnapshotNeeded as error:
                    self._needs_snapshot = True
                    self._report(f"{error.message}; all access is loaded again")
                    self._pause_after_others()
                except StreamEnded as error:
                    self._pause(error.message)
                except MagistrateError as error:
                    self._wait_out(error)
        finally:
            self._target.close()

    def _wait_out(self, error: MagistrateError) -> None:
        may_pass = isinstance(error, _PASSING) or (
            isinstance(error, RequestRefused) and (error.status in _PASSING_STATUSES or error.status >= 500)
        )
        if self._options.once or not may_pass:
            raise error
        if isinstance(error, TargetUnavailable):
            self._is_open = False
        self._pause(error.message)

    def _pause(self, reason: str) -> None:
        longest = min(LAST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** min(self._failures, 16))
        seconds = longest * random.uniform(0.5, 1)
        self._failures += 1
        self._report(f"{reason.removesuffix('.')}; trying again in {seconds:.1f} s")
        self._stop.wait(seconds)

    def _pause_after_others(self) -> None:
        """Waits before a snapshot is requested again and again, but not before the first."""
        if self._failures:
            self._pause("nothing was written since the last attempt")
        self._failures += 1

    def _follow(self) -> None:
        self._open_target()
        newest = self._find_newest() if self._options.once else None
        position = None if self._needs_snapshot else self._position
        parameters = {"of": self._options.of_text}
        parameters |= {"snapshot": "true"} if position is None else {"since": position.id}
        with ArrivingLines(self._client, ACCESS_PATH, parameters) as lines:
            batches = self._read_batches(lines, position is not None)
            if position is None:
                self._apply(self._load(batches))
            while not self._has_reached(newest):
                batch = next(batches, None)
                if batch is None:
                    return
                self._apply(batch)

    def _open_target(self) -> None:
        if self._is_open:
            return
        position = self._target.open()
        self._is_open = True
        if position is not None:
            self._options.require_same(position)
        self._position = position

    def _find_newest(self) -> FeedEvent:
        """Returns the checkpoint up to which a mirror that runs once has to come."""
        with ArrivingLines(self._client, ACCESS_PATH, {"of": self._options.of_text}) as lines:
            while not self._stop.is_set():
                events = [*read_events(self._client.url, lines.take(LOOK_SECONDS))]
                _require_no_end(events)
                for event in events:
                    if event.event == CHECKPOINT:
                        return event
        return FeedEvent(CHECKPOINT)

    def _read_batches(self, lines: ArrivingLines, has_position: bool) -> Iterator[list[FeedEvent]]:
        """Yields all events that have arrived, whenever there are some, until the mirror shall stop: between two
        batches, it gathers them for GATHER_SECONDS. Those before one that cannot be read are yielded before
        ServiceUnreachable is raised."""
        not_before = 0.0
        while not self._stop.is_set():
            events: list[FeedEvent] = []
            failure: ServiceUnreachable | None = None
            try:
                events.extend(read_events(self._client.url, self._take(lines, has_position, not_before)))
            except ServiceUnreachable as error:
                failure = error
            if events:
                yield events
                not_before = time.monotonic() + GATHER_SECONDS
            if failure is not None:
                raise failure

    def _take(self, lines: ArrivingLines, has_position: bool, not_before: float) -> list[bytes]:
        try:
            return lines.take(LOOK_SECONDS, not_before)
        except RequestRefused as error:
            if has_position and error.status in _LOST_STATUSES:
                raise SnapshotNeeded(error.message.removesuffix(".")) from error
            if has_position and error.status == 400 and error.parameter == "since":
                raise TargetRefused(
                    f"the position of the table is none of this store: {error.message.removesuffix('.')}; choose "
                    "another table, or drop this one and that with its position"
                ) from error
            raise

    def _load(self, batches: Iterator[list[FeedEvent]]) -> list[FeedEvent]:
        """Replaces all rows by those of a snapshot. Returns the events behind it that have arrived; without any effect
        if the mirror shall stop."""
        began_at = time.monotonic()
        report = _LoadReport(self._report, self._options.of_text)
        self._target.begin_load()
        for batch in batches:
            events = [*takewhile(lambda event: event.event != CHECKPOINT, batch)]
            _require_no_end(events)
            rows = [row for event in events for row in list_rows(event.access, self._options.has_wildcards)]
            self._target.add_rows(rows)
            report.add(len(rows))
            if len(events) < len(batch):
                self._finish_load(batch[len(events)])
                report.finish(time.monotonic() - began_at)
                return batch[len(events) + 1 :]
        return []

    def _finish_load(self, event: FeedEvent) -> None:
        options = self._options
        position = MirrorPosition(options.of_text, event.token, event.place, event.time, options.has_wildcards)
        self._target.finish_load(position)
        self._position, self._needs_snapshot, self._failures = position, False, 0

    def _apply(self, events: Sequence[FeedEvent]) -> None:
        """Makes the changes of events in one transaction. Raises SnapshotNeeded and StreamEnded behind it."""
        position = before = self._position
        ended: FeedInterrupted | None = None
        changes: dict[AccessKey, bool | None] = {}
        for event in events:
            if event.resync or event.event == RESYNC:
                ended = SnapshotNeeded("a change of access was too large to be sent")
            elif event.event == END:
                ended = StreamEnded(_describe_end(event))
            elif event.event in (ACCESS, CHECKPOINT) and position is not None:
                self._add_changes(changes, event)
                position = replace(position, token=event.token, id=event.place, time=event.time)
            if ended is not None:
                break
        if before is not None and position is not None and position != before:
            self._target.apply(changes, before, position)
            self._position, self._failures = position, 0
        if ended is not None:
            raise ended

    def _add_changes(self, changes: dict[AccessKey, bool | None], event: FeedEvent) -> None:
        """Adds what an event has lost and then gained, because access that becomes conditional is in both."""
        has_wildcards = self._options.has_wildcards
        changes.update((row.key, None) for row in list_rows(event.lost, has_wildcards))
        changes.update((row.key, row.is_conditional) for row in list_rows(event.gained, has_wildcards))

    def _has_reached(self, newest: FeedEvent | None) -> bool:
        position = self._position
        if newest is None or position is None:
            return False
        return position.id == newest.place or _read_time(position.time) >= _read_time(newest.time)


class _LoadReport:
    """Reports how many rows of a snapshot are loaded, every PROGRESS_SECONDS, and at its end."""

    def __init__(self, report: Callable[[str], None], of: str) -> None:
        self._report = report
        self._of = of
        self._rows = 0
        self._due_at = time.monotonic() + PROGRESS_SECONDS

    def add(self, rows: int) -> None:
        self._rows += rows
        if time.monotonic() >= self._due_at:
            self._due_at = time.monotonic() + PROGRESS_SECONDS
            self._report(f"{self._rows:,} rows of {self._of} are loaded")

    def finish(self, seconds: float) -> None:
        self._report(f"{self._rows:,} rows of {self._of} were loaded in {seconds:.1f} s")


def _require_no_end(events: Sequence[FeedEvent]) -> None:
    """Raises StreamEnded if one of the events is the end."""
    for event in events:
        if event.event == END:
            raise StreamEnded(_describe_end(event))


def _describe_end(event: FeedEvent) -> str:
    return f"the service has ended the stream ({event.reason or 'without a reason'})"


def _read_time(text: str) -> datetime:
    return datetime.fromisoformat(text)
