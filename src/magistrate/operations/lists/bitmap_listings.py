"""Finds the rows of a query with bitmaps from the graph cache, and cuts pages out of them.

The graph is at one revision; a search that finds it at another one after it has yielded begins again, with everything
that was cached meanwhile. After some attempts the query is answered without the graph.
"""

from collections.abc import Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from cachetools import LRUCache
from pyroaring import BitMap

from magistrate.engine.bitmaps.connected_graph import MOST_NODES, ConnectedGraph, connect_graph
from magistrate.engine.bitmaps.object_pages import OrderedSets, cut_page
from magistrate.engine.bitmaps.object_sets import ObjectSets, search_sets
from magistrate.engine.bitmaps.subject_nodes import PlanEdges, SolvedSubjects
from magistrate.engine.bitmaps.subject_pages import OrderedSubjects
from magistrate.engine.bitmaps.subject_sets import search_subjects
from magistrate.engine.cache.adjacency_reads import AdjacencyFetch, EntryFetch, SubjectFetch
from magistrate.engine.cache.byte_sizes import OBJECT_BYTES, measure_text, measure_warrant
from magistrate.engine.cache.ids import IdTable
from magistrate.engine.evaluation.conditions import PolicyEvaluator
from magistrate.engine.evaluation.steps import Steps, WarrantLists
from magistrate.engine.evaluation.work import Work
from magistrate.engine.lists.language import ObjectsQuery, Query, SubjectsQuery
from magistrate.engine.lists.query_search import demand_types, find_targets, list_relations, list_subject_types
from magistrate.engine.lists.results import QueryRow
from magistrate.engine.lists.reverse_graph import Target
from magistrate.engine.model.model import Model
from magistrate.engine.model.plans import Plan
from magistrate.engine.names import ObjectId, RelationName, Revision, TypeName
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.reader import WarrantReader
from magistrate.operations.checks.graph import LiveGraph
from magistrate.operations.consistency import Freshness
from magistrate.operations.lists.paging import DEFAULT_LIMIT, Page
from magistrate.operations.runs import complete_steps
from magistrate.operations.scheduling import checkpoint, is_time_up, limit_work, take_checkpoint
from magistrate.store.contract.lists import PageSlice, Slice
from magistrate.store.contract.store import Store
from magistrate.store.contract.stored_rows import ObjectName, StoredObject

MOST_KEPT_ROWS = DEFAULT_LIMIT
ROW_BYTES = 8 * OBJECT_BYTES
"""Counts a row without its warrant, and the object of it without its meta, both as they are stored and as they are
rendered."""


@dataclass(frozen=True, slots=True)
class StoredRow:
    """Represents a row of the response. `stored` is the object or subject of the row; None for a row that stands for
    all of a type."""

    row: QueryRow
    stored: StoredObject | None


@dataclass(slots=True)
class KeptPage:
    """Holds the rows at the beginning of a listing, if these were at most MOST_KEPT_ROWS, and the page made of them.
    `bytes` says what they take in memory."""

    bytes: int = 0
    _wanted: Slice | None = None
    _slice: PageSlice[QueryRow] | None = None
    _list_name: str = ""
    _page: Page[StoredRow] | None = None

    def find(self, wanted: Slice) -> PageSlice[QueryRow] | None:
        return self._slice if self._wanted == wanted else None

    def keep(self, wanted: Slice, rows: PageSlice[QueryRow]) -> None:
        if wanted.boundary is None and len(rows.rows) <= MOST_KEPT_ROWS:
            self._wanted, self._slice, self._page = wanted, rows, None
            self.bytes = sum(map(_measure_row, rows.rows))

    def find_page(self, wanted: Slice, list_name: str) -> Page[StoredRow] | None:
        """Returns the page, whose cursors are those of the list of this name."""
        return self._page if self._wanted == wanted and self._list_name == list_name else None

    def keep_page(self, wanted: Slice, list_name: str, page: Page[StoredRow]) -> None:
        if self._wanted == wanted:
            self._list_name, self._page = list_name, page
            self.bytes = sum([_measure_row(one.row) + _measure_object(one.stored) for one in page.rows])
            self.bytes += measure_text(page.prev_cursor or "") + measure_text(page.next_cursor or "")

    def clear(self) -> None:
        """Releases the rows and the page, because they take too much."""
        self._wanted = self._slice = self._page = None
        self.bytes = 0


def _measure_row(row: QueryRow) -> int:
    return ROW_BYTES + 2 * measure_text(row.id) + (0 if row.warrant is None else 2 * measure_warrant(row.warrant))


def _measure_object(stored: StoredObject | None) -> int:
    return 0 if stored is None else 2 * (measure_text(stored.id) + measure_text(stored.meta or ""))


# Finds the rows of a query for objects with bitmaps from the graph cache (see set_listings.py).


NAMES_AT_ONCE = 10_000
NAMES_ASSIGNED_AT_ONCE = 500
NAMES_FOR_A_NODE = 10
"""Counts the names that get numbers in the time of one unit of work."""


class ExistingNumbers:
    """Keeps the numbers of the existing objects of each type, all as of the last revision that any were wanted at."""

    def __init__(self) -> None:
        self._numbering: object = None
        self._known: dict[TypeName, tuple[Revision, BitMap]] = {}

    async def list(
        self, store: Store, of_type: TypeName, at: Revision, numbering: object, table: IdTable, work: Work
    ) -> BitMap:
        """Returns the numbers that a table of this numbering has for all objects of the type. Raises BudgetExceeded and
        RevisionUnavailable."""
        if numbering is not self._numbering:
            self._numbering, self._known = numbering, {}
        known = self._known.get(of_type)
        if known is not None and known[0] == at:
            return known[1]
        numbers = await _read_numbers(store, of_type, at, table, work)
        if numbering is self._numbering:
            others = {name: one for name, one in self._known.items() if one[0] == at}
            self._known = {**others, of_type: (at, numbers)}
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
        for start in range(0, len(names), NAMES_ASSIGNED_AT_ONCE):
            numbers.update(table.assign_each([id for _, id in names[start : start + NAMES_ASSIGNED_AT_ONCE]]))
            work.hasten_checkpoint(NAMES_ASSIGNED_AT_ONCE // NAMES_FOR_A_NODE)
            if work.needs_checkpoint:
                await take_checkpoint(work)
                work.pass_checkpoint()
        is_last = len(names) < NAMES_AT_ONCE
        after = names[-1] if names else None
    return numbers


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


class SubjectLists:
    """Keeps what many lists of subjects use: what plans lead to, of one model, and which objects exist."""

    def __init__(self, existing: ExistingNumbers) -> None:
        self._model: Model | None = None
        self._edges: dict[bool, dict[Plan, PlanEdges]] = {}
        self._existing = existing

    def begin(
        self, fetch: SubjectFetch, query: SubjectsQuery, conditions: PolicyEvaluator, work: Work
    ) -> Steps[SolvedSubjects | None] | None:
        """Returns the search for the rows of a query; None for usersets, which the entries of subjects do not tell
        apart. Raises NotFound."""
        if any("#" in subject_type for subject_type in query.types or ()):
            return None
        model = fetch.model
        demand_types(model, query)
        if model is not self._model:
            self._model, self._edges = model, {False: {}, True: {}}
        types, relations = list_subject_types(model, query), list_relations(model, query)
        examined = model.without_rules() if query.is_explicit else model
        edges = self._edges[query.is_explicit]
        return search_subjects(examined, edges, fetch, types, conditions, work, (query.object, relations))

    async def order(self, fetch: SubjectFetch, store: Store, found: SolvedSubjects, work: Work) -> OrderedSubjects:
        """Returns the rows of a result. Raises BudgetExceeded and RevisionUnavailable."""
        existing: dict[TypeName, BitMap] = {}
        for of_type in _list_complements(found):
            numbering, table = fetch.adjacency.numbering, found.tables[of_type]
            existing[of_type] = await self._existing.list(store, of_type, fetch.revision, numbering, table, work)
        absent = await find_absent(store, found.itself, fetch.revision, found.tables)
        return OrderedSubjects(found, existing, absent)


def _list_complements(found: SolvedSubjects) -> Sequence[TypeName]:
    return [*dict.fromkeys(of_type for (of_type, _), one in found.results.items() if one.is_complement)]


T = TypeVar("T")

MOST_ATTEMPTS = 3
SET_LISTING_BYTES = 2_000
"""Counts a listing without its bitmaps."""


@dataclass(frozen=True, slots=True)
class SetListing:
    """Holds all rows at one revision as bitmaps. `valid_until` is like that of a SnapshotListing, `numbering` that of
    the adjacency. `own_bytes` says what `ordered` takes in memory."""

    ordered: OrderedSets | OrderedSubjects
    revision: Revision
    valid_until: int
    numbering: object
    own_bytes: int
    kept_page: KeptPage = field(default_factory=KeptPage)

    @property
    def bytes(self) -> int:
        """Returns what it takes in memory now."""
        return SET_LISTING_BYTES + self.own_bytes + self.kept_page.bytes

    def release(self) -> Iterator[int]:
        """Yields nothing: bitmaps are freed at once."""
        return iter(())

    def count_rows(self) -> int:
        """Returns the number of rows on all pages."""
        return self.ordered.count()

    async def read_slice(self, wanted: Slice, store: Store, work: Work) -> PageSlice[QueryRow]:
        """Returns a part of the rows, with the warrants on their objects, which are read."""
        known = self.kept_page.find(wanted)
        if known is not None:
            return known
        page = await self._cut_slice(wanted, store, work)
        self.kept_page.keep(wanted, page)
        return page

    async def _cut_slice(self, wanted: Slice, store: Store, work: Work) -> PageSlice[QueryRow]:
        boundary = None
        if wanted.boundary is not None:
            of_type, id, relation = map(str, wanted.boundary)
            boundary = (TypeName(of_type), ObjectId(id), RelationName(relation))
        descending = wanted.descending != wanted.backwards
        steps = cut_page(self.ordered, boundary, wanted.limit, descending, work)
        page = await complete_steps(store, steps, work, self.revision)
        if wanted.descending:
            return PageSlice(tuple(page.results)[::-1], precedes=page.has_above, follows=page.has_below)
        return PageSlice(tuple(page.results), precedes=page.has_below, follows=page.has_above)


@dataclass(frozen=True, slots=True)
class SetQuery:
    """Holds a query that may be answered with bitmaps; `least` is the revision that the rows must have at least.
    `reader` reads the warrants."""

    query: Query
    context: Mapping[str, Any]
    now: int
    budget: int
    least: Revision
    only: bool
    reader: WarrantReader


async def find_set_listing(
    live: LiveGraph, object_lists: ObjectLists, subject_lists: SubjectLists, store: Store, wanted: SetQuery
) -> SetListing | None:
    """Returns the rows of the query at the revision of the graph, which is `least` or, unless `only` that will do, a
    later one. Returns None if it has to be answered without bitmaps. Raises NotFound and BudgetExceeded."""
    for _ in range(MOST_ATTEMPTS):
        graph = live.find_graph(wanted.least) or await live.follow_to(Freshness("", wanted.least))
        if wanted.only and graph.revision != wanted.least:
            return None
        graph.limit_adjacency()
        work = limit_work(wanted.budget)
        conditions = PolicyEvaluator(wanted.context, wanted.now, work, graph.model.policies)
        fetch: AdjacencyFetch | SubjectFetch
        search: Awaitable[OrderedSets | OrderedSubjects | None]
        if isinstance(wanted.query, ObjectsQuery):
            fetch = AdjacencyFetch(graph)
            search = _search_objects(object_lists, fetch, store, wanted.reader, wanted.query, conditions, work)
        else:
            fetch = SubjectFetch(graph)
            search = _search_subjects(subject_lists, fetch, store, wanted.reader, wanted.query, conditions, work)
        with live.noting_changes(fetch):
            ordered = await search
        if ordered is None and fetch.is_current:
            return None
        if ordered is not None and fetch.is_current:
            size, valid_until = await _measure(ordered), ordered.valid_until
            return SetListing(ordered, fetch.revision, valid_until, fetch.adjacency.numbering, size)
    return None


async def _measure(ordered: OrderedSets | OrderedSubjects) -> int:
    size = 0
    for measured in ordered.measure():
        size += measured
        if is_time_up():
            await checkpoint()
    return size


async def _search_objects(
    lists: ObjectLists,
    fetch: AdjacencyFetch,
    store: Store,
    reader: WarrantReader,
    query: ObjectsQuery,
    conditions: PolicyEvaluator,
    work: Work,
) -> OrderedSets | None:
    """Returns the rows, or None if they cannot be computed, or if the graph has changed meanwhile."""
    ordered: list[OrderedSets] = []
    for one in (query, *query.list_further()):
        connected = await lists.connect(fetch.model, one, store, work)
        if connected is None:
            return None
        found = await _complete(search_sets(connected, fetch, one.subject, conditions, work), work, fetch, reader)
        if found is None:
            return None
        ordered.append(await lists.order(fetch, store, found, work))
    for condition, other in zip(query.further, ordered[1:], strict=True):
        ordered[0].restrict(other, condition.is_negated)
    return ordered[0]


async def _search_subjects(
    lists: SubjectLists,
    fetch: SubjectFetch,
    store: Store,
    reader: WarrantReader,
    query: SubjectsQuery,
    conditions: PolicyEvaluator,
    work: Work,
) -> OrderedSubjects | None:
    """Returns the rows, or None if they cannot be computed, or if the graph has changed meanwhile."""
    steps = lists.begin(fetch, query, conditions, work)
    found = None if steps is None else await _complete(steps, work, fetch, reader)
    return None if found is None else await lists.order(fetch, store, found, work)


async def _complete(steps: Steps[T | None], work: Work, fetch: EntryFetch, reader: WarrantReader) -> T | None:
    """Returns what the steps return, or None if the graph has changed meanwhile."""
    warrants: WarrantLists | None = None
    while fetch.is_current:
        work.pass_checkpoint()
        try:
            reads = steps.send(warrants)
        except StopIteration as stop:
            returned: T | None = stop.value
            return returned
        warrants = None
        if reads:
            warrants = (await reader.read_warrants(reads, fetch.revision, work.left + 1)).warrants
        if not reads or is_time_up():
            await take_checkpoint(work)
    return None
