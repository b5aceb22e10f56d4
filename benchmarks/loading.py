"""A data set as the rows of a database that holds it: written past the service, all in one revision."""

import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing

import apsw
import psycopg

from benchmarks.datasets.dataset import Dataset, WarrantRow
from magistrate.config.database_url import SqliteUrl, read_database_url
from magistrate.store.contract.stored_rows import ALIVE
from magistrate.store.contract.stores import DEFAULT_STORE
from magistrate.store.postgres.migration import migrate_postgres
from magistrate.store.sql.dialect import number_parameters
from magistrate.store.sql.head import MOVE_HEAD
from magistrate.store.sqlite.files import migrate_sqlite

REVISION = 1
TIMEOUT_MS = 600_000

Row = tuple[str | int, ...]

KEEP_PATTERNS = """
INSERT INTO warrant_pattern
SELECT DISTINCT store, object_type, CASE object_id WHEN '*' THEN '*' ELSE '' END, relation,
    subject_type, CASE subject_id WHEN '*' THEN '*' ELSE '' END, subject_relation
FROM warrant"""
KEEP_OBJECTS = """
INSERT INTO object (store, object_type, object_id, created_at, created_revision, deleted_revision)
SELECT store, object_type, object_id, created_at, created_revision, deleted_revision FROM warrant WHERE object_id <> '*'
UNION SELECT store, subject_type, subject_id, created_at, created_revision, deleted_revision FROM warrant
WHERE subject_id <> '*'
ORDER BY 2, 3"""

_COLUMNS = (
    "store, object_type, object_id, relation, subject_type, subject_id, subject_relation, policy, "
    "number, created_at, created_revision, deleted_revision"
)

COUNT_ROWS = "UPDATE head SET warrants = (SELECT count(*) FROM warrant), objects = (SELECT count(*) FROM object)"
"""Is right because each row is alive, and of one store."""


def load(database_url: str, dataset: Dataset) -> None:
    """Makes the database, and gathers statistics as a database that has run for a while has them. Object types are not
    written: that is left to the service. Nor are objects: checks do not look at them."""
    _load(database_url, dataset.warrants(), [KEEP_PATTERNS])


def load_for_queries(database_url: str, dataset: Dataset) -> None:
    """The same with the wide warrants, and with every object that a warrant names."""
    warrants = itertools.chain(dataset.warrants(), dataset.wide_warrants())
    _load(database_url, warrants, [KEEP_PATTERNS, KEEP_OBJECTS])


def _load(database_url: str, warrants: Iterable[WarrantRow], finish: Sequence[str]) -> None:
    """`finish`: what else is made of the warrants, as statements."""
    database = read_database_url(database_url)
    if isinstance(database, SqliteUrl):
        migrate_sqlite(database.path, TIMEOUT_MS)
        _load_sqlite(database.path, warrants, finish)
    else:
        migrate_postgres(database.conninfo, TIMEOUT_MS)
        _load_postgres(database.conninfo, warrants, finish)


def _rows(warrants: Iterable[WarrantRow]) -> Iterator[Row]:
    now = time.time_ns() // 1_000
    for number, row in enumerate(warrants, 1):
        yield (DEFAULT_STORE, *row, number, now, REVISION, ALIVE)


def _load_sqlite(path: str, warrants: Iterable[WarrantRow], finish: Sequence[str]) -> None:
    with closing(apsw.Connection(path)) as connection, connection:
        connection.execute("PRAGMA cache_size = -524288")  # KiB: indexes are written at random
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.executemany(f"INSERT INTO warrant ({_COLUMNS}) VALUES ({', '.join('?' * 12)})", _rows(warrants))
        for statement in finish:
            connection.execute(statement)
        connection.execute(number_parameters(MOVE_HEAD, "?"), (DEFAULT_STORE, REVISION, None, 0, 0))
        connection.execute(COUNT_ROWS)


def _load_postgres(conninfo: str, warrants: Iterable[WarrantRow], finish: Sequence[str]) -> None:
    with psycopg.connect(conninfo) as connection:
        with connection.cursor() as cursor, cursor.copy(f"COPY warrant ({_COLUMNS}) FROM STDIN") as copy:
            for row in _rows(warrants):
                copy.write_row(row)
        for statement in finish:
            connection.execute(statement)
        psycopg.RawCursor(connection).execute(number_parameters(MOVE_HEAD, "$"), (DEFAULT_STORE, REVISION, None, 0, 0))
        connection.execute(COUNT_ROWS)
        connection.commit()
        connection.autocommit = True
        connection.execute("VACUUM ANALYZE")
