"""Runs queries (docs/compatibility.md#query); every page of a listing is at the revision of its first page."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from heapq import merge
from itertools import chain, islice
from typing import Any, NamedTuple

import msgspec

from magistrate.engine.cache.graph import Graph
from magistrate.engine.evaluation.conditions import ALWAYS
from magistrate.engine.evaluation.work import Work
from magistrate.engine.lists.language import Query
from magistrate.engine.lists.query_search import check_each, find, find_row_types
from magistrate.engine.lists.results import STEPS_FOR_A_NODE, Findings, QueryRow, RelationResult
from magistrate.engine.model.model import Model
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, Revision, TypeName, split_subject_type
from magistrate.engine.terms import ObjectRef, Subject
from magistrate.engine.walk.walk import GivenUp
from magistrate.engine.warrants.overlay import Overlay
from magistrate.engine.warrants.plain_warrants import FIRST_NUMBER
from magistrate.engine.warrants.reader import AnyRead, ReadResult, ReverseWarrantRead, WarrantReader
from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import BudgetExceeded
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.lists.bitmap_listings import KeptPage, SetListing, SetQuery, StoredRow, find_set_listing
from magistrate.operations.lists.listings import ListingKey, SnapshotListing, SortKey, measure_rows
from magistrate.operations.lists.paging import ListKind, Page, Sort, Wanted, read_page
from magistrate.operations.readers.contextual_warrants import build_contextual_warrants, digest_warrants
from magistrate.operations.readers.overlaid_reader import OverlaidReader
from magistrate.operations.runs import complete_run, release_runs
from magistrate.operations.scheduling import checkpoint, is_time_up, limit_work
from magistrate.store.contract.lists import PageSlice, Slice, Snapshot
from magistrate.store.contract.new_rows import NewWarrant
from magistrate.store.contract.store import Store
from magistrate.store.contract.stored_rows import ObjectName, StoredObject

MOST_WARRANTS = 400
"""Limits the warrants that the first search of a list reads; above it, it gives up. From about here on, a search with
bitmaps takes no longer than one without the graph cache."""
IDS_TRIED = 16
"""Counts the ids of a read that are tried to find out whether most of it is cached."""

_Kind = tuple[TypeName, TypeName | Subject | None, str, bool]
"""Names the type of the objects, the type and relation of the subjects, and whether the ids are those of subjects."""


class FirstReader:
    """Implements WarrantReader for the first search of a list. Raises GivenUp, and then has what was `taken`."""

    def __init__(self, reader: WarrantReader, graph: Graph) -> None:
        self._reader = reader
        self._graph = graph
        self._count = 0
        self.taken: list[tuple[AnyRead, Sequence[Warrant]]] = []

    async def read_warrants(self, reads: Sequence[AnyRead], at: Revision | None, most: int) -> ReadResult:
        if self._graph.holds_most(reads, IDS_TRIED) or any(read.ids is None for read in reads):
            raise GivenUp
        result = await self._reader.read_warrants(reads, at, most)
        count = sum(map(len, result.warrants))
        if count >= most:
            raise GivenUp  # rows are missing
        self.taken += ((read, (*found,)) for read, found in zip(reads, result.warrants, strict=True))
        self._count += count
        if self._count > MOST_WARRANTS:
            raise GivenUp
        return result


class _TakenRead:
    """Holds the warrants that a read has found."""

    __slots__ = ("_ids", "_relations", "_warrants")

    def __init__(self, read: AnyRead, warrants: Sequence[Warrant]) -> None:
        self._relations = {*read.request.relations}
        self._ids = {*(read.ids or ())}
        self._warrants = warrants

    def covers(self, relation: RelationName, ids: Set[ObjectId]) -> bool:
        return relation in self._relations and ids <= self._ids

    def select(self, relations: Set[RelationName], ids: Set[ObjectId], by_subject: bool) -> Sequence[Warrant]:
        """Returns the warrants of these relations with these ids."""
        found = self._warrants
        if not relations >= self._relations:
            found = [one for one in found if one.relation in relations]
        if len(ids) < len(self._ids):
            found = [one for one in found if (one.subject_id if by_subject else one.object_id) in ids]
        return found


class TakenReader:
    """Implements WarrantReader with what the first search of a list has taken at one revision; what else is wanted is
    read."""

    def __init__(self, reader: WarrantReader, at: Revision, taken: Sequence[tuple[AnyRead, Sequence[Warrant]]]) -> None:
        self._reader = reader
        self._at = at
        self._taken: dict[_Kind, list[_TakenRead]] = defaultdict(list)
        for read, found in taken:
            self._taken[_find_kind(read)].append(_TakenRead(read, found))

    async def read_warrants(self, reads: Sequence[AnyRead], at: Revision | None, most: int) -> ReadResult:
        known = [self._find(read) if at == self._at else None for read in reads]
        rest = [read for read, found in zip(reads, known, strict=True) if found is None]
        if not rest and at is not None:
            return ReadResult(at, at, at, [found or () for found in known])
        result = await self._reader.read_warrants(rest, at, most)
        remaining = iter(result.warrants)
        warrants = [next(remaining) if found is None else found for found in known]
        return ReadResult(result.revision, result.newest, result.model_revision, warrants)

    def _find(self, read: AnyRead) -> Sequence[Warrant] | None:
        """Returns the warrants of a read, or None if some are not known."""
        kind, ids = _find_kind(read), {*(read.ids or ())}
        relations: dict[_TakenRead, set[RelationName]] = defaultdict(set)
        for relation in read.request.relations:
            taken = next((one for one in self._taken.get(kind, ()) if one.covers(relation, ids)), None)
            if taken is None or read.ids is None:
                return None
            relations[taken].add(relation)
        return [*chain.from_iterable(taken.select(some, ids, kind[-1]) for taken, some in relations.items())]


def _find_kind(read: AnyRead) -> _Kind:
    if isinstance(read, ReverseWarrantRead):
        return read.request.type, read.request.subject_type, read.request.subject_relation, True
    return read.request.type, read.request.subjects, "", False


NAMES_AT_ONCE = 10_000
ROWS_BETWEEN_CHECKPOINTS = 1_000
"""Limits the rows whose warrants are looked up before a yield, if that takes one step for each; some milliseconds."""
KEYS_BETWEEN_CHECKPOINTS = 1_000
"""Limits the rows that are listed, sorted or merged before a yield; a millisecond or two."""
AFTER_ALL_STORED = (1 << 63) - 1
"""Sorts rows with a contextual warrant behind all others by creation. It is the same on all pages, whose requests come
at different times."""


QUERY_LIST: ListKind[QueryRow] = ListKind(
    "query",
    {"id": Sort("id", lambda row: _key("id", row)), "createdAt": Sort("createdAt", lambda row: _key("createdAt", row))},
    is_snapshot=True,
)


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


def query_kind(contextual: Sequence[NewWarrant]) -> ListKind[QueryRow]:
    """Returns the kind of the listing. A cursor is valid only with the same contextual warrants."""
    if not contextual:
        return QUERY_LIST
    return replace(QUERY_LIST, name=f"{QUERY_LIST.name}+{digest_warrants(contextual)}")


async def list_page(
    ctx: Context,
    request: QueryRequest,
    wanted: Wanted,
    freshness: Freshness,
    kind: ListKind[QueryRow] | None = None,
) -> Snapshot[Page[StoredRow]]:
    """Returns a page of the query; `kind` is that of `query_kind` unless given.

    Raises NotFound if a type in the query is not defined, BudgetExceeded, InvalidParameter if a contextual warrant
    could not be written, and what `read_page` raises."""
    page_read, kind = _PageRead(ctx, request), kind or query_kind(request.contextual)
    if wanted.at is None:
        newest = await page_read.find_newest()
        known = page_read.find_kept_page(kind, wanted, freshness, newest.revision)
        if known is not None:
            return known
    found = await read_page(kind, wanted, freshness, ctx.store, page_read.read_slice)
    stored = await _read_stored(ctx, found.value.rows, found.revision)
    return Snapshot(found.revision, page_read.complete_page(kind, wanted, found.value, stored))


def find_kept_page(
    ctx: Context, request: QueryRequest, wanted: Wanted, freshness: Freshness
) -> Snapshot[Page[StoredRow]] | None:
    """Returns the page if it is kept, and it is known without waiting that nothing was written since. Raises
    InvalidParameter if the token is from the future, StoreUnavailable."""
    graph = ctx.graph.find_newest() if wanted.at is None and not request.contextual else None
    if graph is None:
        return None
    return _PageRead(ctx, request).find_kept_page(QUERY_LIST, wanted, freshness, graph.revision)


async def read_slice(
    ctx: Context, request: QueryRequest, wanted: Slice, at: Revision | None
) -> Snapshot[PageSlice[QueryRow]]:
    """Returns a slice of the rows at this revision, or at the newest. Raises like `list_page`."""
    return await _PageRead(ctx, request).read_slice(wanted, at=at)


class _Newest(NamedTuple):
    """Holds a revision, and the one that last changed the model, then or later."""

    revision: Revision
    model_revision: Revision


class _PageRead:
    """Reads one page, and what belongs to its rows."""

    def __init__(self, ctx: Context, request: QueryRequest) -> None:
        self._ctx = ctx
        self._request = request
        self._now = ctx.now() if request.now is None else request.now
        context = [request.context, request.now, request.reads is not None]
        encoded = msgspec.json.encode(context, order="deterministic")
        self._digest = hashlib.blake2b(encoded, digest_size=16).digest()
        self._newest: _Newest | None = None
        self._kept_page: KeptPage | None = None
        self._kept: tuple[ListingKey, SnapshotListing | SetListing] | None = None
        """Holds the listing that the page is cut from, with its key."""
        self._total = 0

    async def find_newest(self) -> _Newest:
        """Returns the newest revision, which the page is read at."""
        if self._ctx.graph.is_enabled:
            graph = await self._ctx.graph.follow_to_newest()
            self._newest = _Newest(graph.revision, graph.model.revision)
        else:
            self._newest = await self._find_revision(None)
        return self._newest

    async def _find_revision(self, at: Revision | None) -> _Newest:
        """Raises RevisionUnavailable, HistoryReplaced."""
        read = await self._ctx.store.read_warrants((), at, 1)
        await self._ctx.store.confirm_history()  # listings are known by the number of their revision
        return _Newest(read.revision, read.model_revision)

    def find_kept_page(
        self, kind: ListKind[QueryRow], wanted: Wanted, freshness: Freshness, newest: Revision
    ) -> Snapshot[Page[StoredRow]] | None:
        """Returns the page if it is kept. Raises InvalidParameter if the token is from the future."""
        known = self._find_known(newest, wanted.slice.sort)
        page = None if known is None else known.kept_page.find_page(wanted.slice, kind.name)
        if page is None:
            return None
        freshness.demand(newest)
        return Snapshot(newest, page)

    async def read_slice(self, wanted: Slice, *, at: Revision | None) -> Snapshot[PageSlice[QueryRow]]:
        if at is not None:
            known = self._find_known(at, wanted.sort)
            if isinstance(known, SetListing) and known.kept_page.find(wanted) is None:
                page = await self._cut(known, wanted)
                if page.rows:  # reading the warrants on their objects has shown that `at` is retained
                    return Snapshot(at, page)
        newest = await self._find_revision(at) if at is not None else self._newest or await self.find_newest()
        listing, evicted = await self._find_listing(wanted.sort, newest, is_pinned=at is not None)
        revision = listing.revision if isinstance(listing, SetListing) else newest.revision
        page = await self._cut(listing, wanted)
        release_runs(evicted)
        return Snapshot(revision, page)

    def complete_page(
        self,
        kind: ListKind[QueryRow],
        wanted: Wanted,
        page: Page[QueryRow],
        stored: Mapping[ObjectRef, StoredObject],
    ) -> Page[StoredRow]:
        """Returns the page of the slice that was read, with the stored objects of its rows."""
        assert self._kept_page is not None
        rows = [StoredRow(row, stored.get(row.ref)) for row in page.rows]
        completed = Page(rows, page.prev_cursor, page.next_cursor, self._total)
        self._kept_page.keep_page(wanted.slice, kind.name, completed)
        if self._kept is not None:
            release_runs(self._ctx.listings.update(*self._kept))
        return completed

    async def _cut(self, listing: SnapshotListing | SetListing, wanted: Slice) -> PageSlice[QueryRow]:
        # A listing that is not kept is released before the page is complete.
        self._kept_page, self._total = listing.kept_page, listing.count_rows()
        if isinstance(listing, SnapshotListing):
            return listing.slice(wanted)
        return await listing.read_slice(wanted, self._ctx.store, limit_work(self._ctx.max_query_work))

    def _find_known(self, at: Revision, sort: str) -> SnapshotListing | SetListing | None:
        """Returns the listing if it is cached. With contextual warrants it is neither looked up nor kept."""
        if self._request.contextual:
            return None
        key = self._key(at, sort)
        known = self._ctx.listings.find(key, self._now)
        self._kept = None if known is None else (key, known)
        return known

    def _key(self, at: Revision, sort: str) -> ListingKey:
        return at, sort, self._request.query, self._digest

    async def _find_listing(
        self, sort: str, newest: _Newest, is_pinned: bool
    ) -> tuple[SnapshotListing | SetListing, Sequence[SnapshotListing | SetListing]]:
        """Returns the listing at the revision of `newest` or, unless it `is_pinned`, at a later one; and those that are
        to be released when it has been used."""
        known = self._find_known(newest.revision, sort)
        if known is not None:
            return known, ()
        ctx, request, now = self._ctx, self._request, self._now
        found = await self._find_cached(sort, newest, is_pinned)
        listing = found or await _list_rows(await _begin(ctx, request, newest, now), sort)
        revision = listing.revision if isinstance(listing, SetListing) else newest.revision
        if now >= listing.valid_until or request.reads or request.contextual:
            return listing, [listing]
        self._kept = self._key(revision, sort), listing
        return listing, ctx.listings.keep(*self._kept)

    async def _find_cached(self, sort: str, newest: _Newest, is_pinned: bool) -> SnapshotListing | SetListing | None:
        """Returns the rows with the help of the graph cache, or None if it cannot help."""
        ctx, request, least = self._ctx, self._request, newest.revision
        if sort != "id" or request.now is not None or request.contextual or not ctx.graph.is_enabled:
            return None
        graph, reader = ctx.graph.find_graph(least), None
        if graph is not None and not graph.adjacency.former_lists.note(request.query):
            first = FirstReader(ctx.store, graph)
            search = await _begin(ctx, request, newest, self._now)
            try:
                return await _list_rows(replace(search, first=first), sort)
            except (GivenUp, BudgetExceeded):
                reader = TakenReader(ctx.store, least, first.taken)
        wanted = SetQuery(
            request.query, request.context, self._now, ctx.max_query_work, least, is_pinned, reader or ctx.store
        )
        return await find_set_listing(ctx.graph, ctx.object_lists, ctx.subject_lists, ctx.store, wanted)


def _key(sort: str, row: QueryRow) -> SortKey:
    """Returns the sort key of a row. Rows without a warrant come first by creation."""
    entry = (row.type, row.id, row.relation)
    return entry if sort == "id" else (_creation(row), *entry)


def _creation(row: QueryRow) -> int:
    if row.warrant is None:
        return -1
    return row.warrant.created_at if row.warrant.number < FIRST_NUMBER else AFTER_ALL_STORED


async def _list_rows(search: "_QuerySearch", sort: str) -> SnapshotListing:
    findings = await search.find()
    if findings.itself is not None and not await search.exists(findings.itself):
        findings = findings.without_itself()
    existing = await search.list_existing(findings.types_to_read)
    results_by_name = findings.by_name(existing)
    keys: list[SortKey] = []
    for (of_type, _), one in results_by_name.items():
        keys += await _keys(of_type, one, one.ids(existing.get(of_type, ())), sort, search.work)
        search.work.hasten_checkpoint(1)  # most results may be empty
        if search.work.needs_checkpoint:
            await checkpoint()
            search.work.pass_checkpoint()
    # As of the past, the time is a part of the key, and the rows are valid for good.
    valid_until = findings.valid_until if search.request.now is None else ALWAYS
    own_bytes = 0
    for measured in measure_rows(keys, results_by_name.values()):
        own_bytes += measured
        if is_time_up():
            await checkpoint()
    return SnapshotListing(await _sort_keys(keys), results_by_name, own_bytes, valid_until)


async def _begin(ctx: Context, request: QueryRequest, newest: _Newest, now: int) -> "_QuerySearch":
    """Raises InvalidParameter for a contextual warrant that could not be written."""
    work, at = limit_work(ctx.max_query_work), newest.revision
    model = await ctx.models.at(at, newest.model_revision)
    if not request.contextual:
        return _QuerySearch(ctx.store, request, model, now, work, at)
    contextual = build_contextual_warrants(request.contextual, now)
    extended = contextual.extend_model(model)
    work.spend(contextual.overlay.size)
    return _QuerySearch(ctx.store, request, extended, now, work, at, contextual.overlay)


@dataclass(frozen=True, slots=True)
class _QuerySearch:
    """Represents the search for the rows of one query at one revision. With `first`, it raises GivenUp if the rows are
    not few."""

    store: Store
    request: QueryRequest
    model: Model
    now: int
    work: Work
    at: Revision
    overlay: Overlay | None = None
    first: FirstReader | None = None

    async def find(self) -> Findings:
        model, query, context, now, work = self.model, self.request.query, self.request.context, self.now, self.work
        reader = self.first or (self.store if self.overlay is None else OverlaidReader(self.store, self.overlay))
        findings = await complete_run(reader, find(model, query, context, now, work), self.at)
        if findings.relation_results is not None:
            return findings
        existing = await self.list_existing(find_row_types(model, query))
        return await complete_run(reader, check_each(model, query, existing, context, now, work), self.at)

    async def list_existing(self, types: Collection[TypeName | None]) -> Mapping[TypeName, Sequence[ObjectId]]:
        """Returns the existing objects of these types, None being all types."""
        if self.first is not None and types:
            raise GivenUp  # all objects of a type may be many
        existing = await self._list_stored(types)
        if self.overlay is None or not types:
            return existing
        named = [*self.overlay.objects] if None in types else [name for name in types if name is not None]
        return {
            name: self.overlay.merge_objects(split_subject_type(name)[0], existing.get(name, ()))
            for name in dict.fromkeys((*existing, *named))
        }

    async def exists(self, ref: ObjectRef) -> bool:
        stored = [one.id for one in (await self.store.find_objects([ref], self.at)).value]
        return ref.id in (stored if self.overlay is None else self.overlay.merge_objects(ref.type, stored))

    async def _list_stored(self, types: Iterable[TypeName | None]) -> Mapping[TypeName, Sequence[ObjectId]]:
        """Returns the ids of the stored objects, in order."""
        ids: dict[TypeName, list[ObjectId]] = defaultdict(list)
        for only in types:
            after: ObjectName | None = None
            name = None if only is None else split_subject_type(only)[0]
            while True:
                names = (await self.store.list_names(name, after, NAMES_AT_ONCE, self.at)).value
                self.work.spend(len(names))
                for of_type, id in names:
                    ids[only or of_type].append(id)
                if len(names) < NAMES_AT_ONCE:
                    break
                after = names[-1]
        return ids


async def _keys(
    of_type: TypeName, results_by_name: RelationResult, ids: Iterator[ObjectId], sort: str, work: Work
) -> list[SortKey]:
    weight = 1 if sort == "id" else 1 + results_by_name.reports.steps // STEPS_FOR_A_NODE
    keys: list[SortKey] = []
    at_once = KEYS_BETWEEN_CHECKPOINTS if sort == "id" else 1 + ROWS_BETWEEN_CHECKPOINTS // weight
    while some := list(islice(ids, at_once)):
        work.spend(len(some) * weight)
        if sort == "id":
            keys += [(of_type, id, results_by_name.relation) for id in some]
        else:
            keys += [_key(sort, results_by_name.row(of_type, id)) for id in some]
        await checkpoint()
    return keys


async def _sort_keys(keys: list[SortKey]) -> list[SortKey]:
    """Sorts the keys in portions, with a yield after each, and merges them likewise: one sort of everything would be
    much faster, but would block the event loop meanwhile."""
    batches: list[list[SortKey]] = []
    for start in range(0, len(keys), KEYS_BETWEEN_CHECKPOINTS):
        batches.append(sorted(keys[start : start + KEYS_BETWEEN_CHECKPOINTS]))
        await checkpoint()
    if len(batches) <= 1:
        return batches[0] if batches else []
    merged: list[SortKey] = []
    merging = merge(*batches)
    while batch := list(islice(merging, KEYS_BETWEEN_CHECKPOINTS)):
        merged += batch
        await checkpoint()
    return merged


async def _read_stored(ctx: Context, rows: Sequence[QueryRow], at: Revision) -> dict[ObjectRef, StoredObject]:
    refs = [row.ref for row in rows if row.id != WILDCARD]
    if not refs:
        return {}
    found = await ctx.store.find_objects(refs, at)
    return {ObjectRef(one.type, one.id): one for one in found.value}
