"""Shares the effective feed among all its readers in this process: those who select the same access share one
computation, and what it found last is kept for those who read on from nearby.

A reader that is further behind begins a computation of its own there, which others at the same place share, and which
ends as soon as it meets the one that follows the head."""

import asyncio
from asyncio import Event, Task
from bisect import bisect_left
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, suppress
from contextvars import Context as TaskContext
from functools import partial
from typing import NamedTuple
from weakref import WeakKeyDictionary

import structlog

from magistrate.engine.byte_sizes import OBJECT_BYTES
from magistrate.engine.model.model import Model
from magistrate.errors import (
    HistoryReplaced,
    InvalidParameter,
    MagistrateError,
    NotRetained,
    RevisionUnavailable,
    StoreUnavailable,
)
from magistrate.operations.context import Context
from magistrate.operations.difference.filters import Narrowing
from magistrate.operations.history.points_in_time import MAX_CLOCK_DIFFERENCE_US
from magistrate.operations.watch.access_events import render_access
from magistrate.operations.watch.access_steps import AccessCursor, AccessEvent, AccessPosition, begin_cursor
from magistrate.operations.watch.feed_memory import FeedMemory
from magistrate.operations.watch.revision_feed import RETRY_SECONDS, RevisionFeed
from magistrate.operations.watch.revision_log import RevisionBatch
from magistrate.store.contract.revisions import Presence, RevisionId

log = structlog.get_logger()

SINCE = "since"
"""Names the parameter."""

MAX_BATCH, MAX_BATCH_BYTES = 100, 262_144
"""Limit the entries that a reader gets at once, and the bytes of all but the last of their events (256 KiB)."""
MAX_AHEAD, MAX_BYTES_AHEAD = 16, 262_144
"""Limit how far one that catches up is ahead of the first of its readers, in entries and in bytes (256 KiB): it does
not evict what nobody has read."""
FIRST_NUMBER = 1
"""Is the number of the entry behind that in which a computation begins."""
BYTES_OF_AN_ENTRY = 400
"""Counts what an entry takes besides its event."""
MEETING_SECONDS = 0.1
"""Sets how often a computation that catches up looks whether it meets the one that follows the head."""
MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.001, 7.5


class RenderedAccess(NamedTuple):
    """Holds an event as an object of JSON. `is_resync`: it has no rows, the reader has to begin with a snapshot."""

    position: AccessPosition
    json: bytes
    is_resync: bool


class AccessEntry(NamedTuple):
    """Holds how far access was followed, and what has changed there, if anything."""

    position: AccessPosition
    event: RenderedAccess | None


class AccessBatch(NamedTuple):
    """Holds events in order, and the position up to which the reader has everything then. `is_last`: nothing is known
    that follows it."""

    events: list[RenderedAccess]
    position: AccessPosition
    is_last: bool = True


NarrowingKey = tuple[object, ...]


class Start(NamedTuple):
    """Says where a reader begins: behind a revision, None for the newest, at a time, None for the one at which the
    revision was reached."""

    written: RevisionId | None = None
    time: int | None = None


FROM_NOW = Start()


class AccessFollower:
    """Is one computation. It follows the head from a position on, as long as it has readers.

    `follows_newest`: all that begin now join it, because it began so, or has reached the head. `successor`: it has
    ended because this one has everything that follows, from the entry with this number on."""

    def __init__(self, feeds: "AccessFeeds", ctx: Context, narrowing: Narrowing, start: Start) -> None:
        self.readers = 0
        self.ended: MagistrateError | None = None
        self.news = Event()
        self.follows_newest = start.written is None
        self.successor: tuple[AccessFollower, int] | None = None
        self.start = start
        self.model: Model | None = None
        """Is the model at the beginning."""
        self._feeds = feeds
        self._ctx = ctx
        self.narrowing = narrowing
        self.events, self.event_bytes = 0, 0
        """Count the events that were added, and their bytes."""
        self._entries: list[AccessEntry] = []
        self._evicted = 0
        """Counts the entries that are evicted; the first of the list has this number."""
        self._requested = 0
        """Is the number of the entry that the first of the readers waits for."""
        self._request = Event()
        self._task = asyncio.create_task(self._run(), context=TaskContext())

    @property
    def next_number(self) -> int:
        """Returns the number that the next entry gets."""
        return self._evicted + len(self._entries)

    async def require_begun(self) -> None:
        """Waits until there is an entry. Raises NotRetained, RevisionLost, StoreUnavailable, StoreDeleted."""
        while not self.next_number and self.ended is None:
            await self.news.wait()
        self.require_open()

    def require_open(self) -> None:
        """Raises the error by which it has ended, if it has."""
        if self.ended is not None:
            raise self.ended.with_traceback(None)

    def find_position(self, number: int) -> AccessPosition | None:
        """Returns the position before the entry with a number; None if it is evicted."""
        place = number - 1 - self._evicted
        return self._entries[place].position if place >= 0 else None

    def find_start(self, start: Start) -> int | None:
        """Returns the number of the entry that follows the beginning of a reader; None if that is not known to be
        one."""
        if start.written is None:
            return None
        first = (start.written.revision, 0 if start.time is None else start.time)
        place = bisect_left(self._entries, first, key=lambda entry: entry.position.key)
        for number, entry in enumerate(self._entries[place : place + MAX_BATCH], self._evicted + place + 1):
            position = entry.position
            if position.id != start.written:
                break
            if position.time == (position.reached_at if start.time is None else start.time):
                return number
        return None

    def find_meeting(self, position: AccessPosition) -> AccessPosition | None:
        """Returns the first position here at the same revision, and at the same time or later."""
        place = bisect_left(self._entries, position.key, key=lambda entry: entry.position.key)
        if place < len(self._entries) and self._entries[place].position.id == position.id:
            return self._entries[place].position
        return None

    def take(self, number: int) -> list[AccessEntry] | None:
        """Returns the entries from a number on, None if they are evicted."""
        if number > self._requested:
            self._requested = number
            self._request.set()
        place = number - self._evicted
        return None if place < 0 else _cut_batch(self._entries[place : place + MAX_BATCH])

    def evict_oldest(self) -> None:
        """Evicts the oldest entry."""
        del self._entries[:1]
        self._evicted += 1

    def end(self, reason: MagistrateError) -> None:
        """Ends it for all readers, who get the error."""
        if self.ended is None and self.successor is None:
            self._stop(reason)
            self._task.cancel()

    def leave(self) -> None:
        """Notes that a reader has gone, and ends it after the last, and then those that it has held open."""
        follower: AccessFollower | None = self
        while follower is not None:
            follower = follower._remove_reader()

    def _remove_reader(self) -> "AccessFollower | None":
        """Returns another computation that loses a reader with the last of this one, if any."""
        self.readers -= 1
        if self.readers:
            return None
        if self.successor is None:
            self.end(StoreUnavailable("nobody follows the access"))
            return None
        self._free()
        return self.successor[0]

    def notify(self) -> None:
        """Wakes all readers."""
        former, self.news = self.news, Event()
        former.set()

    def _stop(self, reason: MagistrateError | None) -> None:
        self.ended = reason
        self._feeds.remove(self)
        if reason is not None:
            self._free()
        self.notify()

    def _free(self) -> None:
        self._feeds.memory.remove(self)
        self._evicted, self._entries = self.next_number, []

    async def _run(self) -> None:
        try:
            await self._follow()
        except (NotRetained, RevisionUnavailable) as error:
            self._stop(HistoryReplaced() if await self._is_replaced() else error)
        except MagistrateError as error:
            self._stop(error)
        except Exception as error:  # nobody else would notice, and readers would wait for ever
            log.error("the effective feed ended", exc_info=error)
            self._stop(StoreUnavailable("the effective feed ended"))

    async def _is_replaced(self) -> bool:
        """Returns whether the store was restored to a time before what is followed, so it cannot be read any more."""
        if not self._entries:
            return False
        try:
            return await self._ctx.store.locate(self._entries[-1].position.id) is not Presence.STORED
        except MagistrateError:
            return False

    async def _follow(self) -> None:
        start = self.start
        async with aclosing(self._ctx.feed.follow(start.written)) as batches:
            first = await anext(batches)
            time = first.newest_at if start.time is None else start.time
            cursor = await begin_cursor(self._ctx, self.narrowing, AccessPosition(first.newest, time, first.newest_at))
            self.model = cursor.model
            self._add(cursor.position, None)
            pending: Task[RevisionBatch] | None = None
            try:
                while self.successor is None:
                    pending = pending or asyncio.create_task(anext_of(batches))
                    await self._wait_for_readers()
                    await asyncio.wait([pending], timeout=self._pause_for(cursor))
                    if pending.done():
                        batch, pending = pending.result(), None
                        await self._take(cursor, batch)
                    await self._keep_up(cursor)
            finally:
                if pending is not None:
                    pending.cancel()
                    with suppress(asyncio.CancelledError, Exception):
                        await pending

    async def _wait_for_readers(self) -> None:
        """Waits until it is not far ahead of all readers, unless it follows the head."""
        while not self.follows_newest and self._is_far_ahead():
            self._request.clear()
            await self._request.wait()

    def _is_far_ahead(self) -> bool:
        unread = self._entries[max(self._requested - self._evicted, 0) :]
        sizes = (len(entry.event.json) for entry in unread if entry.event is not None)
        return len(unread) > MAX_AHEAD or sum(sizes) > MAX_BYTES_AHEAD

    def _pause_for(self, cursor: AccessCursor) -> float:
        """Returns after how many seconds time alone may change something, or another computation may be met."""
        wakes_at = cursor.wakes_at
        if wakes_at is None or not self.follows_newest:
            return MEETING_SECONDS
        seconds = (wakes_at - self._ctx.now()) / 1_000_000
        return min(max(seconds, MIN_PAUSE_SECONDS), MAX_PAUSE_SECONDS)

    async def _take(self, cursor: AccessCursor, batch: RevisionBatch) -> None:
        """Follows what was written."""
        for written in batch.revisions:
            if not cursor.skip_revision(written):
                await self._add_events(partial(cursor.follow_revision, written))
            self._add(cursor.position, None)
            await self._wait_for_readers()
        if batch.newest != cursor.position.id:
            cursor.skip_to(batch.newest, batch.newest_at)
            self._add(cursor.position, None)
        elif not batch.revisions:
            self.notify()

    async def _keep_up(self, cursor: AccessCursor) -> None:
        """Follows the time at the head, or ends where another computation has all that follows."""
        newest = self._feeds.find_newest(self.narrowing)
        if newest is not None and newest is not self:
            await self._meet(cursor, newest)
            return
        if cursor.position.id != self._ctx.feed.newest:
            return
        if not self.follows_newest:
            self.follows_newest = True
        now = self._ctx.now()
        if cursor.wakes_at is None or cursor.wakes_at <= now:
            before = cursor.position
            await self._add_events(lambda: cursor.follow_time(now))
            if cursor.position != before:
                self._add(cursor.position, None)

    async def _meet(self, cursor: AccessCursor, newest: "AccessFollower") -> None:
        meeting = newest.find_meeting(cursor.position)
        if meeting is None:
            return
        await self._add_events(lambda: cursor.follow_to(meeting.time))
        self._add(cursor.position, None)
        number = newest.find_start(Start(cursor.position.id, cursor.position.time))
        if number is not None and newest.ended is None:
            newest.readers += 1  # until this one is left by its last reader
            self.successor = newest, number
            self._stop(None)

    async def _add_events(self, follow: Callable[[], AsyncIterator[AccessEvent]]) -> None:
        """Adds what is found; as long as the store is unavailable, tries again."""
        while True:
            try:
                async for event in follow():
                    rendered = await render_access(self._ctx.store.identity, event)
                    self._add(event.position, RenderedAccess(event.position, rendered, event.rows is None))
                return
            except HistoryReplaced:
                raise
            except StoreUnavailable:
                await asyncio.sleep(RETRY_SECONDS)

    def _add(self, position: AccessPosition, event: RenderedAccess | None) -> None:
        if event is None and self._entries and self._entries[-1].position == position:
            return
        if event is not None:
            self.events += 1
            self.event_bytes += len(event.json)
        self._entries.append(AccessEntry(position, event))
        self._feeds.memory.add(self, OBJECT_BYTES + BYTES_OF_AN_ENTRY + (0 if event is None else len(event.json)))
        self.notify()


async def anext_of(batches: AsyncGenerator[RevisionBatch, None]) -> RevisionBatch:
    return await anext(batches)


def _cut_batch(entries: list[AccessEntry]) -> list[AccessEntry]:
    """Returns the first ones, which do not take too much, but at least one if there are any."""
    size = 0
    for number, entry in enumerate(entries, 1):
        size += 0 if entry.event is None else len(entry.event.json)
        if size >= MAX_BATCH_BYTES:
            return entries[:number]
    return entries


class AccessFeeds:
    """Holds the computations of one store in this process. They take nothing while nobody reads. `find_feeds` returns
    those of a context."""

    def __init__(self, memory: FeedMemory) -> None:
        self.memory = memory
        self._followers: dict[NarrowingKey, list[AccessFollower]] = {}

    async def follow(
        self, ctx: Context, narrowing: Narrowing, start: Start = FROM_NOW
    ) -> AsyncGenerator[AccessBatch, None]:
        """Yields how the selected access changes from a position on: first a batch without events that says where the
        reader stands, then others for ever, at least one every HEARTBEAT_SECONDS (see RevisionFeed.follow). Iterate
        over it in `contextlib.aclosing`, so that the feed learns of the end at once.

        Raises InvalidParameter for a type or relation that is not defined and a time in the future, and what
        RevisionFeed.follow raises."""
        if start.time is not None and start.time > ctx.now() + MAX_CLOCK_DIFFERENCE_US:
            raise InvalidParameter(SINCE, "its time is in the future")
        if start.written is not None and start.written.bits is None:
            start = start._replace(written=await ctx.store.identify(start.written.revision))
        follower, number = self._join(ctx, narrowing, start)
        try:
            await follower.require_begun()
            await _require_defined(ctx, narrowing, follower)
            position = follower.find_position(number)
            while position is None:  # it was evicted at once
                follower, number, position = await self._move(ctx, narrowing, start, follower)
            yield AccessBatch([], position, is_last=follower.follows_newest and number == follower.next_number)
            while True:
                entries = follower.take(number)
                if entries:
                    number += len(entries)
                    position = entries[-1].position
                    events = [entry.event for entry in entries if entry.event is not None]
                    yield AccessBatch(events, position, is_last=number == follower.next_number)
                elif entries is None:
                    begin = Start(position.id, position.time)
                    follower, number, _ = await self._move(ctx, narrowing, begin, follower)
                elif follower.successor is not None:
                    former, (follower, number) = follower, follower.successor
                    follower.readers += 1
                    former.leave()
                else:
                    follower.require_open()
                    news = follower.news
                    await news.wait()
                    if not follower.take(number) and follower.successor is None:
                        follower.require_open()
                        yield AccessBatch([], position)
        finally:
            follower.leave()

    def find_newest(self, narrowing: Narrowing) -> AccessFollower | None:
        """Returns the computation that follows the head for those who select this."""
        for follower in self._followers.get(_build_key(narrowing), ()):
            if follower.follows_newest:
                return follower
        return None

    def remove(self, follower: AccessFollower) -> None:
        """Has nobody else join a computation."""
        key = _build_key(follower.narrowing)
        followers = self._followers.get(key, [])
        if follower in followers:
            followers.remove(follower)
        if not followers:
            self._followers.pop(key, None)

    def wake(self) -> None:
        """Makes all iterators yield a batch at once, which may be empty."""
        for followers in self._followers.values():
            for follower in followers:
                follower.notify()

    async def _move(
        self, ctx: Context, narrowing: Narrowing, start: Start, former: AccessFollower
    ) -> tuple[AccessFollower, int, AccessPosition | None]:
        """Joins another computation in place of one that has evicted what follows."""
        follower, number = self._join(ctx, narrowing, start)
        former.leave()
        await follower.require_begun()
        return follower, number, follower.find_position(number)

    def _join(self, ctx: Context, narrowing: Narrowing, start: Start) -> tuple[AccessFollower, int]:
        """Returns a computation that has what follows, and the number of the first entry that the reader gets."""
        followers = self._followers.setdefault(_build_key(narrowing), [])
        joined: tuple[AccessFollower, int] | None = None
        for follower in followers:
            if start.written is None and follower.follows_newest:
                joined = follower, follower.next_number or FIRST_NUMBER
            elif start.written is not None and (number := follower.find_start(start)) is not None:
                joined = follower, number
            elif not follower.next_number and follower.start == start:
                joined = follower, FIRST_NUMBER
            if joined is not None:
                break
        if joined is None:
            joined = AccessFollower(self, ctx, narrowing, start), FIRST_NUMBER
            followers.append(joined[0])
        joined[0].readers += 1
        return joined


def _build_key(narrowing: Narrowing) -> NarrowingKey:
    patterns = None if narrowing.patterns is None else tuple(narrowing.patterns)
    return patterns, narrowing.subject, narrowing.object


async def _require_defined(ctx: Context, narrowing: Narrowing, follower: AccessFollower) -> None:
    """Raises InvalidParameter for a type or relation that is defined neither now nor where the reader begins."""
    model = await ctx.caches.models.get_known()
    narrowing.require_defined((follower.model or model, model))


def find_feeds(ctx: Context) -> AccessFeeds:
    """Returns the effective feeds of a store in this process."""
    feeds = _feeds.get(ctx.feed)
    if feeds is None:
        feeds = _feeds[ctx.feed] = AccessFeeds(ctx.feed.memory)
    return feeds


_feeds: WeakKeyDictionary[RevisionFeed, AccessFeeds] = WeakKeyDictionary()
