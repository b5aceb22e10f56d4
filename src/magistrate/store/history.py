"""Defines what a store promises about its history, as a part of contract.py: which revision was the newest at a time,
when a revision was written, and how far back reads can go. Every sentence has a test in tests/store/test_history.py.

A revision is *reached* at the latest time that it, or any revision before it, is stamped with. The clocks of writers
may differ, so a stamp may be earlier than that of the revision before; the times at which revisions are reached never
go back. A revision whose clock was behind is reached together with the one before it. One whose clock was ahead, and
all that follow, are reached when that time has come; Store.collect treats them in the same way."""

from typing import Protocol

import msgspec

from magistrate.engine.terms import Revision


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


class HistoryStore(Protocol):
    """Describes the part of a store that finds revisions. Both methods run one statement of a few lookups."""

    async def find_revision(self, revision: Revision) -> RevisionLookup:
        """Finds a revision by its number."""
        ...

    async def find_revision_at(self, time: int) -> RevisionLookup:
        """Finds the newest revision that was reached by this time, in microseconds since 1970 UTC."""
        ...
