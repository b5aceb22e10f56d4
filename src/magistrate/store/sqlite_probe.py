"""Probes cheaply whether a SQLite file can still be read: it reads a few pages of every table and index, past all
caches.

The probe is not an integrity check, whose cost grows with the file. See
docs/decisions/0033-readiness-probes-the-sqlite-file.md for what it finds and what it does not."""

import random
from collections.abc import Iterator
from contextlib import closing

import apsw

from magistrate.store.sqlite_connection import open_connection

TIMEOUT_MS = 250

_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
_INDEXES = "SELECT name, tbl_name, sql FROM sqlite_schema WHERE type = 'index' AND rootpage > 0"
_NEWEST_WARRANT = "SELECT coalesce(max(number), 0) FROM warrant"
_WARRANT = """
SELECT object_id, object_type, subject_id, subject_type FROM warrant WHERE number >= ? ORDER BY number LIMIT 1"""
_BY_OBJECT = "SELECT policy FROM warrant INDEXED BY warrant_by_object WHERE object_id = ? AND object_type = ? LIMIT 1"
_BY_SUBJECT = (
    "SELECT policy FROM warrant INDEXED BY warrant_by_subject WHERE subject_id = ? AND subject_type = ? LIMIT 1"
)
_OBJECT = "SELECT meta FROM object WHERE object_id = ? AND object_type = ? LIMIT 1"


def probe_file(path: str) -> None:
    """Reads the schema, the first row of each table, the first entry of each index, and every row and index entry
    that belongs to a randomly chosen warrant. A new connection sees what is in the file now. Raises apsw.Error."""
    with closing(open_connection(path, TIMEOUT_MS, "PRAGMA query_only = ON")) as connection:
        for statement in _first_rows(connection):
            connection.execute(statement).fetchall()
        [(newest,)] = connection.execute(_NEWEST_WARRANT).fetchall()
        number = random.randint(0, int(str(newest)))
        for *obj, subject_id, subject_type in connection.execute(_WARRANT, (number,)).fetchall():
            subject = (subject_id, subject_type)
            for statement, names in ((_BY_OBJECT, obj), (_OBJECT, obj), (_BY_SUBJECT, subject), (_OBJECT, subject)):
                connection.execute(statement, names).fetchall()


def _first_rows(connection: apsw.Connection) -> Iterator[str]:
    for (table,) in connection.execute(_TABLES).fetchall():
        yield f"SELECT * FROM {table} LIMIT 1"
    for index, table, statement in connection.execute(_INDEXES).fetchall():
        columns = [name for _, _, name in connection.execute(f"PRAGMA index_info({index})").fetchall() if name]
        partial = str(statement or "").partition(" WHERE ")[2] or "true"
        yield f"SELECT {columns[0]} FROM {table} INDEXED BY {index} WHERE {partial} LIMIT 1"
