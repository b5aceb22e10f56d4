"""Filling the graph cache before checks need it: what was read answers them without a statement, and a change meanwhile
is never lost."""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import pytest

from benchmarks.counting import counting_store
from magistrate.engine.cache.graph import MAX_EACH, Graph
from magistrate.engine.names import ObjectId, TypeName
from magistrate.operations import graph_filling, live_graph, scheduling
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.graph_filling import Filled, GraphFiller, fill_graph
from magistrate.operations.models.object_types import put_object_types
from magistrate.operations.scheduling import (
    BUSY_NANOSECONDS,
    IDLE_SLICE_NANOSECONDS,
    SHARED_PACE,
    IdlePace,
    Pace,
    running_beside,
)
from magistrate.wiring.contexts import context_of
from tests.memory_source import model_of
from tests.operations.event_loops import Clock
from tests.operations.node import Node
from tests.operations.stored_warrants import OTHER_FOLDER, STORM, Types, stormy_warrants
from tests.running import settings_for

pytestmark = pytest.mark.anyio

CHECKS = [f"folder:{number}#viewer@user:{name}" for number in range(5) for name in ("ann", "bob", "nobody")]
ROUNDS, CHANGES = 6, 40
LITTLE_BYTES = 200_000


async def open_node(database_url: str, cache_bytes: int, stack: AsyncExitStack) -> Node:
    store, database = await counting_store(database_url)
    stack.push_async_callback(store.close)
    return Node(context_of(store, settings_for(database_url, cache_bytes=cache_bytes)), database)


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


@pytest.fixture
async def filled(database_url: str, stack: AsyncExitStack) -> Node:
    """A process whose store has warrants, which it has not read yet."""
    writer = await open_node(database_url, 0, stack)
    await writer.define(STORM | {"user": {}})
    await writer.grant(*stormy_warrants())
    return await open_node(database_url, 50_000_000, stack)


async def answers(node: Node) -> list[bool]:
    return [await node.allowed(asked) for asked in CHECKS]


async def test_a_check_that_nobody_made_before_reads_nothing(
    filled: Node, database_url: str, stack: AsyncExitStack
) -> None:
    completed = await fill_graph(filled.ctx, SHARED_PACE)

    assert completed.is_complete
    assert completed.objects == 10  # folders, teams and users
    assert [await filled.reads_for(asked) for asked in CHECKS if "nobody" not in asked] == [0] * 10
    assert await answers(filled) == await answers(await open_node(database_url, 0, stack))


async def test_the_groups_of_a_subject_are_known_though_all_subjects_are_in_one(
    filled: Node, database_url: str, stack: AsyncExitStack
) -> None:
    await filled.grant("team:open#member@user:*")
    node = await open_node(database_url, 50_000_000, stack)
    await fill_graph(node.ctx, SHARED_PACE)
    fetches = node.ctx.caches.graph.counts.fetches

    for asked in CHECKS:
        if "nobody" not in asked:  # no object, of which nothing is read
            await node.allowed(asked)

    while node.ctx.caches.graph.has_reads_ahead:
        await asyncio.sleep(0.01)
    assert node.ctx.caches.graph.counts.fetches == fetches


async def test_what_others_write_afterwards_is_not_read(filled: Node, database_url: str, stack: AsyncExitStack) -> None:
    """Changes are applied to what is packed, also where no entry was made of it."""
    writer = await open_node(database_url, 0, stack)
    await fill_graph(filled.ctx, SHARED_PACE)
    await writer.grant("folder:new#reader@team:new#member", "team:new#member@user:eve", "folder:3#reader@user:eve")
    await writer.revoke("folder:3#reader@user:eve")
    fresh = await writer.grant("folder:0#parent@folder:new")
    assert await filled.allowed("folder:0#viewer@user:eve", fresh)  # which finds out that there were changes

    graph = filled.ctx.caches.graph
    fetches = graph.counts.fetches
    assert [await filled.allowed(f"folder:{each}#viewer@user:eve") for each in ("new", "0", "3")] == [True, True, False]
    while graph.has_reads_ahead:
        await asyncio.sleep(0.01)
    assert graph.counts.fetches == fetches


@pytest.mark.parametrize("many", [10, 1_000])
async def test_what_cannot_be_packed_is_cached_as_entries(
    filled: Node, database_url: str, stack: AsyncExitStack, many: int
) -> None:
    """Conditional warrants are only marked, and more warrants than are read together are not packed."""
    await filled.grant(*[f"folder:large#reader@user:u{number}" for number in range(many)])
    await filled.grant("folder:large#parent@folder:4", "folder:4#reader@user:cat[1 < 2]")
    await filled.grant("team:2#member@user:cat[1 < 2]", "folder:*#blocked@user:dan")
    node, uncached = await open_node(database_url, 50_000_000, stack), await open_node(database_url, 0, stack)
    checks = [f"folder:{folder}#viewer@user:{name}" for folder in ("large", "4", "0") for name in ("cat", "dan", "u7")]

    assert (await fill_graph(node.ctx, SHARED_PACE)).is_complete

    points = len(checks) if many > MAX_EACH else 0  # a subject of an object with too many is looked up by itself
    assert sum([await node.reads_for(asked) for asked in checks]) <= points
    assert [await node.allowed(asked) for asked in checks] == [await uncached.allowed(asked) for asked in checks]


async def test_what_is_packed_outlives_a_new_model(filled: Node, database_url: str, stack: AsyncExitStack) -> None:
    await fill_graph(filled.ctx, SHARED_PACE)
    await filled.define(OTHER_FOLDER | {"user": {}})
    uncached = await open_node(database_url, 0, stack)
    fetches = filled.ctx.caches.graph.counts.fetches

    assert await answers(filled) == await answers(uncached)
    assert filled.ctx.caches.graph.counts.fetches == fetches


GROUPS: Types = {"folder": {"reader": {}}, "org": {"blocked": {}, "member": {}}, "team": {"member": {}}, "user": {}}
BLOCKED = {"inheritIf": "blocked"}
BLOCKED_AND_NOT = {"inheritIf": "allOf", "rules": [BLOCKED, {"inheritIf": "noneOf", "rules": [BLOCKED]}]}
OTHER_GROUPS = GROUPS | {"org": {"blocked": {}, "member": BLOCKED_AND_NOT}}


async def test_groups_that_were_none_for_a_part_of_a_pass_are_known_for_all(
    database_url: str, stack: AsyncExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relation that has a rule is not read by subject, so the subjects of this part would have no such groups."""
    monkeypatch.setattr(graph_filling, "PAGE_OBJECTS", 2)
    node, uncached = await open_node(database_url, 50_000_000, stack), await open_node(database_url, 0, stack)
    await node.define(GROUPS)
    users = ("ann", "bob", "cat", "dan", "eve")
    await node.grant(*[f"{group}#member@user:{user}" for group in ("org:o", "team:t") for user in users])
    await node.grant("folder:1#reader@org:o#member", "folder:2#reader@team:t#member")
    pack_page, seen = graph_filling._pack_page, set[str]()

    async def change_behind_first(
        ctx: Context, graph: Graph, former: graph_filling._ObjectPage, pace: Pace
    ) -> graph_filling._ObjectPage | None:
        page = await pack_page(ctx, graph, former, pace)
        if former.of_type == "user" and "user" not in seen:
            seen.add("user")
            await node.define(OTHER_GROUPS)
        return page

    monkeypatch.setattr(graph_filling, "_pack_page", change_behind_first)
    await fill_graph(node.ctx, SHARED_PACE)
    await node.define(GROUPS)

    checks = [f"folder:{number}#reader@user:{user}" for number in (1, 2) for user in users]
    assert seen
    assert [await node.allowed(asked) for asked in checks] == [await uncached.allowed(asked) for asked in checks]


async def define_allowed(node: Node, allowed: list[str]) -> None:
    types = [*model_of(GROUPS, allowed={"team": {"member": allowed}}).types.values()]
    await put_object_types(node.ctx, types, node.ctx.stamp("ann"), keeps_orphaned=True)


async def test_it_ends_with_many_warrants_that_do_not_count(database_url: str, stack: AsyncExitStack) -> None:
    """They fill a read of a single id, though none of them is left of it."""
    node = await open_node(database_url, 0, stack)
    await define_allowed(node, ["user", "user:*"])
    await node.grant("folder:1#reader@team:1#member", "team:1#member@user:ann")
    await node.grant(*[f"team:{number}#member@user:*" for number in range(MAX_EACH + 100)])
    await define_allowed(node, ["user"])
    filled = await open_node(database_url, 50_000_000, stack)

    async with asyncio.timeout(20):
        assert (await fill_graph(filled.ctx, SHARED_PACE)).is_complete

    for name in ("ann", "bob"):
        assert await filled.allowed(f"folder:1#reader@user:{name}") == (name == "ann")


async def test_a_page_that_does_not_fit_is_not_packed(database_url: str, stack: AsyncExitStack) -> None:
    node, small = await open_node(database_url, 0, stack), await open_node(database_url, LITTLE_BYTES, stack)
    await node.define(STORM | {"user": {}})
    await node.grant(*[f"folder:{each}#reader@user:u{number:03}" for each in range(60) for number in range(100)])

    assert not (await fill_graph(small.ctx, SHARED_PACE)).is_complete

    taken = {part.cache: (part.bytes, part.max_bytes) for part in small.ctx.caches.graph.measure()}
    assert taken["packed"][0] <= taken["packed"][1]
    assert taken["warrants"][1] > 0
    assert await small.allowed("folder:7#reader@user:u007")


async def test_a_check_that_needs_more_entries_than_fit_is_decided_without_them(
    database_url: str, stack: AsyncExitStack
) -> None:
    node, small = await open_node(database_url, 0, stack), await open_node(database_url, 4_000_000, stack)
    await node.define(STORM | {"user": {}})
    await node.grant(*[f"folder:top#parent@folder:{number:03}" for number in range(300)])
    await node.grant(*[f"folder:{each:03}#reader@user:u{number:02}" for each in range(300) for number in range(80)])
    assert (await fill_graph(small.ctx, SHARED_PACE)).is_complete

    async with asyncio.timeout(20):
        assert not await small.allowed("folder:top#reader@user:eve")
        assert await small.allowed("folder:top#reader@user:u79")


async def test_what_was_filled_before_the_service_is_ready_is_not_read_again(
    filled: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_filling, "LOOK_EVERY_SECONDS", 0.01)
    monkeypatch.setattr(graph_filling, "PASS_SHARE", 0)
    filler = GraphFiller([filled.ctx])
    await filler.fill(filled.ctx, SHARED_PACE)
    passes: list[Context] = []

    async def note_pass(ctx: Context, pace: Pace, until: float) -> Filled:
        passes.append(ctx)
        return Filled(0, is_complete=True)

    monkeypatch.setattr(graph_filling, "fill_graph", note_pass)
    async with running_beside(filler.run()):
        await asyncio.sleep(0.1)

    assert passes == []


async def test_without_it_the_same_checks_read(filled: Node) -> None:
    assert sum([await filled.reads_for(asked) for asked in CHECKS]) > 0


async def test_what_changes_meanwhile_is_not_lost(
    filled: Node, database_url: str, stack: AsyncExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_filling, "PAGE_OBJECTS", 2)  # so that there are many reads to write between
    writer, uncached = [await open_node(database_url, 0, stack) for _ in range(2)]
    chosen, there = random.Random(5), set(stormy_warrants())

    async def change() -> None:
        for _ in range(CHANGES):
            text = chosen.choice(stormy_warrants())
            await (writer.revoke if text in there else writer.grant)(text)
            there.symmetric_difference_update({text})
            await asyncio.sleep(0.001)

    for _ in range(ROUNDS):
        filled.ctx.caches.graph.evict()
        _, completed = await asyncio.gather(change(), fill_graph(filled.ctx, SHARED_PACE))
        assert completed.objects > 0
        await asyncio.sleep(0.1)  # as long as a check may lag behind the writes of others on PostgreSQL
        assert await answers(filled) == await answers(uncached)


async def test_it_ends_when_the_cache_is_full(
    database_url: str, filled: Node, stack: AsyncExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_filling, "PAGE_OBJECTS", 20)
    await filled.grant(*[f"folder:{number}#reader@user:{number}" for number in range(4_000)])
    small = await open_node(database_url, LITTLE_BYTES, stack)

    completed = await fill_graph(small.ctx, SHARED_PACE)

    assert not completed.is_complete
    assert 0 < completed.objects < 8_000
    taken = {part.cache: part.bytes / part.max_bytes for part in small.ctx.caches.graph.measure()}
    assert taken["packed"] <= 1.1  # what a page takes beside its texts is not known before
    assert max(taken["warrants"], taken["absent"]) <= 1
    assert await answers(small) == await answers(filled)


async def test_it_ends_when_the_time_is_over(filled: Node) -> None:
    assert await fill_graph(filled.ctx, SHARED_PACE, time.monotonic()) == Filled(0, is_complete=False)


class Checkpoints:
    """A pace whose time is always up. It counts how often the event loop was left to others."""

    count = 0

    def is_up(self) -> bool:
        return True

    async def checkpoint(self) -> None:
        self.count += 1


async def test_others_have_the_event_loop_between_any_two_steps(filled: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_graph, "WORK_BETWEEN_LOOKS", 1)
    monkeypatch.setattr(graph_filling, "PAGE_OBJECTS", 2)
    pace, counts = Checkpoints(), filled.ctx.caches.graph.counts

    completed = await fill_graph(filled.ctx, pace)

    pages = completed.objects / 2
    assert pace.count >= pages + counts.fetches + completed.objects  # each page, what was read of it, and each entry


async def test_work_that_nobody_waits_for_goes_on_only_while_others_hardly_use_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    monkeypatch.setattr("magistrate.operations.scheduling.time.thread_time_ns", clock)
    monkeypatch.setattr(scheduling, "BUSY_PAUSE_SECONDS", 0.001)
    pace = IdlePace()
    assert not pace.is_up()
    clock.nanoseconds += IDLE_SLICE_NANOSECONDS
    assert pace.is_up()

    async def serve_requests() -> None:
        while True:
            clock.nanoseconds += 2 * BUSY_NANOSECONDS
            await asyncio.sleep(0.001)

    waiting = asyncio.create_task(pace.checkpoint())
    async with running_beside(serve_requests()):
        await asyncio.sleep(0.1)
        assert not waiting.done()
    await asyncio.wait_for(waiting, timeout=10)
    assert not pace.is_up()


@asynccontextmanager
async def filling(node: Node, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Fills the graph cache of a process beside others, and looks often whether something has changed."""
    monkeypatch.setattr(graph_filling, "LOOK_EVERY_SECONDS", 0.01)
    monkeypatch.setattr(graph_filling, "PASS_SHARE", 0)
    async with running_beside(GraphFiller([node.ctx]).run()):
        yield


async def is_filled(node: Node) -> bool:
    """Returns whether the graph lacks nothing of any object."""
    graph = await node.ctx.caches.graph.follow_to(NO_DEMAND)
    ids = {TypeName("folder"): [*map(ObjectId, "01234")], TypeName("team"): [*map(ObjectId, "012")]}
    return bool(graph.views) and not any(graph.packed.select_unpacked(of_type, ids[of_type]) for of_type in ids)


async def wait_until_filled(node: Node) -> None:
    async with asyncio.timeout(20):
        while not await is_filled(node):
            await asyncio.sleep(0.01)


async def test_an_idle_process_fills_its_cache_and_again_after_writes_evictions_and_new_models(
    filled: Node, database_url: str, stack: AsyncExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, uncached = [await open_node(database_url, 0, stack) for _ in range(2)]
    many = [f"folder:x{number}#reader@user:ann" for number in range(live_graph.MAX_CHANGES + 1)]
    async with filling(filled, monkeypatch):
        await wait_until_filled(filled)
        for change in (
            filled.ctx.caches.graph.evict,
            partial(writer.grant, *many),  # after which everything is evicted
            partial(writer.define, OTHER_FOLDER | {"user": {}}),
        ):
            if (waiting := change()) is not None:
                await waiting
                await asyncio.sleep(0.1)  # as long as a check may lag behind the writes of others on PostgreSQL
            await wait_until_filled(filled)
            assert await answers(filled) == await answers(uncached)


async def test_a_full_cache_is_not_filled_again_until_it_was_emptied(
    database_url: str, filled: Node, stack: AsyncExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled.grant(*[f"folder:{number}#reader@user:{number}" for number in range(4_000)])
    small = await open_node(database_url, LITTLE_BYTES, stack)
    passes: list[Filled] = []

    async def note_pass(ctx: Context, pace: Pace, until: float) -> Filled:
        passes.append(await fill_graph(ctx, pace, until))
        return passes[-1]

    monkeypatch.setattr(graph_filling, "fill_graph", note_pass)
    async with filling(small, monkeypatch), asyncio.timeout(20):
        while len(passes) < 1:
            await asyncio.sleep(0.01)
        await small.grant("folder:0#reader@user:ann")
        await asyncio.sleep(0.1)
        assert [each.is_complete for each in passes] == [False]
        small.ctx.caches.graph.evict()
        while len(passes) < 2:
            await asyncio.sleep(0.01)
    assert await answers(small) == await answers(filled)


async def test_requests_that_miss_the_same_wait_for_one_read(filled: Node) -> None:
    [asked, *_] = CHECKS
    graph = filled.ctx.caches.graph
    await filled.allowed(asked)  # the graph has begun
    fetches: list[int] = []
    for requests in (1, 20):
        graph.evict()
        before = graph.counts.fetches
        assert len({*await asyncio.gather(*(filled.allowed(asked) for _ in range(requests)))}) == 1
        fetches.append(graph.counts.fetches - before)

    assert 0 < fetches[1] <= fetches[0]


async def test_a_request_reads_itself_what_another_one_gave_up(filled: Node) -> None:
    [asked, *_] = CHECKS
    expected = await filled.allowed(asked)
    filled.ctx.caches.graph.evict()
    first, second = (asyncio.create_task(filled.allowed(asked)) for _ in range(2))
    await asyncio.sleep(0)  # the first is reading, and the second waits for that

    first.cancel()

    assert await second == expected
