"""Makes, lists, changes and deletes saved queries (docs/query-language.md#saved-queries)."""

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from magistrate.engine.names import Revision
from magistrate.operations.consistency import NO_DEMAND, Freshness
from magistrate.operations.context import Context
from magistrate.operations.paging import ListKind, Page, PageRequest, Sort, cut_sorted, read_page
from magistrate.store.contract.lists import PageSlice, Slice, Snapshot
from magistrate.store.contract.saved_queries import SavedQuery

MAX_SAVED_QUERIES = 200
"""Limits the saved queries of a store, which are read together for each page: people choose from them."""

_SORTS: Mapping[str, Sort[SavedQuery]] = {
    "name": Sort("name", lambda row: (row.name,)),
    "createdAt": Sort("createdAt", lambda row: (row.created_at, row.id)),
}
SAVED_QUERY_LIST: ListKind[SavedQuery] = ListKind("saved-queries", _SORTS, is_versioned=False)


@dataclass(frozen=True, slots=True)
class SavedQueryDraft:
    """Describes a query to be saved; `context` is the text of a JSON object."""

    name: str
    description: str
    q: str
    context: str | None


@dataclass(frozen=True, slots=True)
class SavedQueryChange:
    """Describes what is to be changed of a saved query; what is None stays, and so does a context that is UNSET."""

    name: str | None = None
    description: str | None = None
    q: str | None = None
    context: str | UnsetType | None = UNSET


async def create_saved_query(ctx: Context, draft: SavedQueryDraft, actor: str) -> Snapshot[SavedQuery]:
    """Saves a query. Raises Conflict if one has the same name, or there are MAX_SAVED_QUERIES."""
    new = SavedQuery(ctx.new_id(), draft.name, draft.description, draft.q, draft.context, ctx.now(), actor)
    return await ctx.store.create_saved_query(new, MAX_SAVED_QUERIES)


async def get_saved_query(ctx: Context, query_id: str, freshness: Freshness) -> Snapshot[SavedQuery]:
    """Returns the saved query with this id. Raises NotFound."""
    stored = await ctx.store.find_saved_query(query_id)
    freshness.demand(stored.revision)
    return stored


async def list_saved_queries(
    ctx: Context, page_request: PageRequest, freshness: Freshness
) -> Snapshot[Page[SavedQuery]]:
    async def read(bounds: Slice, *, at: Revision | None) -> Snapshot[PageSlice[SavedQuery]]:
        stored = await ctx.store.list_saved_queries()
        values = _SORTS[bounds.sort].values
        ordered = sorted(stored.value, key=values)
        return Snapshot(stored.revision, cut_sorted([*map(values, ordered)], bounds, ordered.__getitem__))

    return await read_page(SAVED_QUERY_LIST, page_request, freshness, ctx.store, read=read)


async def update_saved_query(ctx: Context, query_id: str, change: SavedQueryChange) -> Snapshot[SavedQuery]:
    """Replaces what is given. Raises NotFound, and Conflict if another one has the name."""
    await get_saved_query(ctx, query_id, NO_DEMAND)  # an id that no database accepts is unknown, too

    def apply(stored: SavedQuery) -> SavedQuery:
        return replace(
            stored,
            name=stored.name if change.name is None else change.name,
            description=stored.description if change.description is None else change.description,
            q=stored.q if change.q is None else change.q,
            context=stored.context if change.context is UNSET else change.context,
        )

    return await ctx.store.update_saved_query(query_id, apply)


async def delete_saved_query(ctx: Context, query_id: str) -> Revision:
    """Deletes the saved query with this id. Raises NotFound."""
    await get_saved_query(ctx, query_id, NO_DEMAND)
    return await ctx.store.delete_saved_query(query_id)
