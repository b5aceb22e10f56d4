"""Decides checks (docs/compatibility.md#check): at once from memory if that has all they need, otherwise by the
evaluators, in their order (evaluators.py)."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from magistrate.engine.evaluation.check import Check
from magistrate.errors import MagistrateError
from magistrate.operations.checks.check_batch import ALL_NEEDED, UNTIL_DENIED, CheckBatch, Decisions, StopAt
from magistrate.operations.checks.decision_log import UNKNOWN, RequestOrigin
from magistrate.operations.checks.evaluators import CachedWalks, Moment, decide_in_order, list_evaluators, list_patterns
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.history.points_in_time import AsOf, find_point
from magistrate.operations.readers.contextual_warrants import ContextualWarrants, build_contextual_warrants
from magistrate.operations.scheduling import checkpoint, is_time_up, take_checkpoint
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import NewWarrant
from magistrate.tracing import AUTHORIZED, CACHE_HIT, CURRENT, DENIED, MIXED, RequestTrace

MAX_CHECKS_AT_ONCE = 20
"""Limits the checks of a request that begins without waiting for others that work long."""


async def check_all(
    ctx: Context, checks: Sequence[Check], freshness: Freshness, visible_types: frozenset[str] | None = None
) -> Decisions:
    """Returns one decision per check, in order; raises like `check`. It serves callers that are not check requests
    themselves, so nothing is counted or logged. `visible_types` are those of a CheckBatch."""
    pending = PendingChecks(ctx, checks, ALL_NEEDED, freshness, is_logged=False, visible_types=visible_types)
    return pending.decide_at_once() or await pending.decide()


async def check(
    ctx: Context,
    checks: Sequence[Check],
    stop_at: StopAt,
    freshness: Freshness,
    with_path: bool = False,
    contextual: Sequence[NewWarrant] = (),
) -> Decisions:
    """Returns one decision per check, in order, up to the last that is needed. Checks after that raise nothing.

    Raises NotFound for the first that cannot be decided because an object type is not defined, BudgetExceeded,
    InvalidParameter if the token is from the future or a contextual warrant could not be written.
    """
    added = build_contextual_warrants(contextual, ctx.now()) if contextual else None
    pending = PendingChecks(ctx, checks, stop_at, freshness, with_path, contextual=added)
    return pending.decide_at_once() or await pending.decide()


class PendingChecks(msgspec.Struct):
    """Represents checks that wait for their decisions. `decide_at_once` is called first, and `decide` if it returned
    None; a caller that cannot wait may leave it at that."""

    ctx: Context
    checks: Sequence[Check]
    stop_at: StopAt
    freshness: Freshness
    with_path: bool = False
    is_logged: bool = True
    contextual: ContextualWarrants | None = None
    origin: RequestOrigin = UNKNOWN
    visible_types: frozenset[str] | None = None
    _known_batch: CheckBatch | None = None
    _walks: CachedWalks | None = None

    @property
    def _batch(self) -> CheckBatch:
        """Holds the checks as of the time at which this is first needed."""
        if self._known_batch is None:
            ctx, contextual = self.ctx, self.contextual
            now = ctx.now() if contextual is None else contextual.now
            self._known_batch = self.build_batch(now)
        return self._known_batch

    def build_batch(self, now: int, contextual: ContextualWarrants | None = None) -> CheckBatch:
        """Returns the checks as of this time, with these contextual warrants in place of those of the request."""
        return CheckBatch(
            checks=self.checks,
            stop_at=self.stop_at,
            now=now,
            max_work=self.ctx.max_check_work,
            with_path=self.with_path,
            contextual=contextual or self.contextual,
            visible_types=self.visible_types,
        )

    def begin_again(self, checks: Sequence[Check], freshness: Freshness) -> "PendingChecks":
        """Returns these checks in place of those of the request."""
        return replace(self, checks=checks, freshness=freshness, _known_batch=None, _walks=None)

    def decide_at_once(self, may_walk: bool = True) -> Decisions | None:
        """Returns the decisions if the graph cache has all they need, otherwise None; unless it `may_walk`, only if the
        decisions themselves are cached, and then nothing has looked at the contexts of the checks. Raises
        StoreUnavailable."""
        checks, live, contextual = self.checks, self.ctx.caches.graph, self.contextual
        graph = None if self.with_path else live.current_graph(self.freshness, list_patterns(contextual))
        has_time = len(checks) <= MAX_CHECKS_AT_ONCE or not is_time_up()
        if graph is not None and contextual is None and has_time:
            decisions = graph.decisions.find(checks, self.stop_at)
            if decisions is not None:
                return self._finish(Snapshot(graph.revision, decisions))
        if not may_walk:
            return None
        batch = self._batch
        walks = self._walks = CachedWalks(live, self.freshness, batch)
        decided = walks.decide_at_once(graph, batch) if graph is not None and has_time else None
        return None if decided is None else self._finish(decided)

    def _finish(self, decided: Decisions) -> Decisions:
        """Records decisions that were made in memory alone."""
        self.ctx.caches.graph.counts.hits += 1
        if (span := CURRENT.get()) is not None:
            span.trace.note_cache(CACHE_HIT)
        if self.is_logged:
            self.record_decisions(decided)
        return decided

    async def decide(self) -> Decisions:
        """Returns the decisions, and reads what they need. Raises like `check`."""
        walks = self._walks
        assert walks is not None
        if walks.work.needs_checkpoint:
            await take_checkpoint(walks.work)  # that of `decide_at_once`
        elif len(self.checks) > MAX_CHECKS_AT_ONCE:
            await checkpoint()  # several such requests, if they come at once, begin in different iterations
        can_walk = self.ctx.caches.graph.is_enabled and not self.with_path
        moment = Moment(self.ctx, self.freshness)
        try:
            decided = await decide_in_order(list_evaluators(moment, walks if can_walk else None), self._batch)
        except MagistrateError:
            if self.is_logged:
                self.record_failure()
            raise
        if self.is_logged:
            self.record_decisions(decided)
        return decided

    def record_failure(self) -> None:
        """Counts the checks as those of a request that gets no decision."""
        self.ctx.check_counts.failed += len(self.checks)

    def record_decisions(self, decided: Decisions) -> None:
        """Counts the decisions, and logs them if decisions are logged at all. It is called for those made without
        `is_logged`."""
        self.ctx.check_counts.count(decided.value)
        if (span := CURRENT.get()) is not None:
            self._note_result(span.trace, decided)
        log = self.ctx.decisions
        if log is not None:
            contextual = () if self.contextual is None else self.contextual.warrants
            log.note(self.checks, decided, self._batch.now, contextual, self.origin)

    def _note_result(self, trace: RequestTrace, decided: Decisions) -> None:
        """Notes in the trace of a request how many checks were decided, and to what: as a whole if they have an
        operator."""
        results = [decision.is_authorized for decision in decided.value]
        is_mixed = self.stop_at is ALL_NEEDED and len(set(results)) > 1
        is_authorized = all(results) if self.stop_at is UNTIL_DENIED else any(results)
        trace.note_checks(len(results), MIXED if is_mixed else AUTHORIZED if is_authorized else DENIED)

    async def decide_as_of(self, as_of: AsOf) -> Decisions:
        """Returns the decisions that these checks had at that point in time. They are not logged: nobody was given or
        refused access. Raises what `check` and `find_point` raise."""
        ctx, freshness, contextual = self.ctx, self.freshness, self.contextual
        point = await find_point(ctx, as_of, freshness)
        batch = self.build_batch(point.now, None if contextual is None else contextual.date(point.now))
        return await decide_in_order(list_evaluators(Moment(ctx, freshness, point), None), batch)
