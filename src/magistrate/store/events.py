"""What a store promises about events: what was written, which it knows from the change log, and which checks were
decided, which it is told by those who decide them. Every sentence has a test in tests/store/test_events.py."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import msgspec

from magistrate.store.slices import Portion, Slice, Snapshot

EventKind = Literal["object", "object-type", "warrant", "decision"]
Action = Literal["created", "updated", "deleted", "allowed", "denied"]

Place = tuple[int, int, int, int]
"""Of an event among all: its time in microseconds since 1970 UTC, 0 for what was written and 1 for a decision, its
revision or the number of the decision, and its position in that revision or 0."""


class Event(msgspec.Struct, frozen=True):
    """('created', 'object', ('document', 'plan'), '{"title":"Plan"}', (1763683200000000, 0, 7, 0)).

    `key` is type and id of an object, the name of an object type, or the first six columns of a warrant and the digest
    of its policy; of a decision the first six of the warrant that was asked for. `content` is the meta, definition or
    policy that was written, or deleted; of a decision the context as compact JSON. None where there was none."""

    action: Action
    kind: EventKind
    key: tuple[str, ...]
    content: str | None
    place: Place


@dataclass(frozen=True, slots=True)
class EventsOfKind:
    """Those with this action (None: whatever it is), and with these texts at these places of the key."""

    kind: EventKind
    action: Action | None = None
    names: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Events that are of one of these kinds, not before `since` and not after `until`, in microseconds since 1970.
    Without kinds there are none."""

    kinds: Sequence[EventsOfKind]
    since: int | None = None
    until: int | None = None


class NewDecision(msgspec.Struct, frozen=True):
    """(1763683200000000, True, ('document', 'plan', 'viewer', 'user', 'ann', ''), '{"tenant":"acme"}'): who asked for
    what, when, and whether it was authorized. `context` is compact JSON, None if it was empty."""

    at: int
    is_authorized: bool
    names: tuple[str, ...]
    context: str | None


class EventStore(Protocol):
    """The part of a store that has to do with events."""

    async def list_events(self, wanted: Slice, only: EventFilter) -> Snapshot[Portion[Event]]:
        """Sorts: createdAt, by the place. Warrants that ended because an object was deleted are not among them: the
        object is.

        Cost: the rows looked at until enough are found."""
        ...

    async def keep_decisions(self, decisions: Sequence[NewDecision], most: int) -> None:
        """Writes them without making a revision, and forgets the oldest of all decisions so that `most` stay; if there
        were far more, not at once but from call to call.

        After StoreUnavailable they may be there or not; to write them again may then write them twice."""
        ...

    async def forget_events(self, before: int, most: int) -> int:
        """Forgets changes, revisions and decisions that were written at or before the time `before` (microseconds since
        1970), each at most `most`, the oldest first; the newest of these revisions stays. Answers how many; 0 says that
        nothing is left. Readable revisions stay readable.

        Revisions behind one that is stamped later than `before` stay, with their changes: see Store.collect.

        Of a revision of which a part is forgotten, nothing is listed any more."""
        ...
