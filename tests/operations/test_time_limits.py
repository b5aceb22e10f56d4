"""Time limits with a clock that tests set: checks, queries and lists of two processes, at the moment they change."""

from collections.abc import Sequence
from random import Random

import pytest
from msgspec import structs

from magistrate.engine.lists.language import read_query
from magistrate.errors import InvalidParameter
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.lists.evaluators import QueryRequest
from magistrate.operations.lists.query import list_page
from magistrate.operations.paging import PageRequest
from magistrate.operations.writes.retention import end_expired
from magistrate.operations.writes.warrants import delete_matching, list_warrants, read_filter
from magistrate.store.contract.lists import Slice
from tests import oracle
from tests.conftest import list_seeds
from tests.operations.limited_warrants import CHECKS, NEWEST, TYPES, WRITTEN, Clock, clock, grant, limited, pair
from tests.operations.node import Node
from tests.operations.stored_warrants import new, question
from tests.scenario_files import stored_warrant

__all__ = ["clock", "pair"]  # fixtures

pytestmark = pytest.mark.anyio

FIRST = PageRequest(Slice("id", 1_000))


async def found(node: Node, q: str, wanted: PageRequest = FIRST) -> list[str]:
    page = await list_page(node.ctx, QueryRequest(read_query(q), {}), wanted, NEWEST)
    return [f"{one.row.type}:{one.row.id}" for one in page.value.rows]


@pytest.mark.parametrize(
    "chain",
    [
        ["document:plan#viewer@user:ann"],
        ["document:plan#viewer@team:eng#member", "team:eng#member@user:ann"],
        ["document:plan#parent@folder:a", "folder:a#viewer@user:ann"],
        ["document:*#viewer@user:ann"],
        ["document:plan#viewer@user:*"],
    ],
)
async def test_each_warrant_of_a_chain_decides_when_access_begins_and_ends(
    pair: tuple[Node, Node], clock: Clock, chain: Sequence[str]
) -> None:
    """In the process that wrote it and in another, both of which have everything cached, and nobody ends anything."""
    await grant(pair[0], new("document:plan#parent@folder:empty"))  # so that there is the document
    for place in range(len(chain)):
        clock.time = 1_000 * (place + 1)
        start, stop = clock.time + 100, clock.time + 200
        await grant(pair[0], *map(new, chain))
        await grant(pair[0], limited(chain[place], start, stop))
        for node in pair:
            await node.allowed("document:plan#viewer@user:ann", NEWEST)
        for time, is_allowed in ((start - 1, False), (start, True), (stop - 1, True), (stop, False)):
            clock.time = time
            for node in pair:
                assert await node.allowed("document:plan#viewer@user:ann", NEWEST) == is_allowed, (time, chain[place])
                assert (await found(node, "select viewer of type user for document:plan") != []) == is_allowed
                assert ("document:plan" in await found(node, "select document where user:ann is viewer")) == is_allowed


async def test_a_block_that_expires_gives_access_back(pair: tuple[Node, Node], clock: Clock) -> None:
    await grant(pair[0], new("document:plan#viewer@user:ann"), limited("document:plan#blocked@user:ann", None, 1_500))

    for time, is_allowed in ((1_499, False), (1_500, True)):
        clock.time = time
        for node in pair:
            assert await node.allowed("document:plan#reader@user:ann", NEWEST) == is_allowed


async def test_a_cached_check_with_limits_runs_no_statement_when_it_flips(
    pair: tuple[Node, Node], clock: Clock
) -> None:
    [node, _] = pair
    await grant(node, limited("document:plan#viewer@user:ann", 1_100, 1_200))
    assert not await node.allowed("document:plan#viewer@user:ann", NEWEST)
    node.database.reads = 0

    flips = []
    for clock.time in range(1_099, 1_202):
        flips.append(await node.allowed("document:plan#viewer@user:ann"))

    assert flips == [False] + [True] * 100 + [False] * 2
    assert node.ctx.caches.graph.counts.hits >= 100
    assert node.ctx.caches.graph.counts.given_up == 0
    assert node.database.reads <= 3  # PostgreSQL is followed as time passes


async def test_a_listing_is_kept_until_a_warrant_reaches_a_limit(pair: tuple[Node, Node], clock: Clock) -> None:
    [node, _] = pair
    await grant(node, limited("document:a#viewer@user:ann", None, 1_200), limited("document:b#viewer@user:ann", 1_100))
    q = "select document where user:ann is viewer"
    assert await found(node, q) == ["document:a"]

    reads = {}
    for clock.time in (1_099, 1_100, 1_199, 1_200, 9_999):
        node.database.reads = 0
        rows = await found(node, q)
        reads[clock.time] = (rows, node.database.reads)

    kept = reads[1_099][1]
    assert {time: rows for time, (rows, _) in reads.items()} == {
        1_099: ["document:a"],
        1_100: ["document:a", "document:b"],
        1_199: ["document:a", "document:b"],
        1_200: ["document:b"],
        9_999: ["document:b"],
    }
    assert [count > kept for _, count in reads.values()] == [False, True, False, True, False]


async def test_pages_of_a_query_repeat_and_skip_nothing_when_rows_end_between_them(
    pair: tuple[Node, Node], clock: Clock
) -> None:
    [node, _] = pair
    limits = {"a": 1_100, "c": 1_100, "e": 1_200}
    await grant(
        node, *[limited(f"document:{object_id}#viewer@user:ann", None, limits.get(object_id)) for object_id in "abcdef"]
    )
    request = QueryRequest(read_query("select document where user:ann is viewer"), {})

    walked = []
    wanted = PageRequest(Slice("id", 2), is_snapshot=True)
    for clock.time in (1_000, 1_100, 1_200):
        page = (await list_page(node.ctx, request, wanted, NO_DEMAND)).value
        walked.append([one.row.id for one in page.rows])
        last = page.rows[-1].row
        wanted = PageRequest(Slice("id", 2, boundary=(last.type, last.id, last.relation)), is_snapshot=True)

    assert walked == [["a", "b"], ["d", "e"], ["f"]]


async def test_lists_leave_out_what_has_expired_and_the_expired_are_listed_when_they_are_ended(
    pair: tuple[Node, Node], clock: Clock
) -> None:
    node, other = pair
    await grant(node, limited("document:a#viewer@user:ann", None, 1_100), new("document:b#viewer@user:ann"))

    async def listed(is_expired: bool = False) -> list[str]:
        only = read_filter({}, clock(), is_expired)
        page = await list_warrants(node.ctx, PageRequest(Slice("createdAt", 10)), only, NEWEST)
        return [row.object_id for row in page.value.rows]

    assert (await listed(), await listed(is_expired=True)) == (["a", "b"], [])
    clock.time = 1_100
    assert await listed() == ["b"]
    assert await end_expired(other.ctx) == 1
    assert await end_expired(node.ctx) == 0
    assert (await listed(), await listed(is_expired=True)) == (["b"], ["a"])


async def test_a_delete_by_filter_neither_counts_nor_deletes_what_has_expired(
    pair: tuple[Node, Node], clock: Clock
) -> None:
    [node, _] = pair
    await grant(node, limited("document:a#viewer@user:ann", None, 1_100), new("document:b#viewer@user:ann"))

    async def deleted(is_dry_run: bool, most: int = 10) -> tuple[int, bool]:
        equal = {"subject_id": "ann"}
        return (await delete_matching(node.ctx, equal, most, lambda: node.ctx.stamp("ann"), is_dry_run)).value

    assert (await deleted(is_dry_run=True), await deleted(is_dry_run=True, most=1)) == ((2, False), (1, True))
    clock.time = 1_100
    assert (await deleted(is_dry_run=True), await deleted(is_dry_run=True, most=1)) == ((1, False), (1, False))
    assert await deleted(is_dry_run=False) == (1, False)
    assert await end_expired(node.ctx) == 1


async def test_a_warrant_cannot_be_created_once_it_has_expired(pair: tuple[Node, Node], clock: Clock) -> None:
    with pytest.raises(InvalidParameter, match="must be in the future") as refused:
        await grant(pair[0], new("document:a#viewer@user:ann"), limited("document:b#viewer@user:ann", None, clock.time))

    assert refused.value.parameter == "[1].expiresAt"
    assert await found(pair[0], "select document where user:ann is viewer") == []


@pytest.mark.parametrize("seed", list_seeds(4, 12))
async def test_random_histories_agree_with_the_oracle_at_random_times_in_both_processes(
    pair: tuple[Node, Node], clock: Clock, seed: int
) -> None:
    random = Random(seed)
    stored: dict[str, tuple[int | None, int | None]] = {}
    for _ in range(25):
        clock.time += random.choice((0, 1, 5, 30))
        await change_something(random.choice(pair), random, stored, clock.time)
        warrants = [
            structs.replace(stored_warrant(text, number, 0), starts_at=start, expires_at=stop)
            for number, (text, (start, stop)) in enumerate(stored.items())
        ]
        in_force = oracle.in_force(warrants, clock.time)
        for asked in random.sample(CHECKS, 4):
            parts = question(asked)
            names = (parts.object.type, parts.object.id, parts.relation)
            expected = oracle.check(TYPES, in_force, *names, parts.subject, lambda warrant: None) == oracle.Truth.TRUE
            for node in pair:
                assert await node.allowed(asked, NEWEST) == expected, (seed, clock.time, asked)
            rows = await found(random.choice(pair), f"select document where {asked.split('@')[1]} is {parts.relation}")
            assert (f"document:{parts.object.id}" in rows) == expected, (seed, clock.time, asked)


async def change_something(
    node: Node, random: Random, stored: dict[str, tuple[int | None, int | None]], now: int
) -> None:
    """Creates, renews, deletes or ends something; `stored` is what is then there and has not expired."""
    for text, (_, stop) in list(stored.items()):
        if stop is not None and stop <= now:
            del stored[text]
    text = random.choice(WRITTEN)
    match random.randrange(6):
        case 0:
            await end_expired(node.ctx)
        case 1 if stored:
            await node.revoke(text := random.choice(list(stored)))
            del stored[text]
        case _:
            start = random.choice((None, None, now + 3, now + 20))
            stop = random.choice((None, now + 4, now + 25, now + 60))
            if start is not None and stop is not None and stop <= start:
                start = None
            await grant(node, limited(text, start, stop))
            stored[text] = (start, stop)
