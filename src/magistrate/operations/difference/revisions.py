"""Lists the difference of access between two revisions, each at a point in time (docs/difference.md)."""

from dataclasses import dataclass, replace
from functools import partial

from magistrate.engine.difference.comparison import Existence
from magistrate.engine.difference.origins import WarrantChange, find_timed_changes
from magistrate.engine.evaluation.conditions import ANY_CONTEXT, PolicyEvaluator
from magistrate.engine.names import ObjectId, PolicyName, TypeName
from magistrate.engine.policy.policy import may_read_clock
from magistrate.engine.steps import Run
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.warrant import Warrant, warrant_names
from magistrate.engine.work import Work
from magistrate.errors import InvalidParameter
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.difference.filters import Narrowing
from magistrate.operations.difference.pages import DifferenceRow, difference_kind, list_page
from magistrate.operations.difference.states import ComparedState, StateComparison, UnitedReader
from magistrate.operations.history.points_in_time import AsOf, PointInTime, find_point, read_as_of
from magistrate.operations.paging import ListKind, Page, PageRequest
from magistrate.operations.runs import complete_checkpoints, complete_run
from magistrate.operations.scheduling import checkpoint, is_time_up
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.revisions import LoggedChange, LogPlace, Span

FROM, TO = "from", "to"
"""Name the parameters."""
CHANGES_AT_ONCE = 2_000
CHANGES_BETWEEN_LOOKS = 100
"""Counts the changes that are summed up between two looks at the clock; half a millisecond."""


@dataclass(frozen=True, slots=True)
class RevisionsRequest:
    """Holds the points in time from which and to which access is compared, as they are written; the second one is now
    if it is None."""

    since: str
    until: str | None
    narrowing: Narrowing


def revisions_kind(request: RevisionsRequest) -> ListKind[DifferenceRow]:
    return difference_kind(request.narrowing, request.since, request.until)


async def list_difference(
    ctx: Context, request: RevisionsRequest, page_request: PageRequest, freshness: Freshness
) -> Snapshot[Page[DifferenceRow]]:
    """Returns a page of the difference between two revisions.

    Raises InvalidParameter for a point in the future or a second point that precedes the first, and if the budget does
    not suffice; and what `find_point` and `read_page` raise."""
    first = await _find(ctx, FROM, request.since, freshness)
    if page_request.at is None or page_request.now is None:
        last = await _find_last(ctx, request.until, freshness)
    else:
        last = (await find_point(ctx, AsOf(page_request.at, bits=page_request.bits), freshness))._replace(
            now=page_request.now
        )
    if last.revision < first.revision:
        raise InvalidParameter(FROM, f"must not be later than {TO}")

    pinned = replace(page_request, at=last.revision, now=last.now, is_snapshot=True)
    kind, compare = revisions_kind(request), partial(_compare, ctx, first, last)
    return await list_page(ctx, kind, request.narrowing, pinned, freshness, compare=compare)


async def _find(ctx: Context, parameter: str, text: str, freshness: Freshness) -> PointInTime:
    """Returns the state that a parameter names. Raises InvalidParameter, naming it, and what `find_point` raises."""
    try:
        return await find_point(ctx, read_as_of(ctx.store.identity, text), freshness)
    except InvalidParameter as error:
        raise InvalidParameter(parameter, error.message) from None


async def _find_last(ctx: Context, text: str | None, freshness: Freshness) -> PointInTime:
    if text is not None:
        return await _find(ctx, TO, text, freshness)
    newest = await ctx.store.read_warrants((), None, 1)
    freshness.demand(newest.newest)
    return PointInTime(newest.revision, ctx.now(), newest.model_revision)


async def _compare(ctx: Context, first: PointInTime, last: PointInTime, work: Work) -> StateComparison:
    before, after = await _build_state(ctx, first), await _build_state(ctx, last)
    log = LogSummary()
    behind: LogPlace | None = None
    while True:
        changes = await ctx.store.list_changes(first.revision, last.revision, behind, CHANGES_AT_ONCE)
        work.spend(len(changes))
        for change in changes:
            log.add(change)
        if len(changes) < CHANGES_AT_ONCE:
            break
        behind = changes[-1].place
        await checkpoint()
    warrants = [*await log.list_warrants(), *await list_timed(ctx, before, after, work)]
    united = UnitedReader(ctx.store, first.revision, last.revision)
    return StateComparison(
        before=before,
        after=after,
        united=united,
        warrants=warrants,
        existence=log.summarize_existence(),
        timed_policies=await find_timed_policies(before, after, work),
    )


async def _build_state(ctx: Context, point: PointInTime) -> ComparedState:
    model = await ctx.caches.models.at(point.revision, point.model_revision)
    return ComparedState(model, ctx.store, point.revision, point.now)


async def find_timed_policies(before: ComparedState, after: ComparedState, work: Work) -> frozenset[PolicyName]:
    """Returns the named policies that are the same in both states, and have another value because of the time."""
    named = after.model.policies
    names = [
        name
        for name, policy in named.items()
        if not policy.parameters and may_read_clock(policy.expression) and policy == before.model.policies.get(name)
    ]
    if not names or before.now == after.now:
        return frozenset()
    evaluators = [PolicyEvaluator({}, state.now, work, named) for state in (before, after)]
    placeholders = [warrant for name in names for warrant in evaluators[0].list_placeholders(name)]
    for evaluator in evaluators:
        for name in names:
            evaluator.list_placeholders(name)
        await complete_checkpoints(evaluator.evaluate_each(placeholders), work)
    first, second = evaluators
    return frozenset(name for name in names if first.evaluate_named(name) is not second.evaluate_named(name))


async def list_timed(ctx: Context, before: ComparedState, after: ComparedState, work: Work) -> list[WarrantChange]:
    """Returns the warrants that took or lost effect by time alone."""
    span = Span(before.at, after.at, before.now, after.now)
    timed = await ctx.store.list_timed_warrants(span, work.left + 1)
    evaluators = [
        (PolicyEvaluator(context, before.now, work), PolicyEvaluator(context, after.now, work))
        for context in (ANY_CONTEXT, {})
    ]
    search = Run(work, find_timed_changes(timed, evaluators, work))
    return await complete_run(ctx.store, search, after.at)


class LogSummary:
    """Summarizes changes, in their order, as what they change in all."""

    def __init__(self) -> None:
        self._first: dict[tuple[str, tuple[str, ...]], LoggedChange] = {}
        self._last: dict[tuple[str, tuple[str, ...]], LoggedChange] = {}

    def add(self, change: LoggedChange) -> None:
        key = (change.kind, change.key)
        self._first.setdefault(key, change)
        self._last[key] = change

    async def list_warrants(self) -> list[WarrantChange]:
        """Returns each warrant that existed before and each that exists afterwards, as far as they differ."""
        changes: list[WarrantChange] = []
        for number, (key, last) in enumerate(self._last.items()):
            if not number % CHANGES_BETWEEN_LOOKS and is_time_up():
                await checkpoint()
            if key[0] == "warrant":
                if _was_present(self._first[key]):
                    changes.append(WarrantChange(_build_warrant(self._first[key]), is_created=False))
                if _exists(last):
                    changes.append(WarrantChange(_build_warrant(last), is_created=True))
        return changes

    def summarize_existence(self) -> Existence:
        created: set[ObjectRef] = set()
        deleted: set[ObjectRef] = set()
        for (kind, key), last in self._last.items():
            if kind == "object" and _was_present(self._first[kind, key]) != _exists(last):
                of_type, object_id = key
                (created if _exists(last) else deleted).add(ObjectRef(TypeName(of_type), ObjectId(object_id)))
        return Existence(created, deleted)


def _was_present(change: LoggedChange) -> bool:
    """Returns whether the object or warrant of a change existed when it was made."""
    return change.action != "created"


def _exists(change: LoggedChange) -> bool:
    """Returns whether the object or warrant of a change exists since it was made."""
    return change.action in ("created", "updated")


def _build_warrant(change: LoggedChange) -> Warrant:
    """Returns the warrant of a change, without the time of its creation, which the log does not have."""
    return Warrant(*warrant_names(*change.key[:6]), change.policy, 0, 0, change.starts_at, change.expires_at)
