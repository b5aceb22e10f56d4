"""Runs queries (docs/compatibility.md#query); every page of a listing is at the revision of its first page."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import msgspec

from magistrate.engine.lists.results import QueryRow
from magistrate.engine.names import WILDCARD, Revision
from magistrate.engine.terms import ObjectRef
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.lists.counts import KEPT
from magistrate.operations.lists.evaluators import (
    ListRequest,
    NewestRevision,
    QueryRequest,
    build_sort_key,
    find_listing,
)
from magistrate.operations.lists.listings import KeptPage, Listing, ListingKey, StoredRow
from magistrate.operations.paging import ListKind, Page, PageRequest, Sort, read_page
from magistrate.operations.readers.contextual_warrants import digest_warrants
from magistrate.operations.runs import release_runs
from magistrate.operations.scheduling import limit_work
from magistrate.store.contract.lists import PageSlice, Slice, Snapshot
from magistrate.store.contract.new_rows import NewWarrant
from magistrate.store.contract.stored_rows import StoredObject

SORTS = {sort: Sort(sort, partial(build_sort_key, sort)) for sort in ("id", "createdAt")}
QUERY_LIST: ListKind[QueryRow] = ListKind("query", SORTS, is_snapshot=True)


def query_kind(contextual: Sequence[NewWarrant]) -> ListKind[QueryRow]:
    """Returns the kind of the listing. A cursor is valid only with the same contextual warrants."""
    if not contextual:
        return QUERY_LIST
    return replace(QUERY_LIST, name=f"{QUERY_LIST.name}+{digest_warrants(contextual)}")


async def list_page(
    ctx: Context,
    request: QueryRequest,
    page_request: PageRequest,
    freshness: Freshness,
    kind: ListKind[QueryRow] | None = None,
) -> Snapshot[Page[StoredRow]]:
    """Returns a page of the query; `kind` is that of `query_kind` unless given.

    Raises NotFound if a type in the query is not defined, BudgetExceeded, InvalidParameter if a contextual warrant
    could not be written, and what `read_page` raises."""
    page_read, kind = _PageRead(ctx, request, freshness), kind or query_kind(request.contextual)
    if page_request.at is None:
        newest = await page_read.find_newest()
        page = page_read.find_kept_page(kind, page_request, freshness, newest.revision)
        if page is not None:
            return page
    part = await read_page(kind, page_request, freshness, ctx.store, read=page_read.read_slice)
    stored = await _read_stored(ctx, part.value.rows, part.revision)
    return Snapshot(part.revision, page_read.complete_page(kind, page_request, part.value, stored))


def find_kept_page(
    ctx: Context, request: QueryRequest, page_request: PageRequest, freshness: Freshness
) -> Snapshot[Page[StoredRow]] | None:
    """Returns the page if it is kept, and it is known without waiting that it is as fresh as required. Raises
    InvalidParameter if the token is from the future, StoreUnavailable."""
    is_kept = page_request.at is None and not request.contextual
    graph = ctx.caches.graph.current_graph(freshness) if is_kept else None
    if graph is None:
        return None
    return _PageRead(ctx, request, freshness).find_kept_page(QUERY_LIST, page_request, freshness, graph.revision)


async def read_slice(
    ctx: Context, request: QueryRequest, bounds: Slice, at: Revision | None, freshness: Freshness
) -> Snapshot[PageSlice[QueryRow]]:
    """Returns a slice of the rows at this revision, or as fresh as required. Raises like `list_page`."""
    return await _PageRead(ctx, request, freshness).read_slice(bounds, at=at)


class _PageRead:
    """Reads one page, and what belongs to its rows."""

    def __init__(self, ctx: Context, request: QueryRequest, freshness: Freshness) -> None:
        self._ctx = ctx
        self._request = request
        self._freshness = freshness
        self._now = ctx.now() if request.now is None else request.now
        context = [request.context, request.now, request.reads is not None]
        encoded = msgspec.json.encode(context, order="deterministic")
        self._digest = hashlib.blake2b(encoded, digest_size=16).digest()
        self._newest: NewestRevision | None = None
        self._kept_page: KeptPage | None = None
        self._kept: tuple[ListingKey, Listing] | None = None
        """Holds the listing that the page is cut from, with its key."""
        self._total = 0

    async def find_newest(self) -> NewestRevision:
        """Returns the revision that the page is read at: that of the graph cache if it is as fresh as required, as for
        checks."""
        if self._ctx.caches.graph.is_enabled:
            graph = await self._ctx.caches.graph.follow_to(self._freshness)
            self._newest = NewestRevision(graph.revision, graph.model.revision)
        else:
            self._newest = await self._find_revision(None)
        return self._newest

    async def _find_revision(self, at: Revision | None) -> NewestRevision:
        """Raises RevisionUnavailable, HistoryReplaced."""
        read = await self._ctx.store.read_warrants((), at, 1)
        await self._ctx.store.confirm_history()  # listings are known by the number of their revision
        return NewestRevision(read.revision, read.model_revision)

    def find_kept_page(
        self, kind: ListKind[QueryRow], page_request: PageRequest, freshness: Freshness, newest: Revision
    ) -> Snapshot[Page[StoredRow]] | None:
        """Returns the page if it is kept. Raises InvalidParameter if the token is from the future."""
        listing = self._find_cached(newest, page_request.slice.sort)
        page = None if listing is None else listing.kept_page.find_page(page_request.slice, kind.name)
        if page is None:
            return None
        freshness.demand(newest)
        self._ctx.list_counts.count(KEPT)
        return Snapshot(newest, page)

    async def read_slice(self, bounds: Slice, *, at: Revision | None) -> Snapshot[PageSlice[QueryRow]]:
        if at is not None:
            cached = self._find_cached(at, bounds.sort)
            if cached is not None and cached.numbering is not None and cached.kept_page.find(bounds) is None:
                page = await self._cut(cached, bounds)
                if page.rows:  # reading the warrants on their objects has shown that `at` is retained
                    self._ctx.list_counts.count(KEPT)
                    return Snapshot(at, page)
        newest = await self._find_revision(at) if at is not None else self._newest or await self.find_newest()
        listing, evicted = await self._find_listing(bounds.sort, newest, is_pinned=at is not None)
        page = await self._cut(listing.value, bounds)
        release_runs(evicted)
        return Snapshot(listing.revision, page)

    def complete_page(
        self,
        kind: ListKind[QueryRow],
        page_request: PageRequest,
        page: Page[QueryRow],
        stored: Mapping[ObjectRef, StoredObject],
    ) -> Page[StoredRow]:
        """Returns the page of the slice that was read, with the stored objects of its rows."""
        assert self._kept_page is not None
        rows = [StoredRow(row, stored.get(row.ref)) for row in page.rows]
        completed = Page(rows, page.prev_cursor, page.next_cursor, self._total)
        self._kept_page.keep_page(page_request.slice, kind.name, completed)
        if self._kept is not None:
            release_runs(self._ctx.caches.listings.update(*self._kept))
        return completed

    async def _cut(self, listing: Listing, bounds: Slice) -> PageSlice[QueryRow]:
        # A listing that is not kept is released before the page is complete.
        self._kept_page, self._total = listing.kept_page, listing.count_rows()
        return await listing.read_slice(bounds, self._ctx.store, limit_work(self._ctx.max_query_work))

    def _find_cached(self, at: Revision, sort: str) -> Listing | None:
        """Returns the listing if it is cached. With contextual warrants it is neither looked up nor kept."""
        if self._request.contextual:
            return None
        key = self._key(at, sort)
        listing = self._ctx.caches.listings.find(key, self._now)
        self._kept = None if listing is None else (key, listing)
        return listing

    def _key(self, at: Revision, sort: str) -> ListingKey:
        return at, sort, self._request.query, self._digest

    async def _find_listing(
        self, sort: str, newest: NewestRevision, is_pinned: bool
    ) -> tuple[Snapshot[Listing], Sequence[Listing]]:
        """Returns the listing at the revision of `newest` or, unless it `is_pinned`, at a later one; and those that are
        to be released when it has been used."""
        cached = self._find_cached(newest.revision, sort)
        if cached is not None:
            self._ctx.list_counts.count(KEPT)
            return Snapshot(newest.revision, cached), ()
        ctx, request, now = self._ctx, self._request, self._now
        computed = await find_listing(ListRequest(ctx, request, newest, sort=sort, now=now, is_pinned=is_pinned))
        listing = computed.value
        if now >= listing.valid_until or request.reads or request.contextual:
            return computed, [listing]
        self._kept = self._key(computed.revision, sort), listing
        return computed, ctx.caches.listings.keep(*self._kept)


async def _read_stored(ctx: Context, rows: Sequence[QueryRow], at: Revision) -> dict[ObjectRef, StoredObject]:
    refs = [row.ref for row in rows if row.id != WILDCARD]
    if not refs:
        return {}
    objects = await ctx.store.find_objects(refs, at)
    return {ObjectRef(stored.type, stored.id): stored for stored in objects.value}
