"""A data set as the rows of a database that holds it: written past the service, all in one revision."""

import time
from collections.abc import Iterator
from contextlib import closing

import apsw
import psycopg

from benchmarks.datasets.dataset import Dataset
from magistrate.config import SqliteUrl, read_database_url
from magistrate.store import sql
from magistrate.store.contract import ALIVE
from magistrate.store.postgres import migrate_postgres
from magistrate.store.sqlite import migrate_sqlite

REVISION = 1
TIMEOUT_MS = 600_000

Row = tuple[str | int, ...]

KEEP_FORMS = """
INSERT INTO warrant_form
SELECT DISTINCT object_type, CASE object_id WHEN '*' THEN '*' ELSE '' END, relation,
    subject_type, CASE subject_id WHEN '*' THEN '*' ELSE '' END, subject_relation
FROM warrant"""

_COLUMNS = (
    "object_type, object_id, relation, subject_type, subject_id, subject_relation, policy, "
    "number, created_at, created_revision, deleted_revision"
)


def load(database_url: str, dataset: Dataset) -> None:
    """Makes the database, and gathers statistics as a database that has run for a while has them. Object types are not
    written: that is left to the service."""
    database = read_database_url(database_url)
    if isinstance(database, SqliteUrl):
        migrate_sqlite(database.path, TIMEOUT_MS)
        _load_sqlite(database.path, dataset)
    else:
        migrate_postgres(database.conninfo, TIMEOUT_MS)
        _load_postgres(database.conninfo, dataset)


def _rows(dataset: Dataset) -> Iterator[Row]:
    now = time.time_ns() // 1_000
    for number, row in enumerate(dataset.warrants(), 1):
        yield (*row, number, now, REVISION, ALIVE)


def _load_sqlite(path: str, dataset: Dataset) -> None:
    with closing(apsw.Connection(path)) as connection, connection:
        connection.executemany(f"INSERT INTO warrant ({_COLUMNS}) VALUES ({', '.join('?' * 11)})", _rows(dataset))
        connection.execute(KEEP_FORMS)
        connection.execute(sql.MOVE_HEAD, (REVISION,))


def _load_postgres(conninfo: str, dataset: Dataset) -> None:
    with psycopg.connect(conninfo) as connection:
        with connection.cursor() as cursor, cursor.copy(f"COPY warrant ({_COLUMNS}) FROM STDIN") as copy:
            for row in _rows(dataset):
                copy.write_row(row)
        connection.execute(KEEP_FORMS)
        connection.execute(sql.MOVE_HEAD.replace("?", "%s"), (REVISION,))
        connection.commit()
        connection.autocommit = True
        connection.execute("VACUUM ANALYZE")
