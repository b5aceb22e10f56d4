"""Follows the heads of all stores of a database together, so that many stores in use take one statement, not one each.

Each statement lists the heads that were moved by transactions which the snapshot of the statement before did not see.
What is not listed has not moved between the two snapshots, in whatever order transactions were begun and committed.
See docs/decisions/0094-one-statement-follows-all-heads.md."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from math import inf

from magistrate.store.contract.revisions import NOTHING_WRITTEN, Mark, RevisionId
from magistrate.store.database import Rows
from magistrate.store.sql.dialect import Parameter
from magistrate.store.sql.postgres import FOLLOW_HEADS

IN_USE_SECONDS = 1.0
"""Sets for how long a store counts as in use after `follow` was called for it."""
MAX_GAP_SECONDS = 1.0
"""Limits the time between two statements of which the second continues the first. The rows of a deleted store, whose
head disappears with them, are removed later than that."""
MAX_MOVED = 1_000
"""Limits the heads that are listed. If more have moved, all stores count as moved."""

ReadRows = Callable[[str, tuple[Parameter, ...]], Awaitable[Rows]]


class FollowedHead:
    """Holds what is known of the head of one store: since the monotonic time `moved_at`, no other process has moved it
    up to the last statement (HeadFollower.read_at)."""

    __slots__ = ("moved_at", "written", "written_at")

    def __init__(self) -> None:
        self.moved_at = time.monotonic()
        self.written = NOTHING_WRITTEN
        self.written_at = inf

    def note_write(self, written: RevisionId, mark: Mark) -> None:
        """Notes what this process has written, and a mark that was taken while nobody else could write."""
        self.written, self.written_at = written, mark[0]


class HeadFollower:
    """Knows of each store in use whether its head has moved. `read` runs a statement, and `count_lost` returns how many
    connections were lost up to now: behind another connection may be another server, with other transactions."""

    def __init__(self, read: ReadRows, count_lost: Callable[[], int]) -> None:
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

    def open_head(self, store: int) -> FollowedHead:
        """Returns what is known of the head of a store, from now on in place of what was returned before."""
        self.release_head(store)
        head = self._heads[store] = FollowedHead()
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

    async def follow(self, store: int) -> bool:
        """Runs the statement for a store, together with all others that call this meanwhile, and returns whether that
        was done. It is not if only one store is in use, whose own change log shows more with one statement as well, and
        nobody waits for a statement that has none before it to continue. Raises StoreUnavailable."""
        if not self._note_use(store):
            return False
        if self._following is None:
            gap = time.monotonic() - self.read_at
            self._continued = self._snapshot if gap < MAX_GAP_SECONDS else None
            self._following = asyncio.create_task(self._follow(self._continued))
            self._following.add_done_callback(self._end_following)
        if self._continued is None:
            return False
        await asyncio.shield(self._following)  # it goes on for the others if one of them is cancelled
        return True

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
            received_at = time.monotonic()
            for head in self._heads.values():
                head.moved_at = received_at
        self._snapshot, self.read_at = snapshot, sent_at

    def _note_moved(self, rows: Rows) -> None:
        received_at = time.monotonic()
        for _, _, store, revision, bits in rows:  # without any, there is one row without a store
            if (head := self._heads.get(store)) is not None:
                is_own = head.written == (revision, bits)
                head.moved_at = head.written_at if is_own else received_at

    def _end_following(self, ended: asyncio.Task[None]) -> None:
        """Retrieves the error: if nobody waited for the statement, asyncio would log that nobody did."""
        self._following = None
        if not ended.cancelled():
            ended.exception()


def _find_oldest(snapshot: str) -> int:
    """Returns the number of the oldest transaction that was running, with which the text of a snapshot begins."""
    return int(snapshot.partition(":")[0])
