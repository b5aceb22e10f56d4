"""Defines what decides checks, and in which order.

`list_evaluators` has them all. Each decides a batch as a whole, or returns None and leaves it to the next: walks over
cached entries, which read what is missing; a walk over the warrants that one statement reads ahead; and an evaluation,
which decides everything. Before all of them, PendingChecks looks among the cached decisions.
"""

from collections.abc import Sequence, Set
from contextlib import nullcontext
from typing import Protocol

import msgspec

from magistrate.engine.cache.graph import Graph
from magistrate.engine.model.model import Model
from magistrate.engine.names import Revision
from magistrate.engine.walk.walk import Undecided
from magistrate.engine.warrants.read_ahead import AheadResult
from magistrate.engine.warrants.reader import ReadResult, WarrantReader
from magistrate.engine.warrants.warrant import WarrantPattern
from magistrate.engine.work import Work
from magistrate.errors import BudgetExceeded
from magistrate.operations.checks.check_batch import CheckBatch, Decisions
from magistrate.operations.checks.check_run import CheckRun
from magistrate.operations.checks.graph_rounds import GraphRounds
from magistrate.operations.checks.prefetching_reader import BegunRead, PrefetchingReader
from magistrate.operations.checks.walking_ahead import decide_ahead, predict_reads, read_for_walk
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.graph_cache.contextual_graph import NO_PATTERNS
from magistrate.operations.graph_cache.live_graph import LiveGraph
from magistrate.operations.history.points_in_time import PointInTime
from magistrate.operations.readers.contextual_warrants import ContextualWarrants
from magistrate.operations.readers.store_readers import OverlaidReader
from magistrate.operations.runs import drive_run, release_run
from magistrate.operations.scheduling import checkpoint, limit_work, take_checkpoint
from magistrate.store.contract.lists import Snapshot

MOST_RESTARTS = 40
"""Limits how often the rounds of one request begin anew because the graph has changed; after that many, it is decided
without the graph."""
WORK = 2_000
WORK_FOR_A_CHECK = 10
"""Limits, together with WORK, the units of work (walking and reading) after which a check is decided without the graph.
The amount equals what an Evaluation of as many checks takes, so the graph costs at most about as much as it could save.
What was read and decided until then stays cached, and the next such check gets further."""


class Evaluator(Protocol):
    """Decides batches of checks."""

    async def decide(self, batch: CheckBatch) -> Decisions | None:
        """Returns the decisions, or None if another evaluator has to make them.

        Raises NotFound for the first check that cannot be decided because an object type is not defined,
        BudgetExceeded, InvalidParameter if the token is from the future or a contextual warrant could not be written,
        and StoreUnavailable.
        """
        ...


def list_evaluators(moment: "Moment", walks: "CachedWalks | None") -> Sequence[Evaluator]:
    """Returns the evaluators in the order in which they are tried. `walks` are those that have begun; None unless the
    checks are of now and without paths."""
    ahead = AheadWalk(moment)
    return (*([] if walks is None else [walks]), ahead, LevelEvaluation(moment, ahead))


async def decide_in_order(evaluators: Sequence[Evaluator], batch: CheckBatch) -> Decisions:
    """Returns the decisions of the first evaluator that makes them. Raises what it raises."""
    for evaluator in evaluators:
        if (decided := await evaluator.decide(batch)) is not None:
            return decided
    raise AssertionError("the last evaluator decides everything")


class Moment(msgspec.Struct, frozen=True):
    """Says as of when checks are decided: at a point in the past, or at the newest revision, which a read shows; it
    must satisfy `freshness`."""

    ctx: Context
    freshness: Freshness
    point: PointInTime | None = None

    @property
    def at(self) -> Revision | None:
        return None if self.point is None else self.point.revision

    async def find_model(self) -> Model:
        """Returns the model of the point, or one that was the newest at some time."""
        models, point = self.ctx.models, self.point
        return await (models.get_known() if point is None else models.at(point.revision, point.model_revision))

    async def confirm_model(self, result: ReadResult | AheadResult) -> Model:
        """Returns the model of what was read. Raises InvalidParameter if the token is from the future."""
        if self.point is None:
            self.freshness.demand(result.newest)
            return await self.ctx.models.at(result.revision, result.model_revision)
        return await self.find_model()


class CachedWalks:
    """Implements Evaluator by walks over the graph cache; what they miss is read and cached."""

    __slots__ = ("_freshness", "_live", "_rounds", "work")

    def __init__(self, live: LiveGraph, freshness: Freshness, batch: CheckBatch) -> None:
        self.work = limit_work(min(batch.most_work, WORK + WORK_FOR_A_CHECK * len(batch.checks)))
        self._live = live
        self._freshness = freshness
        self._rounds: GraphRounds | None = None

    def decide_at_once(self, graph: Graph, batch: CheckBatch) -> Decisions | None:
        """Returns the decisions if this graph has all they need, otherwise None."""
        rounds = self._rounds = GraphRounds(graph, batch, self.work)
        try:
            decided = rounds.outcome() if rounds.walk(stops_when_open=True) is None else None
        except BudgetExceeded:
            return None  # `decide` meets the same again
        if decided is not None and rounds.missing.groups:
            self._live.read_ahead(graph, rounds.missing)
        return decided

    async def decide(self, batch: CheckBatch) -> Decisions | None:
        decided = await self._decide(batch)
        if decided is None:
            self._live.counts.given_up += 1
            if self.work.needs_checkpoint:
                await checkpoint()
        return decided

    async def _decide(self, batch: CheckBatch) -> Decisions | None:
        live, rounds, work, fetched = self._live, self._rounds, self.work, frozenset[object]()
        patterns, restarts = list_patterns(batch.contextual), 0
        try:
            while restarts < MOST_RESTARTS:  # the rounds in between are limited by the work, which each of them adds to
                graph = await live.follow_to(self._freshness, patterns)
                if rounds is None or not rounds.is_at(graph):
                    rounds = GraphRounds(graph, batch, work)
                    restarts += 1
                decided = await _complete_round(rounds, graph, work)
                if decided is Undecided.IMPOSSIBLE:
                    return None
                if not isinstance(decided, Undecided):
                    live.count_decision(had_to_read=bool(fetched))
                    live.read_ahead(graph, rounds.missing)
                    return decided
                if not rounds.is_at(graph):
                    continue  # views and kinds may have other numbers than when they were missing
                if rounds.missing:
                    if rounds.missing.keys() == fetched:
                        return None  # the cache has no capacity for all of it
                    await live.fetch(graph, rounds.missing, work)
                    fetched = rounds.missing.keys()
                rounds.begin_round()
        except BudgetExceeded:
            return None
        return None


async def _complete_round(rounds: GraphRounds, graph: Graph, work: Work) -> Decisions | Undecided:
    """Returns the decisions, or why there are none; walks are PAUSED if the graph has changed in the meantime."""
    while (undecided := rounds.walk()) is Undecided.PAUSED:
        await take_checkpoint(work)
        if not rounds.is_at(graph):
            return undecided
    return undecided or rounds.outcome() or Undecided.MISSING


class AheadWalk:
    """Implements Evaluator for a plain check: reads ahead what it needs, in one statement, and walks over that."""

    def __init__(self, moment: Moment) -> None:
        self._moment = moment
        self.begun: BegunRead | None = None
        """Is what was read; an evaluation can use it."""

    async def decide(self, batch: CheckBatch) -> Decisions | None:
        moment = self._moment
        model = await moment.find_model()
        predicted = predict_reads(model, batch)
        if predicted is None:
            return None
        begun = self.begun = await read_for_walk(moment.ctx.store, predicted, batch, moment.at)
        if await moment.confirm_model(begun.result) is not model:
            return None
        decision = decide_ahead(model, batch, begun)
        return None if decision is None else Snapshot(begun.result.revision, [decision])


class LevelEvaluation:
    """Implements Evaluator by an evaluation, which decides every batch. It begins with what `ahead` has read."""

    def __init__(self, moment: Moment, ahead: AheadWalk) -> None:
        self._moment = moment
        self._ahead = ahead

    async def decide(self, batch: CheckBatch) -> Decisions | None:
        ctx, is_past = self._moment.ctx, self._moment.at is not None
        with nullcontext(ctx.store) if is_past else ctx.shared_reads.join(ctx.store) as reader:
            return await self._evaluate(batch, reader)

    async def _evaluate(self, batch: CheckBatch, shared: WarrantReader) -> Decisions:
        """Returns the decisions. At the newest revision it begins with a known model; the first read shows whether that
        still is the newest, and if not it begins again with the newer one."""
        moment, contextual = self._moment, batch.contextual
        known = await moment.find_model()
        if contextual is None:
            extended = known
        else:
            extended = contextual.overlay.extend_model(known) if moment.at is None else contextual.extend_model(known)
        run = CheckRun(extended, batch)
        ahead = PrefetchingReader(moment.ctx.store, shared, run, self._ahead.begun)
        reader: WarrantReader = ahead if contextual is None else OverlaidReader(ahead, contextual.overlay)
        try:
            if moment.at is not None:
                return Snapshot(moment.at, await drive_run(reader, run, moment.at))
            while (reads := run.advance()) is None:
                await take_checkpoint(run.work)
            # One row above the budget is enough to detect that a read exceeds it.
            result = await reader.read_warrants(reads, None, run.work.left + 1)
            model = await moment.confirm_model(result)
            extended = model if contextual is None else contextual.extend_model(model)
            if model is known:
                run.take(result.warrants)
            else:
                run = ahead.run = CheckRun(extended, batch)
            return Snapshot(result.revision, await drive_run(reader, run, result.revision))
        finally:
            release_run(run)


def list_patterns(contextual: ContextualWarrants | None) -> Set[WarrantPattern]:
    """Returns the patterns that the model of a graph must have for checks with these contextual warrants."""
    return NO_PATTERNS if contextual is None else contextual.overlay.patterns
