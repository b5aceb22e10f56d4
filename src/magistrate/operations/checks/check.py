"""Decides checks (docs/compatibility.md#check): from the graph cache at once, else from it with reads, else by an
evaluation."""

from collections.abc import Sequence, Set

import msgspec

from magistrate.engine.cache.graph import Graph
from magistrate.engine.evaluation.check import Check
from magistrate.engine.evaluation.work import Work
from magistrate.engine.walk.walk import Undecided
from magistrate.engine.warrants.reader import WarrantReader
from magistrate.engine.warrants.warrant import WarrantPattern
from magistrate.errors import BudgetExceeded
from magistrate.operations.checks.check_batch import ALL_NEEDED, CheckBatch, Decisions, StopAt
from magistrate.operations.checks.check_run import CheckRun
from magistrate.operations.checks.decision_log import UNKNOWN, RequestOrigin
from magistrate.operations.checks.extended_graph import NO_PATTERNS
from magistrate.operations.checks.graph_rounds import GraphRounds
from magistrate.operations.checks.prefetching_reader import BegunRead, PrefetchingReader
from magistrate.operations.checks.walking_ahead import decide_ahead, predict_reads, read_for_walk
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.readers.contextual_warrants import ContextualWarrants, build_contextual_warrants
from magistrate.operations.readers.overlaid_reader import OverlaidReader
from magistrate.operations.runs import drive_run, release_run
from magistrate.operations.scheduling import checkpoint, is_time_up, limit_work, take_checkpoint
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import NewWarrant

MOST_RESTARTS = 40
"""Limits how often the rounds of one request begin anew because the graph has changed; after that many, it is decided
without the graph."""
WORK = 2_000
WORK_FOR_A_CHECK = 10
"""Limits, together with WORK, the units of work (walking and reading) after which a check is decided without the graph.
The amount equals what an Evaluation of as many checks takes, so the graph costs at most about as much as it could save.
What was read and decided until then stays cached, and the next such check gets further."""

FEW_CHECKS = 20
"""Limits the checks of a request that begins without waiting for others that work long."""


async def check_all(
    ctx: Context, checks: Sequence[Check], freshness: Freshness, visible_types: frozenset[str] | None = None
) -> Decisions:
    """Returns one decision per check, in order; raises like `check`. It serves callers that are not check requests
    themselves, so nothing is logged. `visible_types` are those of a CheckBatch."""
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
    _rounds: GraphRounds | None = None
    _work: Work | None = None

    @property
    def _patterns(self) -> Set[WarrantPattern]:
        return NO_PATTERNS if self.contextual is None else self.contextual.overlay.patterns

    @property
    def _batch(self) -> CheckBatch:
        """Holds the checks as of the time at which this is first needed."""
        if self._known_batch is None:
            ctx, contextual = self.ctx, self.contextual
            now = ctx.now() if contextual is None else contextual.now
            self._known_batch = CheckBatch(
                self.checks, self.stop_at, now, ctx.max_check_work, self.with_path, contextual, self.visible_types
            )
        return self._known_batch

    def decide_at_once(self, may_walk: bool = True) -> Decisions | None:
        """Returns the decisions if the graph cache has all they need, otherwise None; unless it `may_walk`, only if the
        decisions themselves are cached, and then nothing has looked at the contexts of the checks. Raises
        StoreUnavailable."""
        checks, live, contextual = self.checks, self.ctx.graph, self.contextual
        graph = None if self.with_path else live.current_graph(self.freshness, self._patterns)
        has_time = len(checks) <= FEW_CHECKS or not is_time_up()
        if graph is not None and contextual is None and has_time:
            known = graph.decisions.find(checks, self.stop_at)
            if known is not None:
                return self._finish(Snapshot(graph.revision, known))
        if not may_walk:
            return None
        batch = self._batch
        self._work = limit_work(min(batch.most_work, WORK + WORK_FOR_A_CHECK * len(checks)))
        if graph is None or not has_time:
            return None
        rounds = self._rounds = GraphRounds(graph, batch, self._work)
        try:
            decided = rounds.outcome() if rounds.walk(stops_when_open=True) is None else None
        except BudgetExceeded:
            return None  # `decide` meets the same again
        if decided is None:
            return None
        if rounds.missing.groups:
            live.read_ahead(graph, rounds.missing)
        return self._finish(decided)

    def _finish(self, decided: Decisions) -> Decisions:
        """Counts decisions that were made in memory alone, and logs them."""
        self.ctx.graph.counts.hits += 1
        if self.is_logged:
            self.log_decisions(decided)
        return decided

    async def decide(self) -> Decisions:
        """Returns the decisions, and reads what they need. Raises like `check`."""
        work = self._work
        assert work is not None
        if work.needs_checkpoint:
            await take_checkpoint(work)  # that of `decide_at_once`
        elif len(self.checks) > FEW_CHECKS:
            await checkpoint()  # several such requests, if they come at once, begin in different iterations
        decided = None
        if self.ctx.graph.is_enabled and not self.with_path:
            decided = await self._decide_from_graph(work)
        if decided is None:
            if work.needs_checkpoint:
                await checkpoint()
            decided = await self._evaluate()
        if self.is_logged:
            self.log_decisions(decided)
        return decided

    def log_decisions(self, decided: Decisions) -> None:
        """Logs the decisions, if decisions are logged at all. It is called for those made without `is_logged`."""
        log = self.ctx.decisions
        if log is not None:
            contextual = () if self.contextual is None else self.contextual.warrants
            log.note(self.checks, decided, self._batch.now, contextual, self.origin)

    async def _decide_from_graph(self, work: Work) -> Decisions | None:
        """Returns the decisions, or None if they have to be made without the graph.

        Raises InvalidParameter if the token is from the future, StoreUnavailable.
        """
        live, rounds, fetched = self.ctx.graph, self._rounds, frozenset[object]()
        try:
            restarts = 0
            while restarts < MOST_RESTARTS:  # the rounds in between are limited by the work, which each of them adds to
                graph = await live.follow_to(self.freshness, self._patterns)
                if rounds is None or not rounds.is_at(graph):
                    rounds = GraphRounds(graph, self._batch, work)
                    restarts += 1
                decided = await _complete_round(rounds, graph, work)
                if decided is Undecided.IMPOSSIBLE:
                    break
                if not isinstance(decided, Undecided):
                    live.count_decision(had_to_read=bool(fetched))
                    live.read_ahead(graph, rounds.missing)
                    return decided
                if not rounds.is_at(graph):
                    continue  # views and kinds may have other numbers than when they were missing
                if rounds.missing:
                    if rounds.missing.keys() == fetched:
                        break  # the cache has no capacity for all of it
                    await live.fetch(graph, rounds.missing, work)
                    fetched = rounds.missing.keys()
                rounds.begin_round()
        except BudgetExceeded:
            pass
        live.counts.given_up += 1
        return None

    async def _evaluate(self) -> Decisions:
        """Returns the decisions of an evaluation at the newest revision. It begins with a known model, which was the
        newest at some time; the first read shows whether it still is, and if not it begins again with the newer
        one. A plain check is decided by a walk over the rows of that read."""
        ctx, known, begun = self.ctx, await self.ctx.models.get_known(), None
        ahead = predict_reads(known, self._batch)
        if ahead is not None:
            begun = await read_for_walk(ctx.store, ahead, self._batch, None)
            result = begun.result
            self.freshness.demand(result.newest)
            if await ctx.models.at(result.revision, result.model_revision) is known:
                decision = decide_ahead(known, self._batch, begun)
                if decision is not None:
                    return Snapshot(result.revision, [decision])
        with ctx.shared_reads.join(ctx.store) as reader:
            return await self._evaluate_with(reader, begun)

    async def _evaluate_with(self, shared: WarrantReader, begun: BegunRead | None) -> Decisions:
        ctx = self.ctx
        contextual, known = self.contextual, await ctx.models.get_known()
        run = CheckRun(known if contextual is None else contextual.overlay.extend_model(known), self._batch)
        ahead = PrefetchingReader(ctx.store, shared, run, begun)
        reader: WarrantReader = ahead if contextual is None else OverlaidReader(ahead, contextual.overlay)
        try:
            while (reads := run.advance()) is None:
                await take_checkpoint(run.work)
            # One row above the budget is enough to detect that a read exceeds it.
            result = await reader.read_warrants(reads, None, run.work.left + 1)
            self.freshness.demand(result.newest)
            model = await ctx.models.at(result.revision, result.model_revision)
            extended = model if contextual is None else contextual.extend_model(model)
            if model is known:
                run.take(result.warrants)
            else:
                run = ahead.run = CheckRun(extended, self._batch)
            return Snapshot(result.revision, await drive_run(reader, run, result.revision))
        finally:
            release_run(run)


async def _complete_round(rounds: GraphRounds, graph: Graph, work: Work) -> Decisions | Undecided:
    """Returns the decisions, or why there are none; walks are PAUSED if the graph has changed in the meantime."""
    while (undecided := rounds.walk()) is Undecided.PAUSED:
        await take_checkpoint(work)
        if not rounds.is_at(graph):
            return undecided
    return undecided or rounds.outcome() or Undecided.MISSING
