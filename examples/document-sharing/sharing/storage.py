"""The database of the application: users, titles and texts. Nothing in it says who may see them."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sharing.items import Item, Kind

SCHEMA = """
CREATE TABLE IF NOT EXISTS user (name TEXT PRIMARY KEY, warrant_token TEXT NOT NULL DEFAULT '');
CREATE TABLE IF NOT EXISTS item (
    kind TEXT NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (kind, id)
);
"""
BUSY_TIMEOUT_S = 1.0


class Storage:
    """A SQLite file. Every method is a transaction of its own; sqlite3.OperationalError if the file cannot be used."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(SCHEMA)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path, timeout=BUSY_TIMEOUT_S)) as connection, connection:
            yield connection

    def has_user(self, name: str) -> bool:
        with self._transaction() as connection:
            return connection.execute("SELECT 1 FROM user WHERE name = ?", [name]).fetchone() is not None

    def add_user(self, name: str) -> None:
        with self._transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO user (name) VALUES (?)", [name])

    def warrant_token(self, user: str) -> str:
        """The token of the last write of this user, of either if two were at once; empty before the first."""
        with self._transaction() as connection:
            found = connection.execute("SELECT warrant_token FROM user WHERE name = ?", [user]).fetchone()
        return found[0] if found else ""

    def keep_warrant_token(self, user: str, token: str) -> None:
        with self._transaction() as connection:
            connection.execute("UPDATE user SET warrant_token = ? WHERE name = ?", [token, user])

    def add(self, item: Item, title: str, text: str) -> None:
        with self._transaction() as connection:
            connection.execute("INSERT INTO item VALUES (?, ?, ?, ?)", [*item, title, text])

    def get(self, item: Item) -> tuple[str, str] | None:
        """Title and text."""
        with self._transaction() as connection:
            found = connection.execute("SELECT title, text FROM item WHERE kind = ? AND id = ?", item).fetchone()
        return (found[0], found[1]) if found else None

    def replace(self, item: Item, title: str, text: str) -> bool:
        """Whether there was something to replace."""
        with self._transaction() as connection:
            changed = connection.execute(
                "UPDATE item SET title = ?, text = ? WHERE kind = ? AND id = ?", [title, text, *item]
            )
        return changed.rowcount == 1

    def remove(self, item: Item) -> None:
        with self._transaction() as connection:
            connection.execute("DELETE FROM item WHERE kind = ? AND id = ?", item)

    def titles(self, kind: Kind, ids: Iterable[str]) -> list[tuple[str, str]]:
        """Id and title of those that exist, by title."""
        with self._transaction() as connection:
            return connection.execute(
                """SELECT id, title FROM item WHERE kind = ? AND id IN (SELECT value FROM json_each(?))
                ORDER BY title, id""",
                [kind, json.dumps(list(ids))],
            ).fetchall()
