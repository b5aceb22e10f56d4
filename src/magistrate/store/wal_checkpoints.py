"""Copies SQLite's write-ahead log into the database between writes.

By default SQLite does so within the commit that makes the log long enough, before its caller knows of the commit: with
large writes, a fifth of their time. What is committed is on disk before, and stays in the log until it is copied."""

from contextlib import suppress

import apsw

PAGES_BETWEEN_CHECKPOINTS = 1_000
"""Sets how long the log becomes before it is copied, in pages: SQLite's own default."""


class WalCheckpoints:
    """Replaces the automatic checkpoints of a connection: `run_if_due` is to be called after each transaction."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._pages = 0
        connection.set_wal_hook(self._note_pages)

    def run_if_due(self) -> None:
        """Copies the log if it is long enough, as far as readers allow. What cannot be copied is tried again after the
        next transaction: an error of a checkpoint fails no write, as with SQLite's own."""
        if self._pages >= PAGES_BETWEEN_CHECKPOINTS:
            self._pages = 0
            with suppress(apsw.Error):
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    def _note_pages(self, connection: apsw.Connection, database: str, pages: int) -> int:
        self._pages = pages
        return apsw.SQLITE_OK
