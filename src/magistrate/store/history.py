"""Defines what a store promises about its history, as a part of contract.py: which revision was the newest at a time,
when a revision was written, and how far back reads can go. Every sentence has a test in tests/store/test_history.py.

A revision is *reached* at the latest time that it, or any revision before it, is stamped with. The clocks of writers
may differ, so a stamp may be earlier than that of the revision before; the times at which revisions are reached never
go back. A revision whose clock was behind is reached together with the one before it. One whose clock was ahead, and
all that follow, are reached when that time has come; Store.collect treats them in the same way."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import msgspec

from magistrate.engine.terms import Revision
from magistrate.engine.warrants import Warrant


class RevisionTime(msgspec.Struct, frozen=True):
    """Holds a revision, the time that it is stamped with, and the time at which it was reached, both in microseconds
    since 1970 UTC: (8, 1763683200000000, 1763683200000000)."""

    revision: Revision
    written_at: int
    reached_at: int


class RevisionLookup(msgspec.Struct, frozen=True):
    """Holds a revision that can be read, or None if there is none: then it has been collected, is not written yet, or
    is older than the list of revisions.

    `newest` is the newest revision, `model_revision` the one that last changed the model, and `oldest` the oldest that
    can be found and read; None if nothing was ever written."""

    match: RevisionTime | None
    newest: Revision
    model_revision: Revision
    oldest: RevisionTime | None


LogPlace = tuple[int, int]
"""Holds the place of a change in the log: its revision, and its position in that revision."""


class LoggedChange(msgspec.Struct, frozen=True):
    """Holds a change of an object or a warrant: ((7, 0), 'created', 'object', ('document', 'plan'), None).

    `key` is the type and id of an object, or the first six columns of a warrant and the digest of its policy, whose
    text is in `policy`. `starts_at` and `expires_at` are the limits that a warrant has then, or had when it expired."""

    place: LogPlace
    action: Literal["created", "updated", "deleted", "expired"]
    kind: Literal["object", "warrant"]
    key: tuple[str, ...]
    policy: str
    starts_at: int | None = None
    expires_at: int | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """Represents the time between two states: from one revision to another, which is not below it, and from one time to
    another, in microseconds since 1970 UTC."""

    first: Revision
    last: Revision
    since: int
    until: int


class HistoryStore(Protocol):
    """Describes the part of a store that finds revisions, and what changed between two of them. The methods that find a
    revision run one statement of a few lookups."""

    async def find_revision(self, revision: Revision) -> RevisionLookup:
        """Finds a revision by its number."""
        ...

    async def find_revision_at(self, time: int) -> RevisionLookup:
        """Finds the newest revision that was reached by this time, in microseconds since 1970 UTC."""
        ...

    async def list_changes(
        self, first: Revision, last: Revision, behind: LogPlace | None, most: int
    ) -> Sequence[LoggedChange]:
        """Lists up to `most` changes of objects and warrants that the revisions above `first` up to `last` made, in the
        order of their places, beginning behind one. Raises RevisionUnavailable if some of them are deleted.

        Cost: the changes in these revisions."""
        ...

    async def list_timed_warrants(self, span: Span, most: int) -> Sequence[Warrant]:
        """Lists up to `most` of the warrants that exist at both revisions and may count at one of the times but not at
        the other, in no particular order: one of their limits is in between, or their policy reads the clock.

        Cost: these warrants, and those that ended since the last revision and had a limit."""
        ...
