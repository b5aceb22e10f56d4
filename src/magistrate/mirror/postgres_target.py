"""Keeps the table of a mirror in a database of PostgreSQL.

The columns have the collation of the database, because PostgreSQL refuses to compare columns of two collations, and
the application joins them with its own."""

import os
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import psycopg
from psycopg import errors, sql

from magistrate.errors import InvalidSetting, TargetRefused, TargetUnavailable
from magistrate.mirror.rows import KEY_COLUMNS, AccessChanges, AccessKey, MirroredAccess, MirrorPosition
from magistrate.mirror.target import (
    CONNECT_SECONDS,
    LOCK_SECONDS,
    LOCKED,
    MOVED,
    REPLACE_SECONDS,
    STEP_SECONDS,
    TableNames,
    name_tables,
    require_tables,
)

ROWS_AT_ONCE = 1_000
"""Sets how many rows are read at a time."""
_LOCK_SEED = 0x6D6972726F72
_OPTIONS = {
    "connect_timeout": str(CONNECT_SECONDS),
    "fallback_application_name": "magistrate mirror",
    "client_encoding": "utf8",
    # A server whose machine is gone is noticed within half a minute.
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}
"""Has parameters of libpq, unless the URL has others."""

_KEYS = ", ".join(KEY_COLUMNS)
_LOADED = "pg_temp.loaded_access"
_SAME_KEY = " AND ".join(f"kept.{column} = given.{column}" for column in KEY_COLUMNS)
_ARRAYS = ", ".join(["%s::text[]"] * len(KEY_COLUMNS))
_TAKE_LOCK = "SELECT pg_try_advisory_lock(hashtextextended(concat(current_schema(), '.', %s::text), %s))"
_COLUMNS_OF = """SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped
    ORDER BY attnum"""
_MAKE_TABLES = """
    CREATE TABLE IF NOT EXISTS {rows} (
        object_type text NOT NULL, object_id text NOT NULL, relation text NOT NULL,
        subject_type text NOT NULL, subject_id text NOT NULL, conditional boolean NOT NULL,
        PRIMARY KEY (object_type, object_id, relation, subject_type, subject_id));
    CREATE TABLE IF NOT EXISTS {position} (
        "of" text NOT NULL PRIMARY KEY, token text NOT NULL, id text NOT NULL, "time" text NOT NULL,
        wildcards boolean NOT NULL)"""
_MAKE_INDEX = """CREATE INDEX IF NOT EXISTS {subject_index} ON {rows}
    (subject_type, subject_id, relation, object_type, object_id, conditional)"""
_READ_POSITION = 'SELECT "of", token, id, "time", wildcards FROM {position}'
_MOVE = 'UPDATE {position} SET token = %s, id = %s, "time" = %s WHERE "of" = %s AND id = %s'
_BEGIN_LOAD = f"""
    DROP TABLE IF EXISTS {_LOADED};
    CREATE TEMPORARY TABLE loaded_access (
        object_type text, object_id text, relation text, subject_type text, subject_id text, conditional boolean)"""
_DELETE = f"DELETE FROM {{rows}} AS kept USING unnest({_ARRAYS}) AS given ({_KEYS}) WHERE {_SAME_KEY}"
_UPSERT = f"""INSERT INTO {{rows}} SELECT * FROM unnest({_ARRAYS}, %s::boolean[])
    ON CONFLICT ({_KEYS}) DO UPDATE SET conditional = EXCLUDED.conditional"""
_DELETE_OTHERS = f"DELETE FROM {{rows}} AS kept WHERE NOT EXISTS (SELECT FROM {_LOADED} AS given WHERE {_SAME_KEY})"
_UPSERT_LOADED = f"""INSERT INTO {{rows}} SELECT given.* FROM {_LOADED} AS given LEFT JOIN {{rows}} AS kept
    ON {_SAME_KEY} WHERE kept.conditional IS DISTINCT FROM given.conditional
    ORDER BY {", ".join(f"given.{column}" for column in KEY_COLUMNS)}
    ON CONFLICT ({_KEYS}) DO UPDATE SET conditional = EXCLUDED.conditional"""
_USE_MEMORY = "SET LOCAL work_mem = '64MB'; SET LOCAL maintenance_work_mem = '256MB'"
_READ_ROWS = f"""SELECT {_KEYS}, conditional FROM {{rows}}
    ORDER BY object_type COLLATE "C", object_id COLLATE "C\""""

_CANNOT_HELP = (errors.InsufficientPrivilege, errors.InvalidSchemaName, errors.FeatureNotSupported)


class PostgresMirror:
    """Implements MirrorTarget. The lock is an advisory lock of the session, which a pooler of transactions would break:
    connect to the server itself."""

    def __init__(self, conninfo: str, secrets: Sequence[str], table: str) -> None:
        """`secrets` appear in no error. Raises InvalidSetting if libpq cannot read the connection string."""
        try:
            own = psycopg.conninfo.conninfo_to_dict(conninfo)
            self._conninfo = psycopg.conninfo.make_conninfo(conninfo, **{**_OPTIONS, **own})
        except psycopg.Error:  # what libpq says of it may contain the password
            raise InvalidSetting("the URL of the database of a mirror cannot be read by libpq") from None
        self._secrets = sorted(secrets, key=len, reverse=True)
        self._table = table
        self._names = name_tables(table)
        self._connection: psycopg.Connection | None = None

    def open(self) -> MirrorPosition | None:
        self.close()
        with self._limit(STEP_SECONDS) as connection:
            self._require_encoding(connection)
            taken = connection.execute(_TAKE_LOCK, (self._table, _LOCK_SEED)).fetchone()
            if taken != (True,):
                raise TargetUnavailable(LOCKED)
            actual = self._list_columns(connection)
            require_tables(self._names, *actual)
            if not all(actual):
                with connection.transaction():
                    connection.execute(_fill(_MAKE_TABLES, self._names))
            return self._read_position(connection)

    def begin_load(self) -> None:
        with self._limit(STEP_SECONDS) as connection, connection.transaction():
            connection.execute(_fill(_BEGIN_LOAD, self._names))

    def add_rows(self, rows: Sequence[MirroredAccess]) -> None:
        statement = _fill(f"COPY {_LOADED} FROM STDIN", self._names)
        with self._limit(STEP_SECONDS) as connection, connection.cursor().copy(statement) as copy:
            for key, is_conditional in rows:
                copy.write_row((*key, is_conditional))

    def finish_load(self, position: MirrorPosition) -> None:
        with self._limit(REPLACE_SECONDS) as connection:
            connection.execute(_fill(f"ANALYZE {_LOADED}", self._names))
            with connection.transaction():
                connection.execute(_USE_MEMORY)
                connection.execute(_fill(_DELETE_OTHERS, self._names))
                connection.execute(_fill(_UPSERT_LOADED, self._names))
                # After the first load, because it takes less time than to add the rows to it; readers do not wait.
                connection.execute(_fill(_MAKE_INDEX, self._names))
                connection.execute(_fill("DELETE FROM {position}", self._names))
                values = (position.of, position.token, position.id, position.time, position.has_wildcards)
                connection.execute(_fill("INSERT INTO {position} VALUES (%s, %s, %s, %s, %s)", self._names), values)
            connection.execute(_fill(f"DROP TABLE {_LOADED}", self._names))
            # Without statistics, the table counts as empty, and changes would read all of it.
            connection.execute(_fill("ANALYZE {rows}", self._names))

    def apply(self, changes: AccessChanges, before: MirrorPosition, after: MirrorPosition) -> None:
        deleted = [key for key, is_conditional in changes.items() if is_conditional is None]
        created = [(key, is_conditional) for key, is_conditional in changes.items() if is_conditional is not None]
        with self._limit(STEP_SECONDS) as connection, connection.transaction():
            if deleted:
                connection.execute(_fill(_DELETE, self._names), _list_arrays(deleted))
            if created:
                arrays = [*_list_arrays([key for key, _ in created]), [is_conditional for _, is_conditional in created]]
                connection.execute(_fill(_UPSERT, self._names), arrays)
            moved = (after.token, after.id, after.time, before.of, before.id)
            if connection.execute(_fill(_MOVE, self._names), moved).rowcount != 1:
                raise TargetUnavailable(MOVED)

    @contextmanager
    def read(self) -> Iterator[tuple[MirrorPosition | None, Iterator[MirroredAccess]]]:
        with self._limit(REPLACE_SECONDS) as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            if not all(self._list_columns(connection)):
                yield None, iter(())
                return
            position = self._read_position(connection)
            with connection.cursor("mirrored_rows") as cursor:
                cursor.itersize = ROWS_AT_ONCE
                cursor.execute(_fill(_READ_ROWS, self._names))
                yield position, (MirroredAccess(AccessKey(*row[:5]), row[5]) for row in cursor)

    def close(self) -> None:
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
            self._connection = None

    @contextmanager
    def _limit(self, seconds: float) -> Iterator[psycopg.Connection]:
        """Yields the connection, which is shut down after so many seconds."""
        with self._translate_errors():
            connection = self._connection or self._connect()
            timer = threading.Timer(seconds, _break_off, (connection,))
            timer.daemon = True
            timer.start()
            try:
                yield connection
            finally:
                timer.cancel()

    def _connect(self) -> psycopg.Connection:
        connection = self._connection = psycopg.connect(self._conninfo, autocommit=True)
        connection.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'")
        return connection

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except _CANNOT_HELP as error:
            raise TargetRefused(f"the database of the mirror refuses: {self._describe(error)}") from error
        except psycopg.Error as error:
            raise TargetUnavailable(
                f"the database of the mirror cannot be used now: {self._describe(error)}"
            ) from error

    def _describe(self, error: psycopg.Error) -> str:
        text = (error.diag.message_primary or str(error) or type(error).__name__).strip().replace("\n", "; ")
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def _require_encoding(self, connection: psycopg.Connection) -> None:
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise TargetRefused(f"the database of the mirror has the encoding {encoding}, but ids can be any Unicode")

    def _list_columns(self, connection: psycopg.Connection) -> tuple[list[str], list[str]]:
        rows, position = (
            [str(column) for (column,) in connection.execute(_COLUMNS_OF, (name,))]
            for name in (self._names.rows, self._names.position)
        )
        return rows, position

    def _read_position(self, connection: psycopg.Connection) -> MirrorPosition | None:
        row = connection.execute(_fill(_READ_POSITION, self._names)).fetchone()
        return None if row is None else MirrorPosition(*row)


def _break_off(connection: psycopg.Connection) -> None:
    """Makes whoever waits for the server get an error."""
    with (
        suppress(OSError, psycopg.Error),
        socket.socket(fileno=os.dup(connection.pgconn.socket)) as ours,
    ):
        ours.shutdown(socket.SHUT_RDWR)


def _list_arrays(keys: Sequence[AccessKey]) -> list[list[str]]:
    return [[key[place] for key in keys] for place in range(len(KEY_COLUMNS))]


def _fill(statement: str, names: TableNames) -> sql.SQL:
    # the names are quoted and plain, and everything else is a constant of this module
    return sql.SQL(statement.format_map(names._asdict()))
