"""Lists the objects on which a user has a relation, by authorization models of OpenFGA's API (docs/openfga.md#lists).

By the newest model, these are the rows of the query that `/v2/query` runs, from the same caches. By an older one, with
contextual tuples, and where the user is a userset, the query is run over the same warrants with the model of the
request in place of that of the store; see `operations/openfga/checks.py` for what stands for a userset or a
wildcard."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from magistrate.engine.lists.language import ObjectsQuery
from magistrate.engine.lists.results import QueryRow
from magistrate.engine.model.model import Model
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef
from magistrate.engine.warrants.overlay import CountsWarrant
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.lists.evaluators import (
    ListRequest,
    NewestRevision,
    QueryRequest,
    build_sort_key,
    find_listing,
)
from magistrate.operations.lists.query import read_slice
from magistrate.operations.openfga.checks import NOBODY, require_known
from magistrate.operations.openfga.documents import USERSET, ModelUse, UsedModel
from magistrate.operations.runs import release_runs
from magistrate.operations.scheduling import checkpoint, is_time_up, limit_work
from magistrate.store.contract.lists import PageSlice, Slice, Snapshot
from magistrate.store.contract.new_rows import NewWarrant

ROWS_AT_ONCE = 1_000
SORT = "id"


class ReplacedModelRequest(ListRequest):
    """Represents a request for rows by another model than that of the store."""

    replaces_stored = True

    def __init__(
        self,
        ctx: Context,
        request: QueryRequest,
        newest: NewestRevision,
        replace_model: Callable[[Model], Model],
        counts_stored: CountsWarrant | None,
    ) -> None:
        super().__init__(ctx, request, newest, sort=SORT, now=ctx.now(), is_pinned=True)
        self.counts_stored = counts_stored
        self._replace_model = replace_model

    @property
    def may_use_bitmaps(self) -> bool:
        return False

    async def find_model(self) -> Model:
        return self._replace_model(await super().find_model())


@dataclass(frozen=True, slots=True)
class ObjectSearch:
    """Holds what is searched for: the objects of a type on which a subject has a relation. The id of a subject that
    stands for all users of its type is WILDCARD."""

    type: TypeName
    relation: RelationName
    subject: Subject
    context: Mapping[str, Any]
    contextual: Sequence[NewWarrant]


ObjectPages = AsyncGenerator[Snapshot[Sequence[ObjectId]], None]
"""Yields the ids of objects, in their order, all at one revision; at least once."""


def list_objects(ctx: Context, used: UsedModel, search: ObjectSearch, freshness: Freshness) -> ObjectPages:
    """Lists the objects by an authorization model. Raises BudgetExceeded, OpenFgaRefusal if a condition cannot be
    evaluated, and what reading raises."""
    subject = search.subject
    # Lists of the store leave out what is unknown, and do not say that there is something.
    is_plain = not subject.relation and not search.contextual and not used.compiled.document.conditions
    if used.is_live and is_plain:
        return _list_by_store(ctx, _build_request(search), freshness)
    return _list_by_document(ctx, used, search, freshness)


def _build_request(search: ObjectSearch) -> QueryRequest:
    subject, contextual = search.subject, search.contextual
    searched = ObjectRef(subject.type, NOBODY if subject.id == WILDCARD else subject.id)
    if subject.relation:
        searched = ObjectRef(USERSET, NOBODY)
        userset = ObjectRef(subject.type, subject.id)
        member = NewWarrant(userset, RelationName(subject.relation), Subject(USERSET, NOBODY, ""))
        contextual = (*contextual, member)
    query = ObjectsQuery(searched, (search.relation,), (search.type,), is_explicit=False)
    return QueryRequest(query, search.context, contextual)


async def _list_by_store(ctx: Context, request: QueryRequest, freshness: Freshness) -> ObjectPages:
    """Lists by the model of the store: the first page as `/v2/query` does, and if there are more, all others from one
    search, because a listing that is too large to be kept would be searched for each of them."""
    first = await read_slice(ctx, request, Slice(SORT, ROWS_AT_ONCE), None, freshness)
    yield Snapshot(first.revision, _list_ids(first.value))
    if first.value.follows:
        state = await ctx.store.read_warrants((), first.revision, 1)
        newest = NewestRevision(first.revision, state.model_revision)
        search = ListRequest(ctx, request, newest, sort=SORT, now=ctx.now(), is_pinned=True)
        async for page in _cut_pages(search, first.value.rows[-1]):
            yield page


async def _list_by_document(ctx: Context, used: UsedModel, search: ObjectSearch, freshness: Freshness) -> ObjectPages:
    state = await ctx.store.read_warrants((), None, 1)
    await ctx.store.confirm_history()  # models are known by the number of their revision
    freshness.demand(state.newest)
    use = ModelUse.USERSETS if search.subject.relation else ModelUse.CHECKS
    request = ReplacedModelRequest(
        ctx,
        _build_request(search),
        NewestRevision(state.revision, state.model_revision),
        lambda model: used.compiled.build_model(model, use),
        used.counts_stored,
    )
    async for page in _cut_pages(request, None):
        require_known(request.work)
        yield page


async def _cut_pages(search: ListRequest, behind: QueryRow | None) -> ObjectPages:
    listing = await find_listing(search)
    try:
        while True:
            boundary = None if behind is None else build_sort_key(SORT, behind)
            bounds = Slice(SORT, ROWS_AT_ONCE, boundary=boundary)
            page = await listing.value.read_slice(bounds, search.ctx.store, limit_work(search.ctx.max_query_work))
            yield Snapshot(listing.revision, _list_ids(page))
            if not page.follows:
                break
            behind = page.rows[-1]
            if is_time_up():
                await checkpoint()
    finally:
        release_runs([listing.value])


def _list_ids(page: PageSlice[QueryRow]) -> Sequence[ObjectId]:
    """Returns the ids without that of a warrant on all objects of the type, which are in the list themselves."""
    return [row.id for row in page.rows if row.id != WILDCARD]
