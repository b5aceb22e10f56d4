"""Defines what a store promises about events: writes, which it knows from the change log, and decisions of checks,
which its callers report to it. Every sentence has a test in tests/store/test_events.py."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

import msgspec

from magistrate.engine.names import Revision
from magistrate.store.contract.lists import PageSlice, Slice, Snapshot
from magistrate.store.contract.revisions import Presence, RevisionId

EventKind = Literal["object", "object-type", "policy", "warrant", "webhook", "decision"]
Action = Literal["created", "updated", "deleted", "expired", "allowed", "denied"]

Place = tuple[int, int, int]
"""Holds the place of an event among all events: for a change, its revision, 0, and its position in that revision; for a
decision, the newest revision when it was stored, 1, and its number. Whatever is stored later has a greater place."""

CHANGES, DECISIONS = 0, 1
"""Distinguish the two sources in places."""

END_OF_PLACES = 9_223_372_036_854_775_807
"""Sorts behind every position and number (the largest 64-bit integer); -1 sorts before them."""


class Event(msgspec.Struct, frozen=True):
    """Holds one event: ('created', 'object', ('document', 'plan'), '{"title":"Plan"}', (7, 0, 0), 1763683200000000, 7).

    `at` is its time, in microseconds since 1970 UTC: for a change, the latest one that its revision or one before it is
    stamped with, which never goes back from one revision to the next; for a decision, the time for which it was made.
    `revision` is the one that made the change, or at which the decision was made, None if that was not stored.

    `key` is the type and id of an object, the name of an object type or policy, the id of a webhook, or the first six
    columns of a warrant and the digest of its policy; for a decision, the first six columns of the warrant that was
    checked. `content` is the meta, definition or policy that was written or ended; for a decision, the context as
    compact JSON. It is None if there was none. `starts_at` and `expires_at` are the limits of a warrant that was
    written or has expired. `actor` and `request_id` say who made the request and which it was, as far as that is known.
    `bits` are those of the revision of a write."""

    action: Action
    kind: EventKind
    key: tuple[str, ...]
    content: str | None
    place: Place
    at: int
    revision: Revision
    starts_at: int | None = None
    expires_at: int | None = None
    actor: str | None = None
    request_id: str | None = None
    bits: int | None = None


@dataclass(frozen=True, slots=True)
class EventsOfKind:
    """Selects the events of a kind with this action (None: any action) and with these texts at these places of the
    key."""

    kind: EventKind
    action: Action | None = None
    names: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Selects the events that are of one of these kinds, not before `since` and not after `until`, in microseconds
    since 1970, by their `at`. Without kinds it selects none."""

    kinds: Sequence[EventsOfKind]
    since: int | None = None
    until: int | None = None


class EventPosition(NamedTuple):
    """Represents how far a follower has read the events: up to `place`. The others say what was not kept any more when
    it began: changes up to a revision, and decisions up to a number. The end of a revision is a position, too."""

    place: Place
    changes_deleted: int = 0
    decisions_deleted: int = 0


def build_position(revision: Revision) -> EventPosition:
    """Returns the position behind the changes of a revision."""
    return EventPosition((revision, CHANGES, END_OF_PLACES))


@dataclass(frozen=True, slots=True)
class FollowedEvents:
    """Holds events in the order of their places, and the position behind them."""

    rows: tuple[Event, ...]
    position: EventPosition


@dataclass(frozen=True, slots=True)
class LogPart:
    """Selects at most `limit` changes behind a place in the log, which is the position `behind` in the revision
    `after`, its end if that is not given. With `within`, the changes are those of that revision alone, and of these
    only those of a kind and with an action, if they are given.

    The content of a change is left out, and the change with it, if those before it take `max_bytes` or more."""

    after: RevisionId
    limit: int
    max_bytes: int
    behind: int = END_OF_PLACES
    within: tuple[EventKind, Action] | None = None


@dataclass(frozen=True, slots=True)
class LogPage:
    """Holds changes in the order of their places. `following` is the revision of the first that was left out, None if
    none was. `presence` says where the revision `after` is, and `after_at` when it was reached, None if that is not
    known. `newest` was reached at `newest_at`.

    Changes up to the revision `deleted`, which was reached at `deleted_at`, may be deleted: one who has read up to an
    earlier one has perhaps missed some."""

    rows: tuple[Event, ...]
    following: Revision | None
    presence: Presence
    after_at: int | None
    newest: RevisionId
    newest_at: int
    deleted: Revision
    deleted_at: int | None


class DecisionRecord(msgspec.Struct, frozen=True):
    """Holds a decision: (1763683200000000, True, ('document', 'plan', 'viewer', 'user', 'ann', ''),
    '{"tenant":"acme"}', 7).

    It consists of the time for which it was made, whether the check was authorized, and the names of the check.
    `context` is compact JSON, None if it was empty. `revision` is the one at which it was made.
    `contextual_warrants` is a JSON array, None if there were none. `is_partial` says
    that the context or the contextual warrants are not kept although there were some. `actor` and `request_id` are as
    in Event, and `bits` are those of the revision."""

    at: int
    is_authorized: bool
    names: tuple[str, ...]
    context: str | None
    revision: Revision
    contextual_warrants: str | None = None
    is_partial: bool = False
    actor: str | None = None
    request_id: str | None = None
    bits: int | None = None


class EventStore(Protocol):
    """Describes the part of a store that handles events."""

    async def list_events(self, part: Slice, only: EventFilter) -> Snapshot[PageSlice[Event]]:
        """Lists a slice of the events that match the filter. Sorts: createdAt, which is by the place.

        Warrants that ended because an object was deleted are not listed; the deletion of the object is.

        Cost: the rows looked at until enough are found."""
        ...

    async def follow_events(
        self, after: EventPosition | None, limit: int, only: EventFilter
    ) -> Snapshot[FollowedEvents]:
        """Lists the first `limit` events behind a position that match the filter, from the oldest that is kept if there
        is no position. Where fewer are left, the new position is behind everything that is stored: following it shows
        each event once, and misses none.

        Raises EventsNotKept if some of the kinds of the filter, whether they matched or not, were behind the position
        and are not kept any more.

        Cost: as `list_events`."""
        ...

    async def read_log(self, part: LogPart) -> LogPage:
        """Reads a part of the change log, complete: also the warrants that ended because an object was deleted.

        Cost: one statement, which looks at the changes that are returned, or with `within` at those of the
        revision."""
        ...

    async def keep_decisions(self, decisions: Sequence[DecisionRecord], most: int) -> None:
        """Stores the decisions without making a revision, and deletes the oldest of all decisions so that `most`
        stay; if there are far more, they are deleted over several calls.

        After StoreUnavailable the decisions may be stored or not; storing them again may then store them twice."""
        ...

    async def find_decision(self, number: int, stored_at: int) -> Snapshot[DecisionRecord | None]:
        """Finds the decision whose event has this number and this revision in its place."""
        ...

    async def delete_events(self, before: int, most: int) -> int:
        """Deletes changes, revisions and decisions that were written at or before the time `before` (in microseconds
        since 1970), at most `most` of each, oldest first; the newest of these revisions stays. Returns their number;
        0 means that nothing is left. Readable revisions stay readable.

        Revisions after one that is stamped later than `before` stay, with their changes, and so do decisions: see
        Store.collect.

        Once a part of a revision is deleted, no change of that revision is listed any more."""
        ...
