"""Shares what follows a store among all its readers in this process: one task follows the head, and what it has read
is kept for those who read on from nearby.

A write of this process wakes the task. Those of others are found by looking: on SQLite this takes no statement, on
PostgreSQL all stores share one, or the log of the only one is read at once. Readers that are further behind read the
log in pages, which are kept for a while for others."""

import asyncio
import time
from asyncio import Event, Task
from bisect import bisect_right
from collections.abc import AsyncGenerator, Callable, Coroutine, Hashable, Sequence
from contextlib import suppress
from contextvars import Context
from typing import Any, TypeVar

import structlog

from magistrate.engine.names import Revision
from magistrate.errors import HistoryReplaced, MagistrateError, RevisionLost, StoreUnavailable
from magistrate.operations.watch.feed_memory import FeedMemory
from magistrate.operations.watch.revision_log import (
    LargePart,
    RevisionBatch,
    RevisionLog,
    RevisionPage,
    WrittenRevision,
)
from magistrate.store.contract.events import Event as Change
from magistrate.store.contract.revisions import Mark, Presence, RevisionId
from magistrate.store.contract.store import Store

T = TypeVar("T")

log = structlog.get_logger()

HEARTBEAT_SECONDS = 7.5
"""Sets after which time without a revision readers get a batch without one."""
LOOK_SECONDS, POLL_SECONDS = 0.004, 0.025
"""Set how often the feed looks whether others have written: where that takes no statement, and where it does."""
GATHER_SECONDS = 0.01
"""Sets how long the feed waits after it has found something, so that what is written meanwhile is read together."""
LOOK_SECONDS_A_FEED = 0.0002
"""Sets that many feeds together take no more than a twentieth of a processor for looking."""
RETRY_SECONDS = 0.25
"""Sets how long the feed waits while the store is unavailable."""
MAX_BATCH, MAX_BATCH_BYTES = 100, 262_144
"""Limit the revisions of a batch, and the bytes of all but its last one (256 KiB): readers hold what they are sending
when nothing else needs it any more."""


class LogFollower:
    """Follows the head of a store from the first reader to the last, in one history of the store."""

    def __init__(self, store: Store, memory: FeedMemory) -> None:
        self.readers = 0
        self.ended: MagistrateError | None = None
        """Is why it has ended, for all readers."""
        self.news = Event()
        """Is set, and replaced, when there is something for all readers."""
        self.newest: RevisionId | None = None
        """Is the revision up to which the log was read; None before the first read."""
        self.newest_at = 0
        self._notify_at = 0.0
        self._store = store
        self._memory = memory
        self._log = RevisionLog(store)
        self._tail: list[WrittenRevision] = []
        self._first = 0
        """Is the place of the oldest revision in the tail that is not evicted."""
        self._tail_after = Revision(0)
        """Is the revision after which the tail has everything."""
        self._wake = Event()
        self._reads: dict[Hashable, Task[Any]] = {}
        memory.feeds += 1
        store.known.write_observers.add(self._wake.set)
        self._task = _start(self._follow())
        """Ends by itself soon after the follower has."""

    def evict_oldest(self) -> None:
        """Evicts the oldest revision of the tail."""
        self._tail_after = self._tail[self._first].id.revision
        self._first += 1
        if self._first * 2 > len(self._tail):
            del self._tail[: self._first]
            self._first = 0

    def close(self, reason: MagistrateError) -> None:
        """Ends it for all readers, who get the error."""
        if self.ended is not None:
            return
        self.ended = reason
        self._store.known.write_observers.discard(self._wake.set)
        self._memory.feeds -= 1
        self._memory.remove(self)
        self._memory.pages.remove(lambda key: isinstance(key, tuple) and key[0] is self)
        self._tail, self._first = [], 0
        self._wake.set()  # cancelling the task could break off a statement, which costs its connection
        self.notify()

    async def require_begun(self) -> None:
        """Waits until the head is known. Raises StoreUnavailable, StoreDeleted."""
        while self.newest is None and self.ended is None:
            await self.news.wait()
        self.require_open()

    def require_open(self) -> None:
        """Raises the error by which it has ended, if it has."""
        if self.ended is not None:
            raise self.ended.with_traceback(None)  # it would grow with each reader

    def find_newest(self) -> RevisionId:
        """Returns the revision up to which the log was read, after `require_begun`."""
        assert self.newest is not None
        return self.newest

    def find_time(self, written: RevisionId) -> int | None:
        """Returns when a revision was reached, if that is known here, and that it is in the history."""
        if written == self.newest:
            return self.newest_at
        place = self._find_place(written.revision) - 1
        if place < self._first or self._tail[place].id != written:
            return None
        return self._tail[place].written_at

    def take(self, after: Revision) -> RevisionBatch | None:
        """Returns what follows a revision, which may be nothing; None if the tail does not go back so far."""
        newest = self.find_newest()
        if after < self._tail_after and after < newest.revision:
            return None
        place = self._find_place(after)
        revisions = _cut_batch(self._tail[place : place + MAX_BATCH])
        if place + len(revisions) < len(self._tail):
            return RevisionBatch(revisions, revisions[-1].id, revisions[-1].written_at)
        return RevisionBatch(revisions, newest, self.newest_at)

    def take_kept(self, after: Revision) -> Sequence[WrittenRevision]:
        """Returns the revisions after one that are kept, but no more than a batch of them."""
        place = self._find_place(after)
        return self._tail[place : place + MAX_BATCH]

    async def read(self, after: RevisionId) -> RevisionPage:
        """Returns what follows a revision in the log, up to the newest revision then. All that want the same share one
        read, also those that come a little later."""
        kept = self._memory.pages.find_result((self, after))
        if kept:
            return kept
        page = await self._share(after, lambda: self._log.read_page(after))
        if page.batch.newest != after and self.ended is None:  # otherwise others would wait for ever
            self._memory.pages.keep((self, after), page)
        return page

    async def share_part(self, part: LargePart) -> tuple[Sequence[Change], bool]:
        """Does the work of RevisionLog.read_changes, in one read for all that wait for the same."""
        return await self._share(part, lambda: self._log.read_changes(*part))

    async def _share(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        task: Task[T] | None = self._reads.get(key)
        if task is None:
            task = self._reads[key] = _start(work())
            task.add_done_callback(lambda ended: self._end_read(key, ended))
        return await asyncio.shield(task)  # it goes on for the others if one of them is cancelled

    def _end_read(self, key: Hashable, ended: Task[Any]) -> None:
        del self._reads[key]
        if not ended.cancelled():
            ended.exception()  # if all that waited were cancelled, asyncio would log that nobody retrieved it

    def _find_place(self, after: Revision) -> int:
        return bisect_right(self._tail, after, self._first, key=lambda written: written.id.revision)

    async def _follow(self) -> None:
        try:
            while self.ended is None:
                await self._follow_or_pause()
        except RevisionLost:
            self.close(HistoryReplaced())
        except MagistrateError as error:
            self.close(error)
        except Exception as error:  # nobody else would notice, and readers would wait for ever
            log.error("a store cannot be followed", exc_info=error)
            self.close(StoreUnavailable("the store cannot be followed"))

    async def _follow_or_pause(self) -> None:
        """Follows the head once more, or pauses if the store is unavailable. Raises HistoryReplaced and RevisionLost,
        and StoreUnavailable as long as nothing was read."""
        try:
            await self._follow_once()
        except HistoryReplaced:
            raise
        except StoreUnavailable:
            if self.newest is None:
                raise
            await asyncio.sleep(RETRY_SECONDS)
            self._notify_in_time()

    async def _follow_once(self) -> None:
        """Reads up to the head, and waits until there may be more."""
        self._wake.clear()
        mark = self._store.mark()
        if self.newest is None:
            self.newest, self.newest_at = await self._log.read_newest()
            self._tail_after = self.newest.revision
            self.notify()
        page = await self._log.read_page(self.newest)
        if self.ended is not None:
            return
        if page.is_ahead:
            raise HistoryReplaced
        has_news = page.batch.newest != self.newest
        if has_news:
            self._add(page.batch)
        if page.is_last:
            if has_news:
                await asyncio.sleep(GATHER_SECONDS)
            await self._wait_for_writes(mark)

    def _add(self, batch: RevisionBatch) -> None:
        self.newest, self.newest_at = batch.newest, batch.newest_at
        for written in batch.revisions:
            self._tail.append(written)
            self._memory.add(self, written.size)
        self.notify()

    async def _wait_for_writes(self, mark: Mark) -> None:
        """Waits until something was written since a mark, or may have been, or it has ended."""
        while self.ended is None:
            is_cheap = self._store.is_newest(mark)
            await self._pause(max(LOOK_SECONDS, LOOK_SECONDS_A_FEED * self._memory.feeds) if is_cheap else POLL_SECONDS)
            self._wake.clear()  # it may be set for a write that was read already; waiting would then never yield
            self._notify_in_time()
            if not self._store.is_newest(mark) and not await self._store.confirm_mark(mark):
                return

    async def _pause(self, seconds: float) -> None:
        """Waits for so long, or until this process has written, which may have been read before."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        self._wake.clear()

    def _notify_in_time(self) -> None:
        """Notifies readers if they were not for as long as they may wait."""
        if time.monotonic() >= self._notify_at:
            self.notify()

    def notify(self) -> None:
        """Wakes all readers."""
        self._notify_at = time.monotonic() + HEARTBEAT_SECONDS
        former, self.news = self.news, Event()
        former.set()


def _start(work: Coroutine[Any, Any, T]) -> Task[T]:
    """Starts work for all readers: it has nothing of the context of the request that happens to be the first."""
    return asyncio.create_task(work, context=Context())


def _cut_batch(revisions: Sequence[WrittenRevision]) -> Sequence[WrittenRevision]:
    """Returns the first ones, which do not take too much, but at least one if there are any."""
    size = 0
    for number, written in enumerate(revisions, 1):
        size += written.size
        if size >= MAX_BATCH_BYTES:
            return revisions[:number]
    return revisions


class RevisionFeed:
    """Is the feed of one store in this process. It takes nothing while it has no reader."""

    def __init__(self, store: Store, memory: FeedMemory) -> None:
        self.memory = memory
        self._store = store
        self._following: LogFollower | None = None

    @property
    def has_readers(self) -> bool:
        return self._following is not None

    @property
    def newest(self) -> RevisionId | None:
        """Returns the revision up to which the log was read for the readers at the head; None if there are none."""
        return None if self._following is None else self._following.newest

    def list_kept(self, after: Revision) -> Sequence[WrittenRevision]:
        """Returns the revisions after one that are in memory, but no more than a batch of them."""
        return () if self._following is None else self._following.take_kept(after)

    def wake(self) -> None:
        """Makes all iterators yield a batch at once, which may be empty."""
        if self._following is not None:
            self._following.notify()

    async def read_part(self, part: LargePart) -> tuple[Sequence[Change], bool]:
        """Does the work of RevisionLog.read_changes for one who follows the store. Those that want the same share it.
        Raises HistoryReplaced if the store was replaced meanwhile."""
        if self._following is None:
            raise HistoryReplaced
        return await self._following.share_part(part)

    def end(self, reason: MagistrateError) -> None:
        """Ends the iterators of all readers, who get the error."""
        if self._following is not None:
            self._following.close(reason)
            self._following = None

    async def follow(self, after: RevisionId | None = None) -> AsyncGenerator[RevisionBatch, None]:
        """Yields what follows a revision, or what is the newest now: first a batch without revisions that says where
        the reader stands, then others for ever, at least one every HEARTBEAT_SECONDS. A revision that is not written
        yet is waited for. Iterate over it in `contextlib.aclosing`, so that the feed learns of the end at once.

        Before the first batch, raises NotRetained if some of what follows is deleted, and RevisionLost if another write
        has the number of the revision; later, both if it turns out, StoreDeleted, and HistoryReplaced. StoreUnavailable
        is raised before the first batch, and waited out later."""
        following = self._join()
        try:
            await following.require_begun()
            batch, is_ahead = await self._begin(following, after)
            yield batch
            if is_ahead:
                async for heartbeat in self._wait_for(following, batch.newest):
                    yield heartbeat
            while True:
                batch = await self._read_next(following, batch.newest)
                yield batch
        finally:
            self._leave(following)

    def _join(self) -> LogFollower:
        if self._following is None or self._following.ended is not None:
            self._following = LogFollower(self._store, self.memory)
        self._following.readers += 1
        return self._following

    def _leave(self, following: LogFollower) -> None:
        following.readers -= 1
        if not following.readers:
            following.close(StoreUnavailable("nobody follows the store"))
            if self._following is following:
                self._following = None

    async def _begin(self, following: LogFollower, after: RevisionId | None) -> tuple[RevisionBatch, bool]:
        """Returns the first batch, and whether its revision is not written yet."""
        if after is None:
            return RevisionBatch((), following.find_newest(), following.newest_at), False
        at = following.find_time(after)
        if at is not None:
            return RevisionBatch((), after, at), False
        page = await following.read(after)
        return RevisionBatch((), after, page.after_at or page.batch.newest_at), page.is_ahead

    async def _wait_for(self, following: LogFollower, after: RevisionId) -> AsyncGenerator[RevisionBatch, None]:
        """Yields heartbeats until a revision is written. Raises RevisionLost if another one is."""
        while following.find_newest().revision < after.revision:
            await following.news.wait()
            following.require_open()
            yield RevisionBatch((), after, following.newest_at)
        if await self._store.locate(after) is not Presence.STORED:
            raise RevisionLost

    async def _read_next(self, following: LogFollower, after: RevisionId) -> RevisionBatch:
        """Returns what follows a revision as soon as there is something, or nothing with the next heartbeat."""
        following.require_open()
        news = following.news
        if (
            after.revision >= following.find_newest().revision
        ):  # it may be above it, if it was read from the log just now
            await news.wait()
            following.require_open()
            if after.revision >= following.find_newest().revision:
                return RevisionBatch((), after, following.newest_at)
        while True:
            batch = following.take(after.revision)
            if batch is not None:
                return batch
            try:
                return (await following.read(after)).batch
            except HistoryReplaced:
                raise
            except StoreUnavailable:
                await asyncio.sleep(RETRY_SECONDS)
                following.require_open()
