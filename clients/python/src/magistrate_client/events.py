"""Defines the events of feeds (docs/watch.md), and reads them from lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple, Union

from magistrate_client.errors import (
    BudgetExceeded,
    Gone,
    MagistrateError,
    NotFound,
    Refused,
    RevisionLost,
    Unauthenticated,
)
from magistrate_client.http_messages import BrokenAnswer
from magistrate_client.refs import Json, Warrant, read_time, read_warrant_row

MAX_LINE_BYTES = 33_554_432
"""Limits an event (32 MiB)."""

_FINAL_ENDS: Mapping[str, type[Refused]] = {
    "key_ended": Unauthenticated,
    "store_restored": RevisionLost,
    "revision_lost": RevisionLost,
    "store_deleted": NotFound,
    "not_retained": Gone,
    "budget_exceeded": BudgetExceeded,
}
_STATUSES = {Unauthenticated: 401, RevisionLost: 409, NotFound: 404, Gone: 410, BudgetExceeded: 503}


class Revision(NamedTuple):
    """Is a write: what it changed. To keep a copy, apply `warrants_deleted` and `warrants_expired` before
    `warrants_created`. Objects, object types and policies are as the service has them: maps from `created`, `updated`
    and `deleted` to rows. `token` is the place to go on from."""

    token: str
    time: datetime
    actor: str | None
    request_id: str | None
    warrants_created: list[Warrant]
    warrants_deleted: list[Warrant]
    warrants_expired: list[Warrant]
    objects: Mapping[str, list[Json]]
    object_types: Mapping[str, list[Json]]
    policies: Mapping[str, list[Json]]


class Snapshot(NamedTuple):
    """Is a part of the state that a feed begins with. `is_first` says that this state begins here: whoever has parts of
    another discards them, because a snapshot that is cut off begins anew."""

    is_first: bool
    warrants: list[Warrant]
    objects: list[Json]
    object_types: list[Json]
    policies: list[Json]


class Checkpoint(NamedTuple):
    """Says that everything up to `token` was told, writes or none."""

    token: str
    time: datetime


class AccessRow(NamedTuple):
    """Says that a subject has access, perhaps only with some contexts. `cause` is there in what changed it."""

    warrant: Warrant
    conditional: bool = False
    cause: Mapping[str, Any] | None = None


class AccessSnapshot(NamedTuple):
    """Is a part of all access that a feed begins with; see Snapshot."""

    is_first: bool
    access: list[AccessRow]


class AccessChanges(NamedTuple):
    """Is what a write or a moment changed. Apply `lost` before `gained`. If `resync` is there, more changed than an
    event can have: begin with a snapshot. `position` is the place to go on from."""

    token: str
    position: str
    time: datetime
    gained: list[AccessRow]
    lost: list[AccessRow]
    resync: str | None = None


WatchEvent = Union[Revision, Snapshot, Checkpoint]
AccessEvent = Union[AccessChanges, AccessSnapshot, Checkpoint]


class FeedReader:
    """Reads the events of one connection, given where the feed was. `position` is where it goes on, None if it never
    began; `in_snapshot` says that a snapshot has begun and not ended."""

    def __init__(self, position: str | None, has_snapshot: bool) -> None:
        self.position = position
        self.needs_snapshot = has_snapshot
        self._in_snapshot = False
        self._begun = b""

    def begin(self) -> None:
        """Takes note of a new connection: what was incomplete comes again."""
        self._begun = b""
        self._in_snapshot = False

    def read(self, data: bytes) -> Iterator[Json]:
        """Yields the complete events in the next bytes, and moves on behind each when the next is requested. Raises
        BrokenAnswer for what no Magistrate sends."""
        *complete, rest = data.split(b"\n")
        for piece in complete:
            line = self._begun + piece
            self._begun = b""
            if line.strip():
                yield self._read_line(line)
        self._begun += rest
        if len(self._begun) > MAX_LINE_BYTES:
            raise BrokenAnswer(f"an event is larger than {MAX_LINE_BYTES} bytes")

    def begin_snapshot(self) -> bool:
        """Returns whether a part of a snapshot is the first one."""
        is_first, self._in_snapshot = not self._in_snapshot, True
        return is_first

    def _read_line(self, line: bytes) -> Json:
        try:
            event = json.loads(line)
        except ValueError as error:
            raise BrokenAnswer("an event of the feed cannot be read") from error
        if not isinstance(event, dict) or "event" not in event:
            raise BrokenAnswer("an event of the feed has no name")
        if event["event"] != "snapshot" and (place := event.get("id") or event.get("token")):
            self.position, self.needs_snapshot = place, False
        return event


def read_watch_event(event: Json, reader: FeedReader) -> WatchEvent | None:
    """Returns an event of `/v2/watch`, or None for one that later versions may have."""
    name = event["event"]
    if name == "checkpoint":
        return Checkpoint(event["token"], read_time(event["time"]))
    if name == "snapshot":
        warrants = [read_warrant_row(row) for row in event.get("warrants", ())]
        rows = ([*event.get(member, ())] for member in ("objects", "objectTypes", "policies"))
        return Snapshot(reader.begin_snapshot(), warrants, *rows)
    if name != "revision":
        return None
    warrants_changed = event.get("warrants", {})
    created, deleted, expired = (
        [read_warrant_row(row) for row in warrants_changed.get(kind, ())] for kind in ("created", "deleted", "expired")
    )
    return Revision(
        event["token"],
        read_time(event["time"]),
        event.get("actor"),
        event.get("requestId"),
        created,
        deleted,
        expired,
        event.get("objects", {}),
        event.get("objectTypes", {}),
        event.get("policies", {}),
    )


def read_access_event(event: Json, reader: FeedReader) -> AccessEvent | None:
    """Returns an event of `/v2/watch/access`, or None for one that later versions may have."""
    name = event["event"]
    if name == "checkpoint":
        return Checkpoint(event.get("id") or event["token"], read_time(event["time"]))
    if name == "snapshot":
        return AccessSnapshot(reader.begin_snapshot(), [read_access_row(row) for row in event["access"]])
    if name != "access":
        return None
    return AccessChanges(
        event["token"],
        event.get("id") or event["token"],
        read_time(event["time"]),
        [read_access_row(row) for row in event.get("gained", ())],
        [read_access_row(row) for row in event.get("lost", ())],
        event.get("resync"),
    )


def read_access_row(row: Mapping[str, Any]) -> AccessRow:
    """Returns a row of access."""
    return AccessRow(read_warrant_row(row), row.get("conditional", False), row.get("cause"))


def build_end(event: Json) -> MagistrateError | None:
    """Returns the error of an event `end` after which a feed cannot go on, or None if it can."""
    reason = str(event.get("reason", ""))
    kind = _FINAL_ENDS.get(reason)
    return None if kind is None else kind(f"the feed has ended: {reason}", _STATUSES[kind], reason, None, event)
