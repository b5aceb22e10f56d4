"""Decides a batch of checks from the graph cache in rounds: each round continues the checks that are still open, with
the warrants read since."""

from itertools import islice

from magistrate.engine.cache.entry_reads import MissingEntries
from magistrate.engine.cache.graph import Graph
from magistrate.engine.evaluation.check import Decision
from magistrate.engine.walk.cached_entries import CachedEntries, OverlaidEntries
from magistrate.engine.walk.findings import OpenWalk
from magistrate.engine.walk.walk import Undecided, Walk
from magistrate.engine.work import Work
from magistrate.operations.checks.check_batch import CheckBatch, Decisions
from magistrate.store.contract.lists import Snapshot


class GraphRounds:
    """Represents the rounds on one graph at one revision. The first has begun; `missing` collects what this round has
    to have read. Raises InvalidParameter for a contextual warrant that could not be written, BudgetExceeded."""

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
        self._outcome: list[Decision] = []
        """Holds the decisions before the first that is open, as far as `outcome` has looked."""
        self._blockers: dict[int, OpenWalk] = {}
        """Holds the walks, by the places of other checks, that alone keep these checks open."""
        if batch.contextual is not None:
            batch.contextual.require_defined(graph.model)
            work.spend(batch.contextual.overlay.size)
        shares, contextual = len(batch.checks) > 1, batch.contextual
        if contextual is None:
            self._walk = Walk(CachedEntries(graph), batch.now, work, shares=shares, decisions=graph.decisions)
        else:
            entries = OverlaidEntries(graph, batch.now, contextual.overlay)
            self._walk = Walk(entries, batch.now, work, shares=shares)
        self._collect(list(range(len(batch.checks))))

    def is_at(self, graph: Graph) -> bool:
        """Returns whether the decisions so far still hold for this graph; if not, they have to be made again."""
        return graph is self._graph and graph.revision == self._revision and graph.model is self._model

    def begin_round(self) -> None:
        """Continues the walks that lack something, after what is missing was read for the same graph; see is_at."""
        self._walk.resume_checks()
        self._collect([*self._open, *reversed(self._left)])

    def _collect(self, left: list[int]) -> None:
        """Makes the checks at these places, in this order, those of the round."""
        left.reverse()
        self._left = left
        self.missing: MissingEntries = self._walk.missing
        self._open: list[int] = []
        """Holds the places of the checks that this round could not decide, in their order."""

    def walk(self, stops_when_open: bool = False) -> Undecided | None:
        """Walks for one time slice, and returns None if the round is complete. With `stops_when_open`, the time slice
        ends at the first check that misses something. Raises BudgetExceeded."""
        walk, work, left, batch = self._walk, self._work, self._left, self._batch
        work.pass_checkpoint()
        while left:
            if work.needs_checkpoint:
                return Undecided.PAUSED
            place = left[-1]
            blocker = self._blockers.get(place)
            if blocker is not None and walk.is_open(blocker):
                self._open.append(left.pop())
                continue
            decision = walk.decide(batch.checks[place])
            if decision is Undecided.PAUSED or decision is Undecided.IMPOSSIBLE:
                return decision
            left.pop()
            if isinstance(decision, Undecided):
                self._open.append(place)  # the other checks still collect what they miss
                if walk.blocker is not None:
                    self._blockers[place] = walk.blocker
                if stops_when_open:
                    return decision
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
