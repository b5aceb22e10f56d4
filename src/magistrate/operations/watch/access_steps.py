"""Computes how the access that is selected changes, from one revision or moment to the next.

What a change cannot concern costs nothing: the rules and the warrant patterns of the model say which warrants can
matter, and whether the existence of an object can, before anything is read. All else is the difference between two
states (docs/difference.md), at most as large as one event may be."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from magistrate.engine.difference.comparison import Existence
from magistrate.engine.difference.origins import WarrantChange
from magistrate.engine.model.model import Model
from magistrate.engine.names import WILDCARD, ObjectId, Revision, TypeName
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import WarrantNames
from magistrate.engine.work import Work
from magistrate.errors import BudgetExceeded
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.difference.filters import Narrowing
from magistrate.operations.difference.pages import DifferenceRow, list_all_rows
from magistrate.operations.difference.revisions import CHANGES_AT_ONCE, LogSummary, find_timed_policies, list_timed
from magistrate.operations.difference.selection import Selection
from magistrate.operations.difference.states import ComparedState, StateComparison, UnitedReader
from magistrate.operations.history.points_in_time import AsOf, find_point
from magistrate.operations.runs import complete_checkpoints
from magistrate.operations.scheduling import checkpoint, is_time_up, limit_work
from magistrate.operations.watch.access_moments import SAMPLE_US, AccessMoments
from magistrate.operations.watch.revision_log import WrittenRevision
from magistrate.store.contract.events import Event
from magistrate.store.contract.revisions import LoggedChange, LogPlace, RevisionId

NO_EXISTENCE = Existence()
LOGGED_KINDS = ("object", "warrant")
MODEL_KINDS = ("object-type", "policy")
"""Name the kinds of events."""
MAX_ROWS = 20_000
MAX_BYTES = 8_388_608
"""Limit the rows of one event, and about what they take as JSON (8 MiB)."""
ROWS_AT_ONCE = 500
"""Counts the rows that are measured between two looks at the clock."""
BYTES_OF_A_ROW, BYTES_OF_A_CAUSE = 200, 150
"""Count what takes place in JSON for a row, and for each warrant that caused it."""
MAX_SELECTIONS = 4
"""Limits the pairs of models for which it is kept what they select."""


class AccessPosition(NamedTuple):
    """Represents how far access was followed: all that was written up to a revision, which was reached at `reached_at`,
    and has happened up to a time, both in microseconds since 1970 UTC."""

    id: RevisionId
    time: int
    reached_at: int

    @property
    def key(self) -> tuple[Revision, int]:
        """Returns what ascends from one position to those that follow it."""
        return self.id.revision, self.time


@dataclass(frozen=True, slots=True)
class AccessEvent:
    """Holds what was gained and lost up to a position, since the event before. `rows` is None if that is too much: the
    reader has to begin with a snapshot. `size` is about what the rows take as JSON, in bytes."""

    position: AccessPosition
    rows: Sequence[DifferenceRow] | None
    size: int = BYTES_OF_A_ROW


@dataclass(frozen=True, slots=True)
class _Changes:
    """Holds what a revision has changed, as far as it can matter, and the model since."""

    model: Model
    selection: Selection
    warrants: Sequence[WarrantChange] = ()
    existence: Existence = NO_EXISTENCE


class AccessCursor:
    """Follows the access that is selected, from a position on. One task at a time uses it."""

    def __init__(self, ctx: Context, narrowing: Narrowing, position: AccessPosition, model: Model) -> None:
        """`model` is that of the position. `look_up_named` has to be completed before anything else."""
        self.position = position
        self._ctx = ctx
        self._narrowing = narrowing
        self.model = model
        self._selections: dict[tuple[int, int], Selection] = {}
        self._moments = AccessMoments(ctx)
        self._existing: dict[ObjectRef, bool] = {}
        """Says of the objects that the narrowing names whether they exist."""

    async def look_up_named(self) -> None:
        """Looks up whether the subject and the object exist that the narrowing names, if it does."""
        self._existing = await find_named(self._ctx, self._narrowing, self.position.id.revision)

    @property
    def wakes_at(self) -> int | None:
        """Returns the time at which `follow_time` has something to do; None for at once."""
        until = self._moments.until
        if until is None:
            return None
        times = [until, self._moments.find_next(self.position.time) or until]
        if self._moments.reads_clock:
            times.append((self.position.time // SAMPLE_US + 1) * SAMPLE_US)
        return min(times)

    async def follow_revision(self, written: WrittenRevision) -> AsyncIterator[AccessEvent]:
        """Yields what happened before a revision, and what it changed: it is the next one that has changed anything.

        Raises NotRetained and RevisionUnavailable if it cannot be read any more."""
        time = max(self.position.time, written.written_at)
        position = AccessPosition(written.id, time, written.written_at)
        async for event in self.follow_time(time - 1):
            yield event
        work = limit_work(self._ctx.max_query_work)
        try:
            change = await self._compare(position, await self._read_changes(written, work), work)
        except BudgetExceeded:
            change = await self._resync(position)
        if change is not None:
            yield change
        async for event in self.follow_time(time):
            yield event

    def skip_revision(self, written: WrittenRevision) -> bool:
        """Moves on to the next revision if it is known, without looking anything up, that nothing is different there,
        and returns whether it is. It does what `follow_revision` would."""
        selection = self._selections.get((id(self.model), id(self.model)))
        if selection is None or not selection.is_examined or written.changes is None:
            return False
        time, wakes_at = max(self.position.time, written.written_at), self.wakes_at
        if (
            wakes_at is None
            or wakes_at <= time
            or any(self._may_concern(event, selection) for event in written.changes)
        ):
            return False
        self.position = AccessPosition(written.id, time, written.written_at)
        return True

    def _may_concern(self, event: Event, selection: Selection) -> bool:
        """Returns whether a change may affect what is selected."""
        if event.kind == "warrant":
            return selection.is_concerned(event.key[0], event.key[2], event.key[3])
        if event.kind != "object" or selection.is_known_to_concern(event.key[0]):
            return True
        return ObjectRef(TypeName(event.key[0]), ObjectId(event.key[1])) in self._existing

    def skip_to(self, newest: RevisionId, reached_at: int) -> None:
        """Moves on to a revision up to which nothing was changed."""
        self.position = self.position._replace(id=newest, reached_at=reached_at)

    async def follow_to(self, time: int) -> AsyncIterator[AccessEvent]:
        """Yields what happens up to a time, for which policies that read the clock are evaluated."""
        async for event in self.follow_time(time):
            yield event
        if self.position.time < time:
            change = await self._compare_moment(time)
            if change is not None:
                yield change

    async def follow_time(self, until: int) -> AsyncIterator[AccessEvent]:
        """Yields what happens up to a time, without a write. Policies that read the clock are evaluated for the last
        full second of it."""
        while self.position.time < until:
            moment = await self._find_moment(until)
            if moment is None:
                if not self._moments.reads_clock:
                    self.position = self.position._replace(time=until)
                return
            event = await self._compare_moment(moment)
            if event is not None:
                yield event

    async def _compare_moment(self, time: int) -> AccessEvent | None:
        """Moves on to a time, and returns what has changed without a write."""
        work, position = limit_work(self._ctx.max_query_work), self.position._replace(time=time)
        try:
            nothing = _Changes(self.model, await self._select(self.model, work))
            return await self._compare(position, nothing, work)
        except BudgetExceeded:
            return await self._resync(position)

    async def _find_moment(self, until: int) -> int | None:
        """Returns the next moment up to a time at which access may change, or moments have to be looked up again."""
        since = self.position.time
        if self._moments.until is None or self._moments.until <= since:
            work = limit_work(self._ctx.max_query_work)
            selection = await self._select(self.model, work)
            await self._moments.look_ahead(self.position.id, since, selection)
        assert self._moments.until is not None
        times = [self._moments.until, self._moments.find_next(since)]
        if self._moments.reads_clock:
            times.append(until // SAMPLE_US * SAMPLE_US)
        return min((time for time in times if time is not None and since < time <= until), default=None)

    async def _compare(self, position: AccessPosition, changes: _Changes, work: Work) -> AccessEvent | None:
        """Moves on to a position, and returns what has changed. It stays where it is if it raises anything."""
        at, time = position.id, position.time
        has_new_model = changes.model is not self.model
        is_timed = time > self.position.time and (at == self.position.id or self._may_have_moment(time))
        if not (changes.warrants or has_new_model or changes.existence is not NO_EXISTENCE or is_timed):
            self.skip_to(at, position.reached_at)
            return None
        before = ComparedState(self.model, self._ctx.store, self.position.id.revision, self.position.time)
        after = ComparedState(changes.model, self._ctx.store, at.revision, time)
        comparison = StateComparison(
            before=before,
            after=after,
            united=UnitedReader(self._ctx.store, before.at, after.at),
            warrants=changes.warrants,
            existence=changes.existence,
        )
        if is_timed:
            comparison = await self._add_timed(comparison, changes.selection, work)
        event = await build_event(position, await self._list_rows(comparison, changes.selection, work))
        if has_new_model:
            self._moments.discard()
        self._note_existence(changes.existence)
        self.position, self.model = position, changes.model
        return event

    def _note_existence(self, existence: Existence) -> None:
        for ref in self._existing:
            self._existing[ref] = ref in existence.created or (self._existing[ref] and ref not in existence.deleted)

    def _may_have_moment(self, time: int) -> bool:
        """Returns whether warrants or policies may have another value at a time than before."""
        if self._moments.until is None or self._moments.until < time or self._moments.reads_clock:
            return True
        following = self._moments.find_next(self.position.time)
        return following is not None and following <= time

    async def _add_timed(self, comparison: StateComparison, selection: Selection, work: Work) -> StateComparison:
        before, after = comparison.before, comparison.after
        timed = await list_timed(self._ctx, before, after, work)
        relevant = [change for change in timed if is_concerned(selection, change.warrant.names)]
        policies = await find_timed_policies(before, after, work)
        return replace(comparison, warrants=[*comparison.warrants, *relevant], timed_policies=policies)

    async def _list_rows(
        self, comparison: StateComparison, selection: Selection, work: Work
    ) -> Sequence[DifferenceRow] | None:
        existence = comparison.existence
        may_exist = [is_existing or ref in existence.created for ref, is_existing in self._existing.items()]
        is_changed = comparison.warrants or comparison.timed_policies or existence is not NO_EXISTENCE
        if not all(may_exist) or not (is_changed or comparison.before.model is not comparison.after.model):
            return ()
        return await list_all_rows(self._ctx.store, comparison, selection, MAX_ROWS, work)

    async def _resync(self, position: AccessPosition) -> AccessEvent:
        self.position = position
        self._moments.discard()
        self.model = await self._find_model(position.id)
        await self.look_up_named()
        return AccessEvent(position, None)

    async def _read_changes(self, written: WrittenRevision, work: Work) -> _Changes:
        """Returns the changes of a revision that can matter. Raises BudgetExceeded, NotRetained."""
        changes = written.changes
        is_model_known = changes is not None and not any(event.kind in MODEL_KINDS for event in changes)
        model = self.model if is_model_known else await self._find_model(written.id)
        selection = await self._select(model, work)
        if changes is None:
            log = await self._summarize_log(written.id, selection, work)
        else:
            log = LogSummary()
            self._add_relevant(log, [build_change(event) for event in changes if event.kind in LOGGED_KINDS], selection)
        warrants = await log.list_warrants()
        if is_model_known and not all(change.warrant.pattern() in model.patterns for change in warrants):
            model = await self._find_model(written.id)
            selection = await self._select(model, work)
        existence = log.summarize_existence()
        if not warrants and model is self.model and not await self._may_matter(existence, selection, work):
            existence = NO_EXISTENCE
        return _Changes(model, selection, warrants, existence)

    def _add_relevant(self, log: LogSummary, changes: Sequence[LoggedChange], selection: Selection) -> None:
        """Adds the changes of objects, and of the warrants that can matter."""
        relevant = [
            change
            for change in changes
            if change.kind == "object" or selection.is_concerned(change.key[0], change.key[2], change.key[3])
        ]
        self._moments.add_changes(relevant)
        for change in relevant:
            log.add(change)

    async def _summarize_log(self, written: RevisionId, selection: Selection, work: Work) -> LogSummary:
        """Returns the changes of a revision that is too large to be held."""
        first = Revision(written.revision - 1)
        log = LogSummary()
        behind: LogPlace | None = None
        while True:
            changes = await self._ctx.store.list_changes(first, written.revision, behind, CHANGES_AT_ONCE)
            work.spend(len(changes))
            self._add_relevant(log, changes, selection)
            if len(changes) < CHANGES_AT_ONCE:
                return log
            behind = changes[-1].place
            await checkpoint()

    async def _may_matter(self, existence: Existence, selection: Selection, work: Work) -> bool:
        """Returns whether anything changes because objects exist, or exist no more."""
        refs = [*existence.created, *existence.deleted]
        if any(ref in self._existing for ref in refs):
            return True
        return await complete_checkpoints(selection.examine_existence(refs, work), work)

    async def _select(self, model: Model, work: Work) -> Selection:
        """Returns what is selected by the model of the position and this one."""
        key = id(self.model), id(model)
        if key not in self._selections:
            if len(self._selections) >= MAX_SELECTIONS:
                del self._selections[next(iter(self._selections))]
            self._selections[key] = Selection((self.model, model), self._narrowing)
        await complete_checkpoints(self._selections[key].examine(work), work)
        return self._selections[key]

    async def _find_model(self, at: RevisionId) -> Model:
        point = await find_point(self._ctx, AsOf(at.revision, bits=at.bits), NO_DEMAND)
        return await self._ctx.caches.models.at(point.revision, point.model_revision)


def is_concerned(selection: Selection, names: WarrantNames) -> bool:
    return selection.is_concerned(names.object_type, names.relation, names.subject_type)


def build_change(event: Event) -> LoggedChange:
    """Returns the change of an object or a warrant that an event represents."""
    revision, _, position = event.place
    return LoggedChange(
        (revision, position),
        event.action,  # type: ignore[arg-type]  # no decision
        event.kind,  # type: ignore[arg-type]  # an object or a warrant
        event.key,
        policy=(event.content or "") if event.kind == "warrant" else "",
        starts_at=event.starts_at,
        expires_at=event.expires_at,
    )


async def build_event(position: AccessPosition, rows: Sequence[DifferenceRow] | None) -> AccessEvent | None:
    """Returns the event with these rows, None if there are none."""
    if rows is None:
        return AccessEvent(position, None)
    size = 0
    for start in range(0, len(rows), ROWS_AT_ONCE):
        size += sum(map(measure_row, rows[start : start + ROWS_AT_ONCE]))
        if is_time_up():
            await checkpoint()
    return AccessEvent(position, rows if size <= MAX_BYTES else None, size) if rows else None


def measure_row(row: DifferenceRow) -> int:
    """Returns about how many bytes a row takes as JSON."""
    change, cause = row
    count = len(cause.changes) + len(cause.created) + len(cause.deleted)
    return BYTES_OF_A_ROW + len(change.id) + len(change.subject_id) + BYTES_OF_A_CAUSE * count


async def find_named(ctx: Context, narrowing: Narrowing, at: Revision) -> dict[ObjectRef, bool]:
    """Returns whether the subject and the object that a narrowing names exist at a revision. Access of those that do
    not is not selected."""
    named = (narrowing.find_subject(), narrowing.find_object())
    refs = [*dict.fromkeys(ref for ref in named if ref is not None and ref.id != WILDCARD)]
    if not refs:
        return {}
    existing = {ObjectRef(each.type, each.id) for each in (await ctx.store.find_objects(refs, at)).value}
    return {ref: ref in existing for ref in refs}


async def begin_cursor(ctx: Context, narrowing: Narrowing, position: AccessPosition) -> AccessCursor:
    """Returns a cursor at a position. Raises NotRetained, RevisionLost."""
    point = await find_point(ctx, AsOf(position.id.revision, bits=position.id.bits), NO_DEMAND)
    model = await ctx.caches.models.at(point.revision, point.model_revision)
    cursor = AccessCursor(ctx, narrowing, position, model)
    await cursor.look_up_named()
    return cursor
