"""Runs the scripts of a group of writes before the head of their store is locked.

What they read is read first, and the head before that. All that they write is then sent at once: the lock of the head,
if nobody has it, the statement that moves it if nothing has changed that they read, the rows, and the commit. No
Python runs while the head is locked. See docs/decisions/0121-scripts-run-before-the-head-is-locked.md."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from enum import Enum
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec

from magistrate.engine.names import Revision
from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import StoreDeleted
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import MAX_WARRANTS_IN_A_WRITE
from magistrate.store.contract.revisions import Mark, RevisionId
from magistrate.store.contract.store import WriteCounts
from magistrate.store.contract.stored_rows import StoredObject
from magistrate.store.database import Observer, Row, Rows
from magistrate.store.group_spans import GroupRecording
from magistrate.store.postgres.joined_writes import JoinedWrites, encode_array, is_joinable
from magistrate.store.postgres.pipeline import Statement, StatementPipeline
from magistrate.store.postgres.recent_changes import MAX_ROWS, GroupChanges
from magistrate.store.scripts.heads import NO_HEAD, HeadMove, StoreHead, read_head
from magistrate.store.scripts.script_runs import LookupMemo, MissingLookups, QueuedWrite, ScriptRun, WriteResult
from magistrate.store.sql.dialect import COMMIT, Parameter, bind_store
from magistrate.store.sql.head import LOCK_FREE_HEAD, OPEN_HEAD
from magistrate.store.sql.joined import FIXED, MOVE_HEAD_IF_UNCHANGED, PARAMETERS, STORED_NUMBER
from magistrate.store.sql.models import FIND_PATTERN, NAMED_POLICY, OBJECT_TYPE
from magistrate.store.sql.objects import OBJECT
from magistrate.store.sql.postgres import BEGIN_WRITE, CONTROL, find_each, number_placeholders
from magistrate.store.sql.warrants import WARRANT

KEYS_AT_ONCE = 2_000
"""Limits the keys that the writes of a group look up first: one that exceeds it is the last, so that writes of many
elements do not make others wait long."""
SECONDS_AT_ONCE = 0.002
"""Limits how long scripts run before other requests may."""

_LOGGED = {OBJECT.find: "object", WARRANT.find: "warrant"}
"""Has the lookups whose changes are in the change log, by the kind that they have there."""
_STATEMENT_OF = itemgetter(0)
_OF_MODEL = frozenset((OBJECT_TYPE.find, NAMED_POLICY.find, FIND_PATTERN))
"""Has those that find the same while the head has the same model revision."""
_MOVABLE = _OF_MODEL.union(_LOGGED)
_NO_REVISION = 2**63 - 1


class PlanOutcome(Enum):
    """Says what became of a plan: the head was locked by others, or something has changed, and nothing was done."""

    COMMITTED = "committed"
    LOCKED = "locked"
    CHANGED = "changed"


class _PlannedRun(NamedTuple):
    """Holds a run that is a part of the group, and the write that it belongs to."""

    write: QueuedWrite
    run: ScriptRun[Any]


class GroupPlan:
    """Prepares a group: `prepare`, and then `commit`, again and again while the head is locked by others.

    The runs count from the revision `origin`. If the head is at another one when it is locked, the revisions of all
    rows and results are moved by the difference."""

    def __init__(self, pipeline: StatementPipeline, store: int, observer: Observer, expected: Revision) -> None:
        self._pipeline = pipeline
        self._store = store
        self._observer = observer
        self._memo = LookupMemo()
        self._origin = expected
        self._base: StoreHead = NO_HEAD
        self._base_row: Row = ()
        self._kept: list[_PlannedRun] = []
        self._moves: list[HeadMove] = []
        self._is_fixed = False
        """Says whether the revisions cannot be moved."""
        self._sent: Sequence[Statement] = ()
        self.began_at = self._yielded_at = time.monotonic()
        self.head = self.head_before = NO_HEAD
        """Are the heads after and before the group, once it is committed."""
        self.written: list[RevisionId] = []
        self.logged: list[Row] = []
        self.statements = 0
        self.rows = 0
        self.recording: GroupRecording | None = None

    @property
    def writes(self) -> Sequence[QueuedWrite]:
        """Returns the writes that are a part of the group."""
        return [kept.write for kept in self._kept]

    @property
    def has_changes(self) -> bool:
        return bool(self._moves)

    async def prepare(self, writes: Sequence[QueuedWrite]) -> None:
        """Runs the first of these writes, as far as they can be run before the head is locked."""
        runs, missing = self._begin(writes)
        await self._look_up(missing, is_first=True)
        if self._base.newest.revision > self._origin:
            self._origin = self._base.newest.revision
            runs, _ = self._begin(writes[: len(runs)])
        await self._run_all(writes, runs)
        if self._is_fixed and self._origin != self._base.newest.revision:
            self._origin = self._base.newest.revision
            self._memo.undo_changes()
            self._kept, self._moves = [], []
            runs, _ = self._begin(writes[: len(runs)])
            await self._run_all(writes, runs)
        if self.has_changes:
            self._sent = [statement async for statement in self._build()]
        elif await self._send([self._bind(OPEN_HEAD)]) != [[self._base_row]]:
            self._kept = []  # what the scripts have read may never have been there at once
        else:
            self.head = self.head_before = self._base

    async def commit(self) -> PlanOutcome:
        """Commits the group, if the head is free and nothing has changed that its scripts have read."""
        first: list[Statement] = [(BEGIN_WRITE, ()), self._bind(LOCK_FREE_HEAD), self._move_head()]
        results = await self._send([*first, *self._sent, (COMMIT, ())])
        if not results[1]:
            return PlanOutcome.LOCKED
        if not results[2]:
            return PlanOutcome.CHANGED
        self.head_before = read_head(results[1][0])
        distance = self.head_before.newest.revision - self._origin
        self.head = self.head_before
        for kept in self._kept:
            move = kept.run.move
            if kept.run.error is None and move is not None:
                newest = RevisionId(Revision(move.newest.revision + distance), move.newest.bits)
                self.head = self.head.move(move._replace(newest=newest))
                self.written.append(newest)
                self.logged += ((row[0] + distance, *row[1:]) for row in kept.run.logged)
        return PlanOutcome.COMMITTED

    def list_changes(self, mark: Mark) -> GroupChanges:
        """Returns what the group has changed, given a mark that is not younger than the lock."""
        logged = self.logged if len(self.logged) <= MAX_ROWS else None
        model_revision = Revision(self._base_row[3])
        return GroupChanges(self.head_before.newest, self.head.newest, model_revision, changes=logged, mark=mark)

    def list_results(self) -> list[WriteResult]:
        """Returns what each write returned or raised."""
        distance = self.head_before.newest.revision - self._origin if self.has_changes else 0
        if not distance:
            return [WriteResult(write, run.value, run.error) for write, run in self._kept]
        first = (self._origin + 1) * MAX_WARRANTS_IN_A_WRITE
        return [WriteResult(write, _move_value(run.value, distance, first), run.error) for write, run in self._kept]

    def _begin(self, writes: Sequence[QueuedWrite]) -> tuple[list[ScriptRun[Any]], MissingLookups]:
        """Returns the runs of the first of these writes, and what they have to look up."""
        runs: list[ScriptRun[Any]] = []
        head, missing = self._origin, MissingLookups()
        for write in writes:
            if len(missing) >= KEYS_AT_ONCE:
                break
            run: ScriptRun[Any] = ScriptRun(write.begin, head, self._memo, self._observer)
            missing.add(run)
            runs.append(run)
            head = Revision(head + write.makes_revision)
        return runs, missing

    async def _look_up(self, missing: MissingLookups, is_first: bool = False) -> None:
        finds = [
            self._bind(find_each(statement), (msgspec.json.encode(list(keys)).decode(),))
            for statement, keys in missing.keys.items()
        ]
        # Each statement has its own snapshot, and none is older than that of the head.
        results = await self._send([self._bind(OPEN_HEAD), *finds] if is_first else finds)
        if is_first:
            if not (rows := results.pop(0)):
                raise StoreDeleted
            self._base, self._base_row = read_head(rows[0]), rows[0]
        for (statement, keys), rows in zip(missing.keys.items(), results, strict=True):
            self._memo.remember(statement, keys, rows)

    async def _run_all(self, writes: Sequence[QueuedWrite], runs: list[ScriptRun[Any]]) -> None:
        """Keeps the runs in order, up to the first that needs the lock, or whose revision cannot be moved although it
        has to be."""
        newest = self._origin
        while len(self._kept) < len(runs):
            for place in range(len(self._kept), len(runs)):
                if place == len(self._kept) and not runs[place].counts(newest):
                    runs[place] = ScriptRun(writes[place].begin, newest, self._memo, self._observer)
                run = runs[place]
                run.advance()
                await self._yield_if_long()
                if place > len(self._kept) or (run.step is not None and run.list_missing()):
                    continue
                if not _is_plannable(run):
                    return
                self._keep(writes[place], run)
                newest = Revision(newest + (run.move is not None and run.error is None))
                if self._is_fixed and self._origin != self._base.newest.revision:
                    return
            if missing := MissingLookups(runs[len(self._kept) :]):
                await self._look_up(missing)

    def _keep(self, write: QueuedWrite, run: ScriptRun[Any]) -> None:
        self._kept.append(_PlannedRun(write, run))
        self._is_fixed = self._is_fixed or not self._is_movable(run)
        if run.error is None and run.move is not None:
            self._moves.append(run.move)
            self._memo.apply(run.changed)

    def _is_movable(self, run: ScriptRun[Any]) -> bool:
        """Returns whether the run would be the same after other writes, but for its revision."""
        if run.error is not None or run.move is None or not _is_value_movable(run.value):
            return False
        if not all(map(_MOVABLE.__contains__, map(_STATEMENT_OF, run.looked_up))):
            return False
        first = (self._origin + 1) * MAX_WARRANTS_IN_A_WRITE
        return not any(step.sql in FIXED or _names_number_from(step.sql, step.values, first) for step in run.executes)

    async def _build(self) -> AsyncIterator[Statement]:
        joined = JoinedWrites()
        for kept in self._kept:
            if kept.run.error is None:
                for step in kept.run.executes:
                    joined.add(step)
                    self.rows += len(step.values)
        newest = self._moves[-1].newest
        for statement in joined.build(self._store, self._origin, newest.revision, newest.bits or 0):
            yield statement
            await self._yield_if_long()

    def _move_head(self) -> Statement:
        """Returns the statement that moves the head if nothing has changed that the scripts have read."""
        limits, base = self._base.limits, self._base.newest
        growth = sum(move.warrants for move in self._moves), sum(move.objects for move in self._moves)
        most_warrants, most_objects = self._find_peaks()
        values: tuple[Parameter, ...] = (
            len(self._moves),
            self._moves[-1].newest.bits,
            *growth,
            *(self._base_row[3], self._base_row[6]),
            *(most_warrants, limits.warrants if most_warrants else None),
            *(most_objects, limits.objects if most_objects else None),
            *(base.revision, base.bits),
            *(_NO_REVISION if self._is_fixed else base.revision, base.revision),
            *(base.revision, base.bits, base.revision),
            encode_array([] if self._is_fixed else [*self._list_read_keys()]),
        )
        return self._bind(MOVE_HEAD_IF_UNCHANGED, values)

    def _find_peaks(self) -> tuple[int, int]:
        """Returns the most warrants and objects that there are more after a write that adds some, than before all."""
        warrants = objects = most_warrants = most_objects = 0
        for move in self._moves:
            warrants, objects = warrants + move.warrants, objects + move.objects
            most_warrants = max(most_warrants, warrants if move.warrants > 0 else 0)
            most_objects = max(most_objects, objects if move.objects > 0 else 0)
        return most_warrants, most_objects

    def _list_read_keys(self) -> Iterator[str]:
        places = dict.fromkeys(place for kept in self._kept for place in kept.run.looked_up if place[0] in _LOGGED)
        for find, key in places:
            yield _LOGGED[find] + msgspec.json.encode(key).decode()

    async def _send(self, statements: Sequence[Statement]) -> list[Rows]:
        self.statements += sum(text not in CONTROL for text, _ in statements)
        if self.recording is None:
            results = await self._pipeline.run(statements)
        else:
            with self.recording.run_batch([number_placeholders(text) for text, _ in statements]):
                results = await self._pipeline.run(statements)
        self._yielded_at = time.monotonic()
        return results

    async def _yield_if_long(self) -> None:
        if time.monotonic() - self._yielded_at > SECONDS_AT_ONCE:
            await asyncio.sleep(0)
            self._yielded_at = time.monotonic()

    def _bind(self, statement: str, values: tuple[Parameter, ...] = ()) -> Statement:
        return statement, bind_store(statement, self._store, values)


def _is_plannable(run: ScriptRun[Any]) -> bool:
    """Returns whether all that a run needs and does is what a plan can hold."""
    if run.step is not None or run.may_change_all or run.moves_model:
        return False
    return run.error is not None or (all(map(is_joinable, run.executes)) and (run.move is not None or not run.executes))


def _names_number_from(statement: str, rows: Sequence[Row], first: int) -> bool:
    """Returns whether a statement names a warrant by its number, and that is one which the group has made."""
    kinds = PARAMETERS[statement]
    if STORED_NUMBER not in kinds:
        return False
    place = kinds.index(STORED_NUMBER)
    return any(row[place] >= first for row in rows)


def _is_value_movable(value: object) -> bool:
    if not isinstance(value, Snapshot):
        return False
    if isinstance(value.value, WriteCounts):
        return True
    return isinstance(value.value, tuple) and all(isinstance(row, Warrant | StoredObject) for row in value.value)


def _move_value(value: Any, distance: int, first: int) -> object:
    """Returns the result of a write after its revision was moved. The warrants that the group has made have numbers
    from `first` on."""
    rows = value.value
    if isinstance(rows, tuple):
        rows = tuple([_move_row(row, distance, first) for row in rows])
    return Snapshot(Revision(value.revision + distance), rows)


def _move_row(row: object, distance: int, first: int) -> object:
    if not isinstance(row, Warrant) or row.number < first:
        return row
    return msgspec.structs.replace(row, number=row.number + distance * MAX_WARRANTS_IN_A_WRITE)
