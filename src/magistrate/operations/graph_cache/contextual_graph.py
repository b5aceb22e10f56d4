"""Caches warrants for checks with contextual warrants whose patterns the model does not have.

Such a check needs plans that expand these patterns, so its entries are others than those of the graph cache. One more
graph has them: its model also has the patterns of recent contextual warrants. No contextual warrant is in it."""

from collections.abc import Set

from magistrate.engine.cache.graph import Graph
from magistrate.engine.cache.segments import CacheBytes
from magistrate.engine.model.model import Model
from magistrate.engine.warrants.warrant import WarrantPattern
from magistrate.operations.runs import free_in_steps
from magistrate.store.contract.revisions import WarrantChanges

MOST_PATTERNS = 200
"""Limits the further patterns. When there would be more, only those of the last request are kept."""
NO_PATTERNS: frozenset[WarrantPattern] = frozenset()


class ExtendedGraph:
    """Holds the further graph, which is always at the revision of the graph cache, or nothing."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._patterns = NO_PATTERNS
        self._graph: Graph | None = None

    def count_entries(self) -> int:
        return self._graph.count_entries() if self._graph is not None else 0

    def measure(self) -> CacheBytes:
        """Returns how many bytes it takes, and the limit on them."""
        parts = self._graph.measure() if self._graph is not None else ()
        return CacheBytes("contextual", sum([part.bytes for part in parts]), self._most_bytes)

    def find(self, patterns: Set[WarrantPattern]) -> Graph | None:
        """Returns the graph if its model has these patterns."""
        graph = self._graph
        return graph if graph is not None and patterns <= graph.model.patterns else None

    def extend_model(self, model: Model, patterns: Set[WarrantPattern]) -> Model:
        """Returns the model that a graph with these patterns needs, given that of the graph cache."""
        return model.with_patterns(self._join(patterns))

    def extend(self, current: Graph, patterns: Set[WarrantPattern]) -> Graph:
        """Returns the graph with these patterns, at the revision of `current`, which is the graph cache. The plans of
        all groups in the model of `extend_model` should be compiled."""
        joined = self._join(patterns)
        model = current.model.with_patterns(joined)
        if self._graph is not None and not joined.issuperset(self._patterns):
            self.evict()
        if self._graph is None:
            self._graph = Graph(model, current.revision, self._most_bytes, discard=free_in_steps)
        else:
            self._graph.change_model(model, current.revision)
        self._patterns = joined
        return self._graph

    def _join(self, patterns: Set[WarrantPattern]) -> frozenset[WarrantPattern]:
        joined = self._patterns | patterns
        return joined if len(joined) <= MOST_PATTERNS else frozenset(patterns)

    def bring_forward(self, model: Model, former: Model, news: WarrantChanges) -> None:
        """Applies changes that the graph cache has applied. When its model has changed, the graph is evicted."""
        if model is not former or news.changes is None:
            self.evict()
        elif self._graph is not None:
            self._graph.apply(news.changes, news.revision)

    def evict(self) -> None:
        """Evicts the graph."""
        if self._graph is not None:
            self._graph.clear(self._graph.revision)  # what is evicted is freed in steps
        self._graph, self._patterns = None, NO_PATTERNS
