"""Makes the writes of this process on a SQLite file, in a thread of its own, those that wait together in one
transaction.

Writes that wait are committed as one group, each with a revision of its own: they share the wait for the disk, which is
longer than the writing, and one notification of the event loop. An exception undoes only the write that raised it. See
docs/decisions/0010-sqlite-commits-writes-in-groups.md."""

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn, TypeVar, cast

import apsw

from magistrate.errors import StoreDeleted, StoreUnavailable
from magistrate.store.contract.database_use import HeadLocks
from magistrate.store.contract.revisions import KnownRevisions, RevisionId, note_writes
from magistrate.store.database import (
    Execute,
    Find,
    FindTogether,
    Observer,
    Rows,
    Script,
    ScriptStart,
    Select,
    Step,
    require_head,
)
from magistrate.store.group_spans import GroupRecording
from magistrate.store.scripts.heads import StoreHead, read_head, read_move
from magistrate.store.scripts.script_runs import WRITES_AT_ONCE, QueuedWrite, WriteResult
from magistrate.store.sql.backups import RESTORE_HEAD
from magistrate.store.sql.dialect import (
    COMMIT,
    RELEASE,
    ROLL_BACK,
    ROLL_BACK_TO_SAVEPOINT,
    SAVEPOINT,
    Parameter,
    bind_store,
)
from magistrate.store.sql.head import MOVE_HEAD, OPEN_HEAD
from magistrate.store.sql.insertions import join_insertions
from magistrate.store.sql.sqlite import BEGIN_WRITE, build_lookups, number_placeholders
from magistrate.tracing import NOT_RECORDED

PAGES_BETWEEN_CHECKPOINTS = 1_000
"""Sets how long the log becomes before it is copied, in pages: SQLite's own default."""


class WalCheckpoints:
    """Replaces the automatic checkpoints of a connection: `run_if_due` is to be called after each transaction."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._pages = 0
        connection.set_wal_hook(self._note_pages)

    def run_if_due(self) -> None:
        """Copies the log if it is long enough, as far as readers allow. What cannot be copied is tried again after the
        next transaction: an error of a checkpoint fails no write, as with SQLite's own."""
        if self._pages >= PAGES_BETWEEN_CHECKPOINTS:
            self._pages = 0
            with suppress(apsw.Error):
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    def _note_pages(self, connection: apsw.Connection, database: str, pages: int) -> int:
        self._pages = pages
        return apsw.SQLITE_OK


T = TypeVar("T")


@dataclass(slots=True)
class _WrittenHead:
    """Holds the newest revision of a store before the transaction, its head as it is stored by now, and as the
    transaction sees it, and the revisions that it makes. `known` learns of these."""

    known: KnownRevisions
    before: RevisionId
    stored: StoreHead
    seen: StoreHead
    written: list[RevisionId] = field(default_factory=list)


class FileWriter:
    """Runs the scripts of writes, one group at a time, on one connection. `check_file` raises StoreUnavailable if the
    file must not be written to, `translate` raises what the store raises for an error of SQLite."""

    def __init__(
        self,
        connection: apsw.Connection,
        observer: Observer,
        check_file: Callable[[], None],
        translate: Callable[[apsw.Error], NoReturn],
    ) -> None:
        self.connection = connection
        self.statements = 0
        self.head_locks = HeadLocks()
        self._locked_at = 0.0
        """Is the monotonic time at which the transaction got the lock of the file."""
        self._observer = observer
        self._recording: GroupRecording | None = None
        """Records the present group, if one of its writes is sampled."""
        self._checkpoints = WalCheckpoints(connection)
        self._check_file = check_file
        self._translate = translate
        self._waiting: queue.SimpleQueue[QueuedWrite | None] = queue.SimpleQueue()
        self._heads: dict[int, _WrittenHead] = {}
        """Has the newest revision of each store that the transaction writes to."""
        self._store = 0
        """Is the number of the store that the script that runs writes to."""
        self._has_changed = False
        """Says whether the script that runs has changed anything."""
        self._thread = threading.Thread(target=self._write_on, name="sqlite-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    async def transact(self, begin: ScriptStart[T], store: int, revisions: KnownRevisions, deadline: float) -> T:
        """Implements Database.transact for a store. A write whose caller leaves is not made, unless it has begun;
        others in its group are."""
        write = QueuedWrite(begin, store, revisions, asyncio.get_running_loop().create_future(), deadline)
        self._waiting.put(write)
        return cast(T, await write.wait())

    def close(self) -> None:
        """Makes the writes that wait, and closes the connection."""
        self._waiting.put(None)
        self._thread.join()
        self.connection.close()

    def _write_on(self) -> None:
        """Runs the writer thread until it reads the None behind the last write."""
        while (write := self._waiting.get()) is not None:
            group = [write]
            while len(group) < WRITES_AT_ONCE and not self._waiting.empty():
                following = self._waiting.get()
                if following is None:
                    self._waiting.put(None)
                    break
                group.append(following)
            self._write_group(group)
            self._checkpoints.run_if_due()

    def _write_group(self, group: Sequence[QueuedWrite]) -> None:
        self._recording = GroupRecording() if any(write.wait_span is not None for write in group) else None
        try:
            results = self._commit_recorded(group)
            _answer(results, partial(_note_writes, tuple(self._heads.values())))
        except BaseException as error:  # for any error, the thread must continue and no caller may wait forever
            failure = error if isinstance(error, Exception) else StoreUnavailable("the write was broken off")
            _answer([WriteResult(write, error=failure) for write in group])

    def _commit_recorded(self, group: Sequence[QueuedWrite]) -> list[WriteResult]:
        """Commits a group, and ends its recording before any of its writes is answered."""
        recording = self._recording
        if recording is None:
            return self._commit_group(group)
        try:
            results = self._commit_group(group)
        except BaseException as error:
            recording.export(group, error)
            raise
        recording.export(group)
        return results

    def _commit_group(self, group: Sequence[QueuedWrite]) -> list[WriteResult]:
        """Returns what each write that was in time returned or raised; all that returned are on disk. An exception
        raised here fails all of them."""
        try:
            group = self._begin_group(group)
            results = self._run_together(group)
            if results is None:
                self._roll_back()
                results = [self._run_apart(write) for write in self._begin_group(group)]
            if results:
                with self._open_batch():
                    for store, head in self._heads.items():
                        self._store_head(store, head)
                with self._open_batch():
                    self._note(COMMIT)
                    self.connection.execute(COMMIT)
                self._note_release()
        except apsw.Error as error:
            self._roll_back()
            self._translate(error)
        except BaseException:
            self._roll_back()
            raise
        return results

    def _roll_back(self) -> None:
        if self.connection.in_transaction:
            self.connection.execute(ROLL_BACK)
            self._note_release()

    def _note_release(self) -> None:
        self.head_locks.holds.count(time.monotonic() - self._locked_at)

    def _begin_group(self, group: Sequence[QueuedWrite]) -> Sequence[QueuedWrite]:
        """Begins a transaction and returns the writes that are still in time by then. The others are refused, each at
        its deadline. Without any, no transaction is left open."""
        self._check_file()
        self._roll_back()
        began_at = time.monotonic()
        while group := _refuse_late(group):
            earliest = min(write.deadline for write in group)
            self.connection.set_busy_timeout(max(1, int((earliest - time.monotonic()) * 1000)))
            try:
                with self._open_batch(BEGIN_WRITE):
                    self.connection.execute(BEGIN_WRITE)
                self._locked_at = time.monotonic()
                self.head_locks.waits.count(self._locked_at - began_at)
                self._heads = {}
                break
            except apsw.BusyError:
                continue
        group = _refuse_late(group)
        if not group:
            self._roll_back()
        return group

    def _run_together(self, group: Sequence[QueuedWrite]) -> list[WriteResult] | None:
        """Runs the writes without savepoints. Returns None if one of several has failed after it had changed something:
        the others have then to be spared what it did."""
        results: list[WriteResult] = []
        for write in group:
            self._has_changed = False
            try:
                results.append(WriteResult(write, self._run(write)))
            except Exception as error:
                if len(group) == 1:
                    raise
                if self._has_changed or isinstance(error, apsw.Error):
                    return None
                results.append(WriteResult(write, error=error))
        return results

    def _run_apart(self, write: QueuedWrite) -> WriteResult:
        """Runs a write in a savepoint, which has a cost but lets an exception undo this write alone and spare the
        rest of the group."""
        try:
            head = self._find_head(write)
        except StoreDeleted as error:
            return WriteResult(write, error=error)
        self._store_head(write.store, head)
        seen, written, heads = head.seen, len(head.written), {**self._heads}
        self.connection.execute(SAVEPOINT)
        try:
            try:
                return WriteResult(write, self._run(write))
            except apsw.Error as error:
                self._translate(error)
        except Exception as error:
            if not self.connection.in_transaction:  # SQLite rolls back by itself when the disk is full
                raise
            self.connection.execute(ROLL_BACK_TO_SAVEPOINT)
            self._heads = heads
            head.seen = head.stored = seen
            del head.written[written:]
            return WriteResult(write, error=error)
        finally:
            if self.connection.in_transaction:
                self.connection.execute(RELEASE)

    def _find_head(self, write: QueuedWrite) -> "_WrittenHead":
        """Returns the head of the store that a write is for, which is the one that runs from now on."""
        self._store = write.store
        return self._heads.get(write.store) or self._read_head(write.store, write.known)

    def _read_head(self, store: int, revisions: KnownRevisions) -> "_WrittenHead":
        statement = number_placeholders(OPEN_HEAD)
        [row] = require_head(OPEN_HEAD, self.connection.execute(statement, (store,)).fetchall())
        stored = read_head(row)
        head = self._heads[store] = _WrittenHead(revisions, stored.newest, stored, stored)
        return head

    def _run(self, write: QueuedWrite) -> Any:
        with self._open_batch():
            return self._drive(write.begin(self._find_head(write).seen.newest.revision))

    def _open_batch(self, *texts: str) -> AbstractContextManager[None]:
        """Returns a context whose statements are one span if the group is recorded: these, and those that are noted."""
        return NOT_RECORDED if self._recording is None else self._recording.run_batch(texts)

    def _note(self, sql: str) -> None:
        """Notes a statement just before it runs."""
        self._observer(sql)
        if self._recording is not None:
            self._recording.note(number_placeholders(sql))

    def _drive(self, script: Script[T]) -> T:
        try:
            step = next(script)
            while True:
                step = script.send(self._perform(step))
        except StopIteration as finished:
            result: T = finished.value
            return result

    def _perform(self, step: Step) -> list[Rows]:
        if isinstance(step, Execute):
            if step.values:
                self._execute(step)
            return []
        if isinstance(step, FindTogether):
            return [self._find_rows(find) for find in step.finds]
        if isinstance(step, Select):
            return self._select(step)
        step.run()
        return []

    def _execute(self, step: Execute) -> None:
        self._has_changed = True
        head = self._heads[self._store]
        if step.sql == MOVE_HEAD:  # once for the group, before anything may read it
            move = read_move(step)
            head.seen.check_limits(move)
            head.seen = head.seen.move(move)
            head.written.append(move.newest)
            return
        if step.changes is None:
            self._store_head(self._store, head)
        self._note(step.sql)
        self.statements += len(step.values)
        if len(step.values) == 1:
            self.connection.execute(*self._bind(step.sql, step.values[0], step.store))
        else:
            for statement, rows in join_insertions(step.sql, step.values):
                store = step.store or self._store
                bound = (bind_store(statement, store, row) for row in rows)
                self.connection.executemany(number_placeholders(statement), bound)
        if step.sql == RESTORE_HEAD and (restored := self._heads.pop(step.store or self._store, None)) is not None:
            self._read_head(step.store or self._store, restored.known)

    def _select(self, step: Select) -> list[Rows]:
        if step.values:
            self._store_head(self._store, self._heads[self._store])
            self._note(step.sql)
            self.statements += len(step.values)
        return [self.connection.execute(*self._bind(step.sql, values, step.store)).fetchall() for values in step.values]

    def _store_head(self, store: int, head: _WrittenHead) -> None:
        if head.seen != head.stored:
            self._note(MOVE_HEAD)
            self.statements += 1
            self.connection.execute(*self._bind(MOVE_HEAD, head.seen.values_after(head.stored), store))
            head.stored = head.seen

    def _bind(
        self, statement: str, values: Sequence[Parameter], store: int | None = None
    ) -> tuple[str, tuple[Parameter, ...]]:
        """Returns a statement for a store, or the one that is written to, and its values."""
        return number_placeholders(statement), bind_store(statement, store or self._store, tuple(values))

    def _find_rows(self, step: Find) -> Rows:
        if not step.keys:
            return []
        self._note(step.statement)
        self.statements += 1
        rows: Rows = []
        for statement, values in build_lookups(step.statement, step.keys):
            rows += self.connection.execute(*self._bind(statement, values))
        return rows


def _refuse_late(group: Sequence[QueuedWrite]) -> Sequence[QueuedWrite]:
    """Returns the writes that have a caller still waiting, and refuses the others."""
    now = time.monotonic()
    in_time = [write for write in group if write.deadline > now and not write.result.cancelled()]
    if len(in_time) < len(group):
        late = "the database had no time for this write; it was not made"
        _answer([WriteResult(write, error=StoreUnavailable(late)) for write in group if write not in in_time])
    return in_time


def _note_writes(heads: Sequence[_WrittenHead]) -> None:
    for head in heads:
        note_writes(head.known, head.before, tuple(head.written))


def _answer(results: Sequence[WriteResult], note: Callable[[], None] = lambda: None) -> None:
    """Notes what was written, and answers the callers of these writes, in one step of their event loop."""

    def answer() -> None:
        note()
        for result in results:
            result.answer()

    if results:
        with suppress(RuntimeError):  # the loop is closed, and nobody waits
            results[0].write.result.get_loop().call_soon_threadsafe(answer)
