"""Creates the files of a SQLite database for their owner alone, verifies their permissions, and migrates them.

The files hold the keys that session tokens are signed with: a user who can read them can create tokens."""

import os
import stat
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import cast

import apsw
import structlog

from magistrate.errors import InvalidSetting, StoreUnavailable
from magistrate.store import migrate, sql
from magistrate.store.sqlite_connection import open_connection

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


def migrate_sqlite(path: str, timeout_ms: int) -> None:
    """Creates the file if there is none and brings its schema up to date; several processes may do this at once.

    Raises StoreUnavailable, SchemaMismatch if a newer version has migrated the file, or InvalidSetting if its texts are
    not in UTF-8."""
    try:
        _create_file(path)
        with closing(open_connection(path, timeout_ms)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            _migrate(connection)
    except (apsw.Error, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise StoreUnavailable(f"the SQLite database {path} cannot be migrated: {reason}") from error


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


def _migrate(connection: apsw.Connection) -> None:
    [(encoding,)] = connection.execute("PRAGMA encoding").fetchall()
    if encoding != "UTF-8":  # texts in another one have another order
        raise InvalidSetting(f"database URL: the database has the encoding {encoding}; it must be UTF-8")
    connection.execute("BEGIN IMMEDIATE")  # after any failure from here on, closing the connection rolls back
    connection.execute(migrate.CREATE_TABLE)
    [(applied,)] = connection.execute(migrate.READ_VERSION).fetchall()
    for migration in migrate.pending("sqlite", cast(int, applied)):
        connection.execute(migration.sql)
        connection.execute(migrate.INSERT_MIGRATION, (migration.number, migration.name))
    if not connection.execute(sql.READ_HEAD).fetchall():
        connection.execute(sql.MAKE_HEAD, migrate.new_identity())
    connection.execute("COMMIT")
