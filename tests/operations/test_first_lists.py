"""First lists, of which nothing is cached: small ones are computed without the graph cache, and none takes longer."""

from typing import Any

import pytest

from benchmarks.counting import CountingDatabase
from magistrate.engine.names import TypeName
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.lists.bitmap_listings import BitmapListing
from magistrate.operations.lists.recorded_reads import MAX_FEW_WARRANTS
from magistrate.operations.models.object_types import put_object_types
from tests.memory_source import model_of
from tests.operations.bitmap_lists import OFF, counted, ctx, fill_group, warm, with_capacity, without_listings
from tests.operations.stored_groups import SEES, VIEWERS, fill, grant, page_of
from tests.working import measured_effort

__all__ = ["counted", "ctx"]

pytestmark = pytest.mark.anyio


async def count_lists(ctx: Context, q: str) -> tuple[bool, bool]:
    """Returns whether the first list, and the same list a second time, are computed with bitmaps."""
    is_set = []
    for _ in range(2):
        one = without_listings(ctx)
        await page_of(one, q)
        is_set.append(any(isinstance(kept.listing, BitmapListing) for kept in one.caches.listings._listings.values()))
    return is_set[0], is_set[1]


@pytest.mark.parametrize("q", [SEES, VIEWERS])
async def test_a_small_list_is_computed_with_bitmaps_when_it_comes_again(ctx: Context, q: str) -> None:
    await fill(ctx, 40)
    await fill_group(ctx, 40)

    assert await count_lists(ctx, q) == (False, True)


@pytest.mark.parametrize(("rows", "expected"), [(MAX_FEW_WARRANTS - 60, False), (MAX_FEW_WARRANTS + 60, True)])
async def test_a_list_of_many_rows_is_computed_with_bitmaps_at_once(ctx: Context, rows: int, expected: bool) -> None:
    await grant(ctx, "folder:f#viewer@user:ann", *[f"document:d{number:03}#parent@folder:f" for number in range(rows)])
    await grant(ctx, *[f"document:d00#reader@user:u{number:03}" for number in range(rows)])

    assert [(await count_lists(ctx, q))[0] for q in (SEES, VIEWERS)] == [expected] * 2


@pytest.mark.parametrize("q", [SEES, VIEWERS])
async def test_lists_are_counted_by_what_answers_them(ctx: Context, q: str) -> None:
    await fill(ctx, 12)
    first = (await page_of(without_listings(ctx), q, limit="5")).value
    await page_of(ctx, q, limit="5")
    await page_of(ctx, q, limit="5")
    await page_of(ctx, q, limit="5", sortBy="createdAt")

    counts = {counted.evaluator: counted for counted in ctx.list_counts.read()}
    assert first.rows
    assert {name: counted.lists for name, counted in counts.items()} == {
        "first_search": 1,
        "bitmaps": 1,
        "kept": 1,
        "search": 1,
    }
    assert {name for name, counted in counts.items() if counted.seconds == 0} == {"kept"}


async def test_further_pages_are_counted_as_kept(ctx: Context) -> None:
    await fill(ctx, 12)
    first = (await page_of(ctx, SEES, limit="5")).value
    await page_of(ctx, SEES, limit="5", nextCursor=first.next_cursor or "")

    assert [(counted.evaluator, counted.lists) for counted in ctx.list_counts.read()] == [
        ("first_search", 1),
        ("kept", 1),
    ]


async def test_a_list_of_which_each_candidate_is_checked_is_counted(ctx: Context) -> None:
    rules: dict[str, Any] = {"open": {"inheritIf": "noneOf", "rules": [{"inheritIf": "closed"}]}, "closed": {}}
    await put_object_types(ctx, [model_of({"door": rules}).types[TypeName("door")]], ctx.stamp("ann"))
    await grant(ctx, "door:a#closed@door:b#open", "door:b#closed@user:ann")

    await page_of(ctx, "select door where user:ann is open")

    assert [counted.evaluator for counted in ctx.list_counts.read()] == ["candidates"]


async def test_a_first_list_of_which_most_is_cached_is_computed_with_bitmaps(ctx: Context) -> None:
    await fill_group(ctx, 20)
    await grant(ctx, "group:g#member@user:bob", *[f"document:e{number}#parent@folder:f" for number in range(9)])
    await warm(ctx, "select document where user:u00 is viewer")
    await warm(ctx, VIEWERS)

    assert await count_lists(ctx, "select document where user:bob is viewer") == (True, True)
    assert await count_lists(ctx, VIEWERS.replace("d00", "e1")) == (True, True)


@pytest.mark.parametrize("rows", [12, 300, MAX_FEW_WARRANTS + 200])
async def test_a_list_of_which_nothing_is_cached_takes_no_more_than_without_the_graph(
    counted: tuple[Context, CountingDatabase], database_url: str, rows: int
) -> None:
    ctx, database = counted
    documents = [f"document:d{number:03}#parent@folder:f{number % 7}" for number in range(rows)]
    folders = [f"folder:f{number}#viewer@group:g{number}#member" for number in range(7)]
    await grant(ctx, *documents, *folders, *[f"group:g{number}#member@user:ann" for number in range(7)])
    await grant(ctx, *[f"group:g0#member@user:u{number:03}" for number in range(rows)])
    others = with_capacity(ctx, database_url, OFF)
    for q in (SEES, VIEWERS.replace("d00", "d000")):
        await warm(others, q)
        await warm(ctx, q)  # the model is compiled
        (await ctx.caches.graph.follow_to(NO_DEMAND)).replace_adjacency()
        efforts = []
        for one in (others, ctx):
            with measured_effort(database) as effort:
                await page_of(without_listings(one), q)
            efforts.append(effort)
        former, cold = efforts

        assert cold.statements <= former.statements + (rows > MAX_FEW_WARRANTS), q  # for the warrants of the rows
        assert cold.lines <= 1.03 * former.lines, (q, former, cold)
