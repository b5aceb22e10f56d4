"""Runs the scripts of a group of writes in one transaction of PostgreSQL, one after another.

It begins by locking the row of `head`, so that no other writer, in whatever process, does anything until its end."""

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from magistrate.engine.terms import Revision
from magistrate.store import sql
from magistrate.store.database import Compute, Execute, Find, FindTogether, Observer, Row, Rows, Script, Select, Step
from magistrate.store.following import Mark
from magistrate.store.insertions import join_insertions
from magistrate.store.known_revisions import NOTHING_WRITTEN, RevisionId
from magistrate.store.postgres_pipeline import STATEMENTS_AT_ONCE, Statement, StatementPipeline
from magistrate.store.postgres_statements import find_each
from magistrate.store.recent_changes import MOST_ROWS, GroupChanges
from magistrate.store.script_runs import LookupMemo, ScriptRun, finds_of

# Said with each BEGIN: a stricter default of the database would make writers that wait for the head fail.
BEGIN_TRANSACTION = "BEGIN ISOLATION LEVEL READ COMMITTED"

SAVEPOINT, ROLL_BACK, RELEASE = "SAVEPOINT one_write", "ROLLBACK TO SAVEPOINT one_write", "RELEASE SAVEPOINT one_write"


KEYS_AT_ONCE = 2_000
"""Limits the keys that the writes of a group look up first: one that exceeds it is the last, so that writes of many
elements do not make others wait long."""

SECONDS_AT_ONCE = 0.002
"""Limits how long scripts run before other requests may."""

_CONTROL = frozenset((BEGIN_TRANSACTION, sql.LOCK_HEAD, SAVEPOINT, ROLL_BACK, RELEASE, "COMMIT"))


@dataclass(slots=True, eq=False)
class QueuedWrite:
    """Represents a write that waits for its turn: how its script is begun, and the future on which its caller waits. A
    write that `is_alone` shares its transaction with no other."""

    begin: Callable[[Revision], Script[Any]]
    makes_revision: bool
    result: asyncio.Future[Any]
    is_alone: bool = False

    @property
    def was_refused(self) -> bool:
        """Returns whether the caller was told that the write was not made."""
        return self.result.done() and not self.result.cancelled()


@dataclass(frozen=True, slots=True)
class WriteResult:
    """Holds what a script returned, or what it raised."""

    value: Any
    error: Exception | None


class GroupTransaction:
    """Runs the scripts of writes as one transaction: `begin`, `run`, and then `commit` or `roll_back`.

    Statements that return nothing are kept until rows are needed or the transaction is committed, and are sent then,
    all in one round trip. A write that raises before its first statement is sent has therefore done nothing; only one
    that reads what it has changed itself needs a savepoint."""

    def __init__(self, pipeline: StatementPipeline, observer: Observer) -> None:
        self._pipeline = pipeline
        self._observer = observer
        self._memo = LookupMemo()
        self._ahead: dict[QueuedWrite, ScriptRun[Any]] = {}
        self._unsent: list[Statement] = []
        self.head = self._sent_head = NOTHING_WRITTEN
        """Are the newest revision, as this transaction sees it, and what it has sent of it."""
        self.head_before = NOTHING_WRITTEN
        self.written: list[RevisionId] = []
        """Has the revisions that this transaction makes, in order."""
        self._model_revision = Revision(0)
        self._logged: list[Row] | None = []
        self._keys = 0
        self._yielded_at = time.monotonic()
        self.statements = 0
        """Counts what the scripts run, without what begins and ends the transaction."""

    async def begin(self, writes: Iterable[QueuedWrite], expected: Revision) -> None:
        """Begins the transaction, and looks up in the same round trip what these writes look up first. `expected` is
        likely to be the newest revision."""
        await self._run_ahead(writes, expected)
        _, [(head, _, bits, model)] = await self._look_up(
            self._ahead.values(), [(BEGIN_TRANSACTION, ()), (sql.LOCK_HEAD, ())]
        )
        self.head = self._sent_head = self.head_before = RevisionId(Revision(head), bits)
        self._model_revision = Revision(model)

    async def run(self, writes: Sequence[QueuedWrite]) -> list[WriteResult]:
        """Runs the writes, or as many of the first as one transaction takes, each after the newest revision that those
        before it have made. Raises errors of the database only; they leave the transaction fit for nothing but
        `roll_back`. If the only write has failed, its transaction has to be rolled back as well."""
        await self._run_ahead((write for write in writes if write not in self._ahead), self.head.revision)
        while any(run.list_missing() for run in self._ahead.values()):
            await self._look_up(self._ahead.values())
        accepted = [write for write in writes if write in self._ahead]
        results = [await self._run_next(write, needs_savepoint=len(accepted) > 1) for write in accepted]
        if len(self._unsent) >= STATEMENTS_AT_ONCE:
            await self._send([])
        return results

    async def commit(self) -> None:
        await self._send([("COMMIT", ())])

    def list_changes(self, mark: Mark) -> GroupChanges:
        """Returns what the transaction changes, given a mark that was taken while it was open."""
        logged = self._logged if self._logged is None or len(self._logged) <= MOST_ROWS else None
        return GroupChanges(self.head_before, self.head, self._model_revision, logged, mark)

    async def roll_back(self) -> None:
        await self._pipeline.run([("ROLLBACK", ())])

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
        """Lets others run if nothing has been waited for lately."""
        if time.monotonic() - self._yielded_at > SECONDS_AT_ONCE:
            await asyncio.sleep(0)
            self._yielded_at = time.monotonic()

    async def _look_up(self, runs: Collection[ScriptRun[Any]], first: Sequence[Statement] = ()) -> list[Rows]:
        """Runs these statements, and then looks up what the runs wait for, in one round trip. Returns the rows of the
        former."""
        wanted: dict[str, dict[tuple[str, ...], None]] = {}
        for run in runs:
            for statement, keys in run.list_missing().items():
                wanted.setdefault(statement, {}).update(dict.fromkeys(keys))
        found = await self._send([*first, *(_find(one, keys) for one, keys in wanted.items())])
        for (statement, keys), rows in zip(wanted.items(), found[len(first) :], strict=True):
            self._memo.remember(statement, keys, rows)
        for run in runs:
            run.advance()
            await self._yield_if_long()
        return found[: len(first)]

    async def _run_next(self, write: QueuedWrite, needs_savepoint: bool) -> WriteResult:
        run = self._ahead[write]
        if not run.counts(self.head.revision):
            run = ScriptRun(write.begin, self.head.revision, self._memo, self._observer)
        if run.step is not None:
            await self._finish(run, needs_savepoint)
        if run.error is None:
            await self._keep(run)
        await self._yield_if_long()
        return WriteResult(run.value, run.error)

    async def _keep(self, run: ScriptRun[Any]) -> None:
        """Makes what a run has changed a part of the transaction."""
        self._unsent += _statements_of(run.take_executes())
        if run.written is not None:
            self.head = run.written
            self.written.append(run.written)
        self._memo.invalidate(run.changed)
        if self._logged is not None:
            is_all = not (run.moves_model or run.may_change_all)
            self._logged = [*self._logged, *run.logged] if is_all else None
        if run.may_change_all:
            self._memo.invalidate_all()
            [[(head, _, bits)]] = await self._send([(sql.READ_HEAD, ())])
            self.head = self._sent_head = RevisionId(Revision(head), bits)

    async def _finish(self, run: ScriptRun[Any], needs_savepoint: bool) -> None:
        """Runs the rest of a script that has to wait for the database in its turn."""
        has_savepoint = False
        while run.step is not None:
            if run.list_missing():
                await self._look_up([run])
                continue
            if run.executes and needs_savepoint and not has_savepoint:
                self._queue_head()
                self._unsent.append((SAVEPOINT, ()))
                has_savepoint = True
            self._unsent += _statements_of(run.take_executes())
            run.answer(await self._perform(run.step))
        if has_savepoint:
            self._unsent += [(ROLL_BACK, ())] * (run.error is not None) + [(RELEASE, ())]

    async def _perform(self, step: Step) -> list[Rows]:
        """Runs what is unsent, and then a step that takes the database."""
        if isinstance(step, Select):
            return await self._send([(step.sql, values) for values in step.values])
        if isinstance(step, Find | FindTogether):
            finds = [find for find in finds_of(step) if find.keys]
            rows = iter(await self._send([_find(find.one, find.keys) for find in finds]))
            return [next(rows) if find.keys else [] for find in finds_of(step)]
        await self._send([])
        if isinstance(step, Compute):
            await asyncio.to_thread(step.run)
        return []

    def _queue_head(self) -> None:
        if self.head != self._sent_head:
            self._unsent.append((sql.MOVE_HEAD, (*self.head, self.head.revision)))
            self._sent_head = self.head

    async def _send(self, statements: Sequence[Statement]) -> list[Rows]:
        """Runs what is unsent, and then these statements; returns the rows of the latter."""
        self._queue_head()
        unsent, self._unsent = self._unsent, []
        everything = [*unsent, *statements]
        self.statements += sum(text not in _CONTROL for text, _ in everything)
        found = await self._pipeline.run(everything)
        self._yielded_at = time.monotonic()
        return found[len(unsent) :]


def _find(one: str, keys: Collection[tuple[str, ...]]) -> Statement:
    return find_each(one), (msgspec.json.encode(list(keys)).decode(),)


def _statements_of(executes: Iterable[Execute]) -> Iterator[Statement]:
    """Yields the statements of these steps, in order."""
    for step in executes:
        for statement, rows in join_insertions(step.sql, step.values):
            yield from ((statement, values) for values in rows)
