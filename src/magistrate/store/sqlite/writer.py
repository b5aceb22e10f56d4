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
from contextlib import suppress
from functools import partial
from typing import NoReturn, TypeVar, cast

import apsw

from magistrate.engine.names import Revision
from magistrate.errors import StoreUnavailable
from magistrate.store.contract.revisions import NOTHING_WRITTEN, KnownRevisions, RevisionId, note_writes
from magistrate.store.database import Execute, Find, FindTogether, Observer, Rows, Script, ScriptStart, Select, Step
from magistrate.store.scripts.script_runs import WRITES_AT_ONCE, QueuedWrite, WriteResult, read_moved_head
from magistrate.store.sql.dialect import COMMIT, RELEASE, ROLL_BACK, ROLL_BACK_TO_SAVEPOINT, SAVEPOINT
from magistrate.store.sql.head import MOVE_HEAD
from magistrate.store.sql.insertions import join_insertions
from magistrate.store.sql.sqlite import BEGIN_GROUP, build_lookups

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


class FileWriter:
    """Runs the scripts of writes, one group at a time, on one connection. `check_file` raises StoreUnavailable if the
    file must not be written to, `translate` raises what the store raises for an error of SQLite."""

    def __init__(
        self,
        connection: apsw.Connection,
        observer: Observer,
        check_file: Callable[[], None],
        translate: Callable[[apsw.Error], NoReturn],
        revisions: KnownRevisions,
    ) -> None:
        self.connection = connection
        self.statements = 0
        self._observer = observer
        self._checkpoints = WalCheckpoints(connection)
        self._check_file = check_file
        self._translate = translate
        self._known = revisions
        self._waiting: queue.SimpleQueue[QueuedWrite | None] = queue.SimpleQueue()
        self._head = self._stored_head = NOTHING_WRITTEN
        """Are the newest revision, as the transaction sees it, and what it has stored of it."""
        self._head_before, self._written = NOTHING_WRITTEN, list[RevisionId]()
        """Are the newest revision before the transaction, and those that it makes."""
        self._has_changed = False
        """Says whether the script that runs has changed anything."""
        self._thread = threading.Thread(target=self._write_on, name="sqlite-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    async def transact(self, begin: ScriptStart[T], deadline: float) -> T:
        """Implements Database.transact. A write whose caller leaves is not made, unless it has begun; others in its
        group are."""
        write = QueuedWrite(begin, asyncio.get_running_loop().create_future(), deadline)
        self._waiting.put(write)
        return cast(T, await write.result)

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
        try:
            results = self._commit_group(group)
            _answer(results, partial(note_writes, self._known, self._head_before, tuple(self._written)))
        except BaseException as error:  # for any error, the thread must continue and no caller may wait forever
            failure = error if isinstance(error, Exception) else StoreUnavailable("the write was broken off")
            _answer([WriteResult(write, error=failure) for write in group])

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
                self._store_head()
                self._observer(COMMIT)
                self.connection.execute(COMMIT)
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

    def _begin_group(self, group: Sequence[QueuedWrite]) -> Sequence[QueuedWrite]:
        """Begins a transaction and returns the writes that are still in time by then. The others are refused, each at
        its deadline. Without any, no transaction is left open."""
        self._check_file()
        self._roll_back()
        while group := _refuse_late(group):
            earliest = min(write.deadline for write in group)
            self.connection.set_busy_timeout(max(1, int((earliest - time.monotonic()) * 1000)))
            try:
                [(head, _, bits)] = self.connection.execute(BEGIN_GROUP).fetchall()
                self._head = self._stored_head = RevisionId(Revision(cast(int, head)), cast("int | None", bits))
                self._head_before, self._written = self._head, []
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
                results.append(WriteResult(write, self._drive(write.begin(self._head.revision))))
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
        self._store_head()
        head, written = self._head, len(self._written)
        self.connection.execute(SAVEPOINT)
        try:
            try:
                return WriteResult(write, self._drive(write.begin(head.revision)))
            except apsw.Error as error:
                self._translate(error)
        except Exception as error:
            if not self.connection.in_transaction:  # SQLite rolls back by itself when the disk is full
                raise
            self.connection.execute(ROLL_BACK_TO_SAVEPOINT)
            self._head = self._stored_head = head
            del self._written[written:]
            return WriteResult(write, error=error)
        finally:
            if self.connection.in_transaction:
                self.connection.execute(RELEASE)

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
        if step.sql == MOVE_HEAD:  # once for the group, before anything may read it
            self._head = read_moved_head(step)
            self._written.append(self._head)
            return
        if step.changes is None:
            self._store_head()
        self._observer(step.sql)
        self.statements += len(step.values)
        if len(step.values) == 1:
            self.connection.execute(step.sql, step.values[0])
        else:
            for statement, rows in join_insertions(step.sql, step.values):
                self.connection.executemany(statement, rows)

    def _select(self, step: Select) -> list[Rows]:
        if step.values:
            self._store_head()
            self._observer(step.sql)
            self.statements += len(step.values)
        return [self.connection.execute(step.sql, values).fetchall() for values in step.values]

    def _store_head(self) -> None:
        if self._head != self._stored_head:
            self._observer(MOVE_HEAD)
            self.statements += 1
            self.connection.execute(MOVE_HEAD, self._head)
            self._stored_head = self._head

    def _find_rows(self, step: Find) -> Rows:
        if not step.keys:
            return []
        self._observer(step.statement)
        self.statements += 1
        rows: Rows = []
        for statement, values in build_lookups(step.statement, step.keys):
            rows += self.connection.execute(statement, values)
        return rows


def _refuse_late(group: Sequence[QueuedWrite]) -> Sequence[QueuedWrite]:
    """Returns the writes that have a caller still waiting, and refuses the others."""
    now = time.monotonic()
    in_time = [write for write in group if write.deadline > now and not write.result.cancelled()]
    if len(in_time) < len(group):
        late = "the database had no time for this write; it was not made"
        _answer([WriteResult(write, error=StoreUnavailable(late)) for write in group if write not in in_time])
    return in_time


def _answer(results: Sequence[WriteResult], note: Callable[[], None] = lambda: None) -> None:
    """Notes what was written, and answers the callers of these writes, in one step of their event loop."""

    def answer() -> None:
        note()
        for result in results:
            result.answer()

    if results:
        with suppress(RuntimeError):  # the loop is closed, and nobody waits
            results[0].write.result.get_loop().call_soon_threadsafe(answer)
