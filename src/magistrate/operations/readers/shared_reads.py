"""Shares reads among evaluations that run at the same time.

An evaluation reads level by level, ten thousand levels in the worst case. If several go through the same groups at the
same revision, what one has read the others need not read again: together they take about as many statements as one."""

import asyncio
from asyncio import Future
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from magistrate.engine.byte_sizes import OBJECT_BYTES, SLOT_BYTES, CacheBytes, measure_text, measure_warrant
from magistrate.engine.names import ObjectId, Revision, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.warrants.reader import AnyRead, ReadResult, WarrantRead, WarrantReader
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import ITEMS_AT_ONCE, free_containers
from magistrate.operations.runs import release_run
from magistrate.operations.scheduling import checkpoint

MAX_BYTES = 33_554_432
"""Limits the rows that are kept in total, of all stores (32 MiB)."""
ENTRY_BYTES = OBJECT_BYTES + 2 * SLOT_BYTES
"""Counts an object without its id and its rows."""
MAX_IDS_EACH = 200
MAX_ROWS_EACH = 1_000
"""Limit the objects, and the rows, of a batch of reads that is shared. A larger one is worth a statement of its own."""

_TableKey = tuple[TypeName, Sequence[str], Subject | TypeName | None, bool, bool, Revision]
_Table = dict[ObjectId, "list[Warrant] | Future[None]"]
"""Maps objects to their warrants of one request at one revision, or to what is done when these have been read."""


@dataclass(slots=True)
class SharedReadBytes:
    """Counts the bytes that the rows of all stores take."""

    bytes: int = 0

    def measure(self) -> CacheBytes:
        """Returns these bytes, and the limit on them."""
        return CacheBytes("shared_reads", self.bytes, MAX_BYTES)


class SharedReads:
    """Keeps the rows of reads of a store while several evaluations run; nothing is kept if there is one, or longer than
    until the last of them has ended. If the rows of all stores are too many, the oldest of the store that reads more
    are evicted: those of the others are not kept for long anyway."""

    def __init__(self, total: SharedReadBytes) -> None:
        self.total = total
        self._evaluations = 0
        self._tables: dict[_TableKey, _Table] = {}
        self._order: deque[tuple[_Table, ObjectId, int]] = deque()
        """Has the entries of all tables, the oldest first, with the bytes that they take."""
        self._bytes = 0

    @contextmanager
    def join(self, reader: WarrantReader) -> Iterator[WarrantReader]:
        """Yields what an evaluation reads with, until the context ends, in place of `reader`."""
        self._evaluations += 1
        try:
            yield SharedReader(self, reader)
        finally:
            self._evaluations -= 1
            if not self._evaluations and self._tables:
                release_run(self)

    def release(self) -> Iterator[int]:
        """Frees what is kept, and yields how much was freed since it yielded last."""
        tables, self._tables = self._tables, {}
        order, self._order = self._order, deque()
        self.total.bytes -= self._bytes
        self._bytes = 0
        yield from free_containers([tables])
        while order:
            some = min(len(order), ITEMS_AT_ONCE)
            for _ in range(some):
                order.pop()
            yield some

    @property
    def is_used(self) -> bool:
        """Returns whether rows are to be kept, or are there."""
        return self._evaluations > 1 or bool(self._tables)

    def find_table(self, read: WarrantRead, at: Revision) -> _Table:
        request = read.request
        wildcards = request.has_object_wildcard, request.has_subject_wildcard
        key = (request.type, request.relations, request.subjects, *wildcards, at)
        return self._tables.setdefault(key, {})

    def keep(self, table: _Table, ids: Sequence[ObjectId], warrants: Sequence[Warrant]) -> None:
        """Keeps the warrants on these objects, and evicts the oldest beyond the capacity."""
        by_id: dict[ObjectId, list[Warrant]] = {object_id: [] for object_id in ids if object_id not in table}
        for warrant in warrants:
            if warrant.object_id in by_id:
                by_id[warrant.object_id].append(warrant)
        table.update(by_id)
        for object_id, own in by_id.items():
            size = ENTRY_BYTES + measure_text(object_id) + sum(map(measure_warrant, own))
            self._order.append((table, object_id, size))
            self._add_bytes(size)
        while self.total.bytes > MAX_BYTES and self._order:
            oldest, object_id, size = self._order.popleft()
            oldest.pop(object_id, None)
            self._add_bytes(-size)

    def _add_bytes(self, size: int) -> None:
        self._bytes += size
        self.total.bytes += size


class SharedReader:
    """Implements WarrantReader for one of several evaluations."""

    def __init__(self, shared: SharedReads, reader: WarrantReader) -> None:
        self._shared = shared
        self._reader = reader

    async def read_warrants(self, reads: Sequence[AnyRead], at: Revision | None, most: int) -> ReadResult:
        if at is not None:
            await checkpoint()  # others that evaluate the same come to the same reads meanwhile
        small = _select_small(reads) if self._shared.is_used else []
        if at is None or not small:
            return await self._reader.read_warrants(reads, at, most)
        placed = [(read, read.ids or (), self._shared.find_table(read, at)) for read in small]
        while begun := [
            entry for _, ids, table in placed for object_id in ids if isinstance(entry := table.get(object_id), Future)
        ]:
            await asyncio.wait(begun)
        shared: list[list[Warrant]] = []
        missing: list[tuple[WarrantRead, _Table]] = []
        for read, ids, table in placed:
            entries = [table.get(object_id) for object_id in ids]
            shared.append([warrant for entry in entries if isinstance(entry, list) for warrant in entry])
            unread = tuple(object_id for object_id, entry in zip(ids, entries, strict=True) if entry is None)
            missing.append((WarrantRead(read.request, unread), table))
        own = await self._read(missing, at, most) if any(read.ids for read, _ in missing) else [[] for _ in missing]
        return ReadResult(at, at, at, [[*kept, *rows] for kept, rows in zip(shared, own, strict=True)])

    async def _read(
        self, missing: Sequence[tuple[WarrantRead, _Table]], at: Revision, most: int
    ) -> Sequence[Sequence[Warrant]]:
        """Returns the rows of these reads, and shares them; others that want the same wait meanwhile."""
        done: Future[None] = asyncio.get_running_loop().create_future()
        for read, table in missing:
            table.update(dict.fromkeys(read.ids or (), done))
        warrants_by_read: Sequence[Sequence[Warrant]] = ()
        try:
            warrants_by_read = (await self._reader.read_warrants([read for read, _ in missing], at, most)).warrants
        finally:
            for read, table in missing:
                for object_id in read.ids or ():
                    table.pop(object_id, None)  # two subjects of a batch may have requested it
            if warrants_by_read and sum(map(len, warrants_by_read)) < min(most, MAX_ROWS_EACH):
                for (read, table), warrants in zip(missing, warrants_by_read, strict=True):
                    self._shared.keep(table, read.ids or (), warrants)
            done.set_result(None)
        return warrants_by_read


def _select_small(reads: Sequence[AnyRead]) -> Sequence[WarrantRead]:
    """Returns the reads if all of them are of a few objects, otherwise none."""
    small = [read for read in reads if isinstance(read, WarrantRead) and read.ids is not None]
    is_small = len(small) == len(reads) and sum(len(read.ids or ()) for read in small) <= MAX_IDS_EACH
    return small if is_small else []
