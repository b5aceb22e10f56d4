"""Keeps a pool of connections to PostgreSQL, and repeats what failed because a connection was dead or the server says
that it may be repeated."""

import asyncio
import os
import random
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from typing import TypeVar

import psycopg
from psycopg import errors
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from magistrate.errors import OutcomeUnknown, SchemaMismatch, StoreUnavailable
from magistrate.store.contract.database_use import PoolCounts
from magistrate.store.postgres.pipeline import Connection, pipeline_of
from magistrate.store.schema_version import OTHER_SCHEMA
from magistrate.store.sql.postgres import CHECK_CLIENT, END_IDLE_TRANSACTIONS

T = TypeVar("T")

ATTEMPTS = 4
"""Limits how often one read or group of writes is run when the server reports that it may be retried, or when a pooled
connection is dead."""

READ_ONLY_SECONDS = 1.0
"""Limits how often all connections are replaced because one is read-only: the server itself may be, and for long."""

RECONNECT_SECONDS = 1.0
"""Limits how long the pool tries to make one connection, and so its pauses, which double from one second on; the next
connection begins anew. Without this limit, a pause would last two minutes when the server has been away for four."""

CONNECT_SECONDS = 3.0
"""Limits how long one connection may take to be made. The pool makes three at once, and all may wait for a server that
will never answer them, while it answers others again."""

SILENT_SECONDS = 2.0
"""Sets for how long all statements have to be without an answer until the connections that nobody uses are taken for
dead, too. Without it, each of them would be lent once more, and be waited for until the time of a request is over."""

CHECK_INTERVAL_MS = 1_000
"""Limits how long a statement runs on at the server that nobody waits for any more."""

IDLE_TRANSACTION_MS = 10_000
"""Is the least time after which the server ends a transaction in which it is sent nothing, if the store timeout is not
longer: that of a process whose machine has gone without a word. All who write to the same store wait for it."""

_CONFLICTS = (errors.SerializationFailure, errors.DeadlockDetected)
_CHANGED_RESULT = "cached plan must not change result type"
"""Begins the message about a prepared statement whose columns a migration has changed; it would fail again and again on
this connection, and on every other that has prepared it."""
_ENDED = ("08", "57P")
"""Begin the codes of errors with which a server, or a pooler in front of it, ends connections."""

Conninfo = str | Callable[[], Awaitable[str]]
"""Is the connection string, or returns it for each new connection."""

_UNAVAILABLE = (psycopg.OperationalError, errors.ReadOnlySqlTransaction, PoolTimeout, PoolClosed, TimeoutError)


@dataclass(frozen=True, slots=True)
class Pooling:
    """Says how many connections a process keeps, and how long it waits for one and for the server. Without
    `has_sessions`, a pooler gives each transaction another session of the server, so nothing is prepared there."""

    connections: int
    timeout_ms: int
    has_sessions: bool = True


@dataclass(slots=True)
class ConnectionUse:
    """Represents the use that one read or group of writes makes of the pool, and the connection that it has now.
    `is_lost` says that the one it had last cannot be used any more."""

    connection: Connection | None = None
    is_lost: bool = False
    is_broken_off: bool = False

    def break_off(self) -> None:
        """Makes the use end soon: whatever it has not sent to the server yet is never sent.

        The connection is shut down on this side, so that the task that waits for it gets an error. When psycopg is
        cancelled instead, it has the server cancel the statement, and waits up to ten seconds for one that does not
        answer."""
        self.is_broken_off = True
        if self.connection is not None:
            with (
                suppress(OSError, psycopg.OperationalError),
                socket.socket(fileno=os.dup(self.connection.pgconn.socket)) as ours,
            ):
                ours.shutdown(socket.SHUT_RDWR)


class ConnectionPool:
    """Lends autocommit connections."""

    def __init__(self, conninfo: Conninfo, pooling: Pooling) -> None:
        self.lost = 0
        """Counts the connections that were closed while they were used."""
        self._drained_at = 0.0
        self._used = self._answers = 0
        self._watching: asyncio.Task[None] | None = None
        self._timeout = pooling.timeout_ms / 1000
        self._connect_seconds = min(self._timeout, CONNECT_SECONDS)
        self._check_interval_ms = min(CHECK_INTERVAL_MS, pooling.timeout_ms)
        self._idle_transaction_ms = max(IDLE_TRANSACTION_MS, pooling.timeout_ms)
        self._has_sessions = pooling.has_sessions
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            conninfo,
            kwargs={
                "autocommit": True,
                "connect_timeout": ceil(self._connect_seconds),
                "client_encoding": "utf8",
                # The raw cursor sends statements as they are; others parse long ones each time.
                "cursor_factory": psycopg.AsyncRawCursor,
                # What is prepared has a name that StatementPipeline gives.
                "prepare_threshold": None,
            },
            min_size=1,
            max_size=pooling.connections,
            timeout=self._timeout,
            reconnect_timeout=RECONNECT_SECONDS,
            reconnect_failed=_connect_again,
            configure=self._prepare_connection,
            open=False,
        )

    @property
    def is_closed(self) -> bool:
        return self._pool.closed

    def count_connections(self) -> PoolCounts:
        counts = self._pool.get_stats()
        return PoolCounts(
            connections=counts["pool_size"],
            idle=counts["pool_available"],
            waiting=counts["requests_waiting"],
            waits=counts.get("requests_queued", 0),
            wait_seconds=counts.get("requests_wait_ms", 0) / 1000,
            failures=counts.get("connections_errors", 0),
            lost=self.lost,
        )

    async def open(self) -> None:
        await self._pool.open()

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
        await self._pool.close()

    async def _prepare_connection(self, connection: Connection) -> None:
        pipeline_of(connection).is_naming = self._has_sessions
        await self._end_abandoned_statements(connection)

    async def _end_abandoned_statements(self, connection: Connection) -> None:
        """Makes the server end a statement soon after its connection was closed on this side, and a transaction in
        which it is sent nothing. Otherwise it would notice the former only when it sends rows, and reads that are
        broken off would take ever more of its connections; and the latter when TCP gives up after two hours.

        It costs two round trips for each connection, and none for a statement. It is not said when the connection is
        made, because poolers refuse options that they do not know."""
        # The pool has few tasks that connect, and none may wait forever for a server that does not answer.
        timer = asyncio.get_running_loop().call_later(self._connect_seconds, ConnectionUse(connection).break_off)
        try:
            await connection.execute(END_IDLE_TRANSACTIONS, (str(self._idle_transaction_ms),))
            await connection.execute(CHECK_CLIENT, (str(self._check_interval_ms),))
        except psycopg.Error:
            # A server that cannot do it on its platform is used without.
            if connection.closed:
                raise
        finally:
            timer.cancel()

    async def attempt(
        self, once: Callable[[Connection], Awaitable[T]], may_repeat: Callable[[], bool], use: ConnectionUse
    ) -> T:
        """Runs `once` on a connection, and again, up to ATTEMPTS times in all, if it may be repeated and could succeed
        then: what a limit of the server has ended, such as statement_timeout, would only end again."""
        for number in range(1, ATTEMPTS):
            began_at = time.monotonic()
            try:
                return await self._run_connected(once, use)
            except _CONFLICTS:
                await asyncio.sleep(random.uniform(0, 0.02) * number)
            except (psycopg.OperationalError, errors.ReadOnlySqlTransaction, errors.FeatureNotSupported) as error:
                if use.is_broken_off or not may_repeat() or not self._is_connection_at_fault(error, use):
                    raise
                await self._replace_connections(began_at)
        return await self._run_connected(once, use)

    def _is_connection_at_fault(self, error: psycopg.Error, use: ConnectionUse) -> bool:
        """Returns whether another connection may succeed."""
        if isinstance(error, errors.ReadOnlySqlTransaction):
            return time.monotonic() - self._drained_at > READ_ONLY_SECONDS
        if isinstance(error, errors.FeatureNotSupported):
            return (error.diag.message_primary or "").startswith(_CHANGED_RESULT)
        return use.is_lost or (error.sqlstate or "").startswith(_ENDED)

    async def _replace_connections(self, used_at: float) -> None:
        """Drains the pool, because after a restart of the server every idle connection is dead, and after a failover
        every one is read-only that was made to a standby, except for those made since `used_at`.

        Nothing here waits for the server: testing whether each connection is alive could take forever."""
        if self._drained_at < used_at:
            self._drained_at = time.monotonic()
            await self._pool.drain()

    async def _run_connected(self, once: Callable[[Connection], Awaitable[T]], use: ConnectionUse) -> T:
        use.is_lost = False
        # `pool.connection()` would wrap each use in a transaction context and make a lookup take half as long again.
        connection = use.connection = await self._pool.getconn()
        self._used += 1
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch_answers())
        try:
            return await once(connection)
        finally:
            use.connection, use.is_lost = None, connection.closed
            self._used -= 1
            self.lost += connection.closed
            self._answers += not connection.closed
            await self._pool.putconn(connection)

    async def _watch_answers(self) -> None:
        """Drains the pool while connections are used and no statement is answered; once until one is."""
        drained: int | None = None
        while self._used:
            answers = self._answers
            await asyncio.sleep(SILENT_SECONDS)
            if self._used and self._answers == answers != drained:
                drained = answers
                await self._replace_connections(time.monotonic())


async def _connect_again(pool: AsyncConnectionPool[Connection]) -> None:
    """Has a pool without connections make one, even if nobody requests it, so that waiting callers get the first that
    can be made, and one for those who wait while all connections are used. The pool itself would wait for the next
    caller."""
    counts = pool.get_stats()
    if not counts["pool_size"] or counts["requests_waiting"]:
        await pool.check()


def translate_error(error: BaseException, is_unknown: bool = False) -> Exception:
    """Returns the error to be raised in place of this one. `is_unknown` says that a commit may have arrived when the
    connection was lost, or the task was cancelled."""
    if isinstance(error, _UNAVAILABLE):
        if is_unknown and not isinstance(error, _CONFLICTS):
            return OutcomeUnknown()
        if isinstance(error, errors.ReadOnlySqlTransaction):
            return StoreUnavailable("the database is read-only now")
        return StoreUnavailable("the database cannot be used now")
    if isinstance(error, errors.InsufficientPrivilege):
        return StoreUnavailable(f"the database refuses the role of the service: {error.diag.message_primary}")
    if isinstance(error, errors.UndefinedTable):
        return SchemaMismatch("the database is not migrated")
    if isinstance(error, errors.UndefinedColumn):
        return SchemaMismatch(OTHER_SCHEMA)
    if isinstance(error, Exception):
        return error
    return OutcomeUnknown() if is_unknown else StoreUnavailable("the write was broken off")
