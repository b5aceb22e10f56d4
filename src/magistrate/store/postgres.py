"""Implements the store on PostgreSQL through psycopg: a pool of autocommit connections, one statement per read, one
short transaction per write.

A write first locks the row of `head`, so writes run one after another, revisions are in commit order, and each
statement of a write sees everything that earlier writes committed. Nothing is kept in the session, so a PgBouncer in
between may pool transactions."""

import asyncio
import os
import random
import socket
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import msgspec
import psycopg
from psycopg import errors
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from magistrate.engine.terms import Revision
from magistrate.errors import OutcomeUnknown, SchemaMismatch, StoreUnavailable
from magistrate.store import migrate, sql
from magistrate.store.batch_reads import JoinTemplates
from magistrate.store.contract import Identity
from magistrate.store.database import Compute, Find, Observer, Rows, Script, Select, Step, observe_nothing
from magistrate.store.database_clock import DatabaseClock
from magistrate.store.following import AGING_MS, STALE_MS, Mark, Staleness
from magistrate.store.postgres_migrating import whole_seconds
from magistrate.store.postgres_statements import find_each, number_placeholders
from magistrate.store.sealing import UNSEALED, Sealing
from magistrate.store.sql import Parameter
from magistrate.store.sql_store import SqlStore

T = TypeVar("T")

READ_CLOCK = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
LOCK_HEAD = sql.READ_HEAD + " FOR UPDATE"

ATTEMPTS = 4
"""Limits how often one read or write is run when the server reports that it may be retried, or when a pooled
connection turns out to be dead."""

_CONFLICTS = (errors.SerializationFailure, errors.DeadlockDetected)

Connection = psycopg.AsyncConnection[TupleRow]

WRITERS = 2
"""Limits the connections of one worker that may be in a write: one that has locked the head, and one that is waiting
for it."""

ROWS_AT_ONCE = 2_000
"""Limits the rows that are decoded before others may run: all of them have arrived by then, and take a few
microseconds each."""

_NO_LOCK: AbstractAsyncContextManager[None] = nullcontext()

CLOSE_WITHIN_SECONDS = 1.0
"""Limits the wait for statements that have no caller any more; their connections are cut already."""


@dataclass(slots=True)
class _Attempt:
    """Represents a read or write that runs in a task of its own, and the connection that it currently uses."""

    connection: Connection | None = None
    is_abandoned: bool = False


async def open_postgres(
    conninfo: str,
    connections: int,
    timeout_ms: int,
    observer: Observer = observe_nothing,
    sealing: Sealing = UNSEALED,
) -> SqlStore:
    """Opens a store on a migrated database. Raises StoreUnavailable, or SchemaMismatch if the database is not
    migrated."""
    database = PostgresDatabase(conninfo, connections, timeout_ms, observer)
    try:
        await database.open()
        [row] = await database.read(sql.READ_IDENTITY, ())
    except BaseException:
        await database.close()
        raise
    return SqlStore(database, Identity(*row), len(migrate.migrations("postgres")), sealing)


class PostgresDatabase:
    dialect = sql.Dialect(
        index_hint="",
        member_key=r"CASE WHEN strpos(replace(meta, '\\', ''), '\u0000') > 0 THEN '0' "
        "WHEN json_typeof(meta::json -> '{0}') = 'string' THEN '1' || (meta::json ->> '{0}') "
        "ELSE '0' END COLLATE \"C\"",
    )
    # OFFSET 0 keeps the subquery from being merged: it is looked up once for each id or revision, in their order.
    templates = JoinTemplates(
        many_ids="json_array_elements_text(?::json) AS ids (id) CROSS JOIN LATERAL "
        "(SELECT * FROM warrant w WHERE w.{column} = ids.id AND {holds} OFFSET 0) w",
        many_objects="json_array_elements_text(?::json) AS ids (id) CROSS JOIN LATERAL "
        "(SELECT * FROM object o WHERE o.object_id = ids.id AND {holds} OFFSET 0) o",
        indexed="warrant w WHERE {holds}",
        texts="SELECT json_array_elements_text(?::json)",
        changes="revision r CROSS JOIN LATERAL "
        "(SELECT * FROM change c WHERE c.revision = r.revision AND ({holds}) OFFSET 0) c",
        decisions="decision r CROSS JOIN LATERAL (SELECT 1 AS is_wanted WHERE {holds} OFFSET 0) w WHERE true",
        name="({row}.key::json ->> {place})",
    )

    def __init__(self, conninfo: str, connections: int, timeout_ms: int, observer: Observer) -> None:
        self.statements = 0
        self._observer = observer
        self._timeout = timeout_ms / 1000
        self._writes = 0
        self._drained_at = 0.0
        self._clock = DatabaseClock()
        self._abandoned: set[asyncio.Task[Any]] = set()
        # Writers wait for the head anyway; while they wait, they must not hold the connections that readers need.
        self._writing = asyncio.Semaphore(max(1, min(WRITERS, connections - 1)))
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            conninfo,
            kwargs={
                "autocommit": True,
                "connect_timeout": whole_seconds(timeout_ms),
                "client_encoding": "utf8",
                # The raw cursor sends statements as they are; others parse long ones anew each time.
                "cursor_factory": psycopg.AsyncRawCursor,
            },
            configure=_configure,
            min_size=1,
            max_size=connections,
            timeout=self._timeout,
            open=False,
        )

    async def open(self) -> None:
        await self._pool.open()
        await self.synchronize_clock()

    def now(self) -> int:
        return self._clock.now()

    async def synchronize_clock(self) -> None:
        async def once(connection: Connection) -> None:
            sent_at = self._clock.local()
            [(remote,)] = await (await connection.execute(READ_CLOCK)).fetchall()
            self._clock.adjust(sent_at, self._clock.local(), remote)

        self.statements += 1
        await self._retry(once, may_repeat=lambda: True)

    async def read(self, sql: str, values: tuple[Parameter, ...], long: bool = False) -> Rows:
        self.statements += 1

        async def once(connection: Connection) -> Rows:
            cursor = await connection.execute(number_placeholders(sql), values)
            rows: Rows = await cursor.fetchmany(ROWS_AT_ONCE)
            while len(rows) % ROWS_AT_ONCE == 0 and (batch := await cursor.fetchmany(ROWS_AT_ONCE)):
                rows += batch
                await asyncio.sleep(0)
            return rows

        return await self._retry(once, may_repeat=lambda: True)

    async def transact(self, script: Callable[[Revision], Script[T]], makes_revision: bool = True) -> T:
        committing = False

        async def once(connection: Connection) -> T:
            nonlocal committing
            committing = False
            async with connection.pipeline(), connection.transaction():
                [(head, _)] = await (await connection.execute(LOCK_HEAD)).fetchall()
                result = await self._drive(connection, script(Revision(head)))
                self._observer("COMMIT")
                committing = True
            return result

        try:
            # After COMMIT is sent, a lost connection leaves it unknown whether it arrived: a rerun could write twice.
            return await self._retry(once, may_repeat=lambda: not committing, lock=self._writing)
        finally:
            self._writes += makes_revision

    def mark(self) -> Mark:
        if self._pool.closed:
            raise StoreUnavailable("the store is closed")
        return time.monotonic(), self._writes

    def staleness(self, mark: Mark) -> Staleness:
        now, writes = self.mark()
        marked_at, writes_then = mark
        if writes != writes_then or now - marked_at > STALE_MS / 1_000:
            return Staleness.STALE
        return Staleness.AGING if now - marked_at > AGING_MS / 1_000 else Staleness.CURRENT

    async def schema_version(self) -> int:
        [(version,)] = await self.read(migrate.READ_VERSION, ())
        return int(version)

    async def close(self) -> None:
        await self._pool.close()
        if self._abandoned:
            await asyncio.wait(self._abandoned, timeout=CLOSE_WITHIN_SECONDS)

    async def _drive(self, connection: Connection, script: Script[T]) -> T:
        found: list[Rows] = []
        try:
            step = next(script)
            while True:
                found = await self._perform(connection, step)
                step = script.send(found)
        except StopIteration as finished:
            result: T = finished.value
            return result

    async def _perform(self, connection: Connection, step: Step) -> list[Rows]:
        """Runs a step. Statements that return nothing are only queued: they are sent with the next one that is waited
        for."""
        if isinstance(step, Compute):
            await asyncio.to_thread(step.run)
            return []
        if isinstance(step, Find):
            step = Select(find_each(step.one), [(msgspec.json.encode(step.keys).decode(),)])
        if not step.values:
            return []
        self._observer(step.sql)
        self.statements += len(step.values)
        cursor = connection.cursor()
        if not isinstance(step, Select):
            await cursor.executemany(number_placeholders(step.sql), step.values)
            return []
        await cursor.executemany(number_placeholders(step.sql), step.values, returning=True)
        found = [await cursor.fetchall()]
        while cursor.nextset():
            found.append(await cursor.fetchall())
        return found

    async def _retry(
        self,
        once: Callable[[Connection], Awaitable[T]],
        may_repeat: Callable[[], bool],
        lock: AbstractAsyncContextManager[None] = _NO_LOCK,
    ) -> T:
        try:
            return await self._within_timeout(partial(self._attempts, once, may_repeat, lock))
        except (
            psycopg.OperationalError,
            errors.ReadOnlySqlTransaction,
            PoolTimeout,
            PoolClosed,
            TimeoutError,
        ) as error:
            if not may_repeat():
                raise OutcomeUnknown from error
            raise StoreUnavailable("the database cannot be used now") from error
        except errors.UndefinedTable as error:
            raise SchemaMismatch("the database is not migrated") from error

    async def _within_timeout(self, attempts: Callable[[_Attempt], Coroutine[Any, Any, T]]) -> T:
        """Runs the attempts in a task that can be abandoned: when psycopg is cancelled, it asks the server to cancel
        the statement, and waits up to ten seconds for a server that does not answer. Raises TimeoutError."""
        attempt = _Attempt()
        task = asyncio.create_task(attempts(attempt))
        try:
            await asyncio.wait({task}, timeout=self._timeout)
        finally:
            if not task.done():
                self._abandon(attempt, task)
        if attempt.is_abandoned:
            raise TimeoutError
        return task.result()

    def _abandon(self, attempt: _Attempt, task: asyncio.Task[Any]) -> None:
        """Makes a task that has no caller any more end soon: whatever it has not sent to the server yet is never
        sent."""
        attempt.is_abandoned = True
        if attempt.connection is None:
            task.cancel()
        else:
            _cut(attempt.connection)
        self._abandoned.add(task)
        task.add_done_callback(self._discard_abandoned)

    def _discard_abandoned(self, task: asyncio.Task[Any]) -> None:
        self._abandoned.discard(task)
        if not task.cancelled():
            task.exception()  # otherwise asyncio would log that it was never retrieved

    async def _attempts(
        self,
        once: Callable[[Connection], Awaitable[T]],
        may_repeat: Callable[[], bool],
        lock: AbstractAsyncContextManager[None],
        attempt: _Attempt,
    ) -> T:
        async with lock:
            for number in range(1, ATTEMPTS):
                began_at = time.monotonic()
                try:
                    return await self._run_connected(once, attempt)
                except _CONFLICTS:
                    await asyncio.sleep(random.uniform(0, 0.02) * number)
                except psycopg.OperationalError:
                    if attempt.is_abandoned or not may_repeat():
                        raise
                    await self._replace_connections(began_at)
            return await self._run_connected(once, attempt)

    async def _replace_connections(self, used_at: float) -> None:
        """Drains the pool, because after a restart of the server every idle connection is dead, except for those made
        since `used_at`.

        Nothing here waits for the server: testing whether each connection is alive could take forever."""
        if self._drained_at < used_at:
            self._drained_at = time.monotonic()
            await self._pool.drain()

    async def _run_connected(self, once: Callable[[Connection], Awaitable[T]], attempt: _Attempt) -> T:
        # `pool.connection()` would wrap each use in a transaction context and make a lookup take half as long again.
        connection = attempt.connection = await self._pool.getconn()
        try:
            return await once(connection)
        finally:
            await self._pool.putconn(connection)
            attempt.connection = None


def _cut(connection: Connection) -> None:
    """Shuts down the connection on this side, so that the task that waits for it gets an error."""
    with suppress(OSError, psycopg.OperationalError), socket.socket(fileno=os.dup(connection.pgconn.socket)) as ours:
        ours.shutdown(socket.SHUT_RDWR)


async def _configure(connection: Connection) -> None:
    """Sets the isolation level, which is sent with each BEGIN: a stricter default of the database would make writers
    that wait for the head fail."""
    await connection.set_isolation_level(psycopg.IsolationLevel.READ_COMMITTED)
