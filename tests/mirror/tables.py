"""Tables of mirrors, as an application sees them."""

from contextlib import closing

import apsw
import psycopg

from magistrate.config.database_url import SqliteUrl, read_database_url
from magistrate.mirror.rows import AccessKey, MirroredAccess

Rows = list[tuple[object, ...]]


def run_on(url: str, statement: str) -> Rows:
    """The rows of a statement in the database of an application."""
    database = read_database_url(url)
    if isinstance(database, SqliteUrl):
        with closing(apsw.Connection(database.path)) as sqlite:
            sqlite.set_busy_timeout(10_000)
            return [*sqlite.execute(statement)]
    with psycopg.connect(database.conninfo, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def read_rows(url: str, table: str = "access") -> set[MirroredAccess]:
    rows = run_on(url, f'SELECT * FROM "{table}"')
    access = {MirroredAccess(AccessKey(*map(str, row[:5])), bool(row[5])) for row in rows}
    assert len(access) == len(rows)
    return access


def read_position(url: str, table: str = "access") -> tuple[object, ...] | None:
    rows = run_on(url, f'SELECT "of", token, id FROM "{table}_position"')
    assert len(rows) <= 1
    return rows[0] if rows else None


def row(written: str, is_conditional: bool = False) -> MirroredAccess:
    """A row by its written form, `document:plan#viewer@user:ann`."""
    access, _, subject = written.partition("@")
    named, _, relation = access.partition("#")
    return MirroredAccess(AccessKey(*named.split(":", 1), relation, *subject.split(":", 1)), is_conditional)  # type: ignore[call-arg]
