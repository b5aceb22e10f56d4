"""Following access: one computation for all who select the same, wherever they begin, and whatever they miss."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from magistrate.engine.terms import object_ref
from magistrate.errors import HistoryReplaced, InvalidParameter
from magistrate.operations.difference.filters import read_narrowing
from magistrate.operations.difference.pages import list_all_rows
from magistrate.operations.watch import access_feed, access_steps
from magistrate.operations.watch.access_feed import (
    FROM_NOW,
    AccessBatch,
    RenderedAccess,
    Start,
    find_feeds,
)
from magistrate.operations.watch.access_steps import AccessCursor, AccessPosition
from magistrate.operations.writes.objects import delete_objects
from tests.operations.node import Node
from tests.operations.stored_warrants import Types, new

pytestmark = pytest.mark.anyio

TYPES: Types = {
    "user": {},
    "folder": {"parent": {}, "viewer": {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}},
    "team": {"member": {}},
}
OF = "folder#viewer@user"

Batches = AsyncGenerator[AccessBatch, None]
Nodes = tuple[Node, Node]


@asynccontextmanager
async def following(node: Node, start: Start = FROM_NOW, of: str = OF) -> AsyncIterator[Batches]:
    """The batches behind the first one, which has been taken."""
    follow = find_feeds(node.ctx).follow(node.ctx, read_narrowing(of, None, None, None), start)
    async with aclosing(follow) as batches:
        assert not (await anext(batches)).events
        yield batches


async def take(batches: Batches, count: int) -> list[RenderedAccess]:
    taken: list[RenderedAccess] = []
    async with asyncio.timeout(30):
        while len(taken) < count:
            taken += (await anext(batches)).events
    assert len(taken) == count
    return taken


def shown(event: RenderedAccess) -> tuple[list[str], list[str]]:
    """Who gained and who lost access to what."""
    told = json.loads(event.json)

    def show(row: Any) -> str:
        return f"{row['objectId']}@{row['subject']['objectId']}"

    return [show(row) for row in told.get("gained", ())], [show(row) for row in told.get("lost", ())]


def start_behind(position: AccessPosition) -> Start:
    return Start(position.id, position.time)


@pytest.fixture(autouse=True)
async def model(nodes: Nodes) -> None:
    await nodes[0].define(TYPES)
    await nodes[0].grant("folder:all#viewer@team:all#member", "folder:1#parent@folder:all", "team:all#member@user:ann")


async def test_a_reader_gets_what_is_gained_and_lost_from_now_on(node: Node) -> None:
    async with following(node) as batches:
        await node.grant("team:all#member@user:kim")
        await node.grant("team:other#member@user:eve")
        await node.revoke("team:all#member@user:ann")
        gained, lost = await take(batches, 2)

    assert shown(gained) == (["1@kim", "all@kim"], [])
    assert shown(lost) == ([], ["1@ann", "all@ann"])
    [row, _] = json.loads(gained.json)["gained"]
    assert row["cause"]["created"] == [
        {
            "objectType": "team",
            "objectId": "all",
            "relation": "member",
            "subject": {"objectType": "user", "objectId": "kim"},
        }
    ]


async def test_what_another_process_writes_is_followed(nodes: Nodes) -> None:
    async with following(nodes[0]) as batches:
        await nodes[1].grant("team:all#member@user:kim")
        [gained] = await take(batches, 1)

    assert shown(gained) == (["1@kim", "all@kim"], [])


async def test_the_end_of_a_warrant_is_an_event_at_its_time(node: Node) -> None:
    async with following(node) as batches:
        expires_at = node.ctx.now() + 300_000
        timed = replace(new("team:all#member@user:kim"), expires_at=expires_at)
        await node.ctx.store.put_warrants([timed], lambda model: None, node.ctx.stamp("ann"))
        gained, lost = await take(batches, 2)

    assert shown(gained) == (["1@kim", "all@kim"], [])
    assert shown(lost) == ([], ["1@kim", "all@kim"])
    assert lost.position.time == expires_at
    assert lost.position.id == gained.position.id


async def test_a_warrant_that_begins_later_is_an_event_then(node: Node) -> None:
    starts_at = node.ctx.now() + 400_000
    timed = replace(new("team:all#member@user:kim"), starts_at=starts_at)
    await node.ctx.store.put_warrants([timed], lambda model: None, node.ctx.stamp("ann"))

    async with following(node) as batches:
        [gained] = await take(batches, 1)

    assert shown(gained) == (["1@kim", "all@kim"], [])
    assert gained.position.time == starts_at


async def test_a_reader_goes_on_behind_any_event(node: Node) -> None:
    async with following(node) as batches:
        for number in range(4):
            await node.grant(f"team:all#member@user:{number}")
        events = await take(batches, 4)

    for place, event in enumerate(events):
        async with following(node, start_behind(event.position)) as batches:
            assert await take(batches, 3 - place) == events[place + 1 :]


async def test_a_reader_that_catches_up_joins_the_one_at_the_head(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[AccessPosition] = []

    async def count_cursors(ctx: Any, narrowing: Any, position: AccessPosition) -> AccessCursor:
        begun.append(position)
        return await access_steps.begin_cursor(ctx, narrowing, position)

    monkeypatch.setattr(access_feed, "begin_cursor", count_cursors)
    async with following(node) as first:
        await node.grant("team:all#member@user:0")
        [earlier] = await take(first, 1)
    for number in range(1, 5):
        await node.grant(f"team:all#member@user:{number}")
    async with AsyncExitStack() as stack:
        head = await stack.enter_async_context(following(node))
        behind = [await stack.enter_async_context(following(node, start_behind(earlier.position))) for _ in range(5)]
        missed = [await take(batches, 4) for batches in behind]
        await node.grant("team:all#member@user:last")
        last = [await take(batches, 1) for batches in (head, *behind)]

    assert [shown(event)[0] for event in missed[0]] == [[f"1@{number}", f"all@{number}"] for number in range(1, 5)]
    assert missed == [missed[0]] * 5
    assert last == [last[0]] * 6
    assert len(begun) == 3


async def test_readers_with_the_same_selection_share_one_computation(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[object] = []

    async def count_comparisons(*args: Any) -> Any:
        compared.append(args)
        return await list_all_rows(*args)

    monkeypatch.setattr(access_steps, "list_all_rows", count_comparisons)

    async with AsyncExitStack() as stack:
        readers = [await stack.enter_async_context(following(node)) for _ in range(20)]
        await node.grant("team:all#member@user:kim")
        events = [await take(batches, 1) for batches in readers]

    assert events == [events[0]] * 20
    assert len(compared) == 1


async def test_a_reader_whose_place_is_evicted_gets_everything_all_the_same(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with following(node) as slow, following(node) as fast:
        monkeypatch.setattr(find_feeds(node.ctx).memory, "_max_bytes", 8_000)
        monkeypatch.setattr(access_feed, "MAX_AHEAD", 2)
        for number in range(20):
            await node.grant(f"team:all#member@user:{number}")
        await take(fast, 20)
        events = await take(slow, 20)

    assert [shown(event)[0] for event in events] == [[f"1@{number}", f"all@{number}"] for number in range(20)]


async def test_with_the_last_reader_everything_ends(node: Node) -> None:
    async with following(node), following(node, of="team#member"):
        assert len(find_feeds(node.ctx)._followers) == 2

    assert not find_feeds(node.ctx)._followers
    async with asyncio.timeout(20):
        while node.ctx.feed.has_readers:
            await asyncio.sleep(0)
    assert find_feeds(node.ctx).memory.measure().bytes == 0


async def test_too_large_a_change_says_that_a_snapshot_is_needed(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_steps, "MAX_ROWS", 2)
    async with following(node) as batches:
        await node.grant("team:all#member@user:1", "team:all#member@user:2")
        await node.grant("team:all#member@user:3")
        large, small = await take(batches, 2)

    told = json.loads(large.json)
    assert large.is_resync
    assert told["resync"] == told["token"]
    assert set(told) <= {"token", "time", "id", "resync"}
    assert shown(small) == (["1@3", "all@3"], [])


async def test_an_unknown_relation_is_refused(node: Node) -> None:
    for of in ("folder#editor", "house"):
        with pytest.raises(InvalidParameter, match="is not defined"):
            async with following(node, of=of):
                pass


async def test_a_time_in_the_future_is_refused(node: Node) -> None:
    async with following(node) as batches:
        await node.grant("team:all#member@user:kim")
        [event] = await take(batches, 1)

    with pytest.raises(InvalidParameter, match="in the future"):
        async with following(node, Start(event.position.id, node.ctx.now() + 60_000_000)):
            pass


async def test_a_restore_ends_the_feed(node: Node) -> None:
    async with following(node) as batches:
        node.ctx.feed.end(HistoryReplaced())

        with pytest.raises(HistoryReplaced):
            await anext(batches)


async def test_an_object_that_is_named_counts_as_long_as_it_exists(node: Node) -> None:
    narrowing = read_narrowing(OF, "user:kim", None, None)
    async with aclosing(find_feeds(node.ctx).follow(node.ctx, narrowing)) as batches:
        assert not (await anext(batches)).events
        await node.grant("team:all#member@user:eve")
        await node.grant("team:all#member@user:kim")
        await delete_objects(node.ctx, [object_ref("user", "kim")], node.ctx.stamp("ann"))
        gained, lost = await take(batches, 2)

    assert shown(gained) == (["1@kim", "all@kim"], [])
    assert shown(lost) == ([], ["1@kim", "all@kim"])
