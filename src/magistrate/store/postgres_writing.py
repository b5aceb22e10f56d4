"""Makes the writes of this process on PostgreSQL, those that wait together in one transaction.

Any number of processes may write to the same database: the lock is the row of `head`, which each transaction locks
first. A group is taken once the lock is held, so that whatever came meanwhile is among it. See
docs/decisions/0072-postgresql-commits-writes-in-groups.md."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar, cast

import psycopg

from magistrate.engine.terms import Revision
from magistrate.errors import OutcomeUnknown
from magistrate.store.database import Observer, Script
from magistrate.store.known_revisions import KnownRevisions, note_writes
from magistrate.store.postgres_connections import ConnectionPool, ConnectionUse, translate_error
from magistrate.store.postgres_pipeline import Connection, pipeline_of
from magistrate.store.postgres_transaction import GroupTransaction, QueuedWrite, WriteResult
from magistrate.store.recent_changes import RecentChanges

T = TypeVar("T")

WRITES_AT_ONCE = 64
"""Limits the writes that are committed together, so that the first of them need not wait long for the last."""

CLOSE_WITHIN_SECONDS = 1.0
"""Limits the wait for a group that is being written when the store is closed."""


class GroupWriter:
    """Runs the scripts of writes, one group at a time, on one connection of the pool. Each write is answered after the
    commit that it shares."""

    def __init__(self, pool: ConnectionPool, timeout_seconds: float, observer: Observer, known: KnownRevisions) -> None:
        self.statements = 0
        self.revisions = 0
        """Counts the writes that may have made a revision."""
        self.recent = RecentChanges()
        self._pool = pool
        self._timeout = timeout_seconds
        self._observer = observer
        self._known = known
        self._waiting: deque[QueuedWrite] = deque()
        self._group: list[QueuedWrite] = []
        self._use = ConnectionUse()
        self._is_committing = False
        self._head = Revision(0)
        self._task: asyncio.Task[None] | None = None

    async def transact(self, begin: Callable[[Revision], Script[T]], makes_revision: bool) -> T:
        """Implements Database.transact."""
        loop = asyncio.get_running_loop()
        write = QueuedWrite(begin, makes_revision, loop.create_future())
        self._waiting.append(write)
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._write_on())
        timer = loop.call_later(self._timeout, self._refuse, write)
        try:
            return cast(T, await write.result)
        except asyncio.CancelledError:
            self._break_off_if_unawaited()
            raise
        finally:
            timer.cancel()

    async def close(self) -> None:
        """Waits shortly for the group that is being written, and then breaks it off."""
        if self._task is not None and not self._task.done():
            await asyncio.wait({self._task}, timeout=CLOSE_WITHIN_SECONDS)
            self._use.break_off()
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=CLOSE_WITHIN_SECONDS)

    def _refuse(self, write: QueuedWrite) -> None:
        """Answers a write whose time is over. If it belongs to a group that is not being committed yet, the group is
        made without it."""
        if not write.result.done():
            is_unknown = self._is_committing and write in self._group
            write.result.set_exception(OutcomeUnknown() if is_unknown else translate_error(TimeoutError()))
            self._break_off_if_unawaited()

    def _break_off_if_unawaited(self) -> None:
        """Breaks a group off for which nobody waits any more; otherwise, a server that does not answer would hold up
        the next group."""
        if self._group and all(write.result.done() for write in self._group):
            self._use.break_off()

    async def _write_on(self) -> None:
        """Writes group after group until nobody waits."""
        while self._take_waiting():
            try:
                results = await self._write_group()
            except Exception as error:
                self._fail(error)
            except BaseException as error:  # the loop ends, and no caller may wait forever
                self._group += self._waiting
                self._waiting.clear()
                self._fail(error)
                raise
            else:
                self._answer(results)

    def _take_waiting(self) -> bool:
        """Adds waiting writes to the group, as far as it may grow. Returns whether it has any then."""
        self._group = [write for write in self._group if not write.result.done()]
        while self._waiting and len(self._group) < WRITES_AT_ONCE:
            if self._group and (self._group[0].is_alone or self._waiting[0].is_alone):
                break
            write = self._waiting.popleft()
            if not write.result.done():
                self._group.append(write)
        return bool(self._group)

    async def _write_group(self) -> list[WriteResult]:
        self._use = ConnectionUse()
        self._is_committing = False
        try:
            return await self._pool.attempt(self._write_once, lambda: not self._is_committing, self._use)
        finally:
            # What has changed must be seen by whoever asks once these writes are answered.
            self.revisions += any(write.makes_revision for write in self._group)

    async def _write_once(self, connection: Connection) -> list[WriteResult]:
        """Writes the group, and whatever came until the lock was held, in one transaction, and returns the results of
        the writes that are in the group then."""
        results: list[WriteResult] | None = None
        while results is None:
            self._is_committing = False
            transaction = GroupTransaction(pipeline_of(connection), self._observer)
            try:
                results = await self._run_group(transaction)
            except BaseException:
                if not connection.closed:
                    with suppress(psycopg.Error):  # a connection that is not idle is replaced
                        await transaction.roll_back()
                raise
            finally:
                self.statements += transaction.statements
        return results

    async def _run_group(self, transaction: GroupTransaction) -> list[WriteResult] | None:
        """Returns None if the time of a write ran out when it was a part of the transaction already: that is undone,
        and has to be begun anew without it."""
        if not self._take_waiting():
            return []
        await transaction.begin(self._group, self._head)
        if not self._take_waiting():
            await transaction.roll_back()
            return []
        results = await transaction.run(self._group)
        self._put_back(len(results))
        if any(write.was_refused for write in self._group) or all(result.error for result in results):
            await transaction.roll_back()
            return None if any(write.was_refused for write in self._group) else results
        self._observer("COMMIT")
        self._is_committing = True
        changes = transaction.list_changes((time.monotonic(), self.revisions + 1))
        await transaction.commit()
        self._head = transaction.head.revision
        note_writes(self._known, transaction.head_before, transaction.written)
        if any(write.makes_revision for write in self._group):
            self.recent.add(changes)
        return results

    def _put_back(self, accepted: int) -> None:
        """Lets the writes of the group wait on that the transaction did not accept."""
        self._waiting.extendleft(reversed(self._group[accepted:]))
        del self._group[accepted:]

    def _answer(self, results: list[WriteResult]) -> None:
        group, self._group = self._group, []
        for write, result in zip(group, results, strict=True):
            if write.result.done():
                continue
            if result.error is None:
                write.result.set_result(result.value)
            else:
                write.result.set_exception(result.error)

    def _fail(self, error: BaseException) -> None:
        """Answers a group that was not written. If the database has refused a statement, each write is tried again
        alone, so that only the one fails to which the statement belongs."""
        group, self._group = self._group, []
        translated = translate_error(error, is_unknown=self._is_committing)
        if len(group) > 1 and isinstance(translated, psycopg.Error):
            for write in group:
                write.is_alone = True
            self._waiting.extendleft(reversed(group))
        elif self._use.is_broken_off and not self._is_committing and isinstance(error, Exception):
            # Those who still wait joined a group that nobody waited for any more when it was broken off.
            self._waiting.extendleft(reversed(group))
        else:
            for write in group:
                if not write.result.done():
                    write.result.set_exception(translated)
