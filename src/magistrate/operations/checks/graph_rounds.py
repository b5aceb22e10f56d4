"""Decides a batch of checks from the graph cache in rounds: each round retries the checks that are still open, with the
warrants read since."""

from magistrate.engine.decision import Decision
from magistrate.engine.graph import CachedWalk, CheckpointNeeded, Graph, MissingEntries, OverlaidWalk, Walk
from magistrate.engine.work import Work
from magistrate.operations.checks.check_batch import CheckBatch, Decisions
from magistrate.store.contract import Snapshot


class GraphRounds:
    """Represents the rounds on one graph at one revision. The first has begun; `missing` collects what this round has
    to have read. Raises InvalidParameter for a contextual warrant that could not be written, BudgetExceeded."""

    __slots__ = (
        "_batch",
        "_decisions",
        "_graph",
        "_is_open",
        "_left",
        "_model",
        "_revision",
        "_walk",
        "_work",
        "missing",
    )

    def __init__(self, graph: Graph, batch: CheckBatch, work: Work) -> None:
        self._graph = graph
        self._revision = graph.revision
        self._model = graph.model
        self._batch = batch
        self._work = work
        self._decisions: list[Decision | None] = [None] * len(batch.checks)
        if batch.contextual is not None:
            batch.contextual.require_defined(graph.model)
            work.spend(batch.contextual.overlay.size)
        self._begin_round(list(range(len(batch.checks))))

    def is_at(self, graph: Graph) -> bool:
        """Returns whether the decisions so far still hold for this graph; if not, they have to be made again."""
        return graph is self._graph and graph.revision == self._revision and graph.model is self._model

    def begin_round(self) -> None:
        self._begin_round([place for place, decision in enumerate(self._decisions) if decision is None])

    def _begin_round(self, left: list[int]) -> None:
        left.reverse()
        self._left = left
        batch, shares = self._batch, len(self._decisions) > 1
        if batch.contextual is None:
            self._walk: Walk = CachedWalk(self._graph, batch.now, self._work, shares)
        else:
            self._walk = OverlaidWalk(self._graph, batch.now, self._work, shares, batch.contextual.overlay)
        self.missing: MissingEntries = self._walk.missing
        self._is_open = False

    def walk(self, stops_when_open: bool = False) -> bool:
        """Walks for one time slice, and returns whether the round is complete. With `stops_when_open`, the time slice
        ends at the first check that misses something. Raises GivenUp, BudgetExceeded."""
        walk, work, left, batch = self._walk, self._work, self._left, self._batch
        work.pass_checkpoint()
        while left:
            if work.needs_checkpoint:
                return False
            place = left[-1]
            try:
                decision = self._decisions[place] = walk.decide(batch.checks[place])
            except CheckpointNeeded:
                return False
            left.pop()
            if decision is None:
                self._is_open = True  # the other checks still collect what they miss
                if stops_when_open:
                    return False
            elif not self._is_open and decision.is_authorized is batch.stop_at:
                break
        return True

    def outcome(self) -> Decisions | None:
        """Returns the decisions up to the last that is needed; None if one of them is open."""
        decided: list[Decision] = []
        for decision in self._decisions:
            if decision is None:
                return None
            decided.append(decision)
            if decision.is_authorized is self._batch.stop_at:
                break
        return Snapshot(self._revision, decided)
