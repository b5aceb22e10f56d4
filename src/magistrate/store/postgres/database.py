"""Implements the store on PostgreSQL through psycopg: a pool of autocommit connections, one statement per read, and
short transactions for writes, each of which may hold several.

A write first locks the row of its store in `head`, so writes to one store run one after another, its revisions are in
commit order, and each statement of a write sees everything that earlier writes to it committed. Nothing that is needed
is kept in the session, so a PgBouncer in between may pool transactions."""

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar
from weakref import WeakSet

import psycopg

from magistrate.engine.byte_sizes import CacheBytes
from magistrate.errors import ReadOnly, StoreUnavailable
from magistrate.store.contract.database_use import HeadLocks
from magistrate.store.contract.revisions import AGING_MS, STALE_MS, KnownRevisions, Mark, RevisionId, Staleness
from magistrate.store.contract.stores import DEFAULT_STORE, build_store
from magistrate.store.database import ConfirmRows, Observer, Rows, ScriptStart, observe_nothing, require_head
from magistrate.store.leadership import ALONE, Leadership
from magistrate.store.postgres.connections import Conninfo, Pooling
from magistrate.store.postgres.heads import FollowedHead, HeadFollower, Sharing
from magistrate.store.postgres.pipeline import Connection, pipeline_of
from magistrate.store.postgres.planner_statistics import PlannerStatistics
from magistrate.store.postgres.read_pool import ReadPool
from magistrate.store.postgres.replicas import Replicas
from magistrate.store.postgres.shared_heads import ClockMeasurement, SharedHeads
from magistrate.store.postgres.writer import GroupWriter, WriterResources
from magistrate.store.schema_version import SchemaVersion
from magistrate.store.scripts.key_encryption import UNSEALED, Sealing
from magistrate.store.sql.dialect import Parameter, bind_store
from magistrate.store.sql.postgres import POSTGRES, READ_CLOCK, number_placeholders
from magistrate.store.sql.schema import READ_VERSION
from magistrate.store.sql.stores import FIND_STORE
from magistrate.store.sql_stores import SqlStores
from magistrate.tracing import open_statements

FED_AGING_MS = 40
"""Takes the place of AGING_MS while another process of this machine follows the heads, which it does more often."""
MAX_CLOCK_AGE_US = 2_000_000
"""Limits the age of a measurement of the clock that another process has made (2 s)."""


class DatabaseClock:
    """Returns the time on the machine of the database, in microseconds since 1970 UTC.

    It counts from a monotonic clock, because the clock of this process may be set. Each measurement says between
    which bounds the other clock can lie, half a round trip in each direction; the time is moved only as far as it
    is outside."""

    def __init__(self, local: Callable[[], int] = lambda: time.monotonic_ns() // 1_000) -> None:
        self.local = local
        self._ahead: int | None = None

    def now(self) -> int:
        """Returns the time; before the first measurement, that of this process."""
        return time.time_ns() // 1_000 if self._ahead is None else self.local() + self._ahead

    def adjust(self, sent_at: int, received_at: int, remote: int) -> None:
        """Takes a measurement: the other clock showed `remote` between these two local times."""
        least, most = remote - received_at, remote - sent_at
        ahead = (least + most) // 2 if self._ahead is None else self._ahead
        self._ahead = min(max(ahead, least), most)


T = TypeVar("T")


async def open_postgres(
    conninfo: Conninfo,
    pooling: Pooling,
    observer: Observer = observe_nothing,
    sealing: Sealing = UNSEALED,
    read_only: ReadOnly | None = None,
    replicas: Sequence[Conninfo] = (),
    leadership: Leadership = ALONE,
) -> SqlStores:
    """Opens the stores of a migrated database; every write raises `read_only` if that is given. `replicas` answer some
    of the reads. With other processes of the same leadership, it shares what the leader follows. Raises
    StoreUnavailable, or SchemaMismatch if the database is not migrated."""
    server = PostgresServer(conninfo, pooling, observer, read_only, replicas, leadership)
    try:
        await server.open()
        [row] = await server.read(FIND_STORE, (DEFAULT_STORE,))
    except BaseException:
        await server.close()
        raise
    part = partial(PostgresDatabase, server)
    heads = server.heads
    stored = build_store(row)
    stores = SqlStores(
        stored,
        part,
        sealing,
        heads.release_head,
        note_restore=heads.begin_anew,
        analyze=server.analyze,
        find_unmoved=heads.find_unmoved,
    )
    await server.replicas.open(stores.default, stored.id)
    return stores


class PostgresDatabase:
    """Represents the part of a database that one store has."""

    dialect = POSTGRES
    constraint_error: type[Exception] = psycopg.IntegrityError

    def __init__(self, server: "PostgresServer", store: int) -> None:
        self.known = KnownRevisions()
        self.now = server.now
        self.synchronize_clock = server.synchronize_clock
        self.schema_version = server.schema_version
        self.count_connections = server.count_connections
        self.read_only: ReadOnly | None = server.read_only
        self.has_replicas = server.replicas.are_there
        self.count_replica_reads = server.replicas.read_counts
        self.close = server.close
        self.server = server
        self._store = store
        self._heads = server.heads
        self._head = server.heads.open_head(store, self.known)
        self._writer = server.open_writer(store, self.known, self._head)
        self.known.call_on_change(server.heads.begin_anew)

    @property
    def statements(self) -> int:
        return self.server.statements

    @property
    def head_locks(self) -> HeadLocks:
        return self.server.head_locks

    def measure_caches(self) -> Sequence[CacheBytes]:
        return self.server.measure_caches()

    async def read(self, sql: str, values: tuple[Parameter, ...], long: bool = False) -> Rows:
        return require_head(sql, await self.server.read(sql, bind_store(sql, self._store, values)))

    async def read_replica(
        self, sql: str, values: tuple[Parameter, ...], least: RevisionId, confirm_rows: ConfirmRows
    ) -> Rows | None:
        return await self.server.replicas.read(sql, bind_store(sql, self._store, values), least, confirm_rows)

    async def transact(self, script: ScriptStart[T], makes_revision: bool = True) -> T:
        if self.read_only is not None:
            raise ReadOnly(self.read_only.primary)
        return await self._writer.transact(script, makes_revision)

    @property
    def is_writing(self) -> bool:
        return self._writer.is_writing

    def mark(self) -> Mark:
        self.server.require_open()
        return time.monotonic(), self._writer.revisions

    def staleness(self, mark: Mark) -> Staleness:
        now, writes = self.mark()
        if writes != mark[1]:
            return Staleness.STALE
        age, aging_ms = now - self._find_confirmed(mark), AGING_MS
        if age > AGING_MS / 1_000 and self._heads.take_followed(self._store):
            age, aging_ms = now - self._find_confirmed(mark), FED_AGING_MS
        if age > STALE_MS / 1_000:
            return Staleness.STALE
        return Staleness.AGING if age > aging_ms / 1_000 else Staleness.CURRENT

    async def confirm_mark(self, mark: Mark) -> bool:
        called_at, writes = self.mark()
        if writes != mark[1]:
            return False
        if self._heads.take_followed(self._store):
            if mark[0] < self._head.moved_at:
                return False
            if self.staleness(mark) != Staleness.STALE:
                return True
        if not await self._heads.follow(self._store):
            return False
        is_unmoved = mark[0] >= self._head.moved_at and writes == self._writer.revisions
        return is_unmoved and (self._heads.read_at >= called_at or self.staleness(mark) != Staleness.STALE)

    def measure_lag(self, mark: Mark) -> float:
        return self.mark()[0] - self._find_confirmed(mark)

    def _find_confirmed(self, mark: Mark) -> float:
        """Returns the last monotonic time at which no other process had made a revision since the mark."""
        marked_at, read_at = mark[0], max(self._heads.read_at, self._head.read_at)
        return read_at if read_at > marked_at >= self._head.moved_at else marked_at

    def find_changes(self, after: RevisionId, most: int) -> tuple[Mark, Rows] | None:
        return self._writer.recent.find(after, most, self._writer.revisions)

    def is_newest(self, mark: Mark) -> bool:
        """Returns false: other processes may have written."""
        return False


class PostgresServer:
    """Represents a database with the connections of this process, which all stores in it share."""

    def __init__(
        self,
        conninfo: Conninfo,
        pooling: Pooling,
        observer: Observer,
        read_only: ReadOnly | None = None,
        replicas: Sequence[Conninfo] = (),
        leadership: Leadership = ALONE,
    ) -> None:
        self.read_only = read_only
        self.leadership = leadership
        sharing = None if leadership.folder is None else Sharing(leadership, SharedHeads(leadership.folder))
        self._following_for_all: asyncio.Task[None] | None = None
        self.replicas = Replicas(replicas, pooling)
        self._reads = 0
        self._clock = DatabaseClock()
        self._read_pool = ReadPool(conninfo, pooling)
        self._pool = self._read_pool.pool
        self.count_connections = self._pool.count_connections
        self._statistics = PlannerStatistics(self._read_pool.read)
        self.analyze = self._statistics.analyze
        self._shared = WriterResources(self._pool, self._read_pool.timeout, observer, self._statistics)
        self._writers: WeakSet[GroupWriter] = WeakSet()
        """Has those of the stores that are used."""
        self.heads = HeadFollower(self.read, lambda: self._pool.lost, sharing)

    @property
    def statements(self) -> int:
        return self._reads + self._shared.statements

    @property
    def head_locks(self) -> HeadLocks:
        return self._shared.head_locks

    def measure_caches(self) -> Sequence[CacheBytes]:
        return (self._shared.recent.measure(),)

    def open_writer(self, store: int, revisions: KnownRevisions, head: FollowedHead) -> GroupWriter:
        """Returns the writer of a store, of which there is one. `revisions` and `head` learn of what it writes."""
        writer = GroupWriter(self._shared, store, revisions, head)
        self._writers.add(writer)
        return writer

    def require_open(self) -> None:
        """Raises StoreUnavailable once the database was closed."""
        if self._pool.is_closed:
            raise StoreUnavailable("the store is closed")

    async def open(self) -> None:
        await self._pool.open()
        await self.synchronize_clock()
        self._following_for_all = asyncio.create_task(self.heads.follow_for_all())

    def now(self) -> int:
        return self._clock.now()

    async def synchronize_clock(self) -> None:
        async def once(connection: Connection) -> None:
            sent_at = self._clock.local()
            [(remote,)] = await pipeline_of(connection).run_alone(READ_CLOCK, ())
            measured = ClockMeasurement(sent_at, self._clock.local(), remote)
            self._clock.adjust(*measured)
            if self.heads.sharing is not None:
                self.heads.sharing.heads.write_clock(measured)

        if self._take_clock():
            return
        self._reads += 1
        await self._read_pool.read(once)

    def _take_clock(self) -> bool:
        """Returns whether another process of this machine has read the clock a moment ago, which is the same to all."""
        sharing = self.heads.sharing
        if sharing is None or sharing.leadership.is_taken:
            return False
        measured = sharing.heads.read_clock()
        if measured is None or self._clock.local() - measured.received_at > MAX_CLOCK_AGE_US:
            return False
        self._clock.adjust(*measured)
        return True

    async def read(self, sql: str, values: tuple[Parameter, ...]) -> Rows:
        """Implements Database.read; the number of the store is the first value if the statement has that parameter."""
        self._reads += 1

        async def once(connection: Connection) -> Rows:
            return await pipeline_of(connection).run_alone(sql, values)

        with open_statements(number_placeholders(sql)):
            return await self._read_pool.read(once)

    async def schema_version(self) -> SchemaVersion:
        [(number, breaks_before)] = await self.read(READ_VERSION, ())
        return SchemaVersion(number, breaks_before)

    async def close(self) -> None:
        if self._following_for_all is not None:
            self._following_for_all.cancel()
            await asyncio.gather(self._following_for_all, return_exceptions=True)
        await self._statistics.close()
        await self._read_pool.close()
        await self.replicas.close()
        await asyncio.gather(*(writer.close() for writer in self._writers))
        await self._read_pool.finish_abandoned()
        self.heads.stop_sharing()
