"""Has replicas answer reads: what is read from them is as true as what the primary says, or it is not used.

The statement itself finds out whether the server holds the wanted revision, by number and bits, and has no rows
otherwise. So it does not matter which server is behind a URL, nor what happened to it since the last read. See
docs/decisions/0115-replicas-answer-reads-that-name-a-revision.md."""

import asyncio
import time
from collections.abc import Sequence

import psycopg
import structlog

from magistrate.errors import MagistrateError
from magistrate.store.contract.database_use import ReplicaCounts
from magistrate.store.contract.revisions import KnownRevisions, RevisionId
from magistrate.store.contract.stores import DEFAULT_STORE
from magistrate.store.database import ConfirmRows, Rows
from magistrate.store.postgres.connections import Conninfo, Pooling
from magistrate.store.postgres.pipeline import Connection, pipeline_of
from magistrate.store.postgres.read_pool import ReadPool
from magistrate.store.sql.dialect import Parameter
from magistrate.store.sql.head import READ_HEAD
from magistrate.store.sql.postgres import demand_revision, number_placeholders
from magistrate.tracing import open_statements

PROBE_EVERY_SECONDS, PROBE_SECONDS = 1.0, 0.25
"""Set how often the revision of each replica is read, and how long that may take: the reads that wait for one that
takes longer are repeated on the primary."""
MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.002, 1.0
"""Limit for how long a replica is not read that lacked a revision; each time in a row, twice as long. The first is as
long as a standby usually lags."""
_FAILURES = (MagistrateError, psycopg.Error, TimeoutError)

log = structlog.get_logger()


class ReplicaAway(MagistrateError):
    """Reports that a replica has stopped to answer while it was read."""


class Replica:
    """Represents one replica. It is used from a probe that succeeds until something fails."""

    def __init__(self, number: int, conninfo: Conninfo, pooling: Pooling) -> None:
        self.lag_revisions = 0
        self._number = number
        self._read_pool = ReadPool(conninfo, pooling)
        self._running: set[asyncio.Task[Rows]] = set()
        self._is_usable = False
        self._pause, self._paused_until = MIN_PAUSE_SECONDS, 0.0
        self._has_other_history = False

    async def open(self) -> None:
        """Begins to connect, and waits for nothing."""
        await self._read_pool.pool.open()

    async def close(self) -> None:
        await self._read_pool.close()
        await self._read_pool.finish_abandoned()

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
        """Returns the rows of a statement. Raises StoreUnavailable and others if it cannot be run, ReplicaAway if the
        replica has stopped to answer meanwhile."""
        task = asyncio.create_task(self._read(sql, values))
        self._running.add(task)
        try:
            await asyncio.wait({task})
        finally:
            self._running.discard(task)
            task.cancel()
        if task.cancelled():
            raise ReplicaAway("a replica does not answer")
        if task.exception() is not None:
            self._is_usable = False
        return task.result()

    async def probe(self, revisions: KnownRevisions) -> None:
        """Finds out whether the replica answers, and has the history of the store `default`, of which `revisions` are
        known. Raises nothing."""
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                rows = await self._read(number_placeholders(READ_HEAD), (DEFAULT_STORE,))
        except _FAILURES:
            rows = []
        if not rows:
            self._is_usable = False
            for task in self._running:
                task.cancel()
            return
        revision, _, bits = rows[0]
        same = revisions.find(revision)
        self._note_history(same is not None and same.bits != bits)
        self.lag_revisions = max(0, revisions.newest.revision - revision)
        self._is_usable = not self._has_other_history

    async def _read(self, sql: str, values: tuple[Parameter, ...]) -> Rows:
        async def once(connection: Connection) -> Rows:
            return await pipeline_of(connection).run_alone(sql, values)

        with open_statements(sql):
            return await self._read_pool.read(once)

    def _note_history(self, is_other: bool) -> None:
        if is_other and not self._has_other_history:
            log.error("a replica has other writes than the primary and is not used", replica=self._number)
        self._has_other_history = is_other


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

    async def open(self, revisions: KnownRevisions) -> None:
        """Waits for no connection: a replica that is away does not keep the service from starting. `revisions` are
        those of the store `default`."""
        for replica in self._replicas:
            await replica.open()
        if self._replicas:
            self._probing = asyncio.create_task(self._probe_periodically(revisions))

    async def close(self) -> None:
        if self._probing is not None:
            self._probing.cancel()
        await asyncio.gather(*(replica.close() for replica in self._replicas))

    def read_counts(self) -> ReplicaCounts:
        lag = max((replica.lag_revisions for replica in self._replicas if replica.answers), default=0)
        return ReplicaCounts(self._served, self._behind, self._failed, lag)

    async def read(
        self, sql: str, values: tuple[Parameter, ...], least: RevisionId, confirm: ConfirmRows
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
        is_served = bool(rows) and await confirm(rows)
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

    async def _probe_periodically(self, revisions: KnownRevisions) -> None:
        while True:
            await asyncio.gather(*(replica.probe(revisions) for replica in self._replicas))
            await asyncio.sleep(PROBE_EVERY_SECONDS)
