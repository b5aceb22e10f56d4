"""Looks at a store without changing it, whatever version made it."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import apsw
import psycopg

from magistrate.errors import StoreUnavailable
from magistrate.store import schema as migrate
from magistrate.store.postgres.migration import check_conninfo, whole_seconds

NEWEST_REVISION = "SELECT written_at FROM revision ORDER BY revision DESC LIMIT 1"
_NOW = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)"
_HAS_MIGRATIONS = "SELECT to_regclass('migration') IS NOT NULL"


@dataclass(frozen=True, slots=True)
class StoreReport:
    """Holds what is known of a store. `version` is the number of its last migration, 0 if there is nothing in it yet;
    `known` that of this version of Magistrate. Times are in microseconds since 1970 UTC: `written_at` is that of the
    newest write, if there is one, and `now` that of the machine of the database, None if it is this one."""

    version: int
    known: int
    written_at: int | None = None
    now: int | None = None


def inspect_sqlite(path: str, timeout_ms: int) -> StoreReport:
    """Returns what a SQLite file is at; one that does not exist is at 0. Raises StoreUnavailable."""
    known = len(migrate.migrations("sqlite"))
    if not Path(path).exists():
        return StoreReport(0, known)
    try:
        with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            connection.set_busy_timeout(timeout_ms)
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'migration'").fetchall():
                return StoreReport(0, known)
            [(version,)] = connection.execute(migrate.READ_VERSION).fetchall()
            newest = connection.execute(NEWEST_REVISION).fetchall()
    except apsw.Error as error:
        raise StoreUnavailable(f"the SQLite database {path} cannot be read: {error}") from error
    return StoreReport(cast(int, version), known, cast(int, newest[0][0]) if newest else None)


def inspect_postgres(conninfo: str, timeout_ms: int) -> StoreReport:
    """Returns what a PostgreSQL database is at. Raises StoreUnavailable, or InvalidSetting for a URL that libpq
    refuses."""
    check_conninfo(conninfo)
    known = len(migrate.migrations("postgres"))
    try:
        with psycopg.connect(conninfo, connect_timeout=whole_seconds(timeout_ms)) as connection:
            connection.read_only = True
            [now] = connection.execute(_NOW).fetchone() or (None,)
            [is_there] = connection.execute(_HAS_MIGRATIONS).fetchone() or (False,)
            if not is_there:
                return StoreReport(0, known, now=now)
            [version] = connection.execute(migrate.READ_VERSION).fetchone() or (0,)
            [written_at] = connection.execute(NEWEST_REVISION).fetchone() or (None,)
    except psycopg.Error as error:
        raise StoreUnavailable(f"PostgreSQL cannot be read: {error}") from error
    return StoreReport(version, known, written_at, now)
