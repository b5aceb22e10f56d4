"""Queries over real stores: pages of one snapshot, in few reads, whatever others write."""

import gc
import hashlib
import itertools
import sys
from collections.abc import Sequence
from dataclasses import replace
from types import FunctionType, ModuleType
from typing import Any

import msgspec
import pytest

from benchmarks.counting import CountingDatabase
from magistrate.engine.lists.language import read_query
from magistrate.engine.lists.results import ListValue, QueryRow, RelationResult, Reports, ResultSet
from magistrate.engine.lists.reverse_graph import ReverseIndex
from magistrate.engine.model.model import Model
from magistrate.engine.names import ObjectId, RelationName, Revision, TypeName
from magistrate.engine.terms import ObjectRef
from magistrate.engine.truth import TRUE
from magistrate.engine.warrants.warrant import Warrant
from magistrate.engine.work import ITEMS_AT_ONCE, WORK_BETWEEN_CHECKPOINTS, Work
from magistrate.errors import BudgetExceeded, InvalidParameter, RevisionLost
from magistrate.operations.consistency import NO_DEMAND, Freshness
from magistrate.operations.context import Context
from magistrate.operations.lists.bitmap_listings import BitmapListing
from magistrate.operations.lists.evaluators import QueryRequest
from magistrate.operations.lists.listings import (
    LISTING_BYTES,
    ListingKey,
    Listings,
    SnapshotListing,
    SortKey,
    measure_key,
)
from magistrate.operations.lists.query import QUERY_LIST, list_page
from magistrate.operations.live_graph import LiveGraph
from magistrate.operations.models.object_types import put_object_types
from magistrate.operations.paging import PageRequest, read_page_request
from magistrate.operations.writes.objects import ObjectDraft, create_objects, delete_objects
from magistrate.operations.writes.warrants import create_warrants
from magistrate.store.contract.lists import Slice
from tests.event_loop_turns import counted_turns
from tests.memory_source import model_of
from tests.operations.stored_groups import (
    DRIVE,
    SEES,
    VIEWERS,
    counted,
    ctx,
    fill,
    forwards,
    grant,
    ids,
    page_of,
    reads_of_news,
    revoke,
)
from tests.scenario_runs import new

__all__ = ["counted", "ctx"]  # fixtures

pytestmark = pytest.mark.anyio

SEES_FOLDERS = "select folder where user:ann is viewer"


def somewhere_else(ctx: Context) -> Context:
    """As another worker has it: with nothing kept."""
    return replace(ctx, caches=replace(ctx.caches, listings=Listings(100_000_000)))


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8, 9, 1_000])
async def test_pages_of_any_size_make_up_the_listing_in_both_orders(ctx: Context, limit: int) -> None:
    seen = await fill(ctx, 9)

    for order, sort in itertools.product(("ASC", "DESC"), ("id", "createdAt")):
        pages = await forwards(ctx, SEES, limit=str(limit), sortOrder=order, sortBy=sort)
        assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)
        assert list(itertools.chain(*pages)) == (seen if order == "ASC" else seen[::-1])


async def test_by_creation_the_warrant_of_the_row_counts_and_rows_without_one_come_first(ctx: Context) -> None:
    clock = itertools.count(1_763_683_200_000_000, 1_000_000)
    ctx = replace(ctx, now=lambda: next(clock))
    rules = {"viewer": {"inheritIf": "anyOf", "rules": [{"inheritIf": "noneOf", "rules": [{"inheritIf": "listed"}]}]}}
    types: dict[str, dict[str, Any]] = {"page": {"listed": {}, **rules}, "user": {}}
    await put_object_types(ctx, list(model_of(types).types.values()), ctx.stamp("ann"))
    await grant(ctx, "page:z#viewer@user:ann")
    await grant(ctx, "page:a#viewer@user:ann")
    await grant(ctx, "page:m#listed@user:bob")

    [rows] = await forwards(ctx, "select page where user:ann is viewer", sortBy="createdAt")

    assert rows == ["m", "z", "a"]


async def test_a_listing_shows_what_there_was_at_its_first_page_however_others_write(ctx: Context) -> None:
    seen = await fill(ctx, 9)
    first = await page_of(ctx, SEES, limit="2")
    cursor = first.value.next_cursor or ""
    await revoke(ctx, "document:d05#parent@folder:f", "document:d02#blocked@user:ann")
    await grant(ctx, "document:d031#parent@folder:f", "document:d06#blocked@user:ann", "folder:g#viewer@user:*")
    await delete_objects(ctx, [ObjectRef(TypeName("document"), ObjectId("d07"))], ctx.stamp("ann"))
    await put_object_types(
        ctx, list(model_of({"document": {**DRIVE["document"], "viewer": {}}}).types.values()), ctx.stamp("ann")
    )

    for where in (ctx, somewhere_else(ctx)):
        rest = await page_of(where, SEES, nextCursor=cursor, limit="100")
        assert ids(rest.value) == seen[2:]
        assert rest.revision == first.revision
    assert ids((await page_of(ctx, SEES)).value) == []


async def test_later_pages_are_cut_from_what_was_kept_and_without_it_worked_out_again(
    counted: tuple[Context, CountingDatabase],
) -> None:
    ctx, database = counted
    await fill(ctx, 30)
    first = (await page_of(ctx, SEES, limit="5")).value

    def reads() -> int:
        counted_reads, database.reads = database.reads, 0
        return counted_reads

    reads()
    second = await page_of(ctx, SEES, limit="5", nextCursor=first.next_cursor or "")
    assert reads() == len(["the warrants of its rows", "their meta"])
    await page_of(ctx, SEES, limit="5")
    assert reads() == len(reads_of_news(database))
    assert await page_of(somewhere_else(ctx), SEES, limit="5", nextCursor=first.next_cursor or "") == second
    assert reads() > 2


async def test_what_is_kept_needs_no_model_whatever_changed_it_since(
    counted: tuple[Context, CountingDatabase],
) -> None:
    ctx, database = counted
    await fill(ctx, 9)
    first = (await page_of(ctx, SEES, limit="5")).value
    await grant(ctx, "folder:f#viewer@team:first-of-its-form#member")
    database.reads = 0

    await page_of(ctx, SEES, limit="5", nextCursor=first.next_cursor or "")

    assert database.reads == len(["the warrants of its rows", "their meta"])


async def test_a_query_reads_as_often_for_many_objects_as_for_few(counted: tuple[Context, CountingDatabase]) -> None:
    ctx, database = counted
    counts = []
    for documents in (5, 300):
        await fill(ctx, documents)
        for q in (SEES, VIEWERS):
            for _ in range(2):  # a small list is cached when it comes for the second time
                await page_of(somewhere_else(ctx), q)
            database.reads = 0
            await page_of(somewhere_else(ctx), q)
            counts.append(database.reads)

    assert counts[:2] == counts[2:]


async def test_a_listing_of_a_revision_that_is_not_kept_any_more_is_refused(ctx: Context) -> None:
    await fill(ctx, 9)
    cursor = (await page_of(ctx, SEES, limit="2")).value.next_cursor or ""
    await revoke(ctx, "document:d05#parent@folder:f")
    await ctx.store.collect(ctx.now() + 1, 1_000)

    with pytest.raises(InvalidParameter, match="is not kept any more: begin again without a cursor") as refused:
        await page_of(ctx, SEES, nextCursor=cursor)

    assert refused.value.parameter == "nextCursor"


async def test_what_depends_on_the_time_is_worked_out_for_every_page(ctx: Context) -> None:
    start = ctx.now()
    then = replace(ctx, now=lambda: start)
    for_an_hour = [f'document:{object_id}#viewer@user:ann[expiresIn("1h")]' for object_id in "abc"]
    await grant(then, *for_an_hour, "document:d#viewer@user:ann")
    first = (await page_of(then, SEES, limit="1")).value

    later = replace(then, now=lambda: start + 3_600_000_000)

    assert ids(first) == ["a"]
    assert ids((await page_of(then, SEES, nextCursor=first.next_cursor or "")).value) == ["b", "c", "d"]
    assert ids((await page_of(later, SEES, nextCursor=first.next_cursor or "")).value) == ["d"]


async def test_a_query_that_needs_too_much_work_is_refused_as_such(ctx: Context) -> None:
    await fill(ctx, 60)
    await grant(ctx, *[f"folder:f#viewer@user:u{number}" for number in range(60)])

    for q in (SEES, VIEWERS):
        with pytest.raises(BudgetExceeded):
            await page_of(replace(ctx, max_query_work=50), q)


async def test_a_token_from_the_future_is_refused_and_later_pages_are_of_their_listing(ctx: Context) -> None:
    await fill(ctx, 9)
    asked = QueryRequest(read_query(SEES), {})
    first = (await list_page(ctx, asked, PageRequest(Slice("id", 2), None, True), NO_DEMAND)).value
    after = await grant(ctx, "document:d44#parent@folder:f")
    wanted = read_page_request(QUERY_LIST, {"nextCursor": first.next_cursor or ""}, ctx.store.identity)

    later = await list_page(ctx, asked, wanted, Freshness("Warrant-Token", after))

    assert later.revision < after
    with pytest.raises(RevisionLost):
        await list_page(ctx, asked, PageRequest(Slice("id", 2)), Freshness("Warrant-Token", Revision(after + 1)))


async def test_other_requests_run_while_a_large_listing_is_worked_out(ctx: Context) -> None:
    for start in range(0, 20_000, 1_000):
        await grant(ctx, *[f"document:d{number}#parent@folder:f" for number in range(start, start + 1_000)])
    await grant(ctx, "folder:f#viewer@user:ann")

    with counted_turns() as turns:
        page = await page_of(ctx, SEES, limit="1000")

    assert len(ids(page.value)) == 1_000
    assert turns.count > 11  # the first one is before the query begins


async def test_what_is_kept_holds_on_to_nothing_but_rows(ctx: Context) -> None:
    await fill(ctx, 3)
    later = somewhere_else(ctx)
    for query in (SEES, SEES.replace("select", "select explicit"), VIEWERS):
        for where in (ctx, later):  # they have rows as they are found the first time, and as bitmaps
            await page_of(where, query)
    await page_of(ctx, VIEWERS, sortBy="createdAt")

    held: dict[int, object] = {}
    waiting: list[object] = [ctx.caches.listings, later.caches.listings]
    while waiting:
        one = waiting.pop()
        if id(one) not in held and not isinstance(one, type | ModuleType | FunctionType):
            held[id(one)] = one
            waiting += gc.get_referents(one)

    assert sum(isinstance(one, BitmapListing) for one in held.values()) == 3
    assert sum(isinstance(one, SnapshotListing) for one in held.values()) == 4
    assert not [one for one in held.values() if isinstance(one, Model | ReverseIndex | Work)]


def listing(size_in_bytes: int, is_empty: bool = False) -> SnapshotListing:
    """A listing of one row or none that counts as so many bytes with its key."""
    keys: list[SortKey] = [] if is_empty else [("document", "a", "viewer")]
    return SnapshotListing(keys, {}, own_bytes=size_in_bytes - LISTING_BYTES - KEY_BYTES)


def key(revision: int) -> ListingKey:
    return Revision(revision), "id", read_query(SEES), b""


def kept(listings: Listings, revisions: Sequence[int]) -> list[int]:
    return [revision for revision in revisions if listings.find(key(revision), 0) is not None]


KEY_BYTES = measure_key(key(1))


def test_the_listings_requested_recently_are_kept_as_far_as_there_is_capacity() -> None:
    listings = Listings(80_000)  # of which seven eighths are for listings with rows
    for revision in (1, 2, 3):
        listings.keep(key(revision), listing(20_000))
    listings.find(key(1), 0)

    assert len(listings.keep(key(4), listing(30_000))) == 1
    assert kept(listings, [1, 2, 3, 4]) == [1, 3, 4]
    larger = listing(70_001)
    assert listings.keep(key(5), larger) == [larger]
    assert kept(listings, [1, 3, 4, 5]) == [1, 3, 4]
    assert len(listings.keep(key(4), listing(10_000))) == 1
    assert listings.keep(key(6), listing(20_000)) == []
    assert kept(listings, [1, 3, 4, 6]) == [1, 3, 4, 6]
    assert [one.bytes for one in listings.measure()] == [70_000, 0]


def test_listings_without_rows_evict_none_that_have_some() -> None:
    listings = Listings(80_000)
    listings.keep(key(1), listing(70_000))

    for revision in range(2, 100):
        listings.keep(key(revision), listing(4_000, is_empty=True))

    assert kept(listings, [1, 97, 98, 99]) == [1, 98, 99]
    assert [(one.cache, one.bytes) for one in listings.measure()] == [("lists", 70_000), ("empty_lists", 8_000)]


async def test_a_page_counts_what_its_objects_weigh(ctx: Context) -> None:
    meta = '{"text":"' + "x" * 20_000 + '"}'
    refs = [ObjectRef(TypeName("folder"), ObjectId(f"f{number}")) for number in range(5)]
    await create_objects(ctx, [ObjectDraft(ref.type, ref.id, meta) for ref in refs], ctx.stamp("ann"))
    await grant(ctx, *(f"folder:f{number}#viewer@user:ann" for number in range(5)))
    ctx = replace(ctx, caches=replace(ctx.caches, listings=Listings(4_000_000)))

    await page_of(ctx, SEES_FOLDERS)
    [lists, _] = ctx.caches.listings.measure()
    small = replace(ctx, caches=replace(ctx.caches, listings=Listings(400_000)))
    await page_of(small, SEES_FOLDERS)
    [without_page, _] = small.caches.listings.measure()

    assert 5 * 2 * 20_000 < lists.bytes < 5 * 3 * 20_000
    assert 0 < without_page.bytes < 20_000


async def test_the_warrants_of_few_rows_are_looked_up_between_two_yields(
    counted: tuple[Context, CountingDatabase], monkeypatch: pytest.MonkeyPatch
) -> None:
    ctx, _ = counted
    number = 3 * WORK_BETWEEN_CHECKPOINTS
    for start in range(0, number, 1_000):
        batch = [new(f"folder:f{one}#viewer@user:ann") for one in range(start, start + 1_000)]
        await create_warrants(ctx, batch, ctx.stamp("ann"), str)
    row, turns = RelationResult.row, [0]

    def count_row(listed: RelationResult, of_type: TypeName, object_id: ObjectId) -> QueryRow:
        turns[-1] += 1
        return row(listed, of_type, object_id)

    async def pass_checkpoint() -> None:
        turns.append(0)

    monkeypatch.setattr(RelationResult, "row", count_row)
    monkeypatch.setattr("magistrate.operations.scheduling.checkpoint", pass_checkpoint)
    await page_of(ctx, "select folder where user:ann is viewer", sortBy="createdAt", limit="1000")

    assert sum(turns) >= number
    assert max(turns) <= WORK_BETWEEN_CHECKPOINTS + ITEMS_AT_ONCE


async def test_a_listing_counts_what_its_results_hold(ctx: Context) -> None:
    await fill(ctx, 9)
    ctx = replace(ctx, caches=replace(ctx.caches, graph=LiveGraph(ctx.store, ctx.caches.models, 0, ctx.now)))
    await page_of(ctx, SEES)
    newest = await ctx.store.read_warrants((), None, 1)

    [found] = [
        ctx.caches.listings.find((newest.revision, "id", read_query(SEES), digest), ctx.now())
        for digest in [hashlib.blake2b(msgspec.json.encode([{}, None, False]), digest_size=16).digest()]
    ]

    assert isinstance(found, SnapshotListing)
    assert found.bytes > 100 * len(found.keys) + sum(
        sum(map(sys.getsizeof, one.result_set.exceptions)) + 100 * sum(map(len, one.reports.remains))
        for one in found.results_by_name.values()
    )


def test_a_listing_is_freed_in_steps_with_all_that_it_holds() -> None:
    named: dict[ObjectId, ListValue] = {ObjectId(str(number)): TRUE for number in range(5_000)}
    reports: dict[ObjectId, Warrant | None] = {ObjectId(str(number)): None for number in range(3_000)}
    result = RelationResult(
        TypeName("doc"),
        RelationName("viewer"),
        ResultSet(exceptions=named),
        Reports(reports.get, remains=(reports,)),
    )
    large = SnapshotListing([("doc", "1", "viewer")] * 4_000, {(TypeName("doc"), RelationName("viewer")): result})

    freed = [*large.release()]

    assert sum(freed) == 5_000 + 3_000 + 4_000 + 1
    assert max(freed) <= ITEMS_AT_ONCE
    assert not result.result_set.exceptions
