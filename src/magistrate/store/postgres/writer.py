"""Makes the writes of this process on PostgreSQL, those that wait together in one transaction.

Any number of processes may write to the same store: the lock is its row of `head`, which each transaction locks first.
Each store has a writer of its own. A group is taken once the lock is held, so that whatever came meanwhile is among it.
See docs/decisions/0072-postgresql-commits-writes-in-groups.md."""

import asyncio
import itertools
import time
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import msgspec
import psycopg

from magistrate.engine.names import Revision
from magistrate.errors import LimitReached, OutcomeUnknown, StoreDeleted
from magistrate.store.contract.database_use import HeadLocks
from magistrate.store.contract.revisions import KnownRevisions, Mark, RevisionId, note_writes
from magistrate.store.database import (
    Compute,
    Execute,
    FindTogether,
    Observer,
    Row,
    Rows,
    ScriptStart,
    Select,
    Step,
)
from magistrate.store.group_spans import GroupRecording
from magistrate.store.postgres.connections import ConnectionPool, ConnectionUse, translate_error
from magistrate.store.postgres.group_plan import KEYS_AT_ONCE, SECONDS_AT_ONCE, GroupPlan, PlanOutcome
from magistrate.store.postgres.heads import FollowedHead
from magistrate.store.postgres.pipeline import (
    STATEMENTS_AT_ONCE,
    Connection,
    OtherSession,
    Statement,
    StatementPipeline,
    pipeline_of,
)
from magistrate.store.postgres.planner_statistics import PlannerStatistics
from magistrate.store.postgres.recent_changes import MAX_ROWS, GroupChanges, RecentChanges, RecentGroups
from magistrate.store.scripts.heads import NO_HEAD, read_head
from magistrate.store.scripts.script_runs import (
    WRITES_AT_ONCE,
    LookupMemo,
    MissingLookups,
    QueuedWrite,
    ScriptRun,
    WriteResult,
)
from magistrate.store.sql.dialect import (
    COMMIT,
    RELEASE,
    ROLL_BACK,
    ROLL_BACK_TO_SAVEPOINT,
    SAVEPOINT,
    Parameter,
    bind_store,
)
from magistrate.store.sql.head import LOCK_HEAD, MOVE_HEAD, OPEN_HEAD
from magistrate.store.sql.insertions import join_insertions
from magistrate.store.sql.postgres import BEGIN_WRITE, CONTROL, READ_WAIT, find_each, number_placeholders

WRITES_IN_A_PLAN = 512
"""Limits the writes that are committed together if their scripts run before the head is locked, so that the first of
them need not wait long for the last."""
PLANS_AT_MOST = 3
"""Limits how often the head may be locked by others, or changed, before the lock is waited for, within which the
scripts run then."""
REVISIONS_OF_OTHERS = 65_536
"""Sets how much further than the last group of this process its next one counts from, if others write as well: what
they wrote meanwhile is less, so that the scripts need not be begun anew when it is read."""


class GroupTransaction:
    """Runs the scripts of writes as one transaction: `begin`, `run`, and then `commit` or `roll_back`.

    Statements that return nothing are kept until rows are needed or the transaction is committed, and are sent then,
    all in one round trip. A write that raises before its first statement is sent has therefore done nothing; only one
    that reads what it has changed itself needs a savepoint."""

    def __init__(self, pipeline: StatementPipeline, store: int, observer: Observer) -> None:
        self._pipeline = pipeline
        self._store = store
        self._observer = observer
        self._memo = LookupMemo()
        self._ahead: dict[QueuedWrite, ScriptRun[Any]] = {}
        self._unsent: list[Statement] = []
        self.head = self._sent_head = self.head_before = NO_HEAD
        """Are the head of the store as this transaction sees it, what it has sent of it, and what it began with."""
        self.written: list[RevisionId] = []
        """Has the revisions that this transaction makes, in order."""
        self._model_revision = Revision(0)
        self._logged: list[Row] | None = []
        self._keys = 0
        self._yielded_at = time.monotonic()
        self.locked_at = 0.0
        """Is the monotonic time from which on the head may have been locked; the way of the statement to the server
        counts as well."""
        self.statements = 0
        """Counts what the scripts run, without what begins and ends the transaction."""
        self._recording: GroupRecording | None = None

    def record(self, writes: Iterable[QueuedWrite]) -> None:
        """Begins to record what runs, if one of these writes is sampled."""
        if self._recording is None and any(write.wait_span is not None for write in writes):
            self._recording = GroupRecording()

    def end_recording(self, writes: Sequence[QueuedWrite], error: BaseException | None = None) -> None:
        """Exports what was recorded, given the writes that shared the transaction, and why it was undone."""
        if self._recording is not None:
            self._recording.export(writes, error)

    async def begin(self, writes: Iterable[QueuedWrite], expected: Revision) -> float:
        """Begins the transaction, and looks up in the same round trip what these writes look up first. `expected` is
        likely to be the newest revision. Returns the seconds for which the server waited for the lock."""
        await self._run_ahead(writes, expected)
        first, sent_at = [(BEGIN_WRITE, ()), self._bind(LOCK_HEAD), (READ_WAIT, ())], time.monotonic()
        _, rows, [(waited_us,)] = await self._look_up(self._ahead.values(), first)
        if not rows:
            raise StoreDeleted
        self.head = self._sent_head = self.head_before = read_head(rows[0])
        self._model_revision = Revision(rows[0][3])
        waited = float(waited_us) / 1_000_000
        self.locked_at = min(sent_at + waited, time.monotonic())
        return waited

    async def run(self, writes: Sequence[QueuedWrite]) -> list[WriteResult]:
        """Runs the writes, or as many of the first as one transaction takes, each after the newest revision that those
        before it have made. Raises errors of the database only; they leave the transaction fit for nothing but
        `roll_back`. If the only write has failed, its transaction has to be rolled back as well."""
        await self._run_ahead((write for write in writes if write not in self._ahead), self.head.newest.revision)
        while any(run.list_missing() for run in self._ahead.values()):
            await self._look_up(self._ahead.values())
        accepted = [write for write in writes if write in self._ahead]
        results = [await self._run_next(write, needs_savepoint=len(accepted) > 1) for write in accepted]
        if len(self._unsent) >= STATEMENTS_AT_ONCE:
            await self._send([])
        return results

    async def commit(self) -> None:
        await self._send([(COMMIT, ())])

    def list_changes(self, mark: Mark) -> GroupChanges:
        """Returns what the transaction changes, given a mark that was taken while it was open."""
        logged = self._logged if self._logged is None or len(self._logged) <= MAX_ROWS else None
        return GroupChanges(self.head_before.newest, self.head.newest, self._model_revision, changes=logged, mark=mark)

    async def roll_back(self) -> None:
        await self._pipeline.run_alone(ROLL_BACK, ())

    async def _run_ahead(self, writes: Iterable[QueuedWrite], head: Revision) -> None:
        """Runs scripts as far as they come, each as if all before it had run, until they look up enough."""
        if self._ahead:
            write, run = next(reversed(self._ahead.items()))
            head = Revision(run.head + write.makes_revision)
        for write in writes:
            if self._keys >= KEYS_AT_ONCE:
                break
            run = self._ahead[write] = ScriptRun(write.begin, head, self._memo, self._observer)
            self._keys += sum(map(len, run.list_missing().values()))
            head = Revision(head + write.makes_revision)
            await self._yield_if_long()

    async def _yield_if_long(self) -> None:
        """Lets others run if nothing has been waited for recently."""
        if time.monotonic() - self._yielded_at > SECONDS_AT_ONCE:
            await asyncio.sleep(0)
            self._yielded_at = time.monotonic()

    async def _look_up(self, runs: Collection[ScriptRun[Any]], first: Sequence[Statement] = ()) -> list[Rows]:
        """Runs these statements, and then looks up what the runs wait for, in one round trip. Returns the rows of the
        former."""
        missing = MissingLookups(runs).keys
        results = await self._send([*first, *itertools.starmap(self._find, missing.items())])
        for (statement, keys), rows in zip(missing.items(), results[len(first) :], strict=True):
            self._memo.remember(statement, keys, rows)
        for run in runs:
            run.advance()
            await self._yield_if_long()
        return results[: len(first)]

    async def _run_next(self, write: QueuedWrite, needs_savepoint: bool) -> WriteResult:
        run = self._ahead[write]
        newest = self.head.newest.revision
        if not run.counts(newest):
            run = ScriptRun(write.begin, newest, self._memo, self._observer)
        await self._finish(run, needs_savepoint)
        if run.error is None:
            await self._keep(run)
        await self._yield_if_long()
        return WriteResult(write, run.value, run.error)

    async def _keep(self, run: ScriptRun[Any]) -> None:
        """Makes what a run has changed a part of the transaction."""
        self._unsent += self._statements_of(run.take_executes())
        if run.move is not None:
            self.head = self.head.move(run.move)
            self.written.append(run.move.newest)
        self._memo.apply(run.changed)
        if self._logged is not None:
            is_all = not (run.moves_model or run.may_change_all)
            self._logged = [*self._logged, *run.logged] if is_all else None
        if run.may_change_all:
            self._memo.invalidate_all()
            [[row]] = await self._send([self._bind(OPEN_HEAD)])
            self.head = self._sent_head = read_head(row)

    async def _finish(self, run: ScriptRun[Any], needs_savepoint: bool) -> None:
        """Runs the rest of a script that has to wait for the database while it runs, and ends one as failed that
        exceeds a limit of the store."""
        has_savepoint = False
        while run.step is not None:
            if run.list_missing():
                await self._look_up([run])
                continue
            if run.executes and needs_savepoint and not has_savepoint:
                self._queue_head()
                self._unsent.append((SAVEPOINT, ()))
                has_savepoint = True
            self._unsent += self._statements_of(run.take_executes())
            run.answer(await self._perform(run.step))
        if run.move is not None and run.error is None:
            try:
                self.head.check_limits(run.move)
            except LimitReached as error:
                run.error = error
        if has_savepoint:
            self._unsent += [(ROLL_BACK_TO_SAVEPOINT, ())] * (run.error is not None) + [(RELEASE, ())]

    async def _perform(self, step: Step) -> list[Rows]:
        """Runs what is unsent, and then a step that takes the database."""
        if isinstance(step, Select):
            return await self._send([self._bind(step.sql, values, step.store) for values in step.values])
        if isinstance(step, FindTogether):
            finds = [find for find in step.finds if find.keys]
            rows = iter(await self._send([self._find(find.statement, find.keys) for find in finds]))
            return [next(rows) if find.keys else [] for find in step.finds]
        await self._send([])
        if isinstance(step, Compute):
            await asyncio.to_thread(step.run)
        return []

    def _queue_head(self) -> None:
        if self.head != self._sent_head:
            self._unsent.append(self._bind(MOVE_HEAD, self.head.values_after(self._sent_head)))
            self._sent_head = self.head

    async def _send(self, statements: Sequence[Statement]) -> list[Rows]:
        """Runs what is unsent, and then these statements; returns the rows of the latter."""
        self._queue_head()
        unsent, self._unsent = self._unsent, []
        everything = [*unsent, *statements]
        self.statements += sum(text not in CONTROL for text, _ in everything)
        if self._recording is None:
            results = await self._pipeline.run(everything)
        else:
            with self._recording.run_batch([number_placeholders(text) for text, _ in everything]):
                results = await self._pipeline.run(everything)
        self._yielded_at = time.monotonic()
        return results[len(unsent) :]

    def _bind(self, statement: str, values: tuple[Parameter, ...] = (), store: int | None = None) -> Statement:
        """Returns a statement for a store, or the one that is written to."""
        return statement, bind_store(statement, store or self._store, values)

    def _find(self, statement: str, keys: Collection[tuple[str, ...]]) -> Statement:
        return self._bind(find_each(statement), (msgspec.json.encode(list(keys)).decode(),))

    def _statements_of(self, executes: Iterable[Execute]) -> Iterator[Statement]:
        """Yields the statements of these steps, in order."""
        for step in executes:
            for statement, rows in join_insertions(step.sql, step.values):
                yield from (self._bind(statement, values, step.store) for values in rows)


T = TypeVar("T")

CLOSE_WITHIN_SECONDS = 1.0
"""Limits the wait for a group that is being written when the store is closed."""


@dataclass(slots=True)
class WriterResources:
    """Holds what the writers of all stores in a database share. `statements` counts those that they have run."""

    pool: ConnectionPool
    timeout_seconds: float
    observer: Observer
    statistics: PlannerStatistics
    recent: RecentGroups = field(default_factory=RecentGroups)
    head_locks: HeadLocks = field(default_factory=HeadLocks)
    statements: int = 0


class GroupWriter:
    """Runs the scripts of writes to one store, one group at a time, on one connection of the pool. Each write is
    answered after the commit that it shares."""

    def __init__(self, shared: WriterResources, store: int, revisions: KnownRevisions, head: FollowedHead) -> None:
        self.revisions = 0
        """Counts the writes that may have made a revision."""
        self.recent = RecentChanges(shared.recent)
        self._shared = shared
        self._store = store
        self._known = revisions
        self._followed_head = head
        self._waiting: deque[QueuedWrite] = deque()
        self._group: list[QueuedWrite] = []
        self._use = ConnectionUse()
        self._is_committing = False
        self._is_counted = False
        """Says whether `revisions` counts the group already."""
        self._head = Revision(0)
        self._has_others = False
        """Says whether other processes wrote between the last groups."""
        self._task: asyncio.Task[None] | None = None

    async def transact(self, begin: ScriptStart[T], makes_revision: bool) -> T:
        """Implements Database.transact."""
        loop = asyncio.get_running_loop()
        write = QueuedWrite(begin, self._store, self._known, loop.create_future(), makes_revision=makes_revision)
        self._waiting.append(write)
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._write_on())
        timer = loop.call_later(self._shared.timeout_seconds, self._refuse, write)
        try:
            return cast(T, await write.wait())
        except asyncio.CancelledError:
            self._break_off_if_unawaited()
            raise
        finally:
            timer.cancel()

    @property
    def is_writing(self) -> bool:
        return self._task is not None and not self._task.done()

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
        """Breaks a group off for which nobody waits any more; otherwise, a server that does not answer would delay
        the next group."""
        if self._group and all(write.result.done() for write in self._group):
            self._use.break_off()

    async def _write_on(self) -> None:
        """Writes group after group until nobody waits."""
        while self._take_waiting(WRITES_IN_A_PLAN):
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
                self._group = []
                for result in results:
                    result.answer()

    def _take_waiting(self, most: int = WRITES_AT_ONCE) -> bool:
        """Adds waiting writes to the group, as far as it may grow. Returns whether it has any then."""
        self._group = [write for write in self._group if not write.result.done()]
        while self._waiting and len(self._group) < most:
            if self._group and (self._group[0].is_alone or self._waiting[0].is_alone):
                break
            write = self._waiting.popleft()
            if not write.result.done():
                self._group.append(write)
        return bool(self._group)

    async def _write_group(self) -> list[WriteResult]:
        self._use = ConnectionUse()
        self._is_committing = self._is_counted = False
        try:
            return await self._shared.pool.attempt(self._write_once, lambda: not self._is_committing, self._use)
        finally:
            # What has changed must be seen by all who read once these writes are answered.
            self.revisions += not self._is_counted and any(write.makes_revision for write in self._group)

    async def _write_once(self, connection: Connection) -> list[WriteResult]:
        """Writes the group, and whatever came until the lock was held, in one transaction, and returns the results of
        the writes that are in the group then."""
        results = await self._write_planned(connection)
        self._put_back(WRITES_AT_ONCE if results is None else len(self._group))
        while results is None:
            self._is_committing = False
            transaction = GroupTransaction(pipeline_of(connection), self._store, self._shared.observer)
            try:
                results = await self._run_group(transaction)
            except BaseException as error:
                transaction.end_recording(self._group, error)
                if not connection.closed:
                    with suppress(psycopg.Error):  # a connection that is not idle is replaced
                        await transaction.roll_back()
                if not isinstance(error, OtherSession):
                    raise
            finally:
                self._shared.statements += transaction.statements
        return results

    async def _write_planned(self, connection: Connection) -> list[WriteResult] | None:
        """Writes the first of the group, or all of it, without running scripts while the head is locked. Returns None
        if that cannot be done."""
        waited, plan = 0.0, None
        for _ in range(PLANS_AT_MOST):
            if plan is None or any(write.result.done() for write in plan.writes):
                plan = await self._plan(connection)
            if not plan.writes:
                return None if self._group else []
            self._put_back(len(plan.writes))
            if not plan.has_changes:
                if plan.recording is not None:
                    plan.recording.export(plan.writes)
                self._note_recent(plan.list_changes((plan.began_at, self.revisions + 1)))
                return plan.list_results()
            outcome = await self._commit(plan, connection)
            if outcome is PlanOutcome.COMMITTED:
                self._shared.head_locks.waits.count(waited)
                return plan.list_results()
            if outcome is PlanOutcome.CHANGED:
                plan = None
                continue
            began_at = time.monotonic()
            # The lock is released at once: what is done with it has to be sent together.
            await pipeline_of(connection).run_alone(LOCK_HEAD, bind_store(LOCK_HEAD, self._store, ()))
            waited += time.monotonic() - began_at
        return None

    async def _plan(self, connection: Connection) -> GroupPlan:
        """Plans the writes that wait; none if the first needs the lock."""
        while True:
            self._take_waiting(WRITES_IN_A_PLAN)
            ahead = REVISIONS_OF_OTHERS if self._has_others else 0
            expected = Revision(self._head + ahead)
            plan = GroupPlan(pipeline_of(connection), self._store, self._shared.observer, expected)
            if not self._group:
                return plan
            if any(write.wait_span is not None for write in self._group):
                plan.recording = GroupRecording()
            with suppress(OtherSession):
                await plan.prepare(self._group)
                if not any(write.result.done() for write in plan.writes):
                    return plan

    async def _commit(self, plan: GroupPlan, connection: Connection) -> PlanOutcome:
        self._shared.observer(COMMIT)
        self._is_committing = True
        began_at = time.monotonic()
        mark = (began_at, self.revisions + 1)
        try:
            outcome = await plan.commit()
        except BaseException as error:
            # An error of a statement says that nothing was committed.
            self._is_committing = not (isinstance(error, psycopg.Error) and error.diag.severity_nonlocalized == "ERROR")
            if plan.recording is not None:
                plan.recording.export(plan.writes, error)
            if not connection.closed:
                with suppress(psycopg.Error):  # a connection that is not idle is replaced
                    await pipeline_of(connection).run_alone(ROLL_BACK, ())
            if isinstance(error, OtherSession):
                return PlanOutcome.CHANGED
            raise
        finally:
            self._shared.statements += plan.statements
            plan.statements = 0
        if outcome is not PlanOutcome.LOCKED:
            self._shared.head_locks.holds.count(time.monotonic() - began_at)
        if outcome is PlanOutcome.COMMITTED:
            self._note_commit(plan, mark)
        else:
            self._is_committing = False
        return outcome

    def _note_commit(self, plan: GroupPlan, mark: Mark) -> None:
        if plan.recording is not None:
            plan.recording.export(plan.writes)
        self._shared.statistics.note_statements(plan.rows)
        self._has_others = plan.head_before.newest.revision != self._head
        self._head = plan.head.newest.revision
        note_writes(self._known, plan.head_before.newest, plan.written)
        self._note_recent(plan.list_changes(mark))
        self._followed_head.note_write(plan.head.newest, mark)

    def _note_recent(self, changes: GroupChanges) -> None:
        """Notes what a planned group has changed. Its mark is older than the lock: the group is counted at once, which
        makes the marks stale that others have taken since then."""
        self.revisions += 1
        self._is_counted = True
        self.recent.add(changes)

    async def _run_group(self, transaction: GroupTransaction) -> list[WriteResult] | None:
        """Returns None if the time of a write ran out when it was a part of the transaction already: that is undone,
        and has to be begun again without it."""
        if not self._take_waiting():
            return []
        transaction.record(self._group)
        locks = self._shared.head_locks
        locks.waits.count(await transaction.begin(self._group, self._head))
        try:
            return await self._run_locked(transaction)
        finally:
            locks.holds.count(time.monotonic() - transaction.locked_at)

    async def _run_locked(self, transaction: GroupTransaction) -> list[WriteResult] | None:
        if not self._take_waiting():
            await transaction.roll_back()
            return []
        transaction.record(self._group)
        results = await transaction.run(self._group)
        self._put_back(len(results))
        if any(write.was_refused for write in self._group) or all(result.error for result in results):
            await transaction.roll_back()
            return None if any(write.was_refused for write in self._group) else results
        self._shared.observer(COMMIT)
        self._is_committing = True
        changes = transaction.list_changes((time.monotonic(), self.revisions + 1))
        await transaction.commit()
        transaction.end_recording(self._group)
        self._shared.statistics.note_statements(transaction.statements)
        self._head = transaction.head.newest.revision
        note_writes(self._known, transaction.head_before.newest, transaction.written)
        if any(write.makes_revision for write in self._group):
            self.recent.add(changes)
            self._followed_head.note_write(changes.newest, changes.mark)
        return results

    def _put_back(self, accepted: int) -> None:
        """Lets the writes of the group wait on that the transaction did not accept."""
        self._waiting.extendleft(reversed(self._group[accepted:]))
        del self._group[accepted:]

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
                WriteResult(write, error=translated).answer()
