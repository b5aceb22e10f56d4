"""Knows the newest revisions of a store by number and bits, so that tokens are made and checked without a statement.

A store that is restored, or fails over to a server that lacks its last writes, continues with other writes under the
same numbers. What a process knows is therefore of one history: each read of the newest revision is compared with it,
and when the store has another history, everything is discarded, and those who keep more are notified."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import Literal, NamedTuple, Protocol

import msgspec

from magistrate.engine.byte_sizes import CacheBytes
from magistrate.engine.names import Revision
from magistrate.engine.warrants.warrant import ChangedWarrant, Warrant
from magistrate.errors import ReadOnly
from magistrate.store.contract.database_use import HeadLocks, PoolCounts, ReplicaCounts
from magistrate.store.contract.stored_rows import Identity

MAX_REVISIONS = 10_000
"""Limits the revisions that are known, which take about 150 bytes each."""
MAX_OTHER_REVISIONS = 1_000
"""Limits the other revisions, which were looked up."""


class RevisionId(NamedTuple):
    """Identifies a write: by the number of its revision, and the 32 bits that it was given at random; None
    where the bits are not kept any more."""

    revision: Revision
    bits: int | None


class Presence(Enum):
    """Says where a write is: in the store, or nowhere because another has its number, or because it is ahead of the
    newest revision. One whose revision is older than the list of revisions counts as in the store."""

    STORED = 0
    REPLACED = 1
    AHEAD = 2


NOTHING_WRITTEN = RevisionId(Revision(0), None)


class KnownRevisions:
    """Holds the last revisions of the history that this process follows. `history` counts how often another was found
    in its place."""

    def __init__(self) -> None:
        self.history = 0
        self.demands = 0
        """Counts how often a write was required to be in the history."""
        self.newest = NOTHING_WRITTEN
        """Is the newest revision that is known to belong to the history."""
        self.seen = Revision(0)
        """Is what the last read has seen as the newest, which a restored store may be behind what is known."""
        self.unlinked: RevisionId | None = None
        """Is the newest revision that was seen in the store, unless it is known to belong to the history."""
        self.confirmed_at = -inf
        """Is a monotonic time at which `newest` was the newest revision of the store, as the store has said."""
        self._bits: dict[Revision, int | None] = {}
        self._others: dict[Revision, int | None] = {}
        self._observers: list[Callable[[], None]] = []
        self.write_observers: set[Callable[[], None]] = set()
        """Are called, in the event loop, whenever this process has written a revision."""

    def call_on_change(self, observer: Callable[[], None]) -> None:
        """Calls the observer whenever the store is found to have another history."""
        self._observers.append(observer)

    def find(self, revision: Revision) -> RevisionId | None:
        """Returns the id of a revision if it is known."""
        if self.newest.revision == revision:
            return self.newest
        if self.unlinked is not None and self.unlinked.revision == revision:
            return self.unlinked
        for bits in (self._bits, self._others):
            if revision in bits:
                return RevisionId(revision, bits[revision])
        return None

    def holds(self, revision_id: RevisionId) -> bool:
        """Returns whether a revision is known to belong to the history that the last read has seen; one without bits
        is taken by its number."""
        revision, bits = revision_id
        if self.unlinked is not None or revision > self.seen:
            return False
        if bits is None:
            return True
        return self._bits.get(revision) == bits or self._others.get(revision) == bits

    def note_newest(self, revision_id: RevisionId) -> None:
        """Notes what a read has seen as the newest revision."""
        revision, bits = revision_id
        self.seen = revision
        if self._others.get(revision, bits) != bits:
            self._begin_anew(revision_id)
        elif revision in self._bits:
            if self._bits[revision] != bits:
                self._begin_anew(revision_id)
            elif self.unlinked is not None and self.newest.revision == revision:
                self.unlinked = None
        elif self.newest == NOTHING_WRITTEN:
            self._add(revision_id)
        else:
            self.unlinked = revision_id

    def note_confirmed(self, revision_id: RevisionId, at: float) -> None:
        """Notes that a statement which was sent at this monotonic time has found this as the newest revision."""
        if revision_id == self.newest:
            self.confirmed_at = at

    def note_stored(self, revision_id: RevisionId) -> None:
        """Notes that a revision was found in the store, in the history that is followed."""
        if len(self._others) >= MAX_OTHER_REVISIONS:
            self._others.pop(next(iter(self._others)))
        self._others[revision_id.revision] = revision_id.bits

    def note_write(self, before: RevisionId, written: RevisionId) -> None:
        """Notes a revision that followed on another. If others are known that are newer, it was noted late, or the
        store was restored: the next link shows which of both."""
        self.note_newest(before)
        if before == self.newest:
            self._add(written)
        else:
            self.note_newest(written)
        for observer in self.write_observers:
            observer()

    def link(self, newest: RevisionId, before: RevisionId | None, since: RevisionId) -> bool:
        """Notes that the store, at its newest revision, has `before` in the place of `since`, None being nothing.
        Returns whether these are the same. Otherwise the store has another history than the one with `since`, unless
        its newest revision is of that history, too: then `since` is not listed any more."""
        is_same = before == since or since == NOTHING_WRITTEN
        is_unlisted = before is None and since.revision <= newest.revision and self._contains(newest)
        if not is_same and not is_unlisted and self._contains(since):
            self._begin_anew(newest)
        elif is_same and since == self.newest and newest.revision > since.revision:
            self._add(newest)
        else:
            self.note_newest(newest)
        if is_same and since == self.newest and self.unlinked is not None:
            self.unlinked = None if self.unlinked.revision <= newest.revision else self.unlinked
        return is_same

    def _contains(self, revision_id: RevisionId) -> bool:
        return revision_id.revision in self._bits and self._bits[revision_id.revision] == revision_id.bits

    def _add(self, revision_id: RevisionId) -> None:
        self._bits[revision_id.revision] = revision_id.bits
        self.newest, self.seen = revision_id, revision_id.revision
        if self.unlinked is not None and self.unlinked.revision <= revision_id.revision:
            self.unlinked = None
        if len(self._bits) > MAX_REVISIONS:
            del self._bits[next(iter(self._bits))]

    def _begin_anew(self, newest: RevisionId) -> None:
        self._bits = {newest.revision: newest.bits}
        self._others.clear()
        self.newest, self.seen, self.unlinked = newest, newest.revision, None
        self.history += 1
        for observer in self._observers:
            observer()


class RevisionStore(Protocol):
    """Describes the part of a store that distinguishes writes with the same number. Every sentence has a test
    in tests/store/test_revision_ids.py."""

    @property
    def identity(self) -> Identity: ...

    @property
    def known(self) -> KnownRevisions:
        """Returns what this process knows of the revisions; each read and write adds what it sees."""
        ...

    @property
    def read_only(self) -> ReadOnly | None:
        """Returns the error of all writes if this process makes none, as on a standby."""
        ...

    async def identify(self, revision: Revision) -> RevisionId:
        """Returns the id of a revision; without bits if they are not kept any more. Takes no statement if it is
        known."""
        ...

    async def confirm_history(self) -> None:
        """Makes certain that the newest revision that was seen belongs to the history that is known, by one statement
        unless that is clear. Raises HistoryReplaced."""
        ...

    async def locate(self, revision_id: RevisionId) -> Presence:
        """Returns where a write is, by one statement, which also shows whether the store still has the history that is
        known."""
        ...


def note_writes(revisions: KnownRevisions, before: RevisionId, written: Sequence[RevisionId]) -> None:
    """Notes what a transaction has written after a revision."""
    revisions.note_newest(before)
    for revision_id in written:
        revisions.note_write(before, revision_id)
        before = revision_id


STALE_MS = 50
"""Limits how far a check on PostgreSQL may lag behind the writes of other processes."""
AGING_MS = 20
"""Sets the age after which a mark is renewed in the background while checks continue to be answered."""

Mark = tuple[float, int]
"""Holds a point in time of one store; it has no meaning anywhere else."""


class Staleness(Enum):
    """Says how stale a value is that was read after a mark.

    CURRENT: no revision was made since, except by other processes on PostgreSQL less than AGING_MS ago. AGING: the
    same, but with STALE_MS; it is time to read again. STALE: neither of the two holds."""

    CURRENT = 0
    AGING = 1
    STALE = 2


class StoreState(Protocol):
    """Describes what a process knows of its store without a statement: the time, whether anything was written since a
    mark, and what its caches take. It ends with `close`."""

    def now(self) -> int:
        """Returns the time on the machine that the database runs on, in microseconds since 1970 UTC. It takes no
        statement: `synchronize_clock` measures how it differs from the clock of this process."""
        ...

    async def synchronize_clock(self) -> None:
        """Measures the clock of the database's machine again, which is to be done every second or so."""
        ...

    @property
    def statements(self) -> int:
        """Returns the number of statements that this process has run on the database."""
        ...

    @property
    def head_locks(self) -> HeadLocks:
        """Returns the times for which writes of this process to any store of the database were lined up."""
        ...

    def count_connections(self) -> PoolCounts:
        """Returns the counts of the connections of this process to the database, which all stores share."""
        ...

    def count_replica_reads(self) -> ReplicaCounts:
        """Returns the counts of the reads that replicas were to answer, for all stores together."""
        ...

    def measure_caches(self) -> Sequence[CacheBytes]:
        """Returns how many bytes each cache of the database takes in this process, for all its stores together, and the
        limits on them."""
        ...

    def mark(self) -> Mark:
        """Returns a mark, which is to be taken before something is read. Takes a microsecond or two. Raises
        StoreUnavailable."""
        ...

    def staleness(self, mark: Mark) -> Staleness:
        """Returns how stale a value is that was read after the mark. Takes no longer than `mark`. Raises
        StoreUnavailable."""
        ...

    def is_newest(self, mark: Mark) -> bool:
        """Returns whether no process has made a revision since the mark; false as well if that cannot be known without
        a statement. Takes no longer than `mark`. Raises StoreUnavailable."""
        ...

    @property
    def is_writing(self) -> bool:
        """Returns whether a write goes on that its caller may not wait for."""
        ...

    async def confirm_mark(self, mark: Mark) -> bool:
        """Returns whether no revision was made since the mark, as of a time after this was called or less than STALE_MS
        ago; false as well if the changes of the store are read as fast. All stores in use share the statement that it
        takes: their number does not matter, only how many of them are written to. Raises StoreUnavailable."""
        ...

    def measure_lag(self, mark: Mark) -> float:
        """Returns for how long it has not been known whether other processes have made a revision since the mark;
        infinity if that is not recorded. Takes no longer than `mark`. Raises StoreUnavailable."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class WarrantChanges:
    """Holds the warrants that began or ended up to the revision `newest`, in the order of the log.

    `changes` is None if there are more than requested, or if the answer is unknown because the requested changes are
    deleted, or the revision after which they were made. `model_revision` is the one that last changed the model."""

    newest: RevisionId
    model_revision: Revision
    changes: Sequence[ChangedWarrant] | None

    @property
    def revision(self) -> Revision:
        return self.newest.revision


# Defines what a store promises about its history, as a part of store.py: which revision was the newest at a time,
# when a revision was written, and how far back reads can go. Every sentence has a test in
# tests/store/test_history.py. A revision is *reached* at the latest time that it, or any revision before it, is
# stamped with. The clocks of writers may differ, so a stamp may be earlier than that of the revision before; the
# times at which revisions are reached never go back. A revision whose clock was behind is reached together with the
# one before it. One whose clock was ahead, and all that follow, are reached when that time has come; Store.collect
# treats them in the same way.


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
    another, which may be earlier, in microseconds since 1970 UTC."""

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
