"""Implements the list of stores over any database, as store/contract/stores.py describes it."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from magistrate.engine.names import Revision
from magistrate.errors import StoreDeleted
from magistrate.store.contract.backups import RestoredContents
from magistrate.store.contract.keys import StoredKey
from magistrate.store.contract.lists import PageSlice, Slice
from magistrate.store.contract.new_rows import IDEMPOTENCY_HOURS, Stamp
from magistrate.store.contract.revisions import NOTHING_WRITTEN, RevisionId
from magistrate.store.contract.stores import (
    REMOVAL_LEASE_SECONDS,
    MovedStore,
    NewStore,
    RemovedRows,
    StoredStore,
    StoreLimits,
    build_store,
)
from magistrate.store.contract.webhooks import WebhookCounts, WebhookPlace
from magistrate.store.database import Database, Row, Rows, ScriptStart, is_storable
from magistrate.store.scripts import backups, keys, stores
from magistrate.store.scripts.key_encryption import Sealing
from magistrate.store.scripts.versions import MICROSECONDS_PER_HOUR
from magistrate.store.sql.keys import LIST_ALL_KEYS, LIST_STORE_KEYS
from magistrate.store.sql.stores import (
    FIND_STORE,
    FIND_STORE_OR_ID,
    LIST_DELETED_STORES,
    LIST_EXPIRED,
    LIST_MOVED_STORES,
    LIST_OUTDATED,
    LIST_STORES_AFTER,
    LIST_STORES_BEFORE,
    LIST_STORES_BY_ID,
    LIST_STORES_BY_OPENFGA_NAME,
)
from magistrate.store.sql.webhooks import COUNT_ALL_WEBHOOKS, LIST_DUE_WEBHOOKS, LIST_STORES_WITH_WEBHOOKS
from magistrate.store.sql_reads import build_id
from magistrate.store.sql_store import SqlStore, refusing_repeated_rows

T = TypeVar("T")

ROWS_AT_ONCE = 500
"""Limits the stores that are built before others may run, which takes some milliseconds."""
STORES_AT_ONCE = 1_000
"""Limits the stores that one statement searches for what is past its retention, which takes some ten milliseconds."""
DIGITS_OF_BITS = 8
AFTER_ALL_NAMES = "~"
"""Sorts behind every character of a name."""
_NEXT_SINCE, _END, _OF_LAST_CHANGE, _STORE = 4, 5, slice(6, 12), slice(12, None)
"""Are the places of columns of LIST_MOVED_STORES."""


@dataclass(frozen=True, slots=True)
class _LastChange:
    """Holds a store as it was found at these values of `keys_bits` and `moved`."""

    keys_bits: str
    moved: int
    store: MovedStore

    def is_there(self, row: Row) -> bool:
        """Returns whether the change has not been undone, given what the head of the store has now, and the bits of the
        revision that it had."""
        moved, keys_bits, deleted_at, revision, bits, bits_then = row
        was_deleted = self.store.stored.deleted_at is not None
        if moved is None:
            return was_deleted
        newest = self.store.newest
        is_written = newest.bits == (bits if revision == newest.revision else bits_then) or newest == NOTHING_WRITTEN
        has_keys = self.keys_bits[:DIGITS_OF_BITS] in keys_bits
        return is_written and moved >= self.moved and has_keys and (deleted_at is not None or not was_deleted)


def _release_nothing(number: int) -> None:
    """Is for databases that hold nothing of a store themselves."""


async def _analyze_nothing() -> None:
    """Is for databases whose statements name the indexes that they read."""


class SqlStores:
    """Implements store/contract/stores.py. `open_part` returns the part of the database that a store has, given its
    number, `release_part` frees what is held of one that was deleted, `note_restore` is called when the database turns
    out to have been restored. `analyze` and `find_unmoved` implement the methods of these names."""

    def __init__(
        self,
        default: StoredStore,
        open_part: Callable[[int], Database],
        sealing: Sealing,
        release_part: Callable[[int], None] = _release_nothing,
        note_restore: Callable[[], None] = lambda: None,
        analyze: Callable[[], Coroutine[Any, Any, None]] = _analyze_nothing,
        find_unmoved: Callable[[float], float | None] = lambda since: None,
    ) -> None:
        self._open_part = open_part
        self._release_part = release_part
        self._note_restore = note_restore
        self._sealing = sealing
        self._removal: stores.RowPlace | None = None
        self.default = self.open_store(default)
        self._database = self.default.database
        self.analyze = analyze
        self.find_unmoved = find_unmoved
        self.close = self._database.close
        self.restores = self._history = 0
        self._last: _LastChange | None = None

    def open_store(self, stored: StoredStore) -> SqlStore:
        return SqlStore(self._open_part(stored.number), stored.identity, self._sealing)

    def release(self, number: int) -> None:
        self._release_part(number)

    async def create(self, new: NewStore) -> StoredStore:
        return await self._transact(lambda head: stores.create_store(head, new))

    async def update(self, number: int, name: str, description: str, limits: StoreLimits) -> StoredStore:
        return await self._transact(lambda head: stores.update_store(head, number, name, description, limits))

    async def delete(self, number: int, at: int) -> None:
        await self._transact(lambda head: stores.delete_store(head, number, at))

    async def restore_stores(
        self, restored: Sequence[tuple[NewStore, RestoredContents]], stamp: Stamp, replaces: bool
    ) -> Sequence[tuple[StoredStore, RevisionId]]:
        with refusing_repeated_rows(self._database):
            return await self._database.transact(lambda head: backups.restore_stores(head, restored, stamp, replaces))

    async def delete_rows(self, before: int, most: int) -> RemovedRows:
        deleted = await self._database.read(LIST_DELETED_STORES, ())
        now = self._database.now()
        place = self._find_removal([row for row in deleted if row[1] <= before], now)
        if place is None:
            return RemovedRows(0, may_be_more=bool(deleted))
        self._removal = None
        dialect = self._database.dialect
        chunk = await self._transact(lambda head: stores.delete_rows(head, place, now, most, dialect))
        self._removal = chunk.following
        return RemovedRows(chunk.rows, time.monotonic() - chunk.began_at)

    def _find_removal(self, deleted: Rows, now: int) -> stores.RowPlace | None:
        """Returns the rows that this process is to remove next of stores that were deleted: those that it has begun to
        remove, or else those of a store that no other process removes."""
        lease = round(REMOVAL_LEASE_SECONDS * 1_000_000)
        for number, _, removed_at in deleted:
            if self._removal is not None and self._removal[:2] == (number, removed_at):
                return self._removal
            if removed_at is None or abs(now - removed_at) >= lease:
                return stores.begin_removal(number, removed_at)
        return None

    async def _transact(self, script: ScriptStart[T]) -> T:
        return await self._database.transact(script, makes_revision=False)

    async def list_stores(self, part: Slice, prefix: str) -> PageSlice[StoredStore]:
        is_ascending = part.descending == part.backwards
        [boundary] = part.boundary or ("" if is_ascending else AFTER_ALL_NAMES,)
        rows = await self._list(str(boundary), prefix, part.limit + 1, is_ascending=is_ascending)
        listed = rows[: part.limit]
        ahead = len(rows) > part.limit
        # The row at the boundary is on the other side, if it is still there.
        beyond = listed[0].name if listed else str(boundary)
        behind = bool(listed) and bool(await self._list(beyond, prefix, 1, is_ascending=not is_ascending))
        if part.backwards:
            return PageSlice(tuple(reversed(listed)), precedes=ahead, follows=behind)
        return PageSlice(tuple(listed), precedes=behind, follows=ahead)

    async def list_stores_by_id(self, after: str, limit: int, openfga_name: str | None) -> Sequence[StoredStore]:
        if openfga_name is None:
            rows = await self._database.read(LIST_STORES_BY_ID, (after, limit))
        else:
            rows = await self._database.read(LIST_STORES_BY_OPENFGA_NAME, (openfga_name, after, limit))
        return [build_store(row) for row in rows]

    async def find_store(self, named: str) -> StoredStore | None:
        rows = await self._database.read(FIND_STORE_OR_ID, (named, named)) if is_storable(named) else []
        return build_store(rows[0]) if rows else None

    async def read_store(self, number: int) -> StoredStore:
        rows = await self._database.read(FIND_STORE, (number,))
        if not rows or (stored := build_store(rows[0])).deleted_at is not None:
            raise StoreDeleted
        return stored

    async def list_moved(self, since: int) -> tuple[int, Sequence[MovedStore]]:
        # From the last change on, because another restore may bring back later ones that are known no more.
        first = since if self._last is None else min(since, self._last.moved)
        rows = await self._read_moved(first)
        if since and self._is_restored(rows[0], since):
            self.restores += 1
            self._note_restore()
            self._last = None
            rows = await self._read_moved(0)
        self._history = self.default.known.history
        next_since: int = rows[0][_NEXT_SINCE]
        moved = []
        last = self._last
        for number, row in enumerate(rows, 1):
            if row[_STORE.start] is not None:
                change = _LastChange(row[-2], row[-1], _build_moved(row[_STORE]))
                if change != self._last or not since:
                    moved.append(change.store)
                if change.moved < rows[0][_END] and (last is None or last.moved <= change.moved):
                    last = change
            if not number % ROWS_AT_ONCE:
                await asyncio.sleep(0)
        self._last = last
        return next_since, moved

    def _is_restored(self, row: Row, since: int) -> bool:
        """Returns whether the last change that is known is not there any more: a restore undoes at least that one."""
        if self.default.known.history != self._history or row[_NEXT_SINCE] < since:
            return True
        return self._last is not None and not self._last.is_there(row[_OF_LAST_CHANGE])

    async def _read_moved(self, since: int) -> Rows:
        newest = self.default.known.newest
        last = (0, 0) if self._last is None else (self._last.store.stored.number, self._last.store.newest.revision)
        rows = await self._database.read(LIST_MOVED_STORES, (newest.revision, *last, since, since), long=not since)
        self.default.known.link(RevisionId(rows[0][0], rows[0][1]), build_id(rows[0][2:4]), newest)
        return rows

    async def list_expired(self, at: int) -> Sequence[int]:
        return [row[0] for row in await self._database.read(LIST_EXPIRED, (at,))]

    async def list_outdated(self, before: int, events_before: int) -> Sequence[int]:
        requests_before = before - IDEMPOTENCY_HOURS * MICROSECONDS_PER_HOUR
        outdated: list[int] = []
        last = 0
        while True:
            values = (requests_before, before, events_before, before, events_before, last, STORES_AT_ONCE)
            rows = await self._database.read(LIST_OUTDATED, values, long=True)
            outdated += [number for number, is_outdated in rows if is_outdated]
            if len(rows) < STORES_AT_ONCE:
                return outdated
            last = rows[-1][0]

    async def list_keys(self, number: int | None = None) -> Mapping[int, Sequence[StoredKey]]:
        statement, values = (LIST_ALL_KEYS, ()) if number is None else (LIST_STORE_KEYS, (number,))
        rows = await self._database.read(statement, values, long=number is None)
        listed: dict[int, list[StoredKey]] = defaultdict(list)
        for place, (store, *columns) in enumerate(rows, 1):
            listed[store].append(keys.build_key(tuple(columns)))
            if not place % keys.KEYS_AT_ONCE:
                await asyncio.sleep(0)
        return listed

    async def list_due_webhooks(self, at: int, most: int) -> Sequence[WebhookPlace]:
        return [WebhookPlace(*row) for row in await self._database.read(LIST_DUE_WEBHOOKS, (at, most))]

    async def count_webhooks(self) -> WebhookCounts:
        [(enabled, retrying, dead, waiting_since)] = await self._database.read(COUNT_ALL_WEBHOOKS, ())
        lag = 0.0 if waiting_since is None else max(0.0, (self._database.now() - waiting_since) / 1_000_000)
        return WebhookCounts(int(enabled), int(retrying), int(dead), lag)

    async def list_stores_with_webhooks(self) -> Sequence[int]:
        return [row[0] for row in await self._database.read(LIST_STORES_WITH_WEBHOOKS, ())]

    async def _list(self, boundary: str, prefix: str, limit: int, is_ascending: bool) -> list[StoredStore]:
        statement = LIST_STORES_AFTER if is_ascending else LIST_STORES_BEFORE
        rows = await self._database.read(statement, (boundary, prefix, prefix + AFTER_ALL_NAMES, limit))
        return [build_store(row) for row in rows]


def _build_moved(row: Row) -> MovedStore:
    *columns, revision, bits, model_revision, keys_version, _, _ = row
    newest = RevisionId(Revision(revision), bits)
    return MovedStore(build_store(tuple(columns)), newest, Revision(model_revision), keys_version)
