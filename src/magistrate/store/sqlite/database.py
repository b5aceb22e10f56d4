"""Implements the store on SQLite through APSW: one writer connection in a thread of its own, and reads in the event
loop.

A read takes some microseconds, less than handing it to a thread would; only long reads go to threads. Any number of
processes may have the same file open: SQLite's write-ahead log isolates readers from the one writer.

`writer.py` has the writer."""

import asyncio
import os
import queue
import random
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from math import inf
from typing import NoReturn, TypeVar, cast

import apsw

from magistrate.engine.byte_sizes import CacheBytes
from magistrate.errors import MagistrateError, ReadOnly, StoreUnavailable
from magistrate.store.contract.database_use import NO_POOL, NO_REPLICAS, HeadLocks, PoolCounts, ReplicaCounts
from magistrate.store.contract.revisions import KnownRevisions, Mark, RevisionId, Staleness
from magistrate.store.contract.stores import DEFAULT_STORE, build_store
from magistrate.store.database import ConfirmRows, Observer, Rows, ScriptStart, observe_nothing, require_head
from magistrate.store.schema_version import SchemaVersion
from magistrate.store.scripts.key_encryption import UNSEALED, Sealing
from magistrate.store.sql.changes import LIST_WARRANT_CHANGES
from magistrate.store.sql.dialect import Parameter, bind_store
from magistrate.store.sql.head import READ_HEAD
from magistrate.store.sql.schema import READ_VERSION
from magistrate.store.sql.sqlite import (
    OVERWRITE_DELETED,
    PROBE_BY_OBJECT,
    PROBE_BY_SUBJECT,
    PROBE_COLUMNS,
    PROBE_INDEX,
    PROBE_INDEXES,
    PROBE_NEWEST_STORE,
    PROBE_OBJECT,
    PROBE_STORE,
    PROBE_TABLE,
    PROBE_TABLES,
    PROBE_WARRANT,
    READ_DATA_VERSION,
    READ_ONLY,
    SQLITE,
    number_placeholders,
)
from magistrate.store.sql.stores import FIND_STORE
from magistrate.store.sql_stores import SqlStores
from magistrate.store.sqlite.files import DAMAGED, DAMAGED_FILE, open_connection, raise_translated
from magistrate.store.sqlite.writer import FileWriter
from magistrate.tracing import CURRENT, open_statements


def probe_file(path: str) -> None:
    """Reads the schema, the first row of each table, the first entry of each index, and every row and index entry
    that belongs to a randomly chosen warrant. A new connection sees what is in the file now. Raises apsw.Error."""
    with closing(open_connection(path, LOOKUP_TIMEOUT_MS, READ_ONLY)) as connection:
        for statement in _first_rows(connection):
            connection.execute(statement).fetchall()
        [(last_store,)] = connection.execute(PROBE_NEWEST_STORE).fetchall()
        first = random.randint(0, int(str(last_store)))
        [(store, newest)] = connection.execute(PROBE_STORE, (first,)).fetchall()

        def probe(statement: str, *values: Parameter) -> Rows:
            return connection.execute(number_placeholders(statement), (cast(int, store), *values)).fetchall()

        for *obj, subject_id, subject_type in probe(PROBE_WARRANT, random.randint(0, int(str(newest)))):
            probe(PROBE_BY_OBJECT, *obj)
            probe(PROBE_OBJECT, *obj)
            probe(PROBE_BY_SUBJECT, subject_id, subject_type)
            probe(PROBE_OBJECT, subject_id, subject_type)


def _first_rows(connection: apsw.Connection) -> Iterator[str]:
    for (table,) in connection.execute(PROBE_TABLES).fetchall():
        yield PROBE_TABLE.format(table=table)
    for index, table, statement in connection.execute(PROBE_INDEXES).fetchall():
        columns = [name for _, _, name in connection.execute(PROBE_COLUMNS.format(index=index)).fetchall() if name]
        condition = str(statement or "").partition(" WHERE ")[2] or "true"
        yield PROBE_INDEX.format(column=columns[0], table=table, index=index, condition=condition)


T = TypeVar("T")

LONG_READERS = 2
"""Sets the number of threads, each with a connection, for reads that look at many rows."""

LOOKUP_TIMEOUT_MS = 250
"""Limits how long a lookup waits, because it blocks the event loop and everyone with it. Only recovery after a crash,
or a tool that locks the whole file, makes a reader wait at all."""

STEPS_BETWEEN_LOOKS = 10_000
"""Counts instructions of SQLite's virtual machine between two looks at how long a read takes: about a millisecond."""

MAX_LOOKUP_STEPS = 60_000
"""Limits the instructions after which a lookup is made again as a long read, give or take those between two looks at
their number. How much a statement looks at is not always known before: one that reads ahead follows all groups of an
object, of which there may be 60,000."""


async def open_sqlite(
    path: str, timeout_ms: int, observer: Observer = observe_nothing, sealing: Sealing = UNSEALED
) -> SqlStores:
    """Opens the stores of a migrated file. Raises StoreUnavailable, or SchemaMismatch if the file is not
    migrated."""
    if not os.path.exists(path):
        raise StoreUnavailable(f"there is no SQLite database {path}")
    file = SqliteFile(path, timeout_ms, observer)
    try:
        [row] = await file.read(number_placeholders(FIND_STORE), (DEFAULT_STORE,))
    except MagistrateError:
        await file.close()
        raise
    return SqlStores(build_store(row), partial(SqliteDatabase, file), sealing)


class SqliteDatabase:
    """Represents the part of a file that one store has."""

    dialect = SQLITE
    read_only: ReadOnly | None = None
    has_replicas = False
    constraint_error: type[Exception] = apsw.ConstraintError

    def __init__(self, file: "SqliteFile", store: int) -> None:
        self.known = KnownRevisions()
        self.now = file.now
        self.schema_version = file.schema_version
        self.close = file.close
        self.file = file
        self._store = store
        self._seen_version, self._seen_newest = -1, -1

    @property
    def statements(self) -> int:
        return self.file.statements

    @property
    def head_locks(self) -> HeadLocks:
        return self.file.head_locks

    def count_connections(self) -> PoolCounts:
        return NO_POOL

    def count_replica_reads(self) -> ReplicaCounts:
        return NO_REPLICAS

    async def read_replica(
        self, sql: str, values: tuple[Parameter, ...], least: RevisionId, confirm_rows: ConfirmRows
    ) -> Rows | None:
        return None

    def measure_caches(self) -> Sequence[CacheBytes]:
        return ()

    async def read(self, sql: str, values: tuple[Parameter, ...], long: bool = False) -> Rows:
        rows = await self.file.read(number_placeholders(sql), bind_store(sql, self._store, values), long)
        return require_head(sql, rows)

    async def transact(self, script: ScriptStart[T], makes_revision: bool = True) -> T:
        return await self.file.transact(script, self._store, self.known)

    @property
    def is_writing(self) -> bool:
        """Returns false: a write that goes on needs nothing of this but what it refers to."""
        return False

    def mark(self) -> Mark:
        return 0.0, self._read_newest()

    def staleness(self, mark: Mark) -> Staleness:
        return Staleness.CURRENT if self.is_newest(mark) else Staleness.STALE

    def is_newest(self, mark: Mark) -> bool:
        return mark[1] == self._read_newest()

    async def confirm_mark(self, mark: Mark) -> bool:
        return self.is_newest(mark)

    def measure_lag(self, mark: Mark) -> float:
        """Returns infinity: the file shows whether something was written, not when."""
        return inf

    def find_changes(self, after: RevisionId, most: int) -> tuple[Mark, Rows] | None:
        mark = self.mark()
        rows = self.file.look_up(_LIST_WARRANT_CHANGES, (self._store, after.revision, after.revision, most))
        return None if rows is None else (mark, require_head(LIST_WARRANT_CHANGES, rows))

    async def synchronize_clock(self) -> None:
        """Does nothing: the database has the clock of this process."""

    def _read_newest(self) -> int:
        """Returns a number that stands for the newest revision and its bits, which are read only if anything was
        committed since the last call."""
        version = self.file.read_data_version()
        if self._seen_version != version:
            [(revision, _, bits)] = require_head(READ_HEAD, self.file.read_at_once(_READ_HEAD, (self._store,)))
            self._seen_version, self._seen_newest = version, cast(int, revision) << 32 | cast(int, bits or 0)
        return self._seen_newest


_READ_HEAD, _LIST_WARRANT_CHANGES = map(number_placeholders, (READ_HEAD, LIST_WARRANT_CHANGES))


class SqliteFile:
    """Represents a file with the connections of this process, which all stores in it share."""

    def __init__(self, path: str, timeout_ms: int, observer: Observer) -> None:
        self._reads = 0
        self._timeout_ms = timeout_ms
        self._path = path
        self._closed = False
        self._damage: apsw.Error | None = None
        self._probing: asyncio.Task[None] | None = None
        self._lookup_looks_left = 0
        """Counts down the looks that the present lookup has left; 0 outside of lookups, which are not interrupted."""
        self._read_threads = ThreadPoolExecutor(LONG_READERS, thread_name_prefix="sqlite-reader")
        self._long_readers: queue.SimpleQueue[apsw.Connection] = queue.SimpleQueue()
        with self._translate_errors():
            writing = open_connection(path, timeout_ms, OVERWRITE_DELETED)
            self._writer = FileWriter(writing, observer, check_file=self._check_file, translate=self._raise_translated)
            self._reader = open_connection(path, min(timeout_ms, LOOKUP_TIMEOUT_MS), READ_ONLY)
            self._reader.set_progress_handler(self._is_too_long, STEPS_BETWEEN_LOOKS)
            for _ in range(LONG_READERS):
                self._long_readers.put(open_connection(path, timeout_ms, READ_ONLY))
            self._file = os.stat(path)
        self._writer.start()

    @property
    def statements(self) -> int:
        return self._reads + self._writer.statements

    @property
    def head_locks(self) -> HeadLocks:
        return self._writer.head_locks

    async def read(self, sql: str, values: tuple[Parameter, ...], long: bool = False) -> Rows:
        """Implements Database.read, for a statement with numbered parameters."""
        rows = None if long else self.look_up(sql, values)
        if rows is not None:
            return rows
        self._reads += long
        if self._closed:
            raise StoreUnavailable("the store is closed")
        read = partial(self._read_long, sql, values, self._deadline())
        with open_statements(sql):
            return await asyncio.get_running_loop().run_in_executor(self._read_threads, read)

    async def transact(self, script: ScriptStart[T], store: int, revisions: KnownRevisions) -> T:
        if self._closed:
            raise StoreUnavailable("the store is closed")
        return await self._writer.transact(script, store, revisions, self._deadline())

    def read_data_version(self) -> int:
        """Returns a number that changes after each commit of another connection, in any process. It is cheaper to read
        than a row."""
        try:
            version: int = self._reader.execute(READ_DATA_VERSION).get
        except apsw.Error as error:
            self._raise_translated(error)
        return version

    def read_at_once(self, sql: str, values: tuple[Parameter, ...]) -> Rows:
        """Returns the rows of a statement that is never interrupted, because it looks at a row or two, and not
        counted."""
        with self._translate_errors():
            return self._reader.execute(sql, values).fetchall()

    def look_up(self, sql: str, values: tuple[Parameter, ...]) -> Rows | None:
        """Returns the rows of a lookup, or None if it was interrupted because it looks at too much."""
        if (span := CURRENT.get()) is None:
            return self._look_up(sql, values)
        with span.open_statements((sql,)):
            return self._look_up(sql, values)

    def _look_up(self, sql: str, values: tuple[Parameter, ...]) -> Rows | None:
        self._reads += 1
        self._lookup_looks_left = MAX_LOOKUP_STEPS // STEPS_BETWEEN_LOOKS
        try:
            return self._reader.execute(sql, values).fetchall()
        except apsw.InterruptError:
            return None
        except apsw.Error as error:
            self._raise_translated(error)
        finally:
            self._lookup_looks_left = 0

    def now(self) -> int:
        return time.time_ns() // 1_000

    async def schema_version(self) -> SchemaVersion:
        self._check_file()
        if self._damage is not None:
            raise StoreUnavailable(DAMAGED_FILE) from self._damage
        await self._probe()
        [(number, breaks_before)] = await self.read(READ_VERSION, ())
        return SchemaVersion(number, breaks_before)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._writer.close()
        self._read_threads.shutdown()
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

    def _is_too_long(self) -> bool:
        """Returns whether SQLite is to interrupt the reader. It counts the steps of a prepared statement over all its
        executions and calls this at intervals, so a single call says nothing about the current execution."""
        if not self._lookup_looks_left:
            return False
        self._lookup_looks_left -= 1
        return not self._lookup_looks_left

    def _read_long(self, sql: str, values: tuple[Parameter, ...], deadline: float) -> Rows:
        connection = self._long_readers.get()
        try:
            connection.set_progress_handler(lambda: time.monotonic() > deadline, STEPS_BETWEEN_LOOKS)
            connection.set_busy_timeout(max(1, int((deadline - time.monotonic()) * 1000)))
            with self._translate_errors():
                return connection.execute(sql, values).fetchall()
        finally:
            self._long_readers.put(connection)
