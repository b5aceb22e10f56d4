"""Prepares a PostgreSQL database: reaches it, and brings its schema up to date."""

import random
import time
from collections.abc import Sequence
from dataclasses import replace

import psycopg
from psycopg import errors
from psycopg.rows import TupleRow

from magistrate.errors import InvalidSetting, StoreUnavailable
from magistrate.store.contract.revisions import NOTHING_WRITTEN
from magistrate.store.contract.stores import DEFAULT_STORE
from magistrate.store.migration import (
    Applied,
    Migration,
    MigrationRun,
    StoreReport,
    describe_store,
    make_default_store,
)
from magistrate.store.scripts.stores import head_row, store_row
from magistrate.store.sql.head import MAKE_HEAD
from magistrate.store.sql.postgres import (
    HAS_MIGRATIONS,
    LIMIT_LOCK_WAIT,
    LOCK_MIGRATIONS,
    READ_CLOCK,
    number_placeholders,
    translate_schema,
)
from magistrate.store.sql.revisions import LAST_WRITE
from magistrate.store.sql.schema import CREATE_TABLE, INSERT_MIGRATION, LIST_MIGRATIONS
from magistrate.store.sql.stores import FIND_NEWEST, HAS_STORES, MAKE_STORE

ATTEMPTS = 4
"""Limits how often a migration is tried while others migrate the same database."""

LOCK_TIMEOUT_MS = 1_000
"""Limits each wait of a migration for a lock: reads of the table queue behind it."""

# Processes that create the table of migrations at the same time have no lock yet: all but one get one of the first
# three errors.
_RACES = (errors.DuplicateTable, errors.DuplicateObject, errors.UniqueViolation, errors.DeadlockDetected)


def migrate_postgres(conninfo: str, timeout_ms: int, run: MigrationRun | None = None) -> Sequence[Migration]:
    """Brings the schema up to date in one transaction, and returns the migrations that this process has applied;
    several may try at once, and one of them does it.

    Waits for locks for up to `timeout_ms`, with pauses in which others can read the tables. Raises StoreUnavailable,
    SchemaMismatch if a newer version has migrated the database, or InvalidSetting for a URL that libpq refuses."""
    check_conninfo(conninfo)
    run = run or MigrationRun()
    races = 0
    lock_timeout_ms = min(LOCK_TIMEOUT_MS, timeout_ms // 2)
    last_attempt_at = time.monotonic() + (timeout_ms - lock_timeout_ms) / 1_000
    while True:
        try:
            with _connect(conninfo, timeout_ms) as connection:
                return _migrate(connection, run, lock_timeout_ms)
        except errors.LockNotAvailable as error:
            pause = random.uniform(0.5, 1) * lock_timeout_ms / 1_000
            if time.monotonic() + pause > last_attempt_at:
                raise StoreUnavailable(_describe_lock_timeout(timeout_ms)) from error
            time.sleep(pause)
        except _RACES as error:
            races += 1
            if races == ATTEMPTS:
                raise StoreUnavailable(_describe_failure(error)) from error
        except psycopg.Error as error:
            raise StoreUnavailable(_describe_failure(error)) from error


def reach_postgres(conninfo: str, timeout_ms: int) -> None:
    """Connects to the server once. Raises StoreUnavailable with the reason that the server gives, or InvalidSetting
    for a URL that libpq refuses."""
    check_conninfo(conninfo)
    _connect(conninfo, timeout_ms).close()


def check_conninfo(conninfo: str) -> None:
    """Raises InvalidSetting if libpq cannot parse the connection string."""
    try:
        psycopg.conninfo.conninfo_to_dict(conninfo)
    except psycopg.ProgrammingError:
        # libpq's message quotes the part it does not understand, which may be the password.
        raise InvalidSetting("database URL: libpq cannot read it; special characters must be percent-encoded") from None


def _connect(conninfo: str, timeout_ms: int) -> psycopg.Connection[TupleRow]:
    try:
        return psycopg.connect(conninfo, connect_timeout=whole_seconds(timeout_ms), client_encoding="utf8")
    except psycopg.Error as error:
        raise StoreUnavailable(f"PostgreSQL cannot be reached: {error}") from error


def _describe_failure(error: psycopg.Error) -> str:
    """Returns the server's message without the statement, or that of the driver."""
    message = f"PostgreSQL cannot be migrated: {error.diag.message_primary or error}"
    if isinstance(error, errors.InsufficientPrivilege):
        return f"{message}; migrate it as the role that owns the tables"
    return message


def _describe_lock_timeout(timeout_ms: int) -> str:
    return (
        f"timed out waiting for the locks of other sessions after {timeout_ms / 1_000:g} s; the PostgreSQL database "
        "was not migrated. Try again when the transactions of the others, such as a dump or a migration, have ended"
    )


def _migrate(connection: psycopg.Connection[TupleRow], run: MigrationRun, lock_timeout_ms: int) -> Sequence[Migration]:
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise InvalidSetting(f"database URL: the database has the encoding {encoding}; it must be UTF8")
    # READ COMMITTED, so that a process that has waited for the lock sees what the one before it has applied: a stricter
    # default of the database would show the table as it was before the wait.
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    [has_migrations] = connection.execute(HAS_MIGRATIONS).fetchone() or (False,)
    if has_migrations and not run.list_pending(_list_applied(connection)) and _has_stores(connection):
        return ()
    connection.execute(LIMIT_LOCK_WAIT.format(milliseconds=lock_timeout_ms))
    if not has_migrations:
        connection.execute(CREATE_TABLE)
    connection.execute(LOCK_MIGRATIONS)
    raw = psycopg.RawCursor(connection)
    applied = _list_applied(connection)
    pending = run.list_pending(applied)
    for migration in pending:
        run.begin(migration, applied)
        connection.execute(translate_schema(migration.sql))
        raw.execute(number_placeholders(INSERT_MIGRATION), migration.row)
    if run.reaches_newest and not _has_stores(connection):
        default = make_default_store()
        raw.execute(number_placeholders(MAKE_STORE), store_row(default))
        raw.execute(number_placeholders(MAKE_HEAD), head_row(default, NOTHING_WRITTEN))
    return pending


def _list_applied(connection: psycopg.Connection[TupleRow]) -> Applied:
    applied: Applied = connection.execute(LIST_MIGRATIONS).fetchall()
    return applied


def _has_stores(connection: psycopg.Connection[TupleRow]) -> bool:
    return connection.execute(HAS_STORES).fetchone() is not None


def whole_seconds(milliseconds: int) -> int:
    """Returns whole seconds, rounded up, which is all that libpq's connect_timeout accepts."""
    return -(-milliseconds // 1000)


def inspect_postgres(conninfo: str, timeout_ms: int, run: MigrationRun) -> StoreReport:
    """Returns what a PostgreSQL database is at, and what a run would apply. Raises StoreUnavailable, or InvalidSetting
    for a URL that libpq refuses."""
    check_conninfo(conninfo)
    try:
        with psycopg.connect(conninfo, connect_timeout=whole_seconds(timeout_ms)) as connection:
            connection.read_only = True
            [now] = connection.execute(READ_CLOCK).fetchone() or (None,)
            [is_there] = connection.execute(HAS_MIGRATIONS).fetchone() or (False,)
            if not is_there:
                return describe_store(run, (), now=now)
            applied = connection.execute(LIST_MIGRATIONS).fetchall()
            report = describe_store(run, applied, now=now)
            if not report.is_usable:
                return report
            [written_at] = connection.execute(LAST_WRITE).fetchone() or (None,)
            newest = psycopg.RawCursor(connection).execute(number_placeholders(FIND_NEWEST), (DEFAULT_STORE,))
            [default_id, *_] = newest.fetchone() or (None,)
    except psycopg.Error as error:
        raise StoreUnavailable(f"PostgreSQL cannot be read: {error}") from error
    return replace(report, written_at=written_at, default_id=default_id)
