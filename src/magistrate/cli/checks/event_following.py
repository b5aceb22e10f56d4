"""Follows a feed of events for as long as it is wanted, whatever happens to the connection (docs/watch.md)."""

import random
import select
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from magistrate.cli.checks.event_position import PositionFile
from magistrate.cli.output import echo, print_json_line
from magistrate.cli.service import CommandFailed
from magistrate.errors import MagistrateError, RequestRefused, ServiceUnreachable

if TYPE_CHECKING:
    from magistrate.client import Client
    from magistrate.mirror.arrivals import ArrivingLines

LOOK_SECONDS = 0.5
"""Sets how often it looks whether it shall stop, and whether anybody reads what it prints."""
FIRST_PAUSE_SECONDS, LAST_PAUSE_SECONDS = 0.5, 30.0
"""Set the pauses between attempts, which double; each is shortened at random by up to half."""
PASSING_STATUSES = (408, 429)
CHECKPOINT, SNAPSHOT, END = "checkpoint", "snapshot", "end"
LASTING_REASONS = ("budget_exceeded",)
"""Lists the reasons for an end that would come again."""

Parameters = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True, slots=True)
class FollowOptions:
    """Says what is followed, and from where: `begin` has the parameters of the first request, unless there is a
    position. With `once`, it ends when everything up to now is printed, or at a failure."""

    path: str
    parameters: Parameters
    begin: Parameters
    once: bool = False


class FollowedEvent(msgspec.Struct, frozen=True):
    """Represents the members of an event by which a reader goes on."""

    event: str
    token: str = ""
    id: str = ""
    time: str = ""
    reason: str = ""

    @property
    def place(self) -> str:
        """Returns where the feed goes on behind it; nothing if that is not known."""
        return "" if self.event == SNAPSHOT else self.id or self.token


_DECODER = msgspec.json.Decoder(FollowedEvent)


class EventFollower:
    """Prints the events of a feed until `stop` is set, each once unless it is killed."""

    def __init__(
        self, client: "Client", options: FollowOptions, file: PositionFile | None, stop: threading.Event
    ) -> None:
        self._client = client
        self._options = options
        self._file = file
        self._stop = stop
        self._position = self._kept = None if file is None else file.read()
        self._newest: FollowedEvent | None = None
        self._is_complete = False
        self._has_begun = False
        self._received = 0
        """Counts the events of the stream."""
        self._failures = 0

    def run(self) -> None:
        """Raises RequestRefused for what will not pass by itself, and the failure of the first attempt, whatever it is:
        the address may be wrong. With `once`, raises every failure."""
        if self._options.once:
            self._newest = self._find_newest()
        while not self._is_over():
            try:
                reason = self._follow()
            except MagistrateError as error:
                if self._options.once or not self._has_begun or not _may_pass(error):
                    raise
                reason = error.message
            if not self._is_over():
                self._pause(reason)

    def _is_over(self) -> bool:
        return self._is_complete or self._stop.is_set()

    def _follow(self) -> str:
        """Prints the events of one stream, and returns why it has ended."""
        begin = self._options.begin if self._position is None else {"since": self._position}
        self._received = 0
        with self._open(begin) as lines:
            while not self._is_over():
                end = self._print_events(lines.take(LOOK_SECONDS))
                if end is not None:
                    return self._describe_end(end)
                _require_reader()
        return ""

    def _open(self, begin: Parameters) -> "ArrivingLines":
        from magistrate.mirror.arrivals import ArrivingLines  # importing httpx takes a moment

        return ArrivingLines(self._client, self._options.path, {**self._options.parameters, **begin})

    def _find_newest(self) -> FollowedEvent | None:
        """Returns the checkpoint up to which a reader that ends by itself has to come; None if it shall stop."""
        with self._open({}) as lines:
            while not self._stop.is_set():
                for line in lines.take(LOOK_SECONDS):
                    event = self._decode(line)
                    if event.event != CHECKPOINT:
                        raise CommandFailed(self._describe_end(event))
                    return event
        return None

    def _print_events(self, lines: Sequence[bytes]) -> FollowedEvent | None:
        """Prints events, and then keeps the position. Returns the last event of the stream if it is among them."""
        try:
            for line in lines:
                self._has_begun = True
                event = self._decode(line)
                print_json_line(line.decode())
                self._position = event.place or self._position
                if event.event == END:
                    return event
                self._received += 1
                if self._received > 1:  # the first one only says where the reader stands
                    self._failures = 0
                if self._has_reached(event):
                    self._is_complete = True
                    break
        finally:
            self._keep_position()
        return None

    def _decode(self, line: bytes) -> FollowedEvent:
        try:
            return _DECODER.decode(line)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise ServiceUnreachable(self._client.url, f"an event cannot be read: {error}") from error

    def _has_reached(self, event: FollowedEvent) -> bool:
        newest = self._newest
        if newest is None or not event.place:
            return False
        time, at = datetime.fromisoformat(event.time), datetime.fromisoformat(newest.time)
        return event.place == newest.place or time > at or (event.event == CHECKPOINT and time >= at)

    def _keep_position(self) -> None:
        if self._file is not None and self._position is not None and self._position != self._kept:
            self._file.write(self._position)
            self._kept = self._position

    def _describe_end(self, event: FollowedEvent) -> str:
        """Returns why a stream is not read on. Raises CommandFailed if it would end in the same way again."""
        reason = f"the service has ended the stream ({event.reason or 'without a reason'})"
        if event.reason in LASTING_REASONS:
            raise CommandFailed(f"{reason}; select less with --of, --subject or --object", event.reason)
        if self._options.once:
            raise CommandFailed(reason, event.reason or "failed")
        return reason

    def _pause(self, reason: str) -> None:
        longest = min(LAST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** min(self._failures, 16))
        seconds = longest * random.uniform(0.5, 1)
        self._failures += 1
        echo(f"{reason.removesuffix('.')}; trying again in {seconds:.1f} s", err=True)
        self._stop.wait(seconds)


def _may_pass(error: MagistrateError) -> bool:
    if isinstance(error, RequestRefused):
        return error.status in PASSING_STATUSES or error.status >= 500
    return isinstance(error, ServiceUnreachable)


def _require_reader() -> None:
    """Raises BrokenPipeError if nobody reads what is printed, which the next event would show only later."""
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError, AttributeError):  # it is not a file, or the system has no poll
        return
    if any(state & select.POLLERR for _, state in poll.poll(0)):
        raise BrokenPipeError
