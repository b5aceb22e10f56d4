"""Creates the files of a SQLite database for their owner alone, verifies their permissions, and migrates them.

The files hold the keys that session tokens are signed with: a user who can read them can create tokens."""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, cast

import apsw
import structlog

from magistrate.errors import InvalidSetting, SchemaMismatch, StoreUnavailable
from magistrate.store.contract.revisions import NOTHING_WRITTEN
from magistrate.store.migration import (
    Applied,
    Migration,
    MigrationRun,
    StoreReport,
    describe_store,
    make_default_store,
)
from magistrate.store.schema_version import OTHER_SCHEMA
from magistrate.store.scripts.stores import head_row, store_row
from magistrate.store.sql.dialect import COMMIT
from magistrate.store.sql.head import MAKE_HEAD
from magistrate.store.sql.revisions import LAST_WRITE
from magistrate.store.sql.schema import CREATE_TABLE, INSERT_MIGRATION, LIST_MIGRATIONS
from magistrate.store.sql.sqlite import (
    BEGIN_WRITE,
    HAS_MIGRATIONS,
    OF_EACH_CONNECTION,
    READ_ENCODING,
    USE_WRITE_AHEAD_LOG,
    number_placeholders,
)
from magistrate.store.sql.stores import HAS_STORES, MAKE_STORE

STATEMENTS_KEPT = 512
"""Sets the number of prepared statements that each connection keeps: the most that APSW allows. Those of a check are
long and take a millisecond to prepare."""

DAMAGED_FILE = "the database file is damaged; stop the service and restore it from a backup"
DAMAGED = (apsw.CorruptError, apsw.NotADBError)
"""Lists the errors that SQLite raises when pages of the file are damaged."""

_IS_MISSING = re.compile("no such (?:column|index)|has no column named")

_UNAVAILABLE = (
    apsw.BusyError,
    apsw.CantOpenError,
    apsw.ConnectionClosedError,
    apsw.FullError,
    apsw.InterruptError,
    apsw.IOError,
    apsw.LockedError,
    apsw.PermissionsError,
    apsw.ReadOnlyError,
)


def open_connection(path: str, timeout_ms: int, *pragmas: str) -> apsw.Connection:
    """Opens an existing file; one that was moved away must not be created again, empty."""
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE, statementcachesize=STATEMENTS_KEPT)
    connection.set_busy_timeout(timeout_ms)
    # Plans depend on the text alone: otherwise, SQLite also looks at bound values, and prepares joins each time.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    for pragma in (*OF_EACH_CONNECTION, *pragmas):
        connection.execute(pragma)
    return connection


def raise_translated(error: apsw.Error) -> NoReturn:
    """Raises the error that the store's contract defines for this one, or the error itself if it is a fault of this
    code."""
    if isinstance(error, DAMAGED):
        raise StoreUnavailable(DAMAGED_FILE) from error
    if isinstance(error, _UNAVAILABLE):
        raise StoreUnavailable("the database cannot be used now") from error
    if isinstance(error, apsw.SQLError) and str(error).startswith("no such table"):
        raise SchemaMismatch("the database is not migrated") from error
    if isinstance(error, apsw.SQLError) and _IS_MISSING.search(str(error)):
        raise SchemaMismatch(OTHER_SCHEMA) from error
    raise error


log = structlog.get_logger()

OWNER_ONLY = 0o600
SUFFIXES = ("", "-wal", "-shm", "-journal")
"""Lists the suffixes of the database and of the files that SQLite puts beside it, to which it gives the mode of the
database."""


@dataclass(frozen=True, slots=True)
class ExposedFile:
    """Represents a file that users other than its owner can read or write: ('/data/magistrate.db', 0o644)."""

    path: str
    mode: int


def migrate_sqlite(path: str, timeout_ms: int, run: MigrationRun | None = None) -> Sequence[Migration]:
    """Creates the file if there is none, brings its schema up to date, and returns the migrations that this process has
    applied; several may do this at once.

    Raises StoreUnavailable, SchemaMismatch if a newer version has migrated the file, or InvalidSetting if its texts are
    not in UTF-8."""
    try:
        _create_file(path)
        with closing(open_connection(path, timeout_ms)) as connection:
            connection.execute(USE_WRITE_AHEAD_LOG)
            return _migrate(connection, run or MigrationRun())
    except (apsw.Error, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise StoreUnavailable(f"the SQLite database {path} cannot be migrated: {reason}") from error


def inspect_sqlite(path: str, timeout_ms: int, run: MigrationRun) -> StoreReport:
    """Returns what a SQLite file is at, and what a run would apply; one that does not exist is at 0. Raises
    StoreUnavailable."""
    if not Path(path).exists():
        return describe_store(run, ())
    try:
        with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            connection.set_busy_timeout(timeout_ms)
            if not connection.execute(HAS_MIGRATIONS).fetchall():
                return describe_store(run, ())
            applied = cast("Applied", connection.execute(LIST_MIGRATIONS).fetchall())
            is_usable = describe_store(run, applied).is_usable
            rows = connection.execute(LAST_WRITE).fetchall() if is_usable else []
    except apsw.Error as error:
        raise StoreUnavailable(f"the SQLite database {path} cannot be read: {error}") from error
    return describe_store(run, applied, cast("int | None", rows[0][0]) if rows else None)


def find_exposed_files(path: str) -> list[ExposedFile]:
    """Returns the files of the database that users other than their owner can read or write; none if there is no
    file."""
    return [ExposedFile(file, mode) for file, mode in _files_of(path) if mode & ~OWNER_ONLY]


def secure_files(path: str, fix_permissions: bool) -> None:
    """Warns of database files that other users can read or write, or restricts them to their owner. Raises
    StoreUnavailable."""
    if fix_permissions:
        return _restrict_files(path)
    for exposed in find_exposed_files(path):
        log.warning(
            "other users of this machine can use a database file, and the keys in it that sessions are signed with",
            file=exposed.path,
            mode=f"{exposed.mode:04o}",
            remedy="start once with --fix-permissions; `magistrate sessions revoke` replaces the keys",
        )


def _restrict_files(path: str) -> None:
    for exposed in find_exposed_files(path):
        try:
            os.chmod(exposed.path, OWNER_ONLY)
        except OSError as error:
            raise StoreUnavailable(f"the mode of {exposed.path} cannot be changed: {error.strerror}") from error


def _create_file(path: str) -> None:
    """Creates an empty file, which is an empty database, unless there is one: SQLite would make it readable by
    everyone.

    An existing file is not opened, because closing it would release the locks that SQLite holds on it in this
    process."""
    with suppress(FileExistsError):
        os.close(os.open(os.path.realpath(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, OWNER_ONLY))


def _files_of(path: str) -> Iterator[tuple[str, int]]:
    """Yields the existing files and their modes."""
    for suffix in SUFFIXES:
        with suppress(OSError):
            file = os.path.realpath(path) + suffix
            yield file, stat.S_IMODE(os.stat(file).st_mode)


def _migrate(connection: apsw.Connection, run: MigrationRun) -> Sequence[Migration]:
    [(encoding,)] = connection.execute(READ_ENCODING).fetchall()
    if encoding != "UTF-8":  # texts in another one have another order
        raise InvalidSetting(f"database URL: the database has the encoding {encoding}; it must be UTF-8")
    connection.execute(BEGIN_WRITE)  # after any failure from here on, closing the connection rolls back
    connection.execute(CREATE_TABLE)
    applied = cast("Applied", connection.execute(LIST_MIGRATIONS).fetchall())
    pending = run.list_pending(applied)
    for migration in pending:
        run.begin(migration, applied)
        connection.execute(migration.sql)
        connection.execute(INSERT_MIGRATION, migration.row)
    if run.reaches_newest and not connection.execute(HAS_STORES).fetchall():
        default = make_default_store()
        connection.execute(number_placeholders(MAKE_STORE), store_row(default))
        connection.execute(number_placeholders(MAKE_HEAD), head_row(default, NOTHING_WRITTEN))
    connection.execute(COMMIT)
    return pending
