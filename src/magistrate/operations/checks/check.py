"""Decides checks (docs/compatibility.md#check): from the graph cache at once, else from it with reads, else by an
evaluation."""

from collections.abc import Sequence

from magistrate.engine.evaluation import Check
from magistrate.engine.graph import GivenUp, Graph
from magistrate.engine.warrant_reader import WarrantReader
from magistrate.engine.work import Work
from magistrate.errors import BudgetExceeded
from magistrate.operations.checks.check_batch import ALL_NEEDED, CheckBatch, Decisions, StopAt
from magistrate.operations.checks.check_run import CheckRun
from magistrate.operations.checks.decision_log import UNKNOWN, DecisionLog, RequestOrigin
from magistrate.operations.checks.evaluating import drive_run, release_run
from magistrate.operations.checks.extended_graph import NO_PATTERNS
from magistrate.operations.checks.graph_rounds import GraphRounds
from magistrate.operations.checks.prefetching_reader import PrefetchingReader
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.contextual_warrants import ContextualWarrants, build_contextual_warrants
from magistrate.operations.overlaid_reader import OverlaidReader
from magistrate.operations.scheduling import checkpoint, is_time_up, limit_work, take_checkpoint
from magistrate.store.contract import NewWarrant, Snapshot

MOST_WALKS = 40
"""Limits the walks for one check; after that many, it is decided without the graph. Each walk needs one level more than
the one before."""
WORK = 2_000
WORK_FOR_A_CHECK = 10
"""Limits, together with WORK, the units of work (walking and reading) after which a check is decided without the graph.
The amount equals what an Evaluation of as many checks takes, so the graph costs at most about as much as it could save.
What was read and decided until then stays cached, and the next such check gets further."""

FEW_CHECKS = 20
"""Limits the checks of a request that begins without waiting for others that work long."""


async def check_all(ctx: Context, checks: Sequence[Check], freshness: Freshness) -> Decisions:
    """Returns one decision per check, in order; raises like `check`. It serves callers that are not check requests
    themselves, so nothing is logged."""
    pending = PendingChecks(ctx, checks, ALL_NEEDED, freshness, is_logged=False)
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


class PendingChecks:
    """Represents checks that wait for their decisions. `decide_at_once` is called first, and `decide` if it returned
    None; a caller that cannot wait may leave it at that."""

    __slots__ = ("_batch", "_ctx", "_freshness", "_log", "_origin", "_patterns", "_rounds", "_work")

    def __init__(
        self,
        ctx: Context,
        checks: Sequence[Check],
        stop_at: StopAt,
        freshness: Freshness,
        with_path: bool = False,
        is_logged: bool = True,
        contextual: ContextualWarrants | None = None,
        origin: RequestOrigin = UNKNOWN,
        denies_undefined: bool = False,
    ) -> None:
        self._ctx = ctx
        self._origin = origin
        self._freshness = freshness
        self._log = ctx.decisions if is_logged else None
        now = ctx.now() if contextual is None else contextual.now
        self._patterns = NO_PATTERNS if contextual is None else contextual.overlay.patterns
        self._batch = CheckBatch(checks, stop_at, now, ctx.max_check_work, with_path, contextual, denies_undefined)
        self._rounds: GraphRounds | None = None

    def decide_at_once(self) -> Decisions | None:
        """Returns the decisions if the graph cache has all they need, otherwise None. Raises StoreUnavailable."""
        batch, live = self._batch, self._ctx.graph
        graph = None if batch.with_path else live.current_graph(self._freshness, self._patterns)
        has_time = len(batch.checks) <= FEW_CHECKS or not is_time_up()
        if graph is not None and batch.contextual is None and has_time:
            known = graph.decisions.find(batch.checks, batch.stop_at)
            if known is not None:
                return self._finish(Snapshot(graph.revision, known))
        self._work = limit_work(min(batch.most_work, WORK + WORK_FOR_A_CHECK * len(batch.checks)))
        if graph is None or not has_time:
            return None
        rounds = self._rounds = GraphRounds(graph, self._batch, self._work)
        try:
            decided = rounds.outcome() if rounds.walk(stops_when_open=True) else None
        except (GivenUp, BudgetExceeded):
            return None  # `decide` meets the same again
        if decided is None:
            return None
        if rounds.missing.groups:
            live.read_ahead(graph, rounds.missing)
        return self._finish(decided)

    def _finish(self, decided: Decisions) -> Decisions:
        """Counts decisions that were made in memory alone, and logs them."""
        self._ctx.graph.counts.hits += 1
        if self._log is not None:
            self._note(self._log, decided)
        return decided

    async def decide(self) -> Decisions:
        """Returns the decisions, and reads what they need. Raises like `check`."""
        if self._work.needs_checkpoint:
            await take_checkpoint(self._work)  # that of `decide_at_once`
        elif len(self._batch.checks) > FEW_CHECKS:
            await checkpoint()  # several such requests, if they come at once, begin in different iterations
        decided = None
        if self._ctx.graph.is_enabled and not self._batch.with_path:
            decided = await self._decide_from_graph()
        if decided is None:
            if self._work.needs_checkpoint:
                await checkpoint()
            decided = await self._evaluate()
        if self._log is not None:
            self._note(self._log, decided)
        return decided

    def log_decisions(self, decided: Decisions) -> None:
        """Logs the decisions of checks that were made without `is_logged`."""
        if self._ctx.decisions is not None:
            self._note(self._ctx.decisions, decided)

    def _note(self, log: DecisionLog, decided: Decisions) -> None:
        contextual = () if self._batch.contextual is None else self._batch.contextual.warrants
        log.note(self._batch.checks, decided, self._batch.now, contextual, self._origin)

    async def _decide_from_graph(self) -> Decisions | None:
        """Returns the decisions, or None if they have to be made without the graph.

        Raises InvalidParameter if the token is from the future, StoreUnavailable.
        """
        live, rounds, fetched = self._ctx.graph, self._rounds, frozenset[object]()
        try:
            for _ in range(MOST_WALKS):
                graph = await live.follow_to(self._freshness, self._patterns)
                if rounds is None or not rounds.is_at(graph):
                    rounds = GraphRounds(graph, self._batch, self._work)
                if (decided := await _complete_round(rounds, graph, self._work)) is not None:
                    live.count_decision(had_to_read=bool(fetched))
                    live.read_ahead(graph, rounds.missing)
                    return decided
                if rounds.missing:
                    if rounds.missing.keys() == fetched:
                        break  # the cache has no capacity for all of it
                    await live.fetch(graph, rounds.missing, self._work)
                    fetched = rounds.missing.keys()
                rounds.begin_round()
        except (GivenUp, BudgetExceeded):
            pass
        live.counts.given_up += 1
        return None

    async def _evaluate(self) -> Decisions:
        """Returns the decisions of an evaluation at the newest revision. It begins with a known model, which was the
        newest at some time; the first read shows whether it still is, and if not it begins again with the newer
        one."""
        with self._ctx.shared_reads.join(self._ctx.store) as reader:
            return await self._evaluate_with(reader)

    async def _evaluate_with(self, shared: WarrantReader) -> Decisions:
        ctx = self._ctx
        contextual, known = self._batch.contextual, await ctx.models.get_known()
        run = CheckRun(known if contextual is None else contextual.overlay.extend_model(known), self._batch)
        ahead = PrefetchingReader(ctx.store, shared, run)
        reader: WarrantReader = ahead if contextual is None else OverlaidReader(ahead, contextual.overlay)
        try:
            while (reads := run.advance()) is None:
                await take_checkpoint(run.work)
            # One row above the budget is enough to detect that a read exceeds it.
            result = await reader.read_warrants(reads, None, run.work.left + 1)
            self._freshness.demand(result.newest)
            model = await ctx.models.at(result.revision, result.model_revision)
            extended = model if contextual is None else contextual.extend_model(model)
            if model is known:
                run.take(result.warrants)
            else:
                run = ahead.run = CheckRun(extended, self._batch)
            return Snapshot(result.revision, await drive_run(reader, run, result.revision))
        finally:
            release_run(run)


async def _complete_round(rounds: GraphRounds, graph: Graph, work: Work) -> Decisions | None:
    """Returns the decisions, or None if something is missing or the graph has changed in the meantime."""
    while not rounds.walk():
        await take_checkpoint(work)
        if not rounds.is_at(graph):
            return None
    return rounds.outcome()
