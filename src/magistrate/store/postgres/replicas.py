"""Has replicas answer reads: what is read from them is as true as what the primary says, or it is not used.

The statement itself finds out whether the server holds the wanted revision, by number and bits, and has no rows
otherwise. So it does not matter which server is behind a URL, nor what happened to it since the last read. See
docs/decisions/0115-replicas-answer-reads-that-name-a-revision.md."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

import psycopg
import structlog

from magistrate.engine.names import Revision
from magistrate.errors import MagistrateError, SchemaMismatch
from magistrate.store.contract.database_use import ReplicaCounts
from magistrate.store.contract.revisions import Presence, RevisionId, RevisionStore
from magistrate.store.contract.stores import DEFAULT_STORE
from magistrate.store.database import ConfirmRows, Rows
from magistrate.store.postgres.connections import Conninfo, Pooling
from magistrate.store.postgres.pipeline import Connection, pipeline_of
from magistrate.store.postgres.read_pool import ReadPool
from magistrate.store.sql.dialect import Parameter
from magistrate.store.sql.postgres import demand_revision
from magistrate.store.sql.stores import FIND_NEWEST
from magistrate.tracing import open_statements

PROBE_EVERY_SECONDS, PROBE_SECONDS = 1.0, 0.25
"""Set how often the revision of each replica is read, and how long that may take: the reads that wait for one that
takes longer are repeated on the primary."""
MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.002, 1.0
"""Limit for how long a replica is not read that lacked a revision; each time in a row, twice as long. The first is as
long as a standby usually lags."""
_FAILURES = (MagistrateError, psycopg.Error, TimeoutError)

SILENT, FOREIGN, DIVERGED = "it does not answer", "it is another database", "it has other writes than the primary"
"""Are the reasons for which a replica is not used."""

log = structlog.get_logger()


class Replica:
    """Represents one replica. It is used from a probe that succeeds until something fails."""

    def __init__(self, number: int, conninfo: Conninfo, pooling: Pooling) -> None:
        self.lag_revisions = 0
        self._number = number
        self._read_pool = ReadPool(conninfo, pooling)
        self._probe_pool = ReadPool(conninfo, replace(pooling, connections=1))
        """Has a connection that no read takes, however many take long."""
        self._running: set[asyncio.Task[Rows]] = set()
        self._is_usable = False
        self._pause, self._paused_until = MIN_PAUSE_SECONDS, 0.0
        self._fault: str | None = None

    async def open(self) -> None:
        """Begins to connect, and waits for nothing."""
        await self._read_pool.pool.open()
        await self._probe_pool.pool.open()

    async def close(self) -> None:
        for pool in (self._read_pool, self._probe_pool):
            await pool.close()
            await pool.finish_abandoned()

    @property
    def running(self) -> int:
        """Returns how many reads it answers now."""
        return len(self._running)

    @property
    def answers(self) -> bool:
        """Returns whether the last probe has succeeded, and nothing has failed since."""
        return self._is_usable

    @property
    def is_usable(self) -> bool:
        """Returns whether it is to be read: it answers, and did not lack a revision a moment ago."""
        return self._is_usable and time.monotonic() >= self._paused_until

    def note_outcome(self, was_behind: bool) -> None:
        """Takes a pause from a replica that lacked a revision. Reads that were sent together count as one."""
        if was_behind and time.monotonic() < self._paused_until:
            return
        if was_behind:
            self._paused_until = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, MAX_PAUSE_SECONDS)
        else:
            self._pause, self._paused_until = MIN_PAUSE_SECONDS, 0.0

    async def read(self, sql: str, values: tuple[Parameter, ...]) -> Rows:
        """Returns the rows of a statement. Raises StoreUnavailable and others if it cannot be run, TimeoutError if the
        replica has stopped to answer meanwhile."""
        task = asyncio.create_task(self._read(sql, values))
        self._running.add(task)
        try:
            await asyncio.wait({task})
        finally:
            self._running.discard(task)
            task.cancel()
        if task.cancelled():
            raise TimeoutError
        if task.exception() is not None:
            self._is_usable = False
        return task.result()

    async def probe(self, primary: RevisionStore, store_id: str) -> None:
        """Finds out whether the replica answers, and has the history of the store `default` of the primary, which has
        this id. Raises nothing."""
        fault = await self._find_fault(primary, store_id)
        if fault != self._fault:
            self._fault = fault
            if fault is None:
                log.info("a replica is used", replica=self._number)
            else:
                log.warning("a replica is not used", replica=self._number, reason=fault)
        self._is_usable = fault is None
        if fault == SILENT:
            for task in self._running:
                task.cancel()

    async def _find_fault(self, primary: RevisionStore, store_id: str) -> str | None:
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                rows = await self._read_newest()
        except SchemaMismatch:
            return FOREIGN
        except _FAILURES:
            return SILENT
        if not rows or rows[0][0] != store_id:
            return FOREIGN
        newest = RevisionId(Revision(rows[0][1]), rows[0][2])
        try:
            presence = await primary.locate(newest)
        except MagistrateError:  # only the primary could say what is wrong
            return None if self._fault == SILENT else self._fault
        self.lag_revisions = max(0, primary.known.newest.revision - newest.revision)
        return DIVERGED if presence is Presence.REPLACED else None

    async def _read_newest(self) -> Rows:
        async def once(connection: Connection) -> Rows:
            return await pipeline_of(connection).run_alone(FIND_NEWEST, (DEFAULT_STORE,))

        return await self._probe_pool.read(once)

    async def _read(self, sql: str, values: tuple[Parameter, ...]) -> Rows:
        async def once(connection: Connection) -> Rows:
            return await pipeline_of(connection).run_alone(sql, values)

        with open_statements(sql):
            return await self._read_pool.read(once)


class Replicas:
    """Chooses among the replicas of a database, in the order of their URLs, and counts what comes of it."""

    def __init__(self, conninfos: Sequence[Conninfo], pooling: Pooling) -> None:
        self._replicas = [Replica(number, conninfo, pooling) for number, conninfo in enumerate(conninfos, 1)]
        self._served = self._behind = self._failed = 0
        self._chosen = 0
        self._probing: asyncio.Task[None] | None = None

    @property
    def are_there(self) -> bool:
        return bool(self._replicas)

    async def open(self, primary: RevisionStore, store_id: str) -> None:
        """Waits for no connection: a replica that is away does not keep the service from starting. `primary` is
        the store `default` there, which has this id."""
        for replica in self._replicas:
            await replica.open()
        if self._replicas:
            self._probing = asyncio.create_task(self._probe_periodically(primary, store_id))

    async def close(self) -> None:
        if self._probing is not None:
            self._probing.cancel()
        await asyncio.gather(*(replica.close() for replica in self._replicas))

    def read_counts(self) -> ReplicaCounts:
        lag = max((replica.lag_revisions for replica in self._replicas if replica.answers), default=0)
        return ReplicaCounts(self._served, self._behind, self._failed, lag)

    async def read(
        self, sql: str, values: tuple[Parameter, ...], least: RevisionId, confirm_rows: ConfirmRows
    ) -> Rows | None:
        """Implements Database.read_replica; the values begin with the number of the store."""
        replica = self._choose()
        if replica is None:
            return None
        try:
            rows = await replica.read(demand_revision(sql), (*values, *least))
        except _FAILURES:
            self._failed += 1
            return None
        is_served = bool(rows) and await confirm_rows(rows)
        replica.note_outcome(was_behind=not is_served)
        self._served += is_served
        self._behind += not is_served
        return rows if is_served else None

    def _choose(self) -> Replica | None:
        """Returns the usable replica that answers the fewest reads now; of several, each in turn."""
        usable = [replica for replica in self._replicas if replica.is_usable]
        if not usable:
            return None
        self._chosen += 1
        first = self._chosen % len(usable)
        return min(usable[first:] + usable[:first], key=lambda replica: replica.running)

    async def _probe_periodically(self, primary: RevisionStore, store_id: str) -> None:
        while True:
            await asyncio.gather(*(replica.probe(primary, store_id) for replica in self._replicas))
            await asyncio.sleep(PROBE_EVERY_SECONDS)
