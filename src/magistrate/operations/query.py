"""Runs queries (docs/compatibility.md#query); every page of a listing is at the revision of its first page."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import merge
from itertools import islice
from typing import Any

import msgspec

from magistrate.engine.plans import Model
from magistrate.engine.query import Query
from magistrate.engine.query.finding import check_each, find, find_row_types
from magistrate.engine.query.rows import STEPS_FOR_A_NODE, Findings, QueryRow, RelationResult
from magistrate.engine.terms import WILDCARD, ObjectId, ObjectRef, Revision, TypeName
from magistrate.engine.warrant_reader import ReadResult
from magistrate.engine.work import Work
from magistrate.operations.checks.evaluating import complete_run
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.listings import SnapshotListing, SortKey
from magistrate.operations.paging import ListKind, Page, Sort, Wanted, read_page
from magistrate.operations.scheduling import checkpoint
from magistrate.store.contract import ObjectName, PageSlice, Slice, Snapshot, StoredObject

NAMES_AT_ONCE = 10_000
ROWS_BETWEEN_CHECKPOINTS = 1_000
"""Limits the rows whose warrants are looked up before a yield, if that takes one step for each; some milliseconds."""
KEYS_BETWEEN_CHECKPOINTS = 3_000
"""Limits the objects that are read, or rows that are sorted, before a yield."""


QUERY_LIST: ListKind[QueryRow] = ListKind(
    "query",
    {"id": Sort("id", lambda row: _key("id", row)), "createdAt": Sort("createdAt", lambda row: _key("createdAt", row))},
    is_snapshot=True,
)


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """Holds a query, and the variables for its policies."""

    query: Query
    context: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StoredRow:
    """Represents a row of the response. `stored` is the object or subject of the row; None for a row that stands for
    all of a type."""

    row: QueryRow
    stored: StoredObject | None


async def list_page(
    ctx: Context, request: QueryRequest, wanted: Wanted, freshness: Freshness, kind: ListKind[QueryRow] = QUERY_LIST
) -> Snapshot[Page[StoredRow]]:
    """Returns a page of the query. Raises NotFound if a type in the query is not defined, BudgetExceeded, and what
    `read_page` raises."""
    read = partial(_read_slice, ctx, request)
    found = await read_page(kind, wanted, freshness, ctx.store.identity, read)
    page = found.value
    stored = await _read_stored(ctx, page.rows, found.revision)
    rows = [StoredRow(row, stored.get(ObjectRef(row.type, row.id))) for row in page.rows]
    return Snapshot(found.revision, Page(rows, page.prev_cursor, page.next_cursor))


async def _read_slice(
    ctx: Context, request: QueryRequest, wanted: Slice, at: Revision | None
) -> Snapshot[PageSlice[QueryRow]]:
    newest = await ctx.store.read_warrants((), at, 1)
    listing = await _listing(ctx, request, wanted.sort, newest)
    return Snapshot(newest.revision, listing.slice(wanted))


def _key(sort: str, row: QueryRow) -> SortKey:
    """Returns the sort key of a row. Rows without a warrant come first by creation."""
    entry = (row.type, row.id, row.relation)
    return entry if sort == "id" else (-1 if row.warrant is None else row.warrant.created_at, *entry)


async def _listing(ctx: Context, request: QueryRequest, sort: str, newest: ReadResult) -> SnapshotListing:
    context, at = msgspec.json.encode(request.context, order="deterministic"), newest.revision
    key = (at, sort, request.query, hashlib.blake2b(context, digest_size=16).digest())
    now = ctx.now()
    listing = ctx.listings.find(key, now)
    if listing is None:
        work = Work(ctx.max_query_work)
        model = await ctx.models.at(at, newest.model_revision)
        findings = await _find(ctx, request, model, now, work, at)
        existing = await _existing(ctx, findings.types_to_read, work, at)
        results_by_name = findings.by_name(existing)
        keys: list[SortKey] = []
        for (of_type, _), one in results_by_name.items():
            keys += await _keys(of_type, one, one.ids(existing.get(of_type, ())), sort, work)
        listing = SnapshotListing(await _sort_keys(keys), results_by_name, findings.valid_until)
        if now < findings.valid_until:
            ctx.listings.keep(key, listing)
    return listing


async def _find(ctx: Context, request: QueryRequest, model: Model, now: int, work: Work, at: Revision) -> Findings:
    findings = await complete_run(ctx, find(model, request.query, request.context, now, work), at)
    if findings.relation_results is not None:
        return findings
    existing = await _existing(ctx, find_row_types(model, request.query), work, at)
    return await complete_run(ctx, check_each(model, request.query, existing, request.context, now, work), at)


async def _existing(
    ctx: Context, types: Iterable[TypeName | None], work: Work, at: Revision
) -> Mapping[TypeName, Sequence[ObjectId]]:
    """Returns the existing objects of these types, None being all types, in order."""
    ids: dict[TypeName, list[ObjectId]] = defaultdict(list)
    for only in types:
        after: ObjectName | None = None
        while True:
            names = (await ctx.store.list_names(only, after, NAMES_AT_ONCE, at)).value
            work.spend(len(names))
            for of_type, id in names:
                ids[of_type].append(id)
            if len(names) < NAMES_AT_ONCE:
                break
            after = names[-1]
    return ids


async def _keys(
    of_type: TypeName, results_by_name: RelationResult, ids: Sequence[ObjectId], sort: str, work: Work
) -> list[SortKey]:
    weight = 1 if sort == "id" else 1 + results_by_name.reports.steps // STEPS_FOR_A_NODE
    work.spend(len(ids) * weight)
    keys: list[SortKey] = []
    at_once = NAMES_AT_ONCE if sort == "id" else 1 + ROWS_BETWEEN_CHECKPOINTS // weight
    for start in range(0, len(ids), at_once):
        some = ids[start : start + at_once]
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
    refs = [ObjectRef(row.type, row.id) for row in rows if row.id != WILDCARD]
    if not refs:
        return {}
    found = await ctx.store.find_objects(refs, at)
    return {ObjectRef(one.type, one.id): one for one in found.value}
