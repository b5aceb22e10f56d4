"""Connections to a SQLite file: their settings, and what their errors mean for the store."""

from typing import NoReturn

import apsw

from magistrate.errors import SchemaMismatch, StoreUnavailable

STATEMENTS_KEPT = 512
"""Prepared, for each connection: the most that APSW keeps. Those of a check are long, and take a millisecond."""

DAMAGED_FILE = "the database file is damaged; stop the service and restore it from a backup"
DAMAGED = (apsw.CorruptError, apsw.NotADBError)
"""What SQLite raises when pages of the file do not hold what they must."""

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
    """Opens a file that is there: one that was moved away must not be made again, empty."""
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE, statementcachesize=STATEMENTS_KEPT)
    connection.set_busy_timeout(timeout_ms)
    # Plans by the text alone: else this build of SQLite looks at bound values too, and prepares joins again each time.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    # FULL: with NORMAL, a write-ahead log may lose acknowledged transactions when the machine loses power.
    connection.execute("PRAGMA synchronous = FULL")
    # KiB; and what savepoints may have to restore is kept in memory instead of a file.
    for pragma in ("PRAGMA cache_size = -16384", "PRAGMA temp_store = MEMORY", *pragmas):
        connection.execute(pragma)
    return connection


def raise_translated(error: apsw.Error) -> NoReturn:
    """Raises what the store's contract has for it; the error itself if it is a fault of ours."""
    if isinstance(error, DAMAGED):
        raise StoreUnavailable(DAMAGED_FILE) from error
    if isinstance(error, _UNAVAILABLE):
        raise StoreUnavailable("the database cannot be used now") from error
    if isinstance(error, apsw.SQLError) and str(error).startswith("no such table"):
        raise SchemaMismatch("the database is not migrated") from error
    raise error
