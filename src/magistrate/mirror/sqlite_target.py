"""Keeps the table of a mirror in a SQLite file, which the application has open as well.

The journal mode and all else that is stored in the file is left as the application has it."""

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import apsw

from magistrate.errors import TargetRefused, TargetUnavailable
from magistrate.mirror.rows import COLUMNS, KEY_COLUMNS, AccessChanges, AccessKey, MirroredAccess, MirrorPosition
from magistrate.mirror.target import LOCK_SECONDS, LOCKED, MOVED, TableNames, name_tables, require_tables

T = TypeVar("T")

_CACHE = "PRAGMA cache_size = -65536"
"""Sets the page cache of this connection to 64 MiB, for the indexes of a load."""
_COLUMNS_OF = "SELECT name FROM pragma_table_info(?)"
_LOADED = "temp.loaded_access"
_KEYS = ", ".join(KEY_COLUMNS)
_MAKE_ROWS = """CREATE TABLE IF NOT EXISTS {rows} (
    object_type TEXT NOT NULL, object_id TEXT NOT NULL, relation TEXT NOT NULL,
    subject_type TEXT NOT NULL, subject_id TEXT NOT NULL, conditional BOOLEAN NOT NULL,
    PRIMARY KEY (object_type, object_id, relation, subject_type, subject_id)) WITHOUT ROWID"""
_MAKE_INDEX = """CREATE INDEX IF NOT EXISTS {subject_index} ON {rows}
    (subject_type, subject_id, relation, object_type, object_id, conditional)"""
_MAKE_POSITION = """CREATE TABLE IF NOT EXISTS {position} (
    "of" TEXT NOT NULL PRIMARY KEY, token TEXT NOT NULL, id TEXT NOT NULL, "time" TEXT NOT NULL,
    wildcards BOOLEAN NOT NULL)"""
_READ_POSITION = 'SELECT "of", token, id, "time", wildcards FROM {position}'
_MOVE = 'UPDATE {position} SET token = ?, id = ?, "time" = ? WHERE "of" = ? AND id = ?'
_MAKE_LOADED = f"""CREATE TABLE {_LOADED} (
    object_type TEXT, object_id TEXT, relation TEXT, subject_type TEXT, subject_id TEXT, conditional BOOLEAN,
    PRIMARY KEY ({_KEYS})) WITHOUT ROWID"""
_DELETE = "DELETE FROM {rows} WHERE " + " AND ".join(f"{column} = ?" for column in KEY_COLUMNS)
_INSERT = "INSERT OR REPLACE INTO {rows} VALUES (?, ?, ?, ?, ?, ?)"
_SAME_ROW = " AND ".join(f"kept.{column} = given.{column}" for column in COLUMNS)
_DELETE_OTHERS = f"DELETE FROM {{rows}} AS kept WHERE NOT EXISTS (SELECT 1 FROM {_LOADED} AS given WHERE {_SAME_ROW})"
_INSERT_LOADED = f"INSERT OR IGNORE INTO {{rows}} SELECT * FROM {_LOADED}"
_COPY = "temp.copied_access"
_COPY_ROWS = f"CREATE TABLE {_COPY} AS SELECT {_KEYS}, conditional FROM {{rows}} ORDER BY {_KEYS}"

_CANNOT_HELP = (apsw.CorruptError, apsw.NotADBError, apsw.PermissionsError, apsw.ReadOnlyError, apsw.AuthError)


class SqliteMirror:
    """Implements MirrorTarget. The lock is that of a file beside the database, which stays there."""

    def __init__(self, path: str, table: str) -> None:
        self._path = path
        self._names = name_tables(table)
        self._lock_path = f"{path}-{table}.lock"
        self._lock: int | None = None
        self._connection: apsw.Connection | None = None

    def open(self) -> MirrorPosition | None:
        self.close()
        self._take_lock()
        return self._attempt(self._prepare)

    def begin_load(self) -> None:
        self._attempt(_begin_load)

    def add_rows(self, rows: Sequence[MirroredAccess]) -> None:
        insert = f"INSERT INTO {_LOADED} VALUES (?, ?, ?, ?, ?, ?)"
        values = [(*row.key, row.is_conditional) for row in rows]
        # A transaction that writes to temporary tables only takes no lock that the application would wait for.
        self._attempt(lambda connection: _run_transaction(connection, lambda _: connection.executemany(insert, values)))

    def finish_load(self, position: MirrorPosition) -> None:
        def replace(connection: apsw.Connection) -> None:
            _replace_rows(connection, self._names)
            connection.execute(_fill("DELETE FROM {position}", self._names))
            values = (position.of, position.token, position.id, position.time, position.has_wildcards)
            connection.execute(_fill("INSERT INTO {position} VALUES (?, ?, ?, ?, ?)", self._names), values)

        self._transact(replace)
        self._attempt(lambda connection: connection.execute(f"DROP TABLE {_LOADED}"))

    def apply(self, changes: AccessChanges, before: MirrorPosition, after: MirrorPosition) -> None:
        deleted = [tuple(key) for key, is_conditional in changes.items() if is_conditional is None]
        created = [(*key, is_conditional) for key, is_conditional in changes.items() if is_conditional is not None]

        def change(connection: apsw.Connection) -> None:
            connection.executemany(_fill(_DELETE, self._names), deleted)
            connection.executemany(_fill(_INSERT, self._names), created)
            moved = (after.token, after.id, after.time, before.of, before.id)
            connection.execute(_fill(_MOVE, self._names), moved)
            if connection.changes() != 1:
                raise TargetUnavailable(MOVED)

        self._transact(change)

    @contextmanager
    def read(self) -> Iterator[tuple[MirrorPosition | None, Iterator[MirroredAccess]]]:
        """Copies the rows first, because the application could not write to the file while they are read."""
        if os.path.exists(self._path):
            yield self._attempt(self._copy_rows)
        else:
            yield None, iter(())

    def close(self) -> None:
        if self._connection is not None:
            with suppress(apsw.Error):
                self._connection.close(True)
            self._connection = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _take_lock(self) -> None:
        try:
            self._lock = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise TargetUnavailable(LOCKED) from error
        except OSError as error:
            raise TargetUnavailable(f"{self._lock_path}: {error.strerror}") from error

    def _connect(self) -> apsw.Connection:
        with _translate_errors():
            connection = self._connection = apsw.Connection(self._path)
            connection.set_busy_timeout(int(LOCK_SECONDS * 1_000))
            connection.execute(_CACHE)
            return connection

    def _prepare(self, connection: apsw.Connection) -> MirrorPosition | None:
        names = self._names
        actual = [self._list_columns(connection, name) for name in (names.rows, names.position)]
        require_tables(names, *actual)
        if not all(actual):
            _run_transaction(connection, self._make_tables, "BEGIN IMMEDIATE")
        return _read_position(connection, names)

    def _copy_rows(self, connection: apsw.Connection) -> tuple[MirrorPosition | None, Iterator[MirroredAccess]]:
        connection.execute(f"DROP TABLE IF EXISTS {_COPY}")
        with connection:
            if not self._list_columns(connection, self._names.position):
                return None, iter(())
            connection.execute(_fill(_COPY_ROWS, self._names))
            position = _read_position(connection, self._names)
        rows = connection.execute(f"SELECT * FROM {_COPY} ORDER BY rowid")
        return position, (MirroredAccess(AccessKey(*row[:5]), bool(row[5])) for row in rows)

    def _make_tables(self, connection: apsw.Connection) -> None:
        for statement in (_MAKE_ROWS, _MAKE_INDEX, _MAKE_POSITION):
            connection.execute(_fill(statement, self._names))

    def _list_columns(self, connection: apsw.Connection, quoted: str) -> list[str]:
        return [str(name) for (name,) in connection.execute(_COLUMNS_OF, (quoted.strip('"'),))]

    def _attempt(self, use: Callable[[apsw.Connection], T]) -> T:
        with _translate_errors():
            return use(self._connect() if self._connection is None else self._connection)

    def _transact(self, change: Callable[[apsw.Connection], Any]) -> None:
        self._attempt(lambda connection: _run_transaction(connection, change, "BEGIN IMMEDIATE"))


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except _CANNOT_HELP as error:
        raise TargetRefused(f"the file of the mirror cannot be used: {error}") from error
    except apsw.Error as error:
        raise TargetUnavailable(f"the file of the mirror cannot be used now: {error}") from error


def _run_transaction(
    connection: apsw.Connection, change: Callable[[apsw.Connection], Any], begin: str = "BEGIN"
) -> None:
    connection.execute(begin)
    try:
        change(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite itself rolls back what a full disk has ended
            connection.execute("ROLLBACK")
        raise


def _begin_load(connection: apsw.Connection) -> None:
    connection.execute(f"DROP TABLE IF EXISTS {_LOADED}")
    connection.execute(_MAKE_LOADED)


def _replace_rows(connection: apsw.Connection, names: TableNames) -> None:
    """Makes the rows the loaded ones. The index of an empty table is made afterwards, which takes less than half as
    long."""
    is_empty = not connection.execute(_fill("SELECT 1 FROM {rows} LIMIT 1", names)).fetchall()
    if is_empty:
        connection.execute(_fill("DROP INDEX IF EXISTS {subject_index}", names))
    connection.execute(_fill(_DELETE_OTHERS, names))
    connection.execute(_fill(_INSERT_LOADED, names))
    connection.execute(_fill(_MAKE_INDEX, names))


def _read_position(connection: apsw.Connection, names: TableNames) -> MirrorPosition | None:
    for of, token, event_id, time, has_wildcards in connection.execute(_fill(_READ_POSITION, names)):
        return MirrorPosition(str(of), str(token), str(event_id), str(time), bool(has_wildcards))
    return None


def _fill(statement: str, names: TableNames) -> str:
    return statement.format_map(names._asdict())
