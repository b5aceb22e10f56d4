"""Lists computed with bitmaps over real stores: what is cached follows every write, and a write costs little of it."""

import random
from dataclasses import replace
from typing import Any

import pytest
from pyroaring import BitMap

from benchmarks.counting import CountingDatabase, counting_store
from magistrate.engine.bitmaps.connected_graph import MAX_NODES, ConnectedGraph
from magistrate.engine.cache.adjacent_objects import MAX_PACKED_NUMBERS
from magistrate.engine.cache.ids import MAX_IN_A_BLOCK, MAX_RECENT, IdTable
from magistrate.engine.lists.language import ObjectsQuery, read_query
from magistrate.engine.names import ObjectId
from magistrate.engine.work import Work
from magistrate.errors import BudgetExceeded
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.lists.bitmap_listings import MAX_ATTEMPTS, BitmapListing, BitmapSearches
from magistrate.wiring.contexts import context_of
from tests.conftest import POSTGRES_NIGHTLY
from tests.memory_source import PLENTY, model_of
from tests.operations.bitmap_lists import (
    OFF,
    TINY,
    counted,
    ctx,
    fill_group,
    warm,
    with_capacity,
    without_listings,
)
from tests.operations.stored_groups import (
    SEES,
    VIEWERS,
    fill,
    forwards,
    grant,
    ids,
    page_of,
    reads_of_news,
    revoke,
)
from tests.operations.stored_warrants import LATEST
from tests.running import settings_for

__all__ = ["counted", "ctx"]  # fixtures

pytestmark = [pytest.mark.anyio, POSTGRES_NIGHTLY]


def random_warrant(randomness: random.Random) -> str:
    user = randomness.choice(["user:ann", "user:bob", "user:*", "group:g#member", "group:h#member"])
    folder = randomness.choice("fgh")
    return randomness.choice(
        [
            f"folder:{folder}#viewer@{user}",
            f"document:d{randomness.randrange(9)}#{randomness.choice(['reader', 'viewer', 'blocked'])}@{user}",
            f"document:d{randomness.randrange(9)}#parent@folder:{folder}",
            f"folder:{folder}#parent@folder:{randomness.choice('fgh')}",
            f"group:{randomness.choice('gh')}#member@{user}",
            f"document:d{randomness.randrange(9)}#{randomness.choice(['viewer', 'blocked'])}@user:ann[x == 1]",
            f"document:*#{randomness.choice(['reader', 'blocked'])}@group:h#member",
        ]
    )


async def test_lists_between_writes_are_those_of_a_search_without_the_graph(ctx: Context, database_url: str) -> None:
    randomness = random.Random(7)
    others = [with_capacity(ctx, database_url, most) for most in (OFF, TINY)]
    there = [*{random_warrant(randomness) for _ in range(40)}]
    await grant(ctx, *there)
    seen = 0
    for _ in range(20):
        if there and randomness.random() < 0.4:
            await revoke(ctx, there.pop(randomness.randrange(len(there))))
        else:
            new = random_warrant(randomness)
            await grant(ctx, new)
            there = [*{*there, new}]
        for q in (
            *(SEES, "select * where user:bob is *", "select explicit document, folder where user:ann is *"),
            *("select viewer of type user for document:d1", "select * of type user, group for document:d2"),
            *("select explicit * of type * for folder:f", "select reader, blocked of type user for document:d3"),
            "select document where user:ann is reader, viewer and folder:f is parent",
            "select document where user:bob is viewer and not user:ann is blocked and not folder:g is parent",
            "select explicit * where user:ann is * and not user:bob is viewer",
            *("select viewer of type group#member for document:d1", "select * of type user, group#member for folder:f"),
        ):
            for one in (ctx, others[1]):  # what follows comes for the second time, even if little is cached
                await page_of(without_listings(one), q, limit="100")
            page = (await page_of(without_listings(ctx), q, limit="100")).value
            assert [(await page_of(other, q, limit="100")).value for other in others] == [page, page], q
            seen += len(page.rows)

    assert seen > 100


async def test_a_list_from_the_cache_reads_no_warrant_but_those_of_its_page(
    counted: tuple[Context, CountingDatabase],
) -> None:
    ctx, database = counted
    await fill(ctx, 40)
    await warm(ctx, SEES)

    database.reads = 0
    await page_of(without_listings(ctx), SEES)

    assert database.reads == len([*reads_of_news(database), "the warrants of the rows", "their meta"])


async def test_a_kept_page_is_never_older_than_what_another_process_has_written_if_the_newest_is_demanded(
    ctx: Context, database_url: str
) -> None:
    seen = await fill(ctx, 3)
    store, _ = await counting_store(database_url)
    other = context_of(store, settings_for(database_url))
    for number in range(5):
        for _ in range(2):
            assert ids((await page_of(ctx, SEES)).value) == seen
        await grant(other, f"document:z{number}#parent@folder:f")
        seen.append(f"z{number}")
    await store.close()


async def test_a_list_of_subjects_from_the_cache_reads_no_warrant_but_those_of_its_page(
    counted: tuple[Context, CountingDatabase],
) -> None:
    ctx, database = counted
    await fill_group(ctx, 40)
    await warm(ctx, VIEWERS)
    first = (await page_of(ctx, VIEWERS)).value

    database.reads = 0
    page = (await page_of(without_listings(ctx), VIEWERS)).value

    assert database.reads == len([*reads_of_news(database), "the warrants of the rows", "their meta"])
    assert page.rows == first.rows
    assert page.total == 40


async def test_a_write_costs_one_statement_of_the_next_list_of_subjects_and_not_the_cache(
    counted: tuple[Context, CountingDatabase],
) -> None:
    ctx, database = counted
    await fill_group(ctx, 40)
    await warm(ctx, VIEWERS)

    for number in range(5):
        await grant(ctx, f"group:h#member@user:n{number}")
        database.reads = 0
        page = (await page_of(ctx, VIEWERS)).value
        assert database.reads == len(["the changes", "one entry", "the warrants of the rows", "their meta"])
        assert page.total == 41 + number


async def test_a_list_that_all_users_are_on_reads_their_names_once_a_revision(
    counted: tuple[Context, CountingDatabase],
) -> None:
    ctx, database = counted
    await fill_group(ctx, 40)
    await grant(ctx, "document:d01#reader@user:*", "document:d02#reader@user:*", "document:d02#blocked@user:u00")
    await page_of(ctx, VIEWERS.replace("d00", "d01"))

    database.reads = 0
    page = (await page_of(ctx, VIEWERS.replace("d00", "d02"))).value

    assert database.reads == len([*reads_of_news(database), "entries", "the warrants of the rows", "their meta"])
    assert (ids(page)[0], page.total) == ("*", 40)
    assert "u00" not in ids(page)


async def test_an_object_with_very_many_groups_reads_the_warrants_of_its_page_only(
    counted: tuple[Context, CountingDatabase],
) -> None:
    ctx, database = counted
    groups = [f"document:d00#reader@group:g{number:04}#member" for number in range(900)]
    await grant(ctx, *groups)
    await grant(ctx, *[f"group:g{number:04}#member@user:u{number % 300:03}" for number in range(900)])
    first = (await page_of(ctx, VIEWERS)).value

    database.rows = 0
    page = (await page_of(without_listings(ctx), VIEWERS)).value

    assert page.rows == first.rows
    warrants = [found.row.warrant for found in page.rows]
    assert [one.subject_id for one in warrants if one is not None] == [f"g{number:04}" for number in range(25)]
    assert database.rows < 4 * len(page.rows)


async def test_a_write_costs_one_statement_of_the_next_list_and_not_the_cache(
    counted: tuple[Context, CountingDatabase],
) -> None:
    ctx, database = counted
    await fill(ctx, 40)
    await grant(ctx, "folder:g#parent@folder:f", *[f"document:e{number}#parent@folder:g" for number in range(9)])
    await warm(ctx, SEES)

    for number in range(5):
        await grant(ctx, f"document:n{number}#parent@folder:g")
        database.reads = 0
        await page_of(ctx, SEES)
        assert database.reads == len(["changes", "one entry", "warrants of the rows", "meta"])


async def test_pages_of_a_list_go_on_whatever_is_written_and_new_ids_come_in_their_order(ctx: Context) -> None:
    seen = await fill(ctx, 30)
    first = (await page_of(ctx, SEES, limit="10")).value
    await grant(ctx, "document:a#parent@folder:f", "document:d05x#parent@folder:f", "document:z#parent@folder:f")

    second = (await page_of(ctx, SEES, limit="100", nextCursor=first.next_cursor or "")).value

    assert ids(first) + ids(second) == seen
    assert [one for page in await forwards(ctx, SEES, limit="7") for one in page] == sorted([*seen, "a", "d05x", "z"])


async def test_a_list_of_more_than_the_budget_is_refused_and_caches_nothing_wrong(
    ctx: Context, database_url: str
) -> None:
    await fill(ctx, 99)
    frugal = replace(ctx, max_query_work=60)
    with pytest.raises(BudgetExceeded):
        await page_of(frugal, SEES)

    assert sum(map(len, await forwards(ctx, SEES))) == 98


async def test_a_list_that_writes_disturb_again_and_again_is_answered_without_the_graph(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, writes, read = await fill(ctx, 5), 0, ctx.store.read_warrants
    graph = await ctx.caches.graph.follow_to(LATEST)
    graph.adjacency.former_lists.note(read_query(SEES))

    async def write_first(*args: Any, **kwargs: Any) -> Any:
        nonlocal writes
        if args[0] and writes < MAX_ATTEMPTS:
            writes += 1
            await grant(ctx, f"document:x{writes}#blocked@user:ann")
            found = await read(*args, **kwargs)
            await ctx.caches.graph.follow_to(LATEST)
            return found
        return await read(*args, **kwargs)

    monkeypatch.setattr(ctx.store, "read_warrants", write_first)

    assert ids((await page_of(ctx, SEES)).value) == seen
    assert writes == MAX_ATTEMPTS


async def test_a_list_of_more_relations_than_a_kept_graph_has_nodes_is_left_to_the_search_at_once(ctx: Context) -> None:
    model = model_of({"user": {}, "wide": {f"r{number}": {} for number in range(MAX_NODES + 1)}})
    query, work = read_query("select * where user:ann is *"), Work(PLENTY)
    assert isinstance(query, ObjectsQuery)

    connected = await BitmapSearches(PLENTY).connect(model, query, ctx.store, work)

    assert (connected, work.cost) == (None, 0)


async def test_connected_graphs_are_limited_in_bytes_and_the_least_recently_used_are_evicted(ctx: Context) -> None:
    names = [f"r{number}" for number in range(200)]
    model = model_of({"user": {}, "wide": {name: {} for name in names}})
    limits = [20_000, 10_000]

    def grow() -> bool:
        if searches.measure().max_bytes == limits[0]:
            return False
        searches.resize(limits[0])
        return True

    async def connect(name: str) -> tuple[ConnectedGraph | None, int]:
        query, work = read_query(f"select wide where user:ann is {name}"), Work(PLENTY)
        assert isinstance(query, ObjectsQuery)
        return await searches.connect(model, query, ctx.store, work), work.cost

    searches = BitmapSearches(limits[1], grow)
    first, cost = await connect("r0")
    for name in names[1:]:
        await connect(name)
        assert (await connect("r0")) == (first, 0)

    assert cost > 0
    assert (await connect("r1"))[1] > 0
    assert limits[1] < searches.measure().bytes <= limits[0] == searches.measure().max_bytes
    searches.resize(0)
    assert searches.measure().bytes == 0
    assert (await connect("r0"))[1] > 0


def test_ids_keep_their_numbers_and_their_order_however_many_come() -> None:
    table, randomness = IdTable(), random.Random(3)
    names = [ObjectId(f"id-{number}") for number in range(5 * MAX_IN_A_BLOCK)]
    randomness.shuffle(names)
    numbers = {name: table.assign(name) for name in names}

    assert len({*numbers.values()}) == len(names) == len(table) - 1
    assert all(table.assign(name) == table.find(name) == number for name, number in numbers.items())
    assert [table.find_id(numbers[name]) for name in names] == names
    for some in (names[: 3 * MAX_IN_A_BLOCK], names[:3]):
        bitmap = BitMap(numbers[name] for name in some)
        for start in (None, ObjectId("id-3"), ObjectId("id-30001"), ObjectId("zz")):
            upwards = [name for name in sorted(some) if start is None or name >= start]
            downwards = [name for name in sorted(some, reverse=True) if start is None or name <= start]
            assert listed(table, bitmap, start, False) == upwards
            assert listed(table, bitmap, start, True) == downwards


def listed(table: IdTable, bitmap: BitMap, start: ObjectId | None, descending: bool) -> list[str]:
    return [found[0] for found in table.list_ids(bitmap, start, PLENTY, descending, Work(PLENTY)) if found]


async def test_an_entry_of_very_many_objects_follows_writes_as_well(ctx: Context) -> None:
    documents = [f"document:d{number:04}#parent@folder:f" for number in range(2 * MAX_PACKED_NUMBERS)]
    await grant(ctx, "folder:f#viewer@user:ann", *documents)
    before = await forwards(ctx, SEES, limit="500")
    await revoke(ctx, documents[7])

    after = await forwards(ctx, SEES, limit="500")

    assert sum(map(len, before)) == sum(map(len, after)) + 1 == 2 * MAX_PACKED_NUMBERS


async def test_an_entry_of_very_many_subjects_follows_writes_as_well(ctx: Context) -> None:
    readers = [f"document:d00#reader@user:u{number:04}" for number in range(2 * MAX_PACKED_NUMBERS)]
    await grant(ctx, *readers, "document:d00#blocked@user:u0009")
    before = await forwards(ctx, VIEWERS, limit="500")
    await revoke(ctx, readers[7])

    page = (await page_of(ctx, VIEWERS, limit="500")).value

    assert sum(map(len, before)) == 2 * MAX_PACKED_NUMBERS - 1
    assert ids(page) == [f"u{number:04}" for number in range(2 * MAX_PACKED_NUMBERS) if number not in (7, 9)][:500]
    assert {found.row.warrant.subject_id for found in page.rows if found.row.warrant} == {*ids(page)}


async def test_subjects_without_warrants_are_bits_that_follow_writes_and_are_cleared(
    counted: tuple[Context, CountingDatabase],
) -> None:
    ctx, database = counted
    await fill(ctx, 10)
    await grant(ctx, "folder:g#parent@folder:f", "folder:x#viewer@user:bob")
    await warm(ctx, SEES)
    graph = await ctx.caches.graph.follow_to(NO_DEMAND)
    kept = graph.count_entries()
    segments = [index.entries for index in graph.adjacency._indexes.values()]
    assert sum(len(one.empty) for one in segments) > 0
    assert all(one.empty.isdisjoint(subjects) for one in segments for subjects in one._young.subjects)

    await grant(ctx, "document:e#parent@folder:g", "folder:h#parent@folder:g", "folder:g#viewer@user:bob")
    assert "e" in ids((await page_of(ctx, SEES)).value)
    await grant(ctx, "document:k#parent@folder:h")
    assert ids((await page_of(ctx, SEES)).value)[-2:] == ["e", "k"]

    assert ids((await page_of(ctx, SEES.replace("ann", "bob"))).value) == ["e", "k"]
    graph.clear(graph.revision)
    assert graph.count_entries() == 0 < kept
    assert not any(one.empty for one in segments)
    database.reads = 0
    assert ids((await page_of(without_listings(ctx), SEES.replace("ann", "bob"))).value) == ["e", "k"]
    assert database.reads > 2


async def test_when_ids_have_new_numbers_listings_with_the_former_ones_are_evicted(ctx: Context) -> None:
    await fill(ctx, 5)
    await warm(ctx, SEES)
    await page_of(ctx, SEES)
    graph = await ctx.caches.graph.follow_to(NO_DEMAND)
    former = graph.adjacency
    graph.replace_adjacency()

    await page_of(without_listings(ctx), "select folder where user:ann is viewer")
    await page_of(ctx, "select folder where user:ann is viewer")

    held = [one.listing for one in ctx.caches.listings._listings.values() if isinstance(one.listing, BitmapListing)]
    assert [one.numbering for one in held] == [graph.adjacency.numbering] != [former.numbering]


def test_ids_may_arrive_while_others_are_put_in_order() -> None:
    table, most = IdTable(), 5 * MAX_RECENT
    names = [ObjectId(f"id-{number * 7919 % most:05}") for number in range(most)]
    former = table.assign_each(names)
    packing = table.pack_blocks(Work(PLENTY, lambda: True))
    assert next(packing, "is done") is None

    later = [ObjectId(f"id-{number:05}-later") for number in range(3)]
    numbers = [*table.assign_each([*later, *names[:3]])]
    listing = listed(table, BitMap([*numbers[:3], *former]), None, False)
    for _ in packing:
        pass  # what is left to be put in order has been, by then

    assert numbers[3:] == [*former[:3]]
    assert listing == sorted([*later, *names])
    assert [table.find_id(number) for number in (*former, *numbers[:3])] == [*names, *later]
