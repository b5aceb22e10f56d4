"""Opens connections to a SQLite file and translates their errors to those of the store."""

from typing import NoReturn

import apsw

from magistrate.errors import SchemaMismatch, StoreUnavailable

STATEMENTS_KEPT = 512
"""Sets the number of prepared statements that each connection keeps: the most that APSW allows. Those of a check are
long and take a millisecond to prepare."""

DAMAGED_FILE = "the database file is damaged; stop the service and restore it from a backup"
DAMAGED = (apsw.CorruptError, apsw.NotADBError)
"""Lists the errors that SQLite raises when pages of the file are damaged."""

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
    # Plans depend on the text alone: otherwise, SQLite also looks at bound values, and prepares joins anew each time.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    # FULL: with NORMAL, a write-ahead log may lose acknowledged transactions when the machine loses power.
    connection.execute("PRAGMA synchronous = FULL")
    # The cache size is in KiB; what savepoints may have to restore is kept in memory instead of a file.
    for pragma in ("PRAGMA cache_size = -16384", "PRAGMA temp_store = MEMORY", *pragmas):
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
    raise error
