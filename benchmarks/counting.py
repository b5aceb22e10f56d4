"""A database that counts its reads, and the instructions of the interpreter."""

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, TypeVar

from magistrate.config.settings import read_settings
from magistrate.engine.byte_sizes import CacheBytes
from magistrate.engine.names import Revision
from magistrate.store.contract.database_use import HeadLocks, PoolCounts, ReplicaCounts
from magistrate.store.contract.revisions import Mark, RevisionId, Staleness
from magistrate.store.database import ConfirmRows, Database, Rows, Script
from magistrate.store.schema_version import SchemaVersion
from magistrate.store.sql.dialect import Parameter
from magistrate.store.sql_store import SqlStore
from magistrate.wiring.stores import migrate_store, open_store

T = TypeVar("T")


class CountingDatabase:
    """Hands everything on; `reads` counts the statements that read outside of writes, `long_reads` those of them that
    do not delay others, `rows` what they found."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.dialect = database.dialect
        self.known = database.known
        self.read_only = database.read_only
        self.has_replicas = database.has_replicas
        self.constraint_error = database.constraint_error
        self.reads = 0
        self.long_reads = 0
        self.rows = 0

    @property
    def head_locks(self) -> HeadLocks:
        return self._database.head_locks

    def count_connections(self) -> PoolCounts:
        return self._database.count_connections()

    def count_replica_reads(self) -> ReplicaCounts:
        return self._database.count_replica_reads()

    async def read_replica(
        self, sql: str, values: tuple[Parameter, ...], least: RevisionId, confirm_rows: ConfirmRows
    ) -> Rows | None:
        return await self._database.read_replica(sql, values, least, confirm_rows)

    def measure_caches(self) -> Sequence[CacheBytes]:
        return self._database.measure_caches()

    @property
    def statements(self) -> int:
        return self._database.statements

    async def read(self, sql: str, values: tuple[Parameter, ...], long: bool = False) -> Rows:
        self.reads += 1
        self.long_reads += long
        found = await self._database.read(sql, values, long)
        self.rows += len(found)
        return found

    async def transact(self, script: Callable[[Revision], Script[T]], makes_revision: bool = True) -> T:
        return await self._database.transact(script, makes_revision)

    def mark(self) -> Mark:
        return self._database.mark()

    def staleness(self, mark: Mark) -> Staleness:
        return self._database.staleness(mark)

    def find_changes(self, after: RevisionId, most: int) -> tuple[Mark, Rows] | None:
        before = self._database.statements
        found = self._database.find_changes(after, most)
        self.reads += self._database.statements - before
        return found

    def is_newest(self, mark: Mark) -> bool:
        return self._database.is_newest(mark)

    async def confirm_mark(self, mark: Mark) -> bool:
        before = self._database.statements
        confirmed = await self._database.confirm_mark(mark)
        self.reads += self._database.statements - before
        return confirmed

    def measure_lag(self, mark: Mark) -> float:
        return self._database.measure_lag(mark)

    def now(self) -> int:
        return self._database.now()

    async def synchronize_clock(self) -> None:
        await self._database.synchronize_clock()

    async def schema_version(self) -> SchemaVersion:
        return await self._database.schema_version()

    @property
    def is_writing(self) -> bool:
        return self._database.is_writing

    async def close(self) -> None:
        await self._database.close()


async def counting_store(url: str) -> tuple[SqlStore, CountingDatabase]:
    """A migrated store on a database that counts."""
    settings = read_settings({"database_url": url}, {})
    migrate_store(settings)
    opened = await open_store(settings)
    assert isinstance(opened, SqlStore)
    counting = CountingDatabase(opened.database)
    return SqlStore(counting, opened.identity), counting


def count_executed(step: Callable[[], T]) -> tuple[T, int]:
    """Returns what `step` returns, and how many instructions of the interpreter it executed. It takes a hundred times
    as long for it."""
    executed = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal executed
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        executed += event == "opcode"
        return trace

    former = sys.gettrace()
    sys.settrace(trace)
    try:
        return step(), executed
    finally:
        sys.settrace(former)
