"""Follows the heads of all stores of a database together, so that many stores in use take one statement, not one each.

Each statement lists the heads that were moved by transactions which the snapshot of the statement before did not see.
What is not listed has not moved between the two snapshots, in whatever order transactions were begun and committed.
See docs/decisions/0094-one-statement-follows-all-heads.md."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from math import inf
from typing import NamedTuple

import structlog

from magistrate.errors import MagistrateError
from magistrate.store.contract.revisions import NOTHING_WRITTEN, KnownRevisions, Mark, RevisionId
from magistrate.store.database import Rows
from magistrate.store.leadership import Leadership
from magistrate.store.postgres.shared_heads import WANTED_SECONDS, MovedHead, SharedHeads
from magistrate.store.sql.dialect import Parameter
from magistrate.store.sql.postgres import FOLLOW_HEADS

IN_USE_SECONDS = 1.0
"""Sets for how long a store counts as in use after `follow` was called for it."""
MAX_GAP_SECONDS = 1.0
"""Limits the time between two statements of which the second continues the first. The rows of a deleted store, whose
head disappears with them, are removed later than that."""
MAX_MOVED = 1_000
"""Limits the heads that are listed. If more have moved, all stores count as moved."""

POLL_SECONDS, IDLE_SECONDS = 0.025, 0.25
"""Set how often the heads are followed for all processes of this machine: while any of them has checks to answer, and
otherwise."""
TAKE_OVER_SECONDS = 0.5
"""Sets how often a process looks whether nobody leads any more."""
TAKE_SECONDS = 0.002
"""Limits how often a process looks for what another has followed."""
FED_SECONDS = 0.06
"""Limits the age of what was followed for all last, up to which nobody needs a statement of its own: two rounds."""

log = structlog.get_logger()

ReadRows = Callable[[str, tuple[Parameter, ...]], Awaitable[Rows]]


class FollowedHead:
    """Holds what is known of the head of one store: since the monotonic time `moved_at`, no other process has moved it
    up to the last statement (HeadFollower.read_at), or up to `read_at`, if that is later, as another process of this
    machine knows. `revisions` are those that this process has seen."""

    __slots__ = ("is_fed", "moved_at", "read_at", "revisions", "taken_at", "written", "written_at")

    def __init__(self, revisions: KnownRevisions) -> None:
        self.revisions = revisions
        self.moved_at = time.monotonic()
        self.read_at = self.taken_at = 0.0
        self.is_fed = False
        """Says whether another process followed it for this one, when that was looked up last, at `taken_at`."""
        self.written = NOTHING_WRITTEN
        self.written_at = inf

    def note_write(self, written: RevisionId, mark: Mark) -> None:
        """Notes what this process has written, and a mark that was taken while nobody else could write."""
        self.written, self.written_at = written, mark[0]

    def is_own(self, revision: int | None, bits: int | None) -> bool:
        """Returns whether a head at this revision was moved there by this process. It was not if this process has seen
        a later revision: then a restore has brought it back."""
        is_newest = self.revisions.newest == self.written and self.revisions.unlinked is None
        return is_newest and self.written == (revision, bits)


class Sharing(NamedTuple):
    """Holds what the processes of a service on this machine share: which of them leads, and what it has followed."""

    leadership: Leadership
    heads: SharedHeads


class HeadFollower:
    """Knows of each store in use whether its head has moved. `read` runs a statement, and `count_lost` returns how many
    connections were lost up to now: behind another connection may be another server, with other transactions."""

    def __init__(self, read: ReadRows, count_lost: Callable[[], int], sharing: Sharing | None = None) -> None:
        self.sharing = sharing
        self._unshared: list[tuple[int, MovedHead]] = []
        """Has the moved heads that the others have not been shown yet."""
        self._begun_at = 0.0
        self.read_at = 0.0
        """Is the monotonic time just before the last statement was sent."""
        self._read = read
        self._count_lost = count_lost
        self._lost = 0
        self._snapshot: str | None = None
        """Is the snapshot of the last statement; None if the next one begins anew."""
        self._continued: str | None = None
        """Is the snapshot that the statement continues which runs now."""
        self._server = ""
        self._restarts = 0
        self._heads: dict[int, FollowedHead] = {}
        self._following: asyncio.Task[None] | None = None
        self._user, self._used_at, self._other_used_at = 0, -inf, -inf
        """Are the store that was followed last, the time of that, and the last time at which another one was."""

    def open_head(self, store: int, revisions: KnownRevisions) -> FollowedHead:
        """Returns what is known of the head of a store, from now on in place of what was returned before."""
        self.release_head(store)
        head = self._heads[store] = FollowedHead(revisions)
        return head

    def release_head(self, store: int) -> None:
        """Ends what is known of the head of a store: nothing is confirmed any more."""
        head = self._heads.pop(store, None)
        if head is not None:
            head.moved_at = inf

    def begin_anew(self) -> None:
        """Discards what is known. It is called when a store was found to have another history, because then other
        stores may have one, too."""
        self._snapshot, self.read_at = None, 0.0
        self._restarts += 1
        now = time.monotonic()
        for head in self._heads.values():
            head.moved_at = max(head.moved_at, now)

    async def follow(self, store: int) -> bool:
        """Runs the statement for a store, together with all others that call this meanwhile, and returns whether that
        was done. It is not if only one store is in use, whose own change log shows more with one statement as well, and
        nobody waits for a statement that has none before it to continue. Raises StoreUnavailable."""
        if not self._note_use(store):
            return False
        following = self._begin_following()
        if self._continued is None:
            return False
        await asyncio.shield(following)  # it goes on for the others if one of them is cancelled
        return True

    async def follow_for_all(self) -> None:
        """Follows the heads for all processes of this machine, as soon as no other process does."""
        sharing = self.sharing
        if sharing is None:
            return
        while not sharing.leadership.take():
            await asyncio.sleep(TAKE_OVER_SECONDS)
        while True:
            began_at = time.monotonic()
            try:
                await asyncio.shield(self._begin_following())
            except MagistrateError:
                pass  # the others run statements of their own then, and get the error
            except Exception:  # any error may be gone at the next attempt
                log.exception("the heads of the stores could not be followed", outage="heads")
            while time.monotonic() - began_at < (POLL_SECONDS if sharing.heads.is_wanted else IDLE_SECONDS):
                await asyncio.sleep(POLL_SECONDS)

    def take_followed(self, store: int) -> bool:
        """Takes over what another process of this machine has followed of a store, and returns whether one does that:
        then no statement of this process is needed soon. Takes some microseconds."""
        head = self._heads.get(store)
        if self.sharing is None or head is None:
            return False
        now = time.monotonic()
        if now - head.taken_at >= TAKE_SECONDS:
            if now - head.taken_at < WANTED_SECONDS:  # once in a while, it is not worth the statements
                self.sharing.heads.want()
            head.taken_at = now
            head.is_fed = self._take_followed(self.sharing, head, store)
        return head.is_fed

    def _take_followed(self, sharing: Sharing, head: FollowedHead, store: int) -> bool:
        if sharing.leadership.is_taken:
            return head.taken_at - self.read_at < FED_SECONDS
        followed = sharing.heads.read_head(store)
        if followed is None:
            return False
        times, moved = followed
        if times.read_at > head.read_at:
            is_own = moved.moved_at > 0 and head.is_own(moved.revision, moved.bits)
            moved_at = max(times.begun_at, head.written_at if is_own else moved.moved_at)
            head.moved_at, head.read_at = max(head.moved_at, moved_at), times.read_at
        return head.taken_at - times.read_at < FED_SECONDS

    def find_unmoved(self, since: float) -> float | None:
        """Implements Stores.find_unmoved. The process that leads reads the list itself, so that it finds a database
        that was restored."""
        if self.sharing is None or self.sharing.leadership.is_taken:
            return None
        times = self.sharing.heads.read_times()
        is_unmoved = times is not None and max(times.begun_at, times.moved_at) < since <= times.read_at
        return times.read_at if times is not None and is_unmoved else None

    def _begin_following(self) -> "asyncio.Task[None]":
        """Returns the task that runs the statement; all that need it meanwhile share it."""
        if self._following is None:
            gap = time.monotonic() - self.read_at
            self._continued = self._snapshot if gap < MAX_GAP_SECONDS else None
            self._following = asyncio.create_task(self._follow(self._continued))
            self._following.add_done_callback(self._end_following)
        return self._following

    def _note_use(self, store: int) -> bool:
        """Returns whether other stores are in use as well."""
        if store != self._user:
            self._user, self._other_used_at = store, self._used_at
        self._used_at = time.monotonic()
        return self._used_at - self._other_used_at < IN_USE_SECONDS

    async def _follow(self, former: str | None) -> None:
        restarts, sent_at = self._restarts, time.monotonic()
        self._snapshot = None  # if it fails, the next one begins anew
        rows = await self._read(FOLLOW_HEADS, (former, former, MAX_MOVED + 1))
        snapshot, server = rows[0][:2]
        lost = self._count_lost()
        is_same_server = lost == self._lost and server == self._server
        self._lost, self._server = lost, server
        if restarts != self._restarts:
            return
        has_all = is_same_server and len(rows) <= MAX_MOVED
        if former is not None and has_all and _find_oldest(snapshot) >= _find_oldest(former):
            self._note_moved(rows)
        else:
            self._begun_at = received_at = time.monotonic()
            self._unshared.clear()
            for head in self._heads.values():
                head.moved_at = received_at
        self._snapshot, self.read_at = snapshot, sent_at
        self._share()

    def _note_moved(self, rows: Rows) -> None:
        received_at = time.monotonic()
        for _, _, store, revision, bits in rows:  # without any, there is one row without a store
            if (head := self._heads.get(store)) is not None:
                moved_at = head.written_at if head.is_own(revision, bits) else received_at
                head.moved_at = max(head.moved_at, moved_at)
            if store is not None and self.sharing is not None:
                self._unshared.append((store, MovedHead(received_at, revision or -1, bits or 0)))

    def _share(self) -> None:
        """Shows the others what was found, if this process leads."""
        sharing = self.sharing
        is_leader = sharing is not None and sharing.leadership.is_taken
        if sharing is None or not is_leader or sharing.heads.write(self._begun_at, self.read_at, self._unshared):
            self._unshared.clear()
        elif len(self._unshared) > MAX_MOVED:
            self._snapshot = None  # the next statement begins anew

    def stop_sharing(self) -> None:
        """Ends what is shared, for this process."""
        if self.sharing is not None:
            self.sharing.heads.close()
            self.sharing = None

    def _end_following(self, ended: asyncio.Task[None]) -> None:
        """Retrieves the error: if nobody waited for the statement, asyncio would log that nobody did."""
        self._following = None
        if not ended.cancelled():
            ended.exception()


def _find_oldest(snapshot: str) -> int:
    """Returns the number of the oldest transaction that was running, with which the text of a snapshot begins."""
    return int(snapshot.partition(":")[0])
