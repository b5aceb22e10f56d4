"""Lists a difference page by page, in the order of objects, relations and subjects.

Every page finds anew what the changes affect, and compares only as much of it, from the boundary on, as it needs to be
full."""

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from magistrate.engine.difference.causes import Cause, CauseFinder
from magistrate.engine.difference.comparison import AccessChange, Affected
from magistrate.engine.difference.reverse_expansion import ObjectRelation
from magistrate.engine.names import ObjectId, RelationName, Revision, TypeName
from magistrate.engine.work import Work
from magistrate.errors import BudgetExceeded, InvalidParameter
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.difference.affected_access import AffectedSearch
from magistrate.operations.difference.checked_access import CheckedComparer
from magistrate.operations.difference.comparison import BitmapComparer, Comparer
from magistrate.operations.difference.filters import OBJECT, OF, SUBJECT, Narrowing, Q
from magistrate.operations.difference.selection import Selection
from magistrate.operations.difference.states import ExistingNames, ExistingObjects, StateComparison
from magistrate.operations.paging import ListKind, Page, PageRequest, Sort, read_page
from magistrate.operations.scheduling import checkpoint, is_time_up, limit_work
from magistrate.store.contract.lists import PageSlice, Slice, Snapshot

FIRST_BATCH = 16
MAX_BATCH = 256
"""Limit the relations on objects that are compared together, at first and at most. The first batch has no more than the
page has rows: it may be full then, and one relation may have thousands of rows."""
NODES_BETWEEN_CHECKPOINTS = 2_000
ROWS_BETWEEN_LOOKS = 50


class DifferenceRow(NamedTuple):
    change: AccessChange
    cause: Cause


def row_values(row: DifferenceRow) -> tuple[str | int, ...]:
    """Returns what the row is sorted by, which no other row has."""
    return (*row.change[:5], int(row.change.is_conditional))


async def list_page(
    ctx: Context,
    kind: ListKind[DifferenceRow],
    narrowing: Narrowing,
    page_request: PageRequest,
    freshness: Freshness,
    *,
    compare: Callable[[Work], Awaitable[StateComparison]],
) -> Snapshot[Page[DifferenceRow]]:
    """Returns a page of the difference between the states that `compare` returns; the request has their revision.

    Raises InvalidParameter if the budget does not suffice, and what `compare` and `read_page` raise."""

    async def read(bounds: Slice, *, at: Revision | None) -> Snapshot[PageSlice[DifferenceRow]]:
        assert at is not None
        work = limit_work(ctx.max_query_work)
        return Snapshot(at, await _list_slice(ctx.store, await compare(work), narrowing, bounds, work=work))

    try:
        return await read_page(kind, page_request, freshness, ctx.store, read=read)
    except BudgetExceeded as error:
        raise _name_narrower(narrowing, error) from error


async def _list_slice(
    store: ExistingNames, comparison: StateComparison, narrowing: Narrowing, bounds: Slice, work: Work
) -> PageSlice[DifferenceRow]:
    """Returns a part of the difference. Raises InvalidParameter for a name that neither state defines, BudgetExceeded.

    A boundary is always that of a row."""
    narrowing.require_defined((comparison.before.model, comparison.after.model))
    if narrowing.is_explicit:
        comparison = comparison.without_rules()
    async with find_affected(store, comparison, Selection(comparison.models, narrowing), work) as compared:
        changes = await _collect(compared, bounds)
    causes = CauseFinder(compared.affected, comparison.existence)
    rows = [DifferenceRow(change, causes.find(change)) for change in changes[: bounds.limit]]
    has_more, has_boundary = len(changes) > bounds.limit, bounds.boundary is not None and bool(rows)
    if bounds.backwards:
        return PageSlice(tuple(reversed(rows)), precedes=has_more, follows=has_boundary)
    return PageSlice(tuple(rows), precedes=has_boundary, follows=has_more)


@asynccontextmanager
async def find_affected(
    store: ExistingNames, comparison: StateComparison, selection: Selection, work: Work
) -> AsyncIterator[Comparer]:
    """Finds what the differences affect, for as long as it is compared. Raises BudgetExceeded."""
    search = AffectedSearch(comparison, selection, work)
    async with _compare_with(store, comparison, search, search.find()) as compared:
        yield compared


@asynccontextmanager
async def compare_everywhere(
    store: ExistingNames, comparison: StateComparison, selection: Selection, work: Work
) -> AsyncIterator[Comparer]:
    """Compares all that is selected, whether anything affects it or not."""
    search = AffectedSearch(comparison, selection, work)
    async with _compare_with(store, comparison, search, search.list_everything()) as compared:
        yield compared


@asynccontextmanager
async def _compare_with(
    store: ExistingNames, comparison: StateComparison, search: AffectedSearch, finding: Awaitable[Affected]
) -> AsyncIterator[Comparer]:
    work = search.before.work
    try:
        affected = await finding
        existing = ExistingObjects(store, comparison.after.at, comparison.existence, work)
        checked = CheckedComparer(search, comparison)
        bitmaps = BitmapComparer(search.before, search.after, comparison)
        try:
            yield Comparer(search, affected, existing, checked, bitmaps)
        finally:
            bitmaps.discard_entries()
    finally:
        search.before.release()
        search.after.release()


async def list_all_rows(
    store: ExistingNames, comparison: StateComparison, selection: Selection, most: int, work: Work
) -> list[DifferenceRow] | None:
    """Returns all rows of a difference in order, None if they are more than `most`. Raises BudgetExceeded."""
    async with find_affected(store, comparison, selection, work) as compared:
        changes = await _collect(compared, Slice("id", most))
        rows: list[DifferenceRow] = []
        causes = CauseFinder(compared.affected, comparison.existence)
        for start in range(0, min(len(changes), most), ROWS_BETWEEN_LOOKS):
            some = changes[start : min(start + ROWS_BETWEEN_LOOKS, most)]
            rows += [DifferenceRow(change, causes.find(change)) for change in some]
            if is_time_up():
                await checkpoint()
    return rows if len(changes) <= most else None


@dataclass(slots=True)
class RowCount:
    """Counts the rows of a difference; `is_complete` is false if there may be more."""

    gained: int = 0
    lost: int = 0
    is_complete: bool = False


async def count_rows(
    store: ExistingNames, comparison: StateComparison, narrowing: Narrowing, most: int, work: Work
) -> RowCount:
    """Counts up to `most` rows of a difference, as far as the work suffices."""
    count = RowCount()
    try:
        async with find_affected(store, comparison, Selection(comparison.models, narrowing), work) as compared:
            count.is_complete = await _count_changes(compared, count, most)
    except BudgetExceeded:
        pass
    return count


async def _count_changes(compared: Comparer, count: RowCount, most: int) -> bool:
    size = FIRST_BATCH
    async for nodes in iterate_nodes(compared, None, upwards=True):
        waiting = [*nodes]
        while waiting:
            for change in await compared.compare(waiting[:size]):
                if count.gained + count.lost == most:
                    return False
                count.gained += change.is_gained
                count.lost += not change.is_gained
            waiting, size = waiting[size:], min(2 * size, MAX_BATCH)
    return True


async def _collect(compared: Comparer, bounds: Slice) -> list[AccessChange]:
    """Returns the changes next to the boundary, one more than wanted if there are."""
    upwards = bounds.descending == bounds.backwards
    boundary = bounds.boundary
    changes: list[AccessChange] = []
    size = min(bounds.limit, FIRST_BATCH)
    waiting: list[ObjectRelation] = []
    async for nodes in iterate_nodes(compared, boundary, upwards):
        waiting += nodes
        while len(waiting) >= size:
            changes += _beyond(await compared.compare(waiting[:size]), boundary, upwards)
            waiting, size = waiting[size:], min(2 * size, MAX_BATCH)
            if len(changes) > bounds.limit:
                return changes[: bounds.limit + 1]
    changes += _beyond(await compared.compare(waiting), boundary, upwards)
    return changes[: bounds.limit + 1]


def _beyond(
    changes: Sequence[AccessChange], boundary: tuple[str | int, ...] | None, upwards: bool
) -> Iterable[AccessChange]:
    """Returns the changes beyond the boundary, in the direction of the listing."""
    ordered = changes if upwards else changes[::-1]
    if boundary is None:
        return ordered
    return [change for change in ordered if (change[:6] > boundary if upwards else change[:6] < boundary)]


async def iterate_nodes(
    compared: Comparer, boundary: tuple[str | int, ...] | None, upwards: bool
) -> AsyncIterator[Sequence[ObjectRelation]]:
    """Yields the affected relations on objects in order, from that of the boundary on."""
    only = compared.narrowing.find_object()
    single: dict[TypeName, list[ObjectRelation]] = {}
    for number, node in enumerate(compared.affected.nodes, 1):
        is_selected = only is None or (node.type, node.id) == (only.type, only.id)
        if is_selected and compared.narrowing.covers_target((node.type, node.relation)):
            single.setdefault(node.type, []).append(node)
        if not number % NODES_BETWEEN_CHECKPOINTS:
            await checkpoint()
    everywhere: dict[TypeName, list[RelationName]] = {}
    for of_type, relation in compared.affected.everywhere:
        if compared.narrowing.covers_target((of_type, relation)) and (only is None or only.type == of_type):
            everywhere.setdefault(of_type, []).append(relation)
    first = None if boundary is None else tuple(map(str, boundary[:3]))
    for of_type in sorted({*single, *everywhere}, reverse=not upwards):
        if first is not None and (of_type < first[0] if upwards else of_type > first[0]):
            continue
        batches = _iterate_type(
            compared,
            of_type,
            single.get(of_type, []),
            everywhere=everywhere.get(of_type, ()),
            first=first,
            upwards=upwards,
        )
        async for nodes in batches:
            yield nodes if first is None else [node for node in nodes if (node >= first if upwards else node <= first)]
            await checkpoint()


async def _iterate_type(
    compared: Comparer,
    of_type: TypeName,
    single: Sequence[ObjectRelation],
    everywhere: Sequence[RelationName],
    first: tuple[str, ...] | None,
    upwards: bool,
) -> AsyncIterator[Sequence[ObjectRelation]]:
    """Yields the affected relations on objects of a type; `everywhere` are affected on all objects."""
    ordered = sorted(single, reverse=not upwards)
    if not everywhere:
        yield ordered
        return
    relations: dict[ObjectId, set[RelationName]] = {}
    for node in ordered:
        relations.setdefault(node.id, set()).add(node.relation)

    def expand(ids: Iterable[ObjectId]) -> list[ObjectRelation]:
        return [
            ObjectRelation(of_type, object_id, relation)
            for object_id in ids
            for relation in sorted({*everywhere, *relations.pop(object_id, ())}, reverse=not upwards)
        ]

    only = compared.narrowing.find_object()
    if only is not None:
        yield expand([only.id])
    elif upwards:
        since = ObjectId(first[1]) if first is not None and first[0] == of_type else None
        async for ids in compared.existing.iterate(of_type, since):
            yield expand(ids)
    else:
        ids = (await compared.existing.list_types([of_type]))[of_type]
        yield expand(reversed(ids))


DIFFERENCE_LIST: ListKind[DifferenceRow] = ListKind("difference", {"id": Sort("id", row_values)}, is_snapshot=True)


def difference_kind(narrowing: Narrowing, *content: Any) -> ListKind[DifferenceRow]:
    """Returns the list of the difference that this content requests. Its cursors have a digest of the content."""
    narrowed = narrowing.patterns, narrowing.subject, narrowing.object, repr(narrowing.query)
    encoded = msgspec.json.encode((*content, *narrowed), order="deterministic")
    digest = hashlib.blake2b(encoded, digest_size=16).hexdigest()
    return ListKind(f"{DIFFERENCE_LIST.name}+{digest}", DIFFERENCE_LIST.sorts, is_snapshot=True)


def _name_narrower(narrowing: Narrowing, error: BudgetExceeded) -> InvalidParameter:
    is_missing_by_name = {
        OF: narrowing.patterns is None,
        SUBJECT: narrowing.find_subject() is None,
        OBJECT: narrowing.find_object() is None,
    }
    names = [name for name, is_missing in is_missing_by_name.items() if is_missing]
    narrower = f"narrow it with {', '.join(names)} or {Q}" if names else "compare states that differ less"
    message = f"the difference needs to look at more than {error.limit} nodes and warrants; {narrower}"
    return InvalidParameter(names[0] if names else OF, message)
