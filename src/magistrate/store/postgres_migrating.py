"""Prepares a PostgreSQL database: reaches it, and brings its schema up to date."""

import psycopg
from psycopg import errors
from psycopg.rows import TupleRow

from magistrate.errors import InvalidSetting, StoreUnavailable
from magistrate.store import migrate, sql
from magistrate.store.postgres_statements import number_placeholders

ATTEMPTS = 4
"""Limits how often a migration is tried while others migrate the same database."""

LOCK_MIGRATIONS = "LOCK TABLE migration IN SHARE ROW EXCLUSIVE MODE"
"""Makes other processes that migrate wait until the end of the transaction. None that reads the table waits for it."""

# Processes that create the table of migrations at the same time have no lock yet: all but one get one of the first
# three errors.
_RACES = (errors.DuplicateTable, errors.DuplicateObject, errors.UniqueViolation, errors.DeadlockDetected)


def migrate_postgres(conninfo: str, timeout_ms: int) -> None:
    """Brings the schema up to date in one transaction; several processes may try at once, and one of them does it.

    Raises StoreUnavailable, SchemaMismatch if a newer version has migrated the database, or InvalidSetting for a URL
    that libpq refuses."""
    check_conninfo(conninfo)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with psycopg.connect(
                conninfo, connect_timeout=whole_seconds(timeout_ms), client_encoding="utf8"
            ) as connection:
                return _migrate(connection)
        except _RACES as error:
            if attempt == ATTEMPTS:
                raise StoreUnavailable(f"PostgreSQL cannot be migrated now: {error}") from error
        except psycopg.OperationalError as error:
            raise StoreUnavailable(f"PostgreSQL cannot be reached: {error}") from error


def reach_postgres(conninfo: str, timeout_ms: int) -> None:
    """Connects to the server once. Raises StoreUnavailable with the reason that the server gives, or InvalidSetting
    for a URL that libpq refuses."""
    check_conninfo(conninfo)
    try:
        psycopg.connect(conninfo, connect_timeout=whole_seconds(timeout_ms)).close()
    except psycopg.OperationalError as error:
        raise StoreUnavailable(f"PostgreSQL cannot be reached: {error}") from error


def check_conninfo(conninfo: str) -> None:
    """Raises InvalidSetting if libpq cannot parse the connection string."""
    try:
        psycopg.conninfo.conninfo_to_dict(conninfo)
    except psycopg.ProgrammingError:
        # libpq's message quotes the part it does not understand, which may be the password.
        raise InvalidSetting("database URL: libpq cannot read it; special characters must be percent-encoded") from None


def _migrate(connection: psycopg.Connection[TupleRow]) -> None:
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise InvalidSetting(f"database URL: the database has the encoding {encoding}; it must be UTF8")
    # READ COMMITTED, so that a process that has waited for the lock sees what the one before it has applied: a stricter
    # default of the database would show the table as it was before the wait.
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    connection.execute(migrate.CREATE_TABLE)
    connection.execute(LOCK_MIGRATIONS)
    raw = psycopg.RawCursor(connection)
    [applied] = connection.execute(migrate.READ_VERSION).fetchone() or (0,)
    for migration in migrate.pending("postgres", applied):
        connection.execute(migration.sql)
        raw.execute(number_placeholders(migrate.INSERT_MIGRATION), (migration.number, migration.name))
    if connection.execute(sql.READ_HEAD).fetchone() is None:
        raw.execute(number_placeholders(sql.MAKE_HEAD), migrate.new_identity())


def whole_seconds(milliseconds: int) -> int:
    """Returns whole seconds, rounded up, which is all that libpq's connect_timeout accepts."""
    return -(-milliseconds // 1000)
