"""The rows that a write leaves behind, written by `executemany` and nothing else."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, LiteralString

import apsw
import msgspec
import psycopg

from magistrate.config.database_url import SqliteUrl, read_database_url
from magistrate.store.contract.stores import DEFAULT_STORE
from magistrate.store.postgres.migration import migrate_postgres
from magistrate.store.sql.changes import INSERT_CHANGE
from magistrate.store.sql.dialect import bind_store, number_parameters
from magistrate.store.sql.head import MOVE_HEAD
from magistrate.store.sql.objects import OBJECT
from magistrate.store.sql.revisions import INSERT_REVISION
from magistrate.store.sqlite.files import migrate_sqlite

ACTOR = "key-00000000"
TIMEOUT_MS = 10_000
BITS = 0
"""Stands for the bits of every revision, which a store draws at random."""

Row = tuple[str | int | None, ...]
Statements = list[tuple[str, list[Row]]]
"""What one transaction runs, in order: each statement for each of its rows."""
Write = Callable[[Statements], None]
"""Runs one transaction, which is on disk when this returns."""


def rows_of_store(statement: str, rows: Iterable[Row]) -> tuple[str, list[Row]]:
    """A statement with what it needs to write these rows to the store `default`."""
    return statement, [bind_store(statement, DEFAULT_STORE, row) for row in rows]


def render_key(*names: str) -> str:
    return msgspec.json.encode(names).decode()


def batch_rows(revision: int, objects: Sequence[tuple[str, str, str]], now: int) -> Statements:
    """For objects given as (type, id, meta as compact JSON); `now` in microseconds since 1970 UTC."""
    changes: list[Row] = [
        (revision, position, "created", "object", render_key(of_type, object_id), None, meta, None, None)
        for position, (of_type, object_id, meta) in enumerate(objects)
    ]
    return [
        rows_of_store(MOVE_HEAD, [(revision, BITS, 0, len(objects))]),
        rows_of_store(INSERT_REVISION, [(1, revision, BITS, now, ACTOR, None)]),
        rows_of_store(INSERT_CHANGE, changes),
        rows_of_store(OBJECT.insert, [(*one, now, revision) for one in objects]),
    ]


@contextmanager
def bare_writer(database_url: str) -> Iterator[Write]:
    """On an empty database, which is given the schema of the store first."""
    database = read_database_url(database_url)
    if isinstance(database, SqliteUrl):
        migrate_sqlite(database.path, TIMEOUT_MS)
        with closing(apsw.Connection(database.path)) as sqlite:
            # As the store sets them (store/sqlite/files.py); the file is in WAL mode since it was migrated.
            sqlite.execute("PRAGMA synchronous = FULL")
            sqlite.execute("PRAGMA cache_size = -16384")
            yield lambda statements: _write_sqlite(sqlite, statements)
    else:
        migrate_postgres(database.conninfo, TIMEOUT_MS)
        with psycopg.connect(database.conninfo, autocommit=True) as postgres:
            yield lambda statements: _write_postgres(postgres, statements)


def _write_sqlite(connection: apsw.Connection, statements: Statements) -> None:
    connection.execute("BEGIN IMMEDIATE")
    for statement, rows in statements:
        connection.executemany(number_parameters(statement, "?"), rows)
    connection.execute("COMMIT")


def _write_postgres(connection: psycopg.Connection, statements: Statements) -> None:
    """In one pipeline, as the store does it: a transaction waits for the server once."""
    with connection.pipeline(), connection.transaction():
        cursor = psycopg.RawCursor(connection)
        for statement, rows in statements:
            cursor.executemany(number_parameters(statement, "$").encode(), rows)


def row_counts(database_url: str) -> Counter[str]:
    """How many rows each table of a migrated database has."""
    database = read_database_url(database_url)
    if isinstance(database, SqliteUrl):
        with closing(apsw.Connection(database.path)) as sqlite:
            return _counted(lambda text: sqlite.execute(text), "sqlite_schema WHERE type = 'table'", "name")
    with psycopg.connect(database.conninfo) as postgres:
        return _counted(lambda text: postgres.execute(text), "pg_tables WHERE schemaname = 'public'", "tablename")


def _counted(
    execute: Callable[[LiteralString], Iterable[Any]], catalogue: LiteralString, name: LiteralString
) -> Counter[str]:
    tables: list[Any] = [table for (table,) in execute(f"SELECT {name} FROM {catalogue}")]
    return Counter({table: count for table in tables for (count,) in execute(f"SELECT count(*) FROM {table}")})
