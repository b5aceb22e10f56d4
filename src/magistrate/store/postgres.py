"""PostgreSQL through psycopg: a pool of autocommit connections, one statement a read, one short transaction a write.

Writers take turns on the row of `head`: it is locked first, so revisions are in commit order and each statement of a
write sees all that earlier writes committed. Nothing is kept in the session, so PgBouncer may pool transactions in
between."""

import asyncio
import random
import re
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from functools import lru_cache
from itertools import chain, count
from typing import TypeVar

import psycopg
from psycopg import errors
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from magistrate.engine.terms import Revision
from magistrate.errors import InvalidSetting, SchemaMismatch, StoreUnavailable
from magistrate.store import migrate, sql
from magistrate.store.contract import Identity
from magistrate.store.database import Compute, Find, Observer, Rows, Script, Select, Step, observe_nothing
from magistrate.store.following import AGING_MS, STALE_MS, Mark, Staleness
from magistrate.store.reading import Joining
from magistrate.store.sql import Parameter
from magistrate.store.sql_store import SqlStore

T = TypeVar("T")

LOCK_HEAD = sql.READ_HEAD + " FOR UPDATE"

ATTEMPTS = 4
"""Runs of one read or write, when the server answers that it may be tried again or a pooled connection turns out
dead."""

_CONFLICTS = (errors.SerializationFailure, errors.DeadlockDetected)
_MIGRATION_RACES = (errors.DuplicateTable, errors.UniqueViolation, *_CONFLICTS)

Connection = psycopg.AsyncConnection[TupleRow]

WRITERS = 2
"""Connections of one worker that may be in a write: one that holds the head, one that is waiting for it."""

_NO_TURN: AbstractAsyncContextManager[None] = nullcontext()


def migrate_postgres(conninfo: str, timeout_ms: int) -> None:
    """Brings the schema up to date in one transaction; several processes may try at once, one of them does it.

    Raises StoreUnavailable, SchemaMismatch if a newer version has been here, or InvalidSetting for a URL libpq
    refuses."""
    check_conninfo(conninfo)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with psycopg.connect(conninfo, connect_timeout=_seconds(timeout_ms), client_encoding="utf8") as connection:
                return _migrate(connection)
        except _MIGRATION_RACES as error:
            if attempt == ATTEMPTS:
                raise StoreUnavailable(f"PostgreSQL cannot be migrated now: {error}") from error
        except psycopg.OperationalError as error:
            raise StoreUnavailable(f"PostgreSQL cannot be reached: {error}") from error


def reach_postgres(conninfo: str, timeout_ms: int) -> None:
    """Raises StoreUnavailable with the reason that the server gives, or InvalidSetting for a URL libpq refuses."""
    check_conninfo(conninfo)
    try:
        psycopg.connect(conninfo, connect_timeout=_seconds(timeout_ms)).close()
    except psycopg.OperationalError as error:
        raise StoreUnavailable(f"PostgreSQL cannot be reached: {error}") from error


def check_conninfo(conninfo: str) -> None:
    """Raises InvalidSetting if libpq cannot read it."""
    try:
        psycopg.conninfo.conninfo_to_dict(conninfo)
    except psycopg.ProgrammingError:
        # libpq's message quotes the part it does not understand, which may be the password.
        raise InvalidSetting("database URL: libpq cannot read it; special characters must be percent-encoded") from None


async def open_postgres(
    conninfo: str, connections: int, timeout_ms: int, observer: Observer = observe_nothing
) -> SqlStore:
    """A store on a migrated database. Raises StoreUnavailable, or SchemaMismatch if the database is not migrated."""
    database = PostgresDatabase(conninfo, connections, timeout_ms, observer)
    try:
        await database.open()
        [row] = await database.read(sql.READ_IDENTITY, ())
    except BaseException:
        await database.close()
        raise
    return SqlStore(database, Identity(*row), len(migrate.migrations("postgres")))


class PostgresDatabase:
    dialect = sql.Dialect(
        index_hint="",
        member_key=r"CASE WHEN strpos(replace(meta, '\\', ''), '\u0000') > 0 THEN '0' "
        "WHEN json_typeof(meta::json -> '{0}') = 'string' THEN '1' || (meta::json ->> '{0}') "
        "ELSE '0' END COLLATE \"C\"",
    )
    # OFFSET 0 keeps the subquery as it is: looked up once for each id or revision, in their order.
    joining = Joining(
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
        # Writers take turns on the head anyway: those that wait must not hold the connections that readers need.
        self._writing = asyncio.Semaphore(max(1, min(WRITERS, connections - 1)))
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            conninfo,
            kwargs={
                "autocommit": True,
                "connect_timeout": _seconds(timeout_ms),
                "client_encoding": "utf8",
                # It takes statements as they are: others take long ones apart anew each time.
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

    async def read(self, sql: str, values: tuple[Parameter, ...], long: bool = False) -> Rows:
        self.statements += 1

        async def once(connection: Connection) -> Rows:
            return await (await connection.execute(_text(sql), values)).fetchall()

        return await self._repeated(once, may_repeat=lambda: True)

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
            # Once COMMIT is on its way, a lost connection leaves open whether it arrived: another run could write
            # twice.
            return await self._repeated(once, may_repeat=lambda: not committing, turn=self._writing)
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
        """Statements that return nothing are only queued: they travel with the next one that is waited for."""
        if isinstance(step, Compute):
            await asyncio.to_thread(step.run)
            return []
        if isinstance(step, Find):
            # One statement for each key, in one round trip: a plan for many could read the table, and would be kept.
            return [list(chain.from_iterable(await self._perform(connection, Select(step.one, step.keys))))]
        if not step.values:
            return []
        self._observer(step.sql)
        self.statements += len(step.values)
        cursor = connection.cursor()
        if not isinstance(step, Select):
            await cursor.executemany(_text(step.sql), step.values)
            return []
        await cursor.executemany(_text(step.sql), step.values, returning=True)
        found = [await cursor.fetchall()]
        while cursor.nextset():
            found.append(await cursor.fetchall())
        return found

    async def _repeated(
        self,
        once: Callable[[Connection], Awaitable[T]],
        may_repeat: Callable[[], bool],
        turn: AbstractAsyncContextManager[None] = _NO_TURN,
    ) -> T:
        try:
            async with asyncio.timeout(self._timeout), turn:
                for attempt in range(1, ATTEMPTS):
                    try:
                        return await self._connected(once)
                    except _CONFLICTS:
                        await asyncio.sleep(random.uniform(0, 0.02) * attempt)
                    except psycopg.OperationalError:
                        if not may_repeat():
                            raise
                        with suppress(psycopg.OperationalError):
                            await self._pool.check()  # after a restart of the server, every idle connection is dead
                return await self._connected(once)
        except (
            psycopg.OperationalError,
            errors.ReadOnlySqlTransaction,
            PoolTimeout,
            PoolClosed,
            TimeoutError,
        ) as error:
            raise StoreUnavailable("the database cannot be used now") from error
        except errors.UndefinedTable as error:
            raise SchemaMismatch("the database is not migrated") from error

    async def _connected(self, once: Callable[[Connection], Awaitable[T]]) -> T:
        # Not `pool.connection()`: it wraps each use in a transaction context, half as much time again for a look-up.
        connection = await self._pool.getconn()
        try:
            return await once(connection)
        finally:
            await self._pool.putconn(connection)


async def _configure(connection: Connection) -> None:
    """Said at each BEGIN: a stricter default of the database would make writers that wait for the head fail."""
    await connection.set_isolation_level(psycopg.IsolationLevel.READ_COMMITTED)


def _migrate(connection: psycopg.Connection[TupleRow]) -> None:
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise InvalidSetting(f"database URL: the database has the encoding {encoding}; it must be UTF8")
    connection.execute(migrate.CREATE_TABLE)
    raw = psycopg.RawCursor(connection)
    [applied] = connection.execute(migrate.READ_VERSION).fetchone() or (0,)
    for migration in migrate.pending("postgres", applied):
        connection.execute(migration.sql)
        raw.execute(_text(migrate.INSERT_MIGRATION), (migration.number, migration.name))
    if connection.execute(sql.READ_HEAD).fetchone() is None:
        raw.execute(_text(sql.MAKE_HEAD), migrate.new_identity())


@lru_cache(maxsize=1024)
def _text(statement: str) -> str:
    """PostgreSQL's own spelling of a statement, `$1` for the first `?`: none of ours has a question mark elsewhere."""
    places = count(1)
    return re.sub(r"\?", lambda _: f"${next(places)}", statement)


def _seconds(milliseconds: int) -> int:
    """Whole seconds, rounded up: all that libpq's connect_timeout understands."""
    return -(-milliseconds // 1000)
