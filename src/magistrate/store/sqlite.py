"""SQLite through APSW: one writer connection in a thread of its own, reads in the event loop.

A read takes some microseconds, less than handing it to a thread would; only reads that say they are long go to
threads. Any number of processes may have the same file open: SQLite's write-ahead log keeps readers and the one
writer apart."""

import asyncio
import os
import queue
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import NoReturn, TypeVar, cast

import apsw

from magistrate.errors import MagistrateError, SchemaMismatch, StoreUnavailable
from magistrate.store import migrate, sql
from magistrate.store.contract import Identity, Revision
from magistrate.store.database import Observer, Rows, Script, Select, Step, observe_nothing
from magistrate.store.sql import Parameter
from magistrate.store.sql_store import SqlStore

T = TypeVar("T")

LONG_READERS = 2
"""Threads, each with a connection, for reads that look at many rows."""

LOOKUP_TIMEOUT_MS = 250
"""A lookup waits in the event loop, and everyone with it. Only recovery after a crash, or a tool that locks the whole
file, makes a reader wait at all."""

STEPS_BETWEEN_LOOKS_AT_THE_CLOCK = 10_000
"""Of SQLite's virtual machine: about a millisecond."""

_UNAVAILABLE = (
    apsw.BusyError,
    apsw.CantOpenError,
    apsw.ConnectionClosedError,
    apsw.CorruptError,
    apsw.FullError,
    apsw.InterruptError,
    apsw.IOError,
    apsw.LockedError,
    apsw.NotADBError,
    apsw.PermissionsError,
    apsw.ReadOnlyError,
)


def migrate_sqlite(path: str, timeout_ms: int) -> None:
    """Makes the file if there is none and brings its schema up to date; several processes may try at once.

    Raises StoreUnavailable, or SchemaMismatch if a newer version has been here.
    """
    try:
        make = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        with closing(_opened(path, timeout_ms, flags=make)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            _migrate(connection)
    except apsw.Error as error:
        raise StoreUnavailable(f"the SQLite database {path} cannot be migrated: {error}") from error


async def open_sqlite(path: str, timeout_ms: int, observer: Observer = observe_nothing) -> SqlStore:
    """A store on a migrated file. Raises StoreUnavailable, or SchemaMismatch if the file is not migrated."""
    database = SqliteDatabase(path, timeout_ms, observer)
    try:
        [row] = await database.read(sql.READ_IDENTITY, ())
    except MagistrateError:
        await database.close()
        raise
    return SqlStore(database, Identity(*row), len(migrate.migrations("sqlite")))


class SqliteDatabase:
    index_hint = " INDEXED BY {}"
    """The planner does not count on LIMIT: with statistics it may rather sort a table than read an index in order."""

    def __init__(self, path: str, timeout_ms: int, observer: Observer) -> None:
        self._observer = observer
        self._timeout_ms = timeout_ms
        self._path = path
        self._closed = False
        self._write_thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite-writer")
        self._read_threads = ThreadPoolExecutor(LONG_READERS, thread_name_prefix="sqlite-reader")
        self._long_readers: queue.SimpleQueue[apsw.Connection] = queue.SimpleQueue()
        with _translated():
            self._writer = _opened(path, timeout_ms)
            self._reader = _opened(path, min(timeout_ms, LOOKUP_TIMEOUT_MS), "PRAGMA query_only = ON")
            for _ in range(LONG_READERS):
                self._long_readers.put(_opened(path, timeout_ms, "PRAGMA query_only = ON"))
            self._file = os.stat(path)

    async def read(self, sql: str, values: tuple[Parameter, ...], long: bool = False) -> Rows:
        if long:
            deadline = self._deadline()
            return await self._in_thread(self._read_threads, lambda: self._read_long(sql, values, deadline))
        try:
            return self._reader.execute(sql, values).fetchall()
        except apsw.Error as error:
            _raise_translated(error)

    async def transact(self, script: Callable[[Revision], Script[T]]) -> T:
        deadline = self._deadline()
        return await self._in_thread(self._write_thread, lambda: self._transact(script, deadline))

    async def schema_version(self) -> int:
        self._check_file()
        [(version,)] = await self.read(migrate.READ_VERSION, ())
        return int(version)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._write_thread.shutdown()
        self._read_threads.shutdown()
        self._writer.close()
        self._reader.close()
        for _ in range(LONG_READERS):
            self._long_readers.get().close()

    async def _in_thread(self, threads: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        if self._closed:
            raise StoreUnavailable("the store is closed")
        return await asyncio.get_running_loop().run_in_executor(threads, work)

    def _deadline(self) -> float:
        """When a statement that has to wait for a thread must be done, that waiting included."""
        return time.monotonic() + self._timeout_ms / 1000

    def _check_file(self) -> None:
        """Raises StoreUnavailable if the file is not the one that was opened: what is written there nobody will find
        again."""
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
            with _translated():
                return connection.execute(sql, values).fetchall()
        finally:
            self._long_readers.put(connection)

    def _transact(self, script: Callable[[Revision], Script[T]], deadline: float) -> T:
        with _translated():
            remaining_ms = int((deadline - time.monotonic()) * 1000)
            if remaining_ms <= 0:
                raise StoreUnavailable("the database had no time for this write")
            self._check_file()
            self._writer.set_busy_timeout(remaining_ms)
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                [(head, _)] = self._writer.execute(sql.READ_HEAD).fetchall()
                result = self._drive(script(Revision(cast(int, head))))
                self._observer("COMMIT")
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:  # SQLite ends the transaction by itself when the disk is full
                    self._writer.execute("ROLLBACK")
                raise
            return result

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

    def _perform(self, step: Step) -> list[Rows]:
        if not step.values:
            return []
        self._observer(step.sql)
        if isinstance(step, Select):
            return [self._writer.execute(step.sql, values).fetchall() for values in step.values]
        self._writer.executemany(step.sql, step.values)
        return []


def _opened(path: str, timeout_ms: int, *pragmas: str, flags: int = apsw.SQLITE_OPEN_READWRITE) -> apsw.Connection:
    """A connection to a file that is there: one that was moved away must not be made again, empty."""
    connection = apsw.Connection(path, flags=flags)
    connection.set_busy_timeout(timeout_ms)
    # FULL: with NORMAL, a write-ahead log may lose acknowledged transactions when the machine loses power.
    connection.execute("PRAGMA synchronous = FULL")
    for pragma in ("PRAGMA cache_size = -16384", *pragmas):  # KiB
        connection.execute(pragma)
    return connection


def _migrate(connection: apsw.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")  # whatever fails from here on, closing the connection undoes
    connection.execute(migrate.CREATE_TABLE)
    [(applied,)] = connection.execute(migrate.READ_VERSION).fetchall()
    for migration in migrate.pending("sqlite", cast(int, applied)):
        connection.execute(migration.sql)
        connection.execute(migrate.INSERT_MIGRATION, (migration.number, migration.name))
    if not connection.execute(sql.READ_HEAD).fetchall():
        connection.execute(sql.MAKE_HEAD, migrate.new_identity())
    connection.execute("COMMIT")


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        _raise_translated(error)


def _raise_translated(error: apsw.Error) -> NoReturn:
    """Raises what the store's contract has for it; the error itself if it is a fault of ours."""
    if isinstance(error, _UNAVAILABLE):
        raise StoreUnavailable("the database cannot be used now") from error
    if isinstance(error, apsw.SQLError) and str(error).startswith("no such table"):
        raise SchemaMismatch("the database is not migrated") from error
    raise error
