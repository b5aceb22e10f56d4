"""Implements the store on SQLite through APSW: one writer connection in a thread of its own, and reads in the event
loop.

A read takes some microseconds, less than handing it to a thread would; only long reads go to threads. Any number of
processes may have the same file open: SQLite's write-ahead log isolates readers from the one writer.

Writes that wait for the writer are committed together, each in a savepoint with a revision of its own: an exception
undoes only the write that raised it, and all of them share the wait for the disk, which is longer than the writing."""

import asyncio
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Generic, NoReturn, TypeVar, cast

import apsw

from magistrate.engine.terms import Revision
from magistrate.errors import MagistrateError, StoreUnavailable
from magistrate.store import migrate, sql
from magistrate.store.batch_reads import JoinTemplates
from magistrate.store.contract import Identity
from magistrate.store.database import Compute, Find, FindTogether, Observer, Rows, Script, Select, Step, observe_nothing
from magistrate.store.following import Mark, Staleness
from magistrate.store.sealing import UNSEALED, Sealing
from magistrate.store.sql import Parameter
from magistrate.store.sql_store import SqlStore
from magistrate.store.sqlite_connection import DAMAGED, DAMAGED_FILE, open_connection, raise_translated
from magistrate.store.sqlite_probe import probe_file

T = TypeVar("T")

LONG_READERS = 2
"""Sets the number of threads, each with a connection, for reads that look at many rows."""

WRITES_AT_ONCE = 64
"""Limits the writes that are committed together, so that the first of them need not wait long for the last."""

LOOKUP_TIMEOUT_MS = 250
"""Limits how long a lookup waits, because it blocks the event loop and everyone with it. Only recovery after a crash,
or a tool that locks the whole file, makes a reader wait at all."""

KEYS_AT_ONCE = 512
"""Limits the keys that one statement looks up. A statement has at most 32,766 values, and a key up to seven; longer
statements are not faster."""

STEPS_BETWEEN_LOOKS_AT_THE_CLOCK = 10_000
"""Counts instructions of SQLite's virtual machine: about a millisecond."""


async def open_sqlite(
    path: str, timeout_ms: int, observer: Observer = observe_nothing, sealing: Sealing = UNSEALED
) -> SqlStore:
    """Opens a store on a migrated file. Raises StoreUnavailable, or SchemaMismatch if the file is not migrated."""
    if not os.path.exists(path):
        raise StoreUnavailable(f"there is no SQLite database {path}")
    database = SqliteDatabase(path, timeout_ms, observer)
    try:
        [row] = await database.read(sql.READ_IDENTITY, ())
    except MagistrateError:
        await database.close()
        raise
    return SqlStore(database, Identity(*row), len(migrate.migrations("sqlite")), sealing)


Outcome = tuple[Any, Exception | None]
"""Holds what a write returned, or what it raised."""


@dataclass(slots=True, eq=False)
class _Write(Generic[T]):
    """Represents a script that is queued for the writer: the deadline until which it may wait, the future on which
    its caller waits, and whether the caller has stopped waiting."""

    script: Callable[[Revision], Script[T]]
    deadline: float
    result: Future[T]
    is_abandoned: bool = False


class SqliteDatabase:
    dialect = sql.Dialect(
        # The planner ignores LIMIT: given statistics, it may sort a table instead of reading an index in order.
        index_hint=" INDEXED BY {}",
        member_key=r"CASE WHEN instr(replace(meta, '\\', ''), '\u0000') > 0 THEN '0' "
        "WHEN json_type(meta, '$.{0}') = 'text' THEN '1' || (meta ->> '$.{0}') ELSE '0' END",
    )
    templates = JoinTemplates(
        many_ids="json_each(?) ids CROSS JOIN warrant w INDEXED BY {index} ON w.{column} = ids.value AND {holds}",
        many_objects="json_each(?) ids CROSS JOIN object o ON o.object_id = ids.value AND {holds}",
        indexed="warrant w INDEXED BY {index} WHERE {holds}",
        texts="SELECT value FROM json_each(?)",
        changes="revision r INDEXED BY revision_by_time CROSS JOIN change c ON c.revision = r.revision AND ({holds})",
        decisions="decision r INDEXED BY decision_by_time WHERE ({holds})",
        name="json_extract({row}.key, '$[{place}]')",
        following="SELECT {columns} FROM reached u CROSS JOIN warrant w INDEXED BY warrant_by_object ON {holds}",
        between=" UNION ",
        all_following="{arms}",
    )

    def __init__(self, path: str, timeout_ms: int, observer: Observer) -> None:
        self.statements = 0
        self._observer = observer
        self._timeout_ms = timeout_ms
        self._path = path
        self._closed = False
        self._damage: apsw.Error | None = None
        self._probing: asyncio.Task[None] | None = None
        self._seen_version, self._seen_revision = -1, -1
        self._writes: queue.SimpleQueue[_Write[Any] | None] = queue.SimpleQueue()
        self._write_thread = threading.Thread(target=self._write_on, name="sqlite-writer", daemon=True)
        self._read_threads = ThreadPoolExecutor(LONG_READERS, thread_name_prefix="sqlite-reader")
        self._long_readers: queue.SimpleQueue[apsw.Connection] = queue.SimpleQueue()
        with self._translate_errors():
            # Deleted content is overwritten with zeros: a key that was stored unencrypted must not stay in a page.
            self._writer = open_connection(path, timeout_ms, "PRAGMA secure_delete = FAST")
            self._reader = open_connection(path, min(timeout_ms, LOOKUP_TIMEOUT_MS), "PRAGMA query_only = ON")
            for _ in range(LONG_READERS):
                self._long_readers.put(open_connection(path, timeout_ms, "PRAGMA query_only = ON"))
            self._file = os.stat(path)
        self._write_thread.start()

    async def read(self, sql: str, values: tuple[Parameter, ...], long: bool = False) -> Rows:
        self.statements += 1
        if long:
            if self._closed:
                raise StoreUnavailable("the store is closed")
            read = partial(self._read_long, sql, values, self._deadline())
            return await asyncio.get_running_loop().run_in_executor(self._read_threads, read)
        try:
            return self._reader.execute(sql, values).fetchall()
        except apsw.Error as error:
            self._raise_translated(error)

    async def transact(self, script: Callable[[Revision], Script[T]], makes_revision: bool = True) -> T:
        if self._closed:
            raise StoreUnavailable("the store is closed")
        write: _Write[T] = _Write(script, self._deadline(), Future())
        self._writes.put(write)
        try:
            return await asyncio.wrap_future(write.result)
        except asyncio.CancelledError:
            write.is_abandoned = True  # it is not made unless it has begun; others in its group are
            raise

    def mark(self) -> Mark:
        return 0.0, self._newest_revision()

    def staleness(self, mark: Mark) -> Staleness:
        return Staleness.CURRENT if self.is_newest(mark) else Staleness.STALE

    def is_newest(self, mark: Mark) -> bool:
        return mark[1] == self._newest_revision()

    def find_changes(self, after: Revision, most: int) -> tuple[Mark, Rows] | None:
        mark = self.mark()
        self.statements += 1
        try:
            return mark, self._reader.execute(sql.LIST_WARRANT_CHANGES, (after, most)).fetchall()
        except apsw.Error as error:
            self._raise_translated(error)

    def _newest_revision(self) -> int:
        """Returns the newest revision, which is read only if anything was committed since the last call. That is
        detected by `data_version`, which is cheaper to read and changes after each commit of another connection, in
        any process."""
        try:
            version: int = self._reader.execute("PRAGMA data_version").get
            if self._seen_version != version:
                [(revision, _)] = self._reader.execute(sql.READ_HEAD).fetchall()
                self._seen_version, self._seen_revision = version, cast(int, revision)
        except apsw.Error as error:
            self._raise_translated(error)
        return self._seen_revision

    def now(self) -> int:
        return time.time_ns() // 1_000

    async def synchronize_clock(self) -> None:
        """Does nothing: the database has the clock of this process."""

    async def schema_version(self) -> int:
        self._check_file()
        if self._damage is not None:
            raise StoreUnavailable(DAMAGED_FILE) from self._damage
        await self._probe()
        [(version,)] = await self.read(migrate.READ_VERSION, ())
        return int(version)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._writes.put(None)
        self._write_thread.join()
        self._read_threads.shutdown()
        self._writer.close()
        self._reader.close()
        for _ in range(LONG_READERS):
            self._long_readers.get().close()

    async def _probe(self) -> None:
        """Probes the file in a thread, once for all concurrent callers: a file on a disk that hangs must not block
        them."""
        if self._probing is None or self._probing.done():
            self._probing = asyncio.create_task(asyncio.to_thread(self._probe_file))
            self._probing.add_done_callback(lambda probing: probing.cancelled() or probing.exception())
        await asyncio.shield(self._probing)

    def _probe_file(self) -> None:
        with self._translate_errors():
            probe_file(self._path)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except apsw.Error as error:
            self._raise_translated(error)

    def _raise_translated(self, error: apsw.Error) -> NoReturn:
        """Raises the translated error; once any statement has met with damage, the store is not ready from then on."""
        if isinstance(error, DAMAGED):
            self._damage = error
        raise_translated(error)

    def _deadline(self) -> float:
        """Returns the time by which a statement that has to wait for a thread must be done, including that wait."""
        return time.monotonic() + self._timeout_ms / 1000

    def _check_file(self) -> None:
        """Raises StoreUnavailable if the file is not the one that was opened, because anything written to it would be
        lost."""
        try:
            moved = not os.path.samestat(os.stat(self._path), self._file)
        except OSError as error:
            raise StoreUnavailable("the database file is gone") from error
        if moved:
            raise StoreUnavailable("the database file was replaced by another")

    def _read_long(self, sql: str, values: tuple[Parameter, ...], deadline: float) -> Rows:
        connection = self._long_readers.get()
        try:
            connection.set_progress_handler(lambda: time.monotonic() > deadline, STEPS_BETWEEN_LOOKS_AT_THE_CLOCK)
            connection.set_busy_timeout(max(1, int((deadline - time.monotonic()) * 1000)))
            with self._translate_errors():
                return connection.execute(sql, values).fetchall()
        finally:
            self._long_readers.put(connection)

    def _write_on(self) -> None:
        """Runs the writer thread until it reads the None behind the last write."""
        while (write := self._writes.get()) is not None:
            group = [write]
            while len(group) < WRITES_AT_ONCE and not self._writes.empty():
                following = self._writes.get()
                if following is None:
                    self._writes.put(None)
                    break
                group.append(following)
            # From here on, a caller can no longer cancel its write.
            self._write_group([write for write in group if write.result.set_running_or_notify_cancel()])

    def _write_group(self, group: Sequence[_Write[Any]]) -> None:
        try:
            with self._translate_errors():
                group = self._begin_group(group)
                outcomes = self._commit_group(group) if group else []
        except BaseException as error:  # for any error, the thread must continue and no caller may wait forever
            failure = error if isinstance(error, Exception) else StoreUnavailable("the write was broken off")
            for write in group:
                if not write.result.done():
                    write.result.set_exception(failure)
            return
        for write, (value, raised) in zip(group, outcomes, strict=True):
            if raised is None:
                write.result.set_result(value)
            else:
                write.result.set_exception(raised)

    def _begin_group(self, group: Sequence[_Write[Any]]) -> Sequence[_Write[Any]]:
        """Begins a transaction and returns the writes that are still in time by then. The others are refused, each at
        its deadline."""
        self._check_file()
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")
        while group := self._in_time(group):
            earliest = min(write.deadline for write in group)
            self._writer.set_busy_timeout(max(1, int((earliest - time.monotonic()) * 1000)))
            try:
                self._writer.execute("BEGIN IMMEDIATE")
                break
            except apsw.BusyError:
                continue
        group = self._in_time(group)
        if not group and self._writer.in_transaction:
            self._writer.execute("ROLLBACK")
        return group

    def _in_time(self, group: Sequence[_Write[Any]]) -> Sequence[_Write[Any]]:
        """Returns the writes that have a caller still waiting, and refuses the others."""
        now = time.monotonic()
        late = [write for write in group if write.deadline <= now or write.is_abandoned]
        for write in late:
            write.result.set_exception(StoreUnavailable("the database had no time for this write; it was not made"))
        return [write for write in group if write not in late]

    def _commit_group(self, group: Sequence[_Write[Any]]) -> list[Outcome]:
        """Returns what each write returned or raised; all that returned are on disk. An exception raised here fails
        all of them."""
        try:
            if len(group) == 1:
                outcomes: list[Outcome] = [(self._run_write(group[0]), None)]
            else:
                outcomes = [self._attempt_write(write) for write in group]
            self._observer("COMMIT")
            self._writer.execute("COMMIT")
        except BaseException:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            raise
        return outcomes

    def _run_write(self, write: _Write[T]) -> T:
        [(head, _)] = self._writer.execute(sql.READ_HEAD).fetchall()
        return self._drive(write.script(Revision(cast(int, head))))

    def _attempt_write(self, write: _Write[Any]) -> Outcome:
        """Runs a write in a savepoint, which has a cost but lets an exception undo this write alone and spare the
        rest of the group."""
        self._writer.execute("SAVEPOINT one_write")
        try:
            with self._translate_errors():
                return self._run_write(write), None
        except Exception as error:
            if not self._writer.in_transaction:  # SQLite rolls back by itself when the disk is full
                raise
            self._writer.execute("ROLLBACK TO one_write")
            return None, error
        finally:
            if self._writer.in_transaction:
                self._writer.execute("RELEASE one_write")

    def _drive(self, script: Script[T]) -> T:
        found: list[Rows] = []
        try:
            step = next(script)
            while True:
                found = self._perform(step)
                step = script.send(found)
        except StopIteration as finished:
            result: T = finished.value
            return result

    def _find_rows(self, step: Find) -> Rows:
        """Returns the rows of many keys by one statement, four times as fast as one statement per key."""
        rows: Rows = []
        if step.keys:
            self._observer(step.any_of)
            self.statements += 1
        for start in range(0, len(step.keys), KEYS_AT_ONCE):
            keys = _pad_keys(step.keys[start : start + KEYS_AT_ONCE])
            places = ", ".join(["(" + ", ".join("?" * len(keys[0])) + ")"] * len(keys))
            rows += self._writer.execute(f"{step.any_of} (VALUES {places})", list(chain.from_iterable(keys)))
        return rows

    def _perform(self, step: Step) -> list[Rows]:
        if isinstance(step, Compute):
            step.run()
            return []
        if isinstance(step, FindTogether):
            return [self._find_rows(find) for find in step.finds]
        if isinstance(step, Find):
            return [self._find_rows(step)]
        self.statements += len(step.values)
        if not step.values:
            return []
        self._observer(step.sql)
        if isinstance(step, Select):
            return [self._writer.execute(step.sql, values).fetchall() for values in step.values]
        self._writer.executemany(step.sql, step.values)
        return []


def _pad_keys(keys: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Returns the keys, the last of them repeated until their number is a power of two, so that there are few
    different statements."""
    return [*keys, *[keys[-1]] * ((1 << (len(keys) - 1).bit_length()) - len(keys))]
