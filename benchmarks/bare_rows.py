"""The rows that a batch of new objects leaves behind, written by `executemany` and nothing else."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, LiteralString, Protocol

import apsw
import msgspec
import psycopg

from magistrate.config.database_url import SqliteUrl, read_database_url
from magistrate.store.postgres.migration import migrate_postgres
from magistrate.store.sql.changes import INSERT_CHANGE
from magistrate.store.sql.head import MOVE_HEAD
from magistrate.store.sql.objects import OBJECT
from magistrate.store.sql.revisions import INSERT_REVISION
from magistrate.store.sqlite.files import migrate_sqlite

ACTOR = "key-00000000"
TIMEOUT_MS = 10_000
BITS = 0
"""Stands for the bits of every revision, which a store draws at random."""

Row = tuple[str | int | None, ...]


@dataclass(frozen=True, slots=True)
class BatchRows:
    """What one transaction writes, for the statements of these names in the files of `store/sql/`."""

    head: Row
    revision: Row
    changes: Sequence[Row]
    objects: Sequence[Row]


class Writer(Protocol):
    def write(self, rows: BatchRows) -> None:
        """In one transaction, which is on disk when this returns."""
        ...


def render_key(*names: str) -> str:
    return msgspec.json.encode(names).decode()


def batch_rows(revision: int, objects: Sequence[tuple[str, str, str]], now: int) -> BatchRows:
    """For objects given as (type, id, meta as compact JSON); `now` in microseconds since 1970 UTC."""
    return BatchRows(
        head=(revision, BITS, 0, 0),
        revision=(1, revision, BITS, now, ACTOR, None),
        changes=[
            (revision, position, "created", "object", render_key(of_type, object_id), None, meta, None, None)
            for position, (of_type, object_id, meta) in enumerate(objects)
        ],
        objects=[(of_type, object_id, meta, now, revision) for of_type, object_id, meta in objects],
    )


@contextmanager
def bare_writer(database_url: str) -> Iterator[Writer]:
    """On an empty database, which is given the schema of the store first."""
    database = read_database_url(database_url)
    if isinstance(database, SqliteUrl):
        migrate_sqlite(database.path, TIMEOUT_MS)
        with closing(apsw.Connection(database.path)) as sqlite:
            yield _Sqlite(sqlite)
    else:
        migrate_postgres(database.conninfo, TIMEOUT_MS)
        with psycopg.connect(database.conninfo, autocommit=True) as postgres:
            yield _Postgres(postgres)


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


_MOVE_HEAD, _INSERT_REVISION, _INSERT_CHANGE, _INSERT_OBJECT = (
    statement.replace("?", "%s") for statement in (MOVE_HEAD, INSERT_REVISION, INSERT_CHANGE, OBJECT.insert)
)


class _Sqlite:
    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        # As the store sets them (store/sqlite/files.py); the file is in WAL mode since it was migrated.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = -16384")

    def write(self, rows: BatchRows) -> None:
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(MOVE_HEAD, rows.head)
        connection.execute(INSERT_REVISION, rows.revision)
        connection.executemany(INSERT_CHANGE, rows.changes)
        connection.executemany(OBJECT.insert, rows.objects)
        connection.execute("COMMIT")


class _Postgres:
    """All in one pipeline, as the store does it: a transaction waits for the server once."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def write(self, rows: BatchRows) -> None:
        with self._connection.pipeline(), self._connection.transaction():
            cursor = self._connection.cursor()
            cursor.execute(_MOVE_HEAD, rows.head)
            cursor.execute(_INSERT_REVISION, rows.revision)
            cursor.executemany(_INSERT_CHANGE, rows.changes)
            cursor.executemany(_INSERT_OBJECT, rows.objects)
