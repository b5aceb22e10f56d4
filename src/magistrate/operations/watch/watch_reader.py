"""Sends one reader what is written to a store, piece by piece as it reads (docs/watch.md)."""

import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import (
    HistoryReplaced,
    MagistrateError,
    NotRetained,
    RevisionLost,
    RevisionUnavailable,
    StoreDeleted,
)
from magistrate.operations.consistency import write_token
from magistrate.operations.context import Context
from magistrate.operations.scheduling import checkpoint, is_time_up
from magistrate.operations.watch.feed_memory import RenderedText
from magistrate.operations.watch.revision_feed import HEARTBEAT_SECONDS
from magistrate.operations.watch.revision_log import LargePart, RevisionBatch, WrittenRevision
from magistrate.operations.watch.unread_events import UnreadEvents
from magistrate.operations.watch.watch_events import (
    EVERY_ROW,
    GROUPS,
    MEMBER_OF,
    ChangeGroup,
    WatchFilter,
    build_row,
    build_stored_row,
    encode_json,
    render_beginning,
    render_position,
    render_revision,
    render_rows,
)
from magistrate.store.contract.backups import ROWS_AT_ONCE, VersionedRow
from magistrate.store.contract.events import Action, EventKind
from magistrate.store.contract.revisions import NOTHING_WRITTEN, Presence, RevisionId
from magistrate.store.contract.stored_rows import StoredObject, StoredObjectType, StoredPolicy

REVISION, CHECKPOINT, SNAPSHOT, END = "revision", "checkpoint", "snapshot", "end"
"""Name the events."""
PIECE_BYTES = 65_536
"""Sets the size from which on events are sent before others are rendered (64 KiB)."""
MAX_SNAPSHOT_ROWS = 500
"""Limits the rows of an event of a snapshot."""
MAX_KEPT_CHARACTERS = 1_048_576
"""Limits the texts of a page of rows that are kept until they are sent; others are read again (1 MiB)."""

REASONS: dict[type[MagistrateError], str] = {
    RevisionLost: "revision_lost",
    HistoryReplaced: "store_restored",
    StoreDeleted: "store_deleted",
    NotRetained: "not_retained",
    RevisionUnavailable: "not_retained",
}
"""Maps the errors by which a watch ends to the reasons in its last event."""
SHUTTING_DOWN, TOO_SLOW, KEY_ENDED, UNAVAILABLE = "shutting_down", "too_slow", "key_ended", "unavailable"


class EventFrames(Protocol):
    """Describes how events are written: each is an object of JSON with something around it."""

    media_type: str
    closing: bytes
    """Is behind the last member of an event."""

    def open(self, name: str, event_id: str | None) -> bytes:
        """Returns what is before the first member."""
        ...


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """Says what a reader wants: what follows a revision, or what is the newest now, perhaps after the state at
    that."""

    frames: EventFrames
    since: RevisionId | None = None
    has_snapshot: bool = False
    only: WatchFilter = EVERY_ROW


class WatchReader:
    """Is one reader. `begin` has to be called first, and `read` once. `position` is the revision up to which everything
    was sent or is being sent, and `is_within_event` says that an event is sent piece by piece now."""

    def __init__(self, ctx: Context, request: WatchRequest) -> None:
        self.position = NOTHING_WRITTEN
        self.is_within_event = False
        self.events = 0
        """Counts the events that were sent."""
        self._store = ctx.store
        self._feed = ctx.feed
        self._request = request
        self._position_at = 0
        self._sent_at = 0.0
        self._is_behind = True
        self._is_within_snapshot = request.has_snapshot
        self._is_cut = False
        """Says that it has ended before all of a large event was sent."""
        self._reason: str | None = None
        self._unread = UnreadEvents()
        self._counted_to = NOTHING_WRITTEN
        """Is the revision up to which what was written while nothing was read is counted."""
        self._batches = ctx.feed.follow(None if request.has_snapshot else request.since)

    async def begin(self) -> None:
        """Takes the place from which it reads. Raises RevisionLost, NotRetained, StoreUnavailable, StoreDeleted."""
        first = await anext(self._batches)
        self.position, self._position_at = first.newest, first.newest_at

    def end(self, reason: str) -> None:
        """Makes it end soon, with an event that has the reason."""
        if self._reason is None:
            self._reason = reason
            self._feed.wake()

    @property
    def ends_whole(self) -> bool:
        """Returns whether `end` makes it end behind a whole event."""
        return not self.is_within_event

    def count_from_now(self) -> None:
        """Begins to count what is written while nothing is read."""
        self._unread, self._counted_to = UnreadEvents(), self._feed.newest or self.position

    async def has_too_much_unread(self) -> bool:
        """Returns whether more has come since `count_from_now` than may wait for a reader."""
        while not self._unread.are_too_many and (written := self._feed.list_kept(self._counted_to.revision)):
            for each in written:
                event = b"" if each.changes is None else self._find_event(each)
                if event is not None:
                    self._unread.add(1, len(event))  # one that is sent piece by piece counts as one event
            self._counted_to = written[-1].id
            if is_time_up():
                await checkpoint()
        return self._unread.are_too_many

    def render_end(self, reason: str) -> bytes:
        """Returns the last event, which names the revision from which a reader can go on, if it has all before that."""
        if self._is_within_snapshot:
            return self._frame(END, None, encode_json({"reason": reason}))
        end = {"token": write_token(self._store.identity, self.position), "reason": reason}
        return self._frame(END, None, encode_json(end))

    async def close(self) -> None:
        """Frees what it holds, whether it was read or not."""
        await self._batches.aclose()

    async def read(self) -> AsyncGenerator[bytes, None]:
        """Yields the events, in pieces, until the last one. An empty piece says that the work goes on."""
        try:
            if self._request.has_snapshot:
                async for piece in self._read_snapshot():
                    yield piece
            self._is_within_snapshot = self._is_within_snapshot and self._reason is not None
            self._is_behind = self.position != self._feed.newest
            if self._reason is None:
                yield self._render_checkpoint()
            while self._reason is None:
                batch = await anext(self._batches)
                async for piece in self._read_batch(batch):
                    yield piece
        except MagistrateError as error:
            self._reason = self._reason or REASONS.get(type(error), UNAVAILABLE)
        finally:
            await self.close()
        if not self.is_within_event:
            yield self.render_end(self._reason or UNAVAILABLE)

    async def _read_batch(self, batch: RevisionBatch) -> AsyncGenerator[bytes, None]:
        pieces: list[bytes] = []
        for written in batch.revisions:
            if written.changes is None:
                yield b"".join(pieces)
                pieces = []
                async for piece in self._read_large(written):
                    yield piece
                if self._is_cut:
                    return
            elif (event := self._find_event(written)) is not None:
                self._note_sent()
                pieces.append(event)
            self.position, self._position_at = written.id, written.written_at
            if self._reason is not None:
                break
            if sum(map(len, pieces)) >= PIECE_BYTES:
                yield b"".join(pieces)
                pieces = []
        else:
            self.position, self._position_at = batch.newest, batch.newest_at
        if self._is_checkpoint_due():
            pieces.append(self._render_checkpoint())
        if pieces:
            yield b"".join(pieces)

    def _is_checkpoint_due(self) -> bool:
        """Returns whether the reader has caught up, or was sent nothing for long."""
        has_caught_up = self._is_behind and self.position == self._feed.newest
        self._is_behind = self._is_behind and not has_caught_up
        return has_caught_up or time.monotonic() - self._sent_at >= HEARTBEAT_SECONDS

    def _find_event(self, written: WrittenRevision) -> bytes | None:
        """Returns the event of a revision, None if it has nothing for this reader. Readers with the same filter share
        it."""
        request, identity, rendered = self._request, self._store.identity, self._feed.memory.rendered
        key = (identity.store_id, written.id, request.frames.media_type, request.only)
        text = rendered.find_result(key)
        if text is False:
            event = render_revision(identity, written, request.only)
            text = None
            if event is not None:
                text = (self._frame(REVISION, write_token(identity, written.id), event), 0, False)
            rendered.keep(key, text)
        return None if text is None else text[0]

    async def _read_large(self, written: WrittenRevision) -> AsyncGenerator[bytes, None]:
        """Yields the event of a revision with very many changes, which are read while it is sent."""
        last: ChangeGroup | None = None
        for group, action in _list_parts(self._request.only):
            behind, has_more = -1, True
            while has_more:
                if self._reason is not None:
                    self._is_cut = True
                    return
                part = LargePart(written.id, group.kind, action, behind)
                rows, behind, has_more = await self._render_part(part)
                if not rows:
                    yield b""
                    continue
                opening = self._open_large(written) if last is None else b""
                self.is_within_event = True
                yield opening + _separate(last, group) + rows
                last = group
        if last is not None:
            self._note_sent()
            yield b"]}" + self._request.frames.closing
            self.is_within_event = False

    def _open_large(self, written: WrittenRevision) -> bytes:
        identity = self._store.identity
        opening = self._request.frames.open(REVISION, write_token(identity, written.id))
        return opening + render_beginning(identity, written)[1:]

    async def _render_part(self, part: LargePart) -> RenderedText:
        """Returns some of the elements of an array. Readers with the same filter share them."""
        rendered, only = self._feed.memory.rendered, self._request.only
        key = (self._store.identity.store_id, part, only)
        text = rendered.find_result(key)
        if not text:
            changes, has_more = await self._feed.read_part(part)
            rows = render_rows(build_row(event) for event in changes if only.matches(event.kind, event.key))
            text = (rows, changes[-1].place[2] if changes else part.behind, has_more)
            rendered.keep(key, text)
        return text

    async def _read_snapshot(self) -> AsyncGenerator[bytes, None]:
        """Yields the state at the revision from which it reads on."""
        number = 0
        for kind, row_kind in _SNAPSHOT_KINDS:
            if not self._request.only.may_match(kind):
                continue
            last: Any = None
            has_more = True
            while has_more:
                async with self._feed.memory.snapshot_pages:
                    page = await self._store.list_rows(row_kind, last, self.position.revision)
                    kept = _cut_page(page)
                has_more = len(kept) < len(page) or len(page) == ROWS_AT_ONCE
                last = kept[-1] if kept else None
                del page
                for rows in self._render_stored(kind, kept):
                    number += 1
                    yield self._frame(SNAPSHOT, f"{SNAPSHOT}-{number}", rows)
                if self._reason is not None:
                    return
                yield b""
        if await self._store.locate(self.position) is not Presence.STORED:
            raise HistoryReplaced

    def _render_stored(self, kind: EventKind, stored: Sequence[VersionedRow]) -> Iterator[bytes]:
        for start in range(0, len(stored), MAX_SNAPSHOT_ROWS):
            built = map(build_stored_row, stored[start : start + MAX_SNAPSHOT_ROWS])
            rows = [row for of_kind, key, row in built if self._request.only.matches(of_kind, key)]
            if rows:
                yield encode_json({MEMBER_OF[kind]: rows})

    def _render_checkpoint(self) -> bytes:
        identity = self._store.identity
        position = render_position(identity, self.position, self._position_at)
        self._note_sent()
        return self._frame(CHECKPOINT, write_token(identity, self.position), position)

    def _note_sent(self) -> None:
        self._sent_at = time.monotonic()
        self.events += 1

    def _frame(self, name: str, event_id: str | None, event: bytes) -> bytes:
        frames = self._request.frames
        return frames.open(name, event_id) + event[1:-1] + frames.closing


_SNAPSHOT_KINDS: Sequence[tuple[EventKind, Any]] = (
    ("policy", StoredPolicy),
    ("object-type", StoredObjectType),
    ("object", StoredObject),
    ("warrant", Warrant),
)


def _list_parts(only: WatchFilter) -> Iterator[tuple[ChangeGroup, Action]]:
    for group in GROUPS:
        if only.may_match(group.kind):
            for action in group.actions:
                yield group, action


def _separate(last: ChangeGroup | None, group: ChangeGroup) -> bytes:
    """Returns what is between the elements of two groups, of which the first may be the same, or none."""
    if last is group:
        return b","
    array = b'"%s":[' % group.array.encode()
    if last is not None and last.member == group.member:
        return b"]," + array
    return (b"" if last is None else b"]}") + b',"%s":{' % group.member.encode() + array


def _cut_page(page: Sequence[VersionedRow]) -> Sequence[VersionedRow]:
    """Returns the first rows of a page, whose texts do not take too much, but at least one."""
    size = 0
    for number, row in enumerate(page):
        if number and size > MAX_KEPT_CHARACTERS:
            return page[:number]
        text = row.meta if isinstance(row, StoredObject) else row.policy if isinstance(row, Warrant) else row.definition
        size += len(text or "")
    return page
