"""Finds the rows of a query for objects with bitmaps from the graph cache (see set_listings.py)."""

from cachetools import LRUCache
from pyroaring import BitMap

from magistrate.engine.graph.adjacency_fetch import AdjacencyFetch
from magistrate.engine.plans import Model
from magistrate.engine.query import ObjectsQuery
from magistrate.engine.query.connected_graph import MOST_NODES, ConnectedGraph, connect_graph
from magistrate.engine.query.finding import demand_types, find_targets
from magistrate.engine.query.object_sets import ObjectSets
from magistrate.engine.query.reverse_graph import Target
from magistrate.engine.query.set_pages import OrderedSets
from magistrate.engine.terms import TypeName
from magistrate.engine.work import Work
from magistrate.operations.checks.evaluating import complete_steps
from magistrate.operations.existing_numbers import ExistingNumbers, find_absent
from magistrate.store.contract import Store

MOST_GRAPHS = 200
"""Limits the connected graphs that are kept. They depend on the types and relations of queries and on their subjects'
types, of which callers use few."""

_GraphKey = tuple[str, tuple[Target, ...], bool]


class ObjectLists:
    """Keeps what many lists of objects use: the connected graphs of recent queries, which are those of one model, and
    which objects exist."""

    def __init__(self, existing: ExistingNumbers) -> None:
        self._existing = existing
        self._model: Model | None = None
        self._graphs: LRUCache[_GraphKey, ConnectedGraph | None] = LRUCache(MOST_GRAPHS)

    async def connect(self, model: Model, query: ObjectsQuery, store: Store, work: Work) -> ConnectedGraph | None:
        """Returns the connected graph of a query, or None if it cannot be computed with bitmaps. Raises NotFound and
        BudgetExceeded."""
        demand_types(model, query)
        targets = tuple(find_targets(model, query))
        if len(targets) > MOST_NODES:
            return None
        if model is not self._model:
            self._model = model
            self._graphs.clear()
        key = (query.subject.type, targets, query.is_explicit)
        if key in self._graphs:
            return self._graphs[key]
        examined = model.without_rules() if query.is_explicit else model
        steps = connect_graph(examined, query.subject.type, targets, work)
        connected = await complete_steps(store, steps, work, model.revision)
        if model is self._model:
            self._graphs[key] = connected
        return connected

    async def order(self, fetch: AdjacencyFetch, store: Store, found: ObjectSets, work: Work) -> OrderedSets:
        """Returns the rows of a result. Raises BudgetExceeded and RevisionUnavailable."""
        existing: dict[TypeName, BitMap] = {}
        for (of_type, _), root in found.graph.roots.items():
            if of_type not in existing and root in found.sets and found.sets[root].is_complement:
                numbering, table = fetch.adjacency.numbering, found.tables[of_type]
                existing[of_type] = await self._existing.list(store, of_type, fetch.revision, numbering, table, work)
        absent = await find_absent(store, found.itself, fetch.revision, found.tables)
        return OrderedSets(found, existing, absent)
