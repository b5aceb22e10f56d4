"""Finds the rows of queries with bitmaps from the graph cache, and cuts pages out of them.

The graph is at one revision; a search that finds it at another one after it has yielded begins again, with everything
that was cached meanwhile. After some attempts the query is answered without the graph.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

from cachetools import LRUCache
from pyroaring import BitMap

from magistrate.engine.bitmaps.connected_graph import MAX_NODES, ConnectedGraph, connect_graph
from magistrate.engine.bitmaps.object_pages import OrderedSets, cut_page
from magistrate.engine.bitmaps.object_sets import ObjectSets, ObjectSetSearch
from magistrate.engine.bitmaps.subject_nodes import PlanEdges, SolvedSubjects
from magistrate.engine.bitmaps.subject_pages import OrderedSubjects
from magistrate.engine.bitmaps.subject_sets import SubjectSetSearch
from magistrate.engine.byte_sizes import CacheBytes
from magistrate.engine.cache.adjacency_reads import AdjacencyFetch, EntryFetch, SubjectFetch
from magistrate.engine.cache.graph import Graph
from magistrate.engine.cache.ids import IdTable
from magistrate.engine.cache.segments import stay_as_large
from magistrate.engine.evaluation.conditions import PolicyEvaluator
from magistrate.engine.lists.language import ObjectsQuery, Query, SubjectsQuery
from magistrate.engine.lists.query_search import demand_types, find_targets, list_relations, list_subject_types
from magistrate.engine.lists.results import QueryRow
from magistrate.engine.lists.reverse_graph import Target
from magistrate.engine.model.model import Model
from magistrate.engine.model.plans import Plan
from magistrate.engine.names import ObjectId, RelationName, Revision, TypeName
from magistrate.engine.steps import Run, Steps
from magistrate.engine.subjects import is_userset_type
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.reader import WarrantReader
from magistrate.engine.work import ITEMS_AT_ONCE, ITEMS_FOR_A_NODE, Work
from magistrate.operations.consistency import Freshness
from magistrate.operations.lists.listings import KeptPage, Listing
from magistrate.operations.live_graph import LiveGraph
from magistrate.operations.runs import complete_steps, drive_while
from magistrate.operations.scheduling import checkpoint, is_time_up, limit_work, take_checkpoint
from magistrate.store.contract.lists import PageSlice, Slice
from magistrate.store.contract.store import Store
from magistrate.store.contract.stored_rows import ObjectName

T = TypeVar("T")

MAX_ATTEMPTS = 3
KEY_BYTES, TARGET_BYTES = 400, 150
"""Count what a connected graph is found by: a query, and each of its targets."""
BITMAP_LISTING_BYTES = 2_000
"""Counts a listing without its bitmaps."""

NAMES_AT_ONCE = 10_000
"""Limits the names of objects that are read at once."""


@dataclass(frozen=True, slots=True)
class BitmapListing(Listing):
    """Holds the rows as bitmaps of the numbers of `numbering`. `own_bytes` says what `ordered` takes in memory. Cutting
    a page reads the warrants that its rows report."""

    ordered: OrderedSets | OrderedSubjects
    revision: Revision
    valid_until: int
    numbering: object
    own_bytes: int
    kept_page: KeptPage = field(default_factory=KeptPage)

    @property
    def bytes(self) -> int:
        return BITMAP_LISTING_BYTES + self.own_bytes + self.kept_page.bytes

    def count_rows(self) -> int:
        return self.ordered.count()

    def release(self) -> Iterator[int]:
        """Yields nothing: bitmaps are freed at once."""
        return iter(())

    async def _cut_slice(self, bounds: Slice, store: Store, work: Work) -> PageSlice[QueryRow]:
        boundary = None
        if bounds.boundary is not None:
            of_type, row_id, relation = map(str, bounds.boundary)
            boundary = (TypeName(of_type), ObjectId(row_id), RelationName(relation))
        descending = bounds.descending != bounds.backwards
        steps = cut_page(self.ordered, boundary, bounds.limit, descending, work=work)
        page = await complete_steps(store, steps, work, self.revision)
        if bounds.descending:
            return PageSlice(tuple(page.results)[::-1], precedes=page.has_above, follows=page.has_below)
        return PageSlice(tuple(page.results), precedes=page.has_below, follows=page.has_above)


@dataclass(frozen=True, slots=True, kw_only=True)
class BitmapQuery:
    """Holds a query that may be answered with bitmaps. Its rows are at the revision of the graph, which is `least` or,
    unless the query `is_pinned`, a later one. `reader` reads the warrants."""

    query: Query
    context: Mapping[str, Any]
    now: int
    budget: int
    least: Revision
    is_pinned: bool
    reader: WarrantReader


_GraphKey = tuple[str, tuple[Target, ...], bool]
"""Has the type of the subject, the targets, and whether only explicit rows are wanted."""


class _KeptGraph(NamedTuple):
    graph: ConnectedGraph | None
    """Is None if the query cannot be computed with bitmaps."""
    size: int


class BitmapSearches:
    """Searches the rows of queries with bitmaps. It keeps what many searches use, all of one model: the connected
    graphs of recent queries for objects, what plans lead to for those for subjects, and which objects exist."""

    def __init__(self, max_bytes: int, grow: Callable[[], bool] = stay_as_large) -> None:
        """`max_bytes` limits the connected graphs. `grow` is called when there is no space; it may set another limit
        with `resize`, and returns whether it has."""
        self._existing = ExistingNumbers()
        self._model: Model | None = None
        self._max_bytes = max_bytes
        self._grow = grow
        self._graphs: LRUCache[_GraphKey, _KeptGraph] = LRUCache(math.inf, getsizeof=attrgetter("size"))
        self._edges: dict[bool, dict[Plan, PlanEdges]] = {}

    def measure(self) -> CacheBytes:
        """Returns how many bytes the connected graphs take, and the limit on them."""
        return CacheBytes("connected_graphs", int(self._graphs.currsize), self._max_bytes)

    def resize(self, max_bytes: int) -> None:
        """Sets the limit on the connected graphs, and evicts what exceeds it."""
        self._max_bytes = max_bytes
        self._evict_above(max_bytes)

    def _evict_above(self, max_bytes: int) -> None:
        while self._graphs and self._graphs.currsize > max_bytes:
            self._graphs.popitem()

    async def find_listing(self, live: LiveGraph, store: Store, query: BitmapQuery) -> BitmapListing | None:
        """Returns the rows of the query, or None if it has to be answered without bitmaps. Raises NotFound and
        BudgetExceeded."""
        for _ in range(MAX_ATTEMPTS):
            graph = live.find_graph(query.least) or await live.follow_to(Freshness("", query.least))
            if query.is_pinned and graph.revision != query.least:
                return None
            graph.limit_adjacency()
            is_of_objects = isinstance(query.query, ObjectsQuery)
            attempt = _Attempt(store, query, graph, AdjacencyFetch(graph) if is_of_objects else SubjectFetch(graph))
            with live.noting_changes(attempt.fetch):
                ordered = await self._search(attempt)
            if attempt.fetch.is_current:
                return None if ordered is None else await attempt.build_listing(ordered)
        return None

    async def _search(self, attempt: "_Attempt") -> OrderedSets | OrderedSubjects | None:
        """Returns the rows; None if they cannot be computed, or if the graph has changed meanwhile."""
        fetch, query = attempt.fetch, attempt.query.query
        if isinstance(fetch, SubjectFetch):
            assert isinstance(query, SubjectsQuery)
            return await self._search_subjects(attempt, fetch, query)
        assert isinstance(fetch, AdjacencyFetch)
        assert isinstance(query, ObjectsQuery)
        ordered: list[OrderedSets] = []
        for condition in (query, *query.list_further()):
            rows = await self._search_objects(attempt, fetch, condition)
            if rows is None:
                return None
            ordered.append(rows)
        for further, other in zip(query.further, ordered[1:], strict=True):
            ordered[0].restrict(other, further.is_negated)
        return ordered[0]

    async def _search_objects(
        self, attempt: "_Attempt", fetch: AdjacencyFetch, query: ObjectsQuery
    ) -> OrderedSets | None:
        connected = await self.connect(fetch.model, query, attempt.store, attempt.work)
        if connected is None:
            return None
        sets = await attempt.complete(
            ObjectSetSearch(connected, fetch, query.subject, attempt.conditions, work=attempt.work).steps()
        )
        return None if sets is None else OrderedSets(sets, *await self._list_existing(attempt, sets))

    async def connect(self, model: Model, query: ObjectsQuery, store: Store, work: Work) -> ConnectedGraph | None:
        """Returns the connected graph of a query, or None if it cannot be computed with bitmaps. Raises NotFound and
        BudgetExceeded."""
        demand_types(model, query)
        targets = tuple(find_targets(model, query))
        if len(targets) > MAX_NODES:
            return None
        self._take_model(model)
        key = (query.subject.type, targets, query.is_explicit)
        if (kept := self._graphs.get(key)) is not None:
            return kept.graph
        examined = model.without_rules() if query.is_explicit else model
        steps = connect_graph(examined, query.subject.type, targets, work)
        connected = await complete_steps(store, steps, work, model.revision)
        if model is self._model:
            self._keep(key, connected)
        return connected

    def _keep(self, key: _GraphKey, graph: ConnectedGraph | None) -> None:
        size = KEY_BYTES + TARGET_BYTES * len(key[1]) + (graph.measure() if graph is not None else 0)
        while self._graphs.currsize + size > self._max_bytes and self._grow():
            pass
        if size <= self._max_bytes:
            self._evict_above(self._max_bytes - size)
            self._graphs[key] = _KeptGraph(graph, size)

    async def _search_subjects(
        self, attempt: "_Attempt", fetch: SubjectFetch, query: SubjectsQuery
    ) -> OrderedSubjects | None:
        if any(map(is_userset_type, query.types or ())):
            return None  # the entries of subjects do not tell the usersets of an object apart
        model = fetch.model
        demand_types(model, query)
        self._take_model(model)
        types, root = list_subject_types(model, query), (query.object, list_relations(model, query))
        examined = model.without_rules() if query.is_explicit else model
        edges = self._edges[query.is_explicit]
        search = SubjectSetSearch(examined, edges, fetch, types, conditions=attempt.conditions, work=attempt.work)
        solved = await attempt.complete(search.steps(*root))
        return None if solved is None else OrderedSubjects(solved, *await self._list_existing(attempt, solved))

    def _take_model(self, model: Model) -> None:
        if model is not self._model:
            self._model, self._edges = model, {False: {}, True: {}}
            self._graphs.clear()

    async def _list_existing(
        self, attempt: "_Attempt", solved: ObjectSets | SolvedSubjects
    ) -> tuple[Mapping[TypeName, BitMap], Mapping[TypeName, BitMap]]:
        """Returns the existing objects of each type of which all may be rows, and those of the rows that do not exist.
        Raises BudgetExceeded and RevisionUnavailable."""
        fetch, store, existing = attempt.fetch, attempt.store, dict[TypeName, BitMap]()
        for of_type in solved.list_complements():
            numbering, table = fetch.adjacency.numbering, solved.tables[of_type]
            numbers = self._existing.list(store, of_type, fetch.revision, numbering, table=table, work=attempt.work)
            existing[of_type] = await numbers
        return existing, await find_absent(store, solved.itself, fetch.revision, solved.tables)


class _Attempt:
    """Represents one attempt to answer a query from the graph as it is."""

    def __init__(self, store: Store, query: BitmapQuery, graph: Graph, fetch: EntryFetch) -> None:
        self.store = store
        self.query = query
        self.fetch = fetch
        self.work = limit_work(query.budget)
        self.conditions = PolicyEvaluator(query.context, query.now, self.work, graph.model.policies)

    async def complete(self, steps: Steps[T | None]) -> T | None:
        """Returns what the steps return, or None if the graph has changed meanwhile."""
        run = Run(self.work, steps)
        return await drive_while(lambda: self.fetch.is_current, self.query.reader, run, self.fetch.revision)

    async def build_listing(self, ordered: OrderedSets | OrderedSubjects) -> BitmapListing:
        own_bytes, valid_until = 0, ordered.valid_until
        for measured in ordered.measure():
            own_bytes += measured
            if is_time_up():
                await checkpoint()
        return BitmapListing(
            ordered, self.fetch.revision, valid_until, self.fetch.adjacency.numbering, own_bytes=own_bytes
        )


class ExistingNumbers:
    """Keeps the numbers of the existing objects of each type, all as of the last revision that any were wanted at."""

    def __init__(self) -> None:
        self._numbering: object = None
        self._numbers: dict[TypeName, tuple[Revision, BitMap]] = {}

    async def list(
        self, store: Store, of_type: TypeName, at: Revision, numbering: object, table: IdTable, work: Work
    ) -> BitMap:
        """Returns the numbers that a table of this numbering has for all objects of the type. Raises BudgetExceeded and
        RevisionUnavailable."""
        if numbering is not self._numbering:
            self._numbering, self._numbers = numbering, {}
        kept = self._numbers.get(of_type)
        if kept is not None and kept[0] == at:
            return kept[1]
        numbers = await _read_numbers(store, of_type, at, table, work=work)
        if numbering is self._numbering:
            others = {name: kept for name, kept in self._numbers.items() if kept[0] == at}
            self._numbers = {**others, of_type: (at, numbers)}
        return numbers


async def find_absent(
    store: Store, ref: ObjectRef | None, at: Revision, tables: Mapping[TypeName, IdTable]
) -> Mapping[TypeName, BitMap]:
    """Returns the number of this object by its type if it does not exist. Raises RevisionUnavailable."""
    if ref is None or (await store.find_objects([ref], at)).value:
        return {}
    return {ref.type: BitMap([tables[ref.type].assign(ref.id)])}


async def _read_numbers(store: Store, of_type: TypeName, at: Revision, table: IdTable, work: Work) -> BitMap:
    numbers, after = BitMap(), None
    is_last = False
    while not is_last:
        names: tuple[ObjectName, ...] = (await store.list_names(of_type, after, NAMES_AT_ONCE, at)).value
        work.spend(len(names))
        for start in range(0, len(names), ITEMS_AT_ONCE):
            numbers.update(table.assign_each([object_id for _, object_id in names[start : start + ITEMS_AT_ONCE]]))
            work.hasten_checkpoint(ITEMS_AT_ONCE // ITEMS_FOR_A_NODE)
            if work.needs_checkpoint:
                await take_checkpoint(work)
                work.pass_checkpoint()
        is_last = len(names) < NAMES_AT_ONCE
        after = names[-1] if names else None
    return numbers
