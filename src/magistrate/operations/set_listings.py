"""Finds the rows of a query with bitmaps from the graph cache, and cuts pages out of them.

The graph is at one revision; a search that finds it at another one after it has yielded begins again, with everything
that was cached meanwhile. After some attempts the query is answered without the graph.
"""

from collections.abc import Awaitable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from magistrate.engine.conditions import PolicyEvaluator
from magistrate.engine.graph import GivenUp
from magistrate.engine.graph.adjacency_fetch import AdjacencyFetch, EntryFetch
from magistrate.engine.graph.subject_fetch import SubjectFetch
from magistrate.engine.query import ObjectsQuery, Query, SubjectsQuery
from magistrate.engine.query.rows import QueryRow
from magistrate.engine.query.search import Search
from magistrate.engine.query.set_pages import OrderedSets, cut_page
from magistrate.engine.query.set_search import search_sets
from magistrate.engine.query.subject_pages import OrderedSubjects
from magistrate.engine.terms import ObjectId, RelationName, Revision, TypeName
from magistrate.engine.warrant_reader import WarrantReader
from magistrate.engine.work import Work
from magistrate.operations.checks.evaluating import complete_steps
from magistrate.operations.checks.graph import LiveGraph
from magistrate.operations.consistency import Freshness
from magistrate.operations.kept_page import KeptPage
from magistrate.operations.object_listings import ObjectLists
from magistrate.operations.scheduling import checkpoint, is_time_up, limit_work, take_checkpoint
from magistrate.operations.subject_listings import SubjectLists
from magistrate.store.contract import PageSlice, Slice, Store

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
            try:
                ordered = await search
            except GivenUp:
                return None
        if ordered is not None:
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
    """Returns the rows, or None if the graph has changed meanwhile. Raises GivenUp."""
    ordered: list[OrderedSets] = []
    for one in (query, *query.list_further()):
        connected = await lists.connect(fetch.model, one, store, work)
        if connected is None:
            raise GivenUp
        steps = search_sets(connected, fetch, one.subject, conditions, work)
        found = await _complete(Search(fetch.model, work, steps), fetch, reader)
        if found is None:
            return None
        ordered.append(await lists.order(fetch, store, found, work))
    for condition, other in zip(query.further, ordered[1:], strict=True):
        ordered[0].restrict(other, condition.is_negated)
    return ordered[0] if fetch.is_current else None


async def _search_subjects(
    lists: SubjectLists,
    fetch: SubjectFetch,
    store: Store,
    reader: WarrantReader,
    query: SubjectsQuery,
    conditions: PolicyEvaluator,
    work: Work,
) -> OrderedSubjects | None:
    """Returns the rows, or None if the graph has changed meanwhile. Raises GivenUp."""
    found = await _complete(lists.begin(fetch, query, conditions, work), fetch, reader)
    return None if found is None else await lists.order(fetch, store, found, work)


async def _complete(search: Search[T], fetch: EntryFetch, reader: WarrantReader) -> T | None:
    """Returns the result of a search, or None if the graph has changed meanwhile."""
    work = search.work
    while fetch.is_current:
        reads = search.advance()
        if (found := search.outcome()) is not None:
            return found
        if reads:
            search.take((await reader.read_warrants(reads, fetch.revision, work.left + 1)).warrants)
        if not reads or is_time_up():
            await take_checkpoint(work)
    return None
