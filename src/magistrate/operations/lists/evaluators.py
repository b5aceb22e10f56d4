"""Answers queries: the evaluators of lists, in the order in which they are tried.

Each returns all rows of a query at one revision, or None if it cannot decide them. All of them have the same rows, so
it does not matter which one answers."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from time import perf_counter
from typing import Any, NamedTuple

from magistrate.engine.evaluation.conditions import ALWAYS
from magistrate.engine.lists.language import Query
from magistrate.engine.lists.query_search import begin_search, check_each, find_row_types
from magistrate.engine.lists.results import Findings, QueryRow, RelationResult
from magistrate.engine.model.model import Model
from magistrate.engine.names import ObjectId, Revision, TypeName
from magistrate.engine.steps import Checkpoints, Run, take_pieces
from magistrate.engine.subjects import split_subject_type
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.overlay import CountsWarrant, Overlay
from magistrate.engine.warrants.plain_warrants import FIRST_NUMBER
from magistrate.engine.warrants.reader import WarrantReader
from magistrate.engine.work import ITEMS_AT_ONCE, ITEMS_FOR_A_NODE, Work, sort_in_steps
from magistrate.errors import BudgetExceeded
from magistrate.operations.context import Context
from magistrate.operations.lists.bitmap_listings import NAMES_AT_ONCE, BitmapQuery
from magistrate.operations.lists.listings import Listing, SnapshotListing, SortKey, measure_rows
from magistrate.operations.lists.recorded_reads import RecordedReader, RecordingReader
from magistrate.operations.readers.contextual_warrants import build_contextual_warrants
from magistrate.operations.readers.store_readers import OverlaidReader
from magistrate.operations.runs import complete_checkpoints, complete_run, drive_while, release_run
from magistrate.operations.scheduling import limit_work
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import NewWarrant
from magistrate.store.contract.stored_rows import ObjectName


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """Holds a query, the variables for its policies, the warrants that count as if they were written, and the time at
    which policies are evaluated, in microseconds since 1970 UTC; None for the time of the request. `reads` is
    filled by a context that observes what policies read; if they read any of it, the listing is not kept."""

    query: Query
    context: Mapping[str, Any]
    contextual: Sequence[NewWarrant] = ()
    now: int | None = None
    reads: Collection[str] | None = None


class NewestRevision(NamedTuple):
    """Holds a revision, and the one that last changed the model, then or later."""

    revision: Revision
    model_revision: Revision


class ListRequest:
    """Represents a request for all rows of one query, at `revision`, sorted by `sort`. If it `is_pinned`, no later
    revision will do. If it `replaces_stored`, a contextual warrant counts instead of all stored ones with its names;
    stored warrants are left out of which `counts_stored` returns False."""

    replaces_stored = False
    counts_stored: CountsWarrant | None = None

    def __init__(
        self, ctx: Context, request: QueryRequest, newest: NewestRevision, *, sort: str, now: int, is_pinned: bool
    ) -> None:
        self.ctx = ctx
        self.request = request
        self.revision = newest.revision
        self.sort = sort
        self.now = now
        self.is_pinned = is_pinned
        self.work = limit_work(ctx.max_query_work)
        self.overlay: Overlay | None = None
        self._model_revision = newest.model_revision
        self._model: Model | None = None

    @property
    def may_use_bitmaps(self) -> bool:
        """Returns whether the graph cache may have the rows: it is at the newest revision, sees stored warrants and the
        model of the store only, and bitmaps are in the order of ids."""
        request = self.request
        is_usual = self.sort == "id" and request.now is None and not request.contextual
        return is_usual and self.ctx.caches.graph.is_enabled

    @property
    def _is_overlaid(self) -> bool:
        return bool(self.request.contextual) or self.counts_stored is not None

    async def find_model(self) -> Model:
        """Returns the model of the revision, without what contextual warrants add."""
        return await self.ctx.caches.models.at(self.revision, self._model_revision)

    async def prepare_model(self) -> Model:
        """Returns the model of the revision. Raises InvalidParameter for a contextual warrant that could not be
        written."""
        if self._model is None:
            self._model = await self.find_model()
            if self._is_overlaid:
                contextual = build_contextual_warrants(
                    self.request.contextual, self.now, self.replaces_stored, self.counts_stored
                )
                self._model, self.overlay = contextual.extend_model(self._model), contextual.overlay
                self.work.spend(self.overlay.size)
        return self._model

    async def prepare_reader(self) -> WarrantReader:
        """Returns the reader of the stored and the contextual warrants. Raises like `prepare_model`."""
        if self._is_overlaid:
            await self.prepare_model()
        return self.ctx.store if self.overlay is None else OverlaidReader(self.ctx.store, self.overlay)


ListEvaluator = Callable[[ListRequest, WarrantReader], Awaitable[Snapshot[Listing] | WarrantReader]]
"""Returns all rows of a query, or if it cannot decide them, the reader that the next evaluator uses. Raises NotFound,
BudgetExceeded, InvalidParameter and what reading raises."""


async def find_listing(search: ListRequest) -> Snapshot[Listing]:
    """Returns all rows of a query, and counts it. Raises what evaluators raise."""
    started = perf_counter()
    reader = await search.prepare_reader()
    for name, evaluate in EVALUATORS.items():
        outcome = await evaluate(search, reader)
        if isinstance(outcome, Snapshot):
            search.ctx.list_counts.count(name, perf_counter() - started)
            return outcome
        reader = outcome
    raise AssertionError("the last evaluator decides all queries")


async def search_few_warrants(search: ListRequest, reader: WarrantReader) -> Snapshot[Listing] | WarrantReader:
    """Searches the rows of a list that comes for the first time without the graph cache, as long as it reads few
    warrants. What it has read answers the reads of the next evaluator.

    Bitmaps alone would take 1.5 to 2.2 times as long for the first list of 8 to 140 rows (processor time, 100,000
    warrants; decision 80), and a second page of it, or one of more rows than are kept, 4.5 times as long over HTTP,
    because they read the warrants of its rows again. Without the reads that are kept for them, a first list of 800 to
    1,200 rows would take 1.2 times as long."""
    graph = search.ctx.caches.graph.find_graph(search.revision) if search.may_use_bitmaps else None
    if graph is None or graph.adjacency.former_lists.note(search.request.query):
        return reader
    recording, work = RecordingReader(reader, graph), limit_work(search.ctx.max_query_work)
    run = await _begin_search(search, work)
    try:
        findings = await drive_while(lambda: not recording.is_exceeded, recording, run, search.revision)
        if findings is not None and findings.relation_results is not None and not findings.types_to_read:
            return await _list_rows(search, findings, work)
    except BudgetExceeded:
        pass  # bitmaps may take less
    finally:
        release_run(run)
    return RecordedReader(reader, search.revision, recording.recorded)


async def compute_bitmaps(search: ListRequest, reader: WarrantReader) -> Snapshot[Listing] | WarrantReader:
    """Computes the rows with bitmaps, from the graph cache."""
    if not search.may_use_bitmaps:
        return reader
    ctx, request = search.ctx, search.request
    bitmap_query = BitmapQuery(
        query=request.query,
        context=request.context,
        now=search.now,
        budget=ctx.max_query_work,
        least=search.revision,
        is_pinned=search.is_pinned,
        reader=reader,
    )
    listing = await ctx.caches.bitmap_searches.find_listing(ctx.caches.graph, ctx.store, bitmap_query)
    return reader if listing is None else Snapshot(listing.revision, listing)


async def search_warrants(search: ListRequest, reader: WarrantReader) -> Snapshot[Listing] | WarrantReader:
    """Computes the rows from result sets, level by level, with the warrants that are read."""
    run = await _begin_search(search, search.work)
    findings = await complete_run(reader, run, search.revision)
    return reader if findings.relation_results is None else await _list_rows(search, findings, search.work)


async def check_candidates(search: ListRequest, reader: WarrantReader) -> Snapshot[Listing] | WarrantReader:
    """Checks every object that may be a row by itself, where relations depend on their own negation, and no order
    exists in which result sets could be computed."""
    model, request = await search.prepare_model(), search.request
    existing = await _list_existing(search, find_row_types(model, request.query), search.work)
    run = check_each(model, request.query, existing, request.context, now=search.now, work=search.work)
    return await _list_rows(search, await complete_run(reader, run, search.revision), search.work)


EVALUATORS: Mapping[str, ListEvaluator] = {
    "first_search": search_few_warrants,
    "bitmaps": compute_bitmaps,
    "search": search_warrants,
    "candidates": check_candidates,
}
"""Maps what metrics call each evaluator to it, in the order in which they are tried."""


async def _begin_search(search: ListRequest, work: Work) -> Run[Findings]:
    return begin_search(
        await search.prepare_model(), search.request.query, search.request.context, search.now, work=work
    )


_ORDER: Callable[[SortKey], SortKey] = tuple
"""Returns a key as it is."""
AFTER_ALL_STORED = (1 << 63) - 1
"""Sorts rows with a contextual warrant behind all others by creation. It is the same on all pages, whose requests come
at different times."""


async def _list_rows(search: ListRequest, findings: Findings, work: Work) -> Snapshot[Listing]:
    for ref in findings.self_objects:
        if not await _exists(search, ref):
            findings = findings.without(ref)
    existing = await _list_existing(search, findings.types_to_read, work)
    listing = await complete_checkpoints(_build_listing(search, findings, existing, work), work)
    return Snapshot(search.revision, listing)


def _build_listing(
    search: ListRequest, findings: Findings, existing: Mapping[TypeName, Sequence[ObjectId]], work: Work
) -> Checkpoints[SnapshotListing]:
    results_by_name = findings.by_name(existing)
    keys: list[SortKey] = []
    for (of_type, _), result in results_by_name.items():
        weight = 1 if search.sort == "id" else 1 + result.reports.steps // ITEMS_FOR_A_NODE
        ids = result.ids(existing.get(of_type, ()))
        while some := [*islice(ids, 1 + ITEMS_AT_ONCE // weight)]:
            work.spend(len(some) * weight)
            keys += _list_keys(of_type, result, some, search.sort)
            yield from work.checkpoint()
        work.hasten_checkpoint(1)  # most results may be empty
        yield from work.checkpoint()
    keys = yield from take_pieces(sort_in_steps(keys, _ORDER), work)
    own_bytes = 0
    for measured in measure_rows(keys, results_by_name.values()):
        own_bytes += measured
        yield from work.checkpoint(1)
    # As of the past, the time is a part of the key, and the rows are valid for good.
    valid_until = findings.valid_until if search.request.now is None else ALWAYS
    return SnapshotListing(keys, results_by_name, own_bytes, valid_until)


def _list_keys(of_type: TypeName, result: RelationResult, ids: Sequence[ObjectId], sort: str) -> Iterator[SortKey]:
    if sort == "id":
        return ((of_type, object_id, result.relation) for object_id in ids)
    return (build_sort_key(sort, result.row(of_type, object_id)) for object_id in ids)


def build_sort_key(sort: str, row: QueryRow) -> SortKey:
    """Returns the sort key of a row. Rows without a warrant come first by creation."""
    entry = (row.type, row.id, row.relation)
    return entry if sort == "id" else (_find_creation(row), *entry)


def _find_creation(row: QueryRow) -> int:
    if row.warrant is None:
        return -1
    return row.warrant.created_at if row.warrant.number < FIRST_NUMBER else AFTER_ALL_STORED


async def _list_existing(
    search: ListRequest, types: Collection[TypeName | None], work: Work
) -> Mapping[TypeName, Sequence[ObjectId]]:
    """Returns the existing objects of these types, None being all types."""
    existing, overlay = await _list_stored(search, types, work), search.overlay
    if overlay is None or not types:
        return existing
    named = [*overlay.objects] if None in types else [name for name in types if name is not None]
    return {
        name: overlay.merge_objects(split_subject_type(name)[0], existing.get(name, ()))
        for name in dict.fromkeys((*existing, *named))
    }


async def _list_stored(
    search: ListRequest, types: Iterable[TypeName | None], work: Work
) -> Mapping[TypeName, Sequence[ObjectId]]:
    ids: dict[TypeName, list[ObjectId]] = defaultdict(list)
    for only in types:
        after: ObjectName | None = None
        name = None if only is None else split_subject_type(only)[0]
        while True:
            names = (await search.ctx.store.list_names(name, after, NAMES_AT_ONCE, search.revision)).value
            work.spend(len(names))
            for of_type, object_id in names:
                ids[only or of_type].append(object_id)
            if len(names) < NAMES_AT_ONCE:
                break
            after = names[-1]
    return ids


async def _exists(search: ListRequest, ref: ObjectRef) -> bool:
    stored = [row.id for row in (await search.ctx.store.find_objects([ref], search.revision)).value]
    return ref.id in (stored if search.overlay is None else search.overlay.merge_objects(ref.type, stored))
