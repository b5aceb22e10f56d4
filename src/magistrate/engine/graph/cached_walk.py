"""Decides checks from the decisions that the graph has cached, and from its entries where there is none."""

from magistrate.engine.decision import Decision
from magistrate.engine.evaluation import Check
from magistrate.engine.graph.graph import Graph
from magistrate.engine.graph.walk import Walk
from magistrate.engine.work import Work


class CachedWalk(Walk):
    """Decides checks like a walk, and caches the decisions that depend neither on the time nor on a context, as long as
    everything that the walk may have read stays cached."""

    __slots__ = ("_cached", "_evictions")

    def __init__(self, graph: Graph, now: int, work: Work, shares: bool = False) -> None:
        super().__init__(graph, now, work, shares)
        self._cached = graph.decisions
        self._evictions = graph.decisions.evictions

    def decide(self, check: Check) -> Decision | None:
        if self._round == 1:  # what was cached before was found then
            known = self._cached.find((check,))
            if known is not None:
                self.work.spend(1)
                return known[0]
        decision = super().decide(check)
        if decision is not None and self._conditions is None and self._cached.evictions == self._evictions:
            self._cached.keep(check, decision)
        return decision
