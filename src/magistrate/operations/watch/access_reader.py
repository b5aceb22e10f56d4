"""Sends one reader how the access changes that it selects, piece by piece as it reads (docs/watch.md)."""

import time
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass

from magistrate.errors import BudgetExceeded, MagistrateError
from magistrate.operations.consistency import write_token
from magistrate.operations.context import Context
from magistrate.operations.difference.filters import Narrowing
from magistrate.operations.watch.access_events import build_row, encode_json, render_checkpoint, render_id
from magistrate.operations.watch.access_feed import FROM_NOW, AccessBatch, AccessFollower, Start, find_feeds
from magistrate.operations.watch.access_snapshot import list_access
from magistrate.operations.watch.access_steps import AccessPosition
from magistrate.operations.watch.revision_feed import HEARTBEAT_SECONDS
from magistrate.operations.watch.unread_events import UnreadEvents
from magistrate.operations.watch.watch_reader import (
    CHECKPOINT,
    END,
    MAX_SNAPSHOT_ROWS,
    PIECE_BYTES,
    REASONS,
    SNAPSHOT,
    UNAVAILABLE,
    EventFrames,
)

ACCESS = "access"
"""Names the event."""
_REASONS: dict[type[MagistrateError], str] = REASONS | {BudgetExceeded: "budget_exceeded"}


@dataclass(frozen=True, slots=True)
class AccessRequest:
    """Says what a reader wants: how the access changes that is selected, from a position on, perhaps after all access
    that there is now."""

    frames: EventFrames
    narrowing: Narrowing
    start: Start = FROM_NOW
    has_snapshot: bool = False


class AccessReader:
    """Is one reader. `begin` has to be called first, and `read` once."""

    def __init__(self, ctx: Context, request: AccessRequest) -> None:
        self._ctx = ctx
        self._request = request
        self._position: AccessPosition | None = None
        self._sent_at = 0.0
        self._is_behind = True
        self._reason: str | None = None
        self.is_within_event = False
        """Says that an event is sent piece by piece now."""
        self._unread = UnreadEvents()
        self._counted: tuple[AccessFollower, int, int] | None = None
        """Is the computation that follows the head, and what it had when that was last counted."""
        self._is_within_snapshot = request.has_snapshot
        start = FROM_NOW if request.has_snapshot else request.start
        self._batches = find_feeds(ctx).follow(ctx, request.narrowing, start)

    async def begin(self) -> None:
        """Takes the place from which it reads. Raises what AccessFeeds.follow raises before the first batch."""
        batch = await anext(self._batches)
        self._position, self._is_behind = batch.position, not batch.is_last

    def end(self, reason: str) -> None:
        """Makes it end soon, with an event that has the reason."""
        if self._reason is None:
            self._reason = reason
            find_feeds(self._ctx).wake()

    @property
    def ends_whole(self) -> bool:
        """Returns that `end` makes it end behind a whole event: the rest of one is in memory."""
        return True

    def count_from_now(self) -> None:
        """Begins to count what changes while nothing is read."""
        self._unread, self._counted = UnreadEvents(), self._read_counts()

    async def has_too_much_unread(self) -> bool:
        """Returns whether more has come since `count_from_now` than may wait for a reader."""
        before, self._counted = self._counted, self._read_counts()
        if before is not None and self._counted is not None and before[0] is self._counted[0]:
            self._unread.add(self._counted[1] - before[1], self._counted[2] - before[2])
        return self._unread.are_too_many

    def _read_counts(self) -> tuple[AccessFollower, int, int] | None:
        follower = find_feeds(self._ctx).find_newest(self._request.narrowing)
        return None if follower is None else (follower, follower.events, follower.event_bytes)

    async def close(self) -> None:
        """Frees what it holds, whether it was read or not."""
        await self._batches.aclose()

    async def read(self) -> AsyncGenerator[bytes, None]:
        """Yields the events, in pieces, until the last one."""
        try:
            async for piece in self._read_events():
                yield piece
        except MagistrateError as error:
            self._reason = self._reason or _REASONS.get(type(error), UNAVAILABLE)
        finally:
            await self.close()
        if not self.is_within_event:
            yield self.render_end(self._reason or UNAVAILABLE)

    async def _read_events(self) -> AsyncGenerator[bytes, None]:
        assert self._position is not None
        if self._request.has_snapshot:
            async for piece in self._read_snapshot(self._position):
                yield piece
            if self._reason is not None:
                return
            self._is_within_snapshot = False
        self._is_behind = self._is_behind or self._position.id != self._ctx.feed.newest
        yield self._render_checkpoint()
        while self._reason is None:
            batch = await anext(self._batches)
            for piece in self._cut_events(batch):
                yield piece
            if self._position == batch.position and self._is_checkpoint_due(batch):
                yield self._render_checkpoint()

    def _cut_events(self, batch: AccessBatch) -> Iterator[bytes]:
        """Yields the events in pieces, up to the last one, or the one at which the stream has to end."""
        for event in batch.events:
            yield from self._cut_event(event.position, event.json)
            if self._reason is not None:
                return
        self._position = batch.position

    def _is_checkpoint_due(self, batch: AccessBatch) -> bool:
        """Returns whether the reader has caught up, or was sent nothing for long."""
        return self._catch_up(batch) or time.monotonic() - self._sent_at >= HEARTBEAT_SECONDS

    def _catch_up(self, batch: AccessBatch) -> bool:
        """Returns whether the reader was behind the head, and has everything now."""
        has_all = self._is_behind and batch.is_last and batch.position.id == self._ctx.feed.newest
        self._is_behind = self._is_behind and not has_all
        return has_all

    def render_end(self, reason: str) -> bytes:
        """Returns the last event, which says from where a reader can go on, if it has all before that."""
        if self._is_within_snapshot:
            return self._frame(END, None, encode_json({"reason": reason}))
        assert self._position is not None
        token = write_token(self._ctx.store.identity, self._position.id)
        event_id = render_id(self._ctx.store.identity, self._position)
        end = {"token": token, "reason": reason} | ({} if event_id == token else {"id": event_id})
        return self._frame(END, None, encode_json(end))

    async def _read_snapshot(self, position: AccessPosition) -> AsyncGenerator[bytes, None]:
        number = 0
        async for rows in list_access(self._ctx, self._request.narrowing, position):
            for start in range(0, len(rows), MAX_SNAPSHOT_ROWS):
                number += 1
                some = [build_row(row) for row in rows[start : start + MAX_SNAPSHOT_ROWS]]
                yield self._frame(SNAPSHOT, f"{SNAPSHOT}-{number}", encode_json({ACCESS: some}))
            if self._reason is not None:
                return

    def _cut_event(self, position: AccessPosition, event: bytes) -> Iterator[bytes]:
        """Yields an event in pieces, of which a slow reader holds one."""
        self._note_sent()
        frames = self._request.frames
        opening = frames.open(ACCESS, render_id(self._ctx.store.identity, position))
        self.is_within_event = True
        for start in range(1, len(event) - 1, PIECE_BYTES):  # a copy would be held until all of it is sent
            is_last = start + PIECE_BYTES >= len(event) - 1
            if is_last:
                self._position, self.is_within_event = position, False
            piece = event[start : min(start + PIECE_BYTES, len(event) - 1)]
            yield (opening if start == 1 else b"") + piece + (frames.closing if is_last else b"")

    def _render_checkpoint(self) -> bytes:
        assert self._position is not None
        identity = self._ctx.store.identity
        self._note_sent()
        return self._frame(CHECKPOINT, render_id(identity, self._position), render_checkpoint(identity, self._position))

    def _note_sent(self) -> None:
        self._sent_at = time.monotonic()

    def _frame(self, name: str, event_id: str | None, event: bytes) -> bytes:
        frames = self._request.frames
        return frames.open(name, event_id) + event[1:-1] + frames.closing
