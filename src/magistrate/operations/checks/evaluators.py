"""Defines what decides checks, and in which order.

`list_evaluators` has them all. Each decides a batch as a whole, or returns None and leaves it to the next: walks over
cached entries, which read what is missing; a walk over the warrants that one statement reads ahead; and an evaluation,
which decides everything. Before all of them, PendingChecks looks among the cached decisions.
"""

from collections.abc import Callable, Sequence, Set
from contextlib import nullcontext
from itertools import islice
from typing import Protocol, TypeVar

import msgspec

from magistrate.engine.cache.entry_reads import MissingEntries
from magistrate.engine.cache.graph import Graph
from magistrate.engine.evaluation.check import Decision
from magistrate.engine.model.model import Model
from magistrate.engine.names import WILDCARD, Revision
from magistrate.engine.steps import Run
from magistrate.engine.walk.cached_entries import CachedEntries, OverlaidEntries
from magistrate.engine.walk.findings import OpenWalk
from magistrate.engine.walk.walk import Undecided, Walk
from magistrate.engine.walk.warrants_ahead import WarrantsAhead
from magistrate.engine.warrants.read_ahead import AheadReader, AheadResult, ReadsAhead, outline_reads
from magistrate.engine.warrants.reader import ReadResult, WarrantReader
from magistrate.engine.warrants.warrant import WarrantPattern
from magistrate.engine.work import Work
from magistrate.errors import BudgetExceeded
from magistrate.operations.checks.check_batch import CheckBatch, CheckRun, Decisions
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.history.points_in_time import PointInTime
from magistrate.operations.live_graph import NO_PATTERNS, LiveGraph
from magistrate.operations.readers.contextual_warrants import ContextualWarrants
from magistrate.operations.readers.prefetching_reader import MAX_ROWS_AHEAD, BegunRead, PrefetchingReader
from magistrate.operations.readers.store_readers import OverlaidReader
from magistrate.operations.runs import drive_run, release_run
from magistrate.operations.scheduling import checkpoint, is_time_up, limit_work, take_checkpoint
from magistrate.store.contract.lists import Snapshot
from magistrate.tracing import CACHE_MISS, CURRENT

T = TypeVar("T")

MAX_RESTARTS = 40
"""Limits how often the rounds of one request begin anew because the graph has changed; after that many, it is decided
without the graph."""
WORK = 2_000
WORK_FOR_A_CHECK = 20
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
    """Returns the decisions of the first evaluator that makes them, and notes in the trace of the request if they were
    not made from the graph cache. Raises what it raises."""
    for evaluator in evaluators:
        if (decided := await evaluator.decide(batch)) is not None:
            if (span := CURRENT.get()) is not None and not isinstance(evaluator, CachedWalks):
                span.trace.note_cache(CACHE_MISS)
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
        models, point = self.ctx.caches.models, self.point
        return await (models.get_known() if point is None else models.at(point.revision, point.model_revision))

    async def confirm_model(self, result: ReadResult | AheadResult) -> Model:
        """Returns the model of what was read. Raises InvalidParameter if the token is from the future."""
        if self.point is None:
            self.freshness.demand(result.newest)
            return await self.ctx.caches.models.at(result.revision, result.model_revision)
        return await self.find_model()

    async def complete_run(
        self, begin: Callable[[Model], Run[T]], reader: WarrantReader, contextual: ContextualWarrants | None
    ) -> tuple[Model, Snapshot[T]]:
        """Returns the outcome of the run that `begin` makes for a model, and the model.

        At the newest revision it begins with a known model; the first read shows whether that still is the newest, and
        if not it begins again with the newer one. Raises InvalidParameter for a contextual warrant that could not be
        written, or if the token is from the future; and what the run raises.
        """
        first_model, at = await self.find_model(), self.at
        if contextual is not None and at is not None:
            contextual.require_defined(first_model)
        run = begin(first_model)
        try:
            if at is not None:
                return first_model, Snapshot(at, await drive_run(reader, run, at))
            while (reads := run.advance()) is None:
                await take_checkpoint(run.work)
            # One row above the budget is enough to detect that a read exceeds it.
            result = await reader.read_warrants(reads, None, run.work.left + 1)
            model = await self.confirm_model(result)
            if contextual is not None:
                contextual.require_defined(model)
            if model is first_model:
                run.take(result.warrants)
            else:
                release_run(run)
                run = begin(model)
            return model, Snapshot(result.revision, await drive_run(reader, run, result.revision))
        finally:
            release_run(run)


def begin_walk(graph: Graph, batch: CheckBatch, work: Work) -> Walk:
    """Returns what decides the checks of a batch from a graph, at its revision. Raises InvalidParameter for a
    contextual warrant that could not be written, BudgetExceeded."""
    contextual, shares = batch.contextual, len(batch.checks) > 1
    if contextual is None:
        return Walk(CachedEntries(graph), batch.now, work, shares=shares, decisions=graph.decisions)
    contextual.require_defined(graph.model)
    work.spend(contextual.overlay.size)
    return Walk(OverlaidEntries(graph, batch.now, contextual.overlay), batch.now, work, shares=shares)


class GraphRounds:
    """Represents the rounds on one graph at one revision. The first has begun: `walk` has decided the first checks, and
    if `is_missing` misses something for the next one. `missing` collects what this round has to have read."""

    __slots__ = (
        "_batch",
        "_blockers",
        "_decisions",
        "_graph",
        "_left",
        "_model",
        "_open",
        "_outcome",
        "_revision",
        "_walk",
        "missing",
    )

    def __init__(
        self, graph: Graph, batch: CheckBatch, walk: Walk, decided: Sequence[Decision], is_missing: bool = False
    ) -> None:
        self._graph = graph
        self._revision = graph.revision
        self._model = graph.model
        self._batch = batch
        self._walk = walk
        self._decisions: list[Decision | None] = [*decided, *[None] * (len(batch.checks) - len(decided))]
        self._outcome: list[Decision] = []
        """Holds the decisions before the first that is open, as far as `outcome` has looked."""
        self._blockers: dict[int, OpenWalk] = {}
        """Holds the walks, by the places of other checks, that alone keep these checks open."""
        self._collect(list(range(len(decided) + is_missing, len(batch.checks))))
        if is_missing:
            self._leave_open(len(decided))

    def is_at(self, graph: Graph) -> bool:
        """Returns whether the decisions so far still hold for this graph; if not, they have to be made again."""
        return graph is self._graph and graph.revision == self._revision and graph.model is self._model

    def begin_round(self) -> None:
        """Continues the walks that lack something, after what is missing was read for the same graph; see is_at."""
        self._walk.resume_checks()
        self._collect([*self._open, *reversed(self._left)])

    def _collect(self, places: list[int]) -> None:
        """Makes the checks at these places, in this order, those of the round."""
        places.reverse()
        self._left = places
        self.missing: MissingEntries = self._walk.missing
        self._open: list[int] = []
        """Holds the places of the checks that this round could not decide, in their order."""

    def _leave_open(self, place: int) -> None:
        self._open.append(place)  # the other checks still collect what they miss
        if self._walk.blocker is not None:
            self._blockers[place] = self._walk.blocker

    def walk(self) -> Undecided | None:
        """Walks for one time slice, and returns None if the round is complete. Raises BudgetExceeded."""
        walk, work, places, batch = self._walk, self._walk.work, self._left, self._batch
        work.pass_checkpoint()
        while places:
            if work.needs_checkpoint:
                return Undecided.PAUSED
            place = places[-1]
            blocker = self._blockers.get(place)
            if blocker is not None and walk.is_open(blocker):
                while places and self._blockers.get(places[-1]) is blocker:
                    self._open.append(places.pop())
                continue
            decision = walk.decide(batch.checks[place])
            if decision is Undecided.PAUSED or decision is Undecided.IMPOSSIBLE:
                return decision
            places.pop()
            if isinstance(decision, Undecided):
                self._leave_open(place)
                continue
            self._decisions[place] = decision
            if not self._open and decision.is_authorized is batch.stop_at:
                break
        return None

    def outcome(self) -> Decisions | None:
        """Returns the decisions up to the last that is needed; None if one of them is open."""
        decided = self._outcome
        for decision in islice(self._decisions, len(decided), None):
            if decision is None:
                return None
            decided.append(decision)
            if decision.is_authorized is self._batch.stop_at:
                break
        return Snapshot(self._revision, decided)


class CachedWalks:
    """Implements Evaluator by walks over the graph cache; what they miss is read and cached."""

    __slots__ = ("_freshness", "_live", "_rounds", "work")

    def __init__(self, live: LiveGraph, freshness: Freshness, batch: CheckBatch) -> None:
        self.work = limit_work(min(batch.max_work, WORK + WORK_FOR_A_CHECK * len(batch.checks)))
        self._live = live
        self._freshness = freshness
        self._rounds: GraphRounds | None = None

    def decide_at_once(self, graph: Graph, batch: CheckBatch) -> Decisions | None:
        """Returns the decisions if this graph has all they need, otherwise None. Not all of them are cached as such."""
        walk, work, stop_at = begin_walk(graph, batch, self.work), self.work, batch.stop_at
        decide = walk.decide if len(batch.checks) > 1 else walk.decide_anew
        decided: list[Decision] = []
        work.pass_checkpoint()
        try:
            for check in batch.checks:
                decision = Undecided.PAUSED if work.needs_checkpoint else decide(check)
                if isinstance(decision, Undecided):  # rounds go on from here
                    is_missing = decision is Undecided.MISSING
                    self._rounds = GraphRounds(graph, batch, walk, decided, is_missing=is_missing)
                    return None
                decided.append(decision)
                if decision.is_authorized is stop_at:
                    break
        except BudgetExceeded:
            return None  # `decide` meets the same again
        if walk.missing.groups:
            self._live.read_ahead(graph, walk.missing)
        return Snapshot(graph.revision, decided)

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
            while restarts < MAX_RESTARTS:  # the rounds in between are limited by the work, which each of them adds to
                graph = await live.follow_to(self._freshness, patterns)
                if rounds is None or not rounds.is_at(graph):
                    rounds = GraphRounds(graph, batch, begin_walk(graph, batch, work), ())
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


def predict_reads(model: Model, batch: CheckBatch) -> ReadsAhead | None:
    """Returns what has to be read ahead for the check of the batch, or None if only an evaluation can decide it."""
    if len(batch.checks) != 1 or batch.with_path or batch.contextual is not None:
        return None
    [check] = batch.checks
    plan = model.plans.get((check.object.type, check.relation))
    if plan is None or check.object.id == WILDCARD:
        return None
    outline = outline_reads(model, plan, check.subject)
    return outline.name_subject(check.subject) if plan in outline.plans else None


async def read_for_walk(reader: AheadReader, ahead: ReadsAhead, batch: CheckBatch, at: Revision | None) -> BegunRead:
    """Reads what was predicted for the check of the batch, at one revision, and leaves time to others before and after
    it. Raises what `read_ahead` raises."""
    if is_time_up():
        await checkpoint()
    reads = ahead.outline.begin_on((batch.checks[0].object.id,))
    # One row above the budget is enough to detect that the rows exceed it.
    limit = min(MAX_ROWS_AHEAD, batch.max_work + 1)
    result = await reader.read_ahead(reads, ahead, at, limit)
    if is_time_up():
        await checkpoint()
    return BegunRead(reads, ahead, result, is_complete=len(result.warrants) < limit)


def decide_ahead(model: Model, batch: CheckBatch, begun: BegunRead) -> Decision | None:
    """Returns the decision of the check of the batch from what was read, or None if an evaluation has to decide it.
    `model` is that for which the reads were predicted, and of their revision."""
    if not begun.is_complete:
        return None
    [check], outline = batch.checks, begun.ahead.outline
    ahead = WarrantsAhead(model, outline, batch.now)
    if not ahead.take(model.plan(check.object.type, check.relation), begun.result.warrants, batch.max_work):
        return None
    decision = Walk(ahead, batch.now, Work(batch.max_work)).decide(check)
    return None if isinstance(decision, Undecided) else decision


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
        with nullcontext(ctx.store) if is_past else ctx.caches.shared_reads.join(ctx.store) as reader:
            return await self._evaluate(batch, reader)

    async def _evaluate(self, batch: CheckBatch, shared: WarrantReader) -> Decisions:
        contextual = batch.contextual
        ahead = PrefetchingReader(self._moment.ctx.store, shared, None, self._ahead.begun)

        def begin(model: Model) -> CheckRun:
            run = CheckRun(model if contextual is None else contextual.overlay.extend_model(model), batch)
            ahead.run = run
            return run

        reader: WarrantReader = ahead if contextual is None else OverlaidReader(ahead, contextual.overlay)
        _, decided = await self._moment.complete_run(begin, reader, contextual)
        return decided


def list_patterns(contextual: ContextualWarrants | None) -> Set[WarrantPattern]:
    """Returns the patterns that the model of a graph must have for checks with these contextual warrants."""
    return NO_PATTERNS if contextual is None else contextual.overlay.patterns
