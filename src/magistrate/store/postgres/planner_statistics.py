"""Has PostgreSQL count the rows of its tables as soon as they have some. See
docs/decisions/0095-a-new-database-is-analyzed-at-once.md."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import psycopg

from magistrate.errors import StoreUnavailable
from magistrate.store.postgres.pipeline import Connection
from magistrate.store.sql.postgres import LIST_SMALL_TABLES, analyze_tables
from magistrate.store.sql.stores import TABLES

FIRST_STATEMENTS = 200
"""Sets after how many statements of writes this process looks first. It looks again whenever their number has
doubled."""
ENOUGH_ROWS = 1_000
"""Sets how many rows a table must have had when it was analyzed last, to be left to PostgreSQL's own schedule."""

RunOnConnection = Callable[[Callable[[Connection], Awaitable[None]]], Awaitable[None]]
"""Runs something on a connection, within the timeout. Raises StoreUnavailable."""


class PlannerStatistics:
    """Analyzes the tables of a database while they are small and this process writes to them."""

    def __init__(self, run: RunOnConnection) -> None:
        self._run = run
        self._statements = 0
        self._next_look = FIRST_STATEMENTS
        self._task: asyncio.Task[None] | None = None

    def note_statements(self, count: int) -> None:
        """Notes that a transaction with so many statements was committed, and looks in a task of its own if it is
        time."""
        self._statements += count
        if self._statements >= self._next_look and (self._task is None or self._task.done()):
            self._next_look = 2 * self._statements
            self._task = asyncio.get_running_loop().create_task(self._look())

    async def analyze(self) -> None:
        """Analyzes all tables, after very many rows were written together."""
        with suppress(StoreUnavailable, psycopg.Error):
            await self._run(_analyze_all_tables)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _look(self) -> None:
        with suppress(StoreUnavailable, psycopg.Error):  # the plans are only slower, and the next look comes
            await self._run(_analyze_small_tables)


async def _analyze_all_tables(connection: Connection) -> None:
    await connection.execute(analyze_tables(TABLES))


async def _analyze_small_tables(connection: Connection) -> None:
    small = await (await connection.execute(LIST_SMALL_TABLES, (list(TABLES), ENOUGH_ROWS))).fetchall()
    if small:
        await connection.execute(analyze_tables([name for (name,) in small]))
