"""Filling the graph cache before checks need it: what was read answers them without a statement, and a change meanwhile
is never lost."""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from math import inf

import pytest

from benchmarks.counting import counting_store
from magistrate.operations import graph_preload
from magistrate.operations.graph_preload import Preloaded, preload_graph
from magistrate.wiring.contexts import context_of
from tests.operations.node import Node
from tests.operations.stored_warrants import STORM, stormy_warrants
from tests.running import settings_for

pytestmark = pytest.mark.anyio

CHECKS = [f"folder:{number}#viewer@user:{name}" for number in range(5) for name in ("ann", "bob", "nobody")]
ROUNDS, CHANGES = 6, 40
LITTLE_BYTES = 1_000_000


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
    preloaded = await preload_graph(filled.ctx, inf)

    assert preloaded.is_complete
    assert preloaded.objects == 10  # folders, teams and users
    assert [await filled.reads_for(asked) for asked in CHECKS if "nobody" not in asked] == [0] * 10
    assert await answers(filled) == await answers(await open_node(database_url, 0, stack))


async def test_without_it_the_same_checks_read(filled: Node) -> None:
    assert sum([await filled.reads_for(asked) for asked in CHECKS]) > 0


async def test_what_changes_meanwhile_is_not_lost(
    filled: Node, database_url: str, stack: AsyncExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_preload, "PAGE_OBJECTS", 2)  # so that there are many reads to write between
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
        _, preloaded = await asyncio.gather(change(), preload_graph(filled.ctx, inf))
        assert preloaded.objects > 0
        await asyncio.sleep(0.1)  # as long as a check may lag behind the writes of others on PostgreSQL
        assert await answers(filled) == await answers(uncached)


async def test_it_ends_when_the_cache_is_full(database_url: str, filled: Node, stack: AsyncExitStack) -> None:
    await filled.grant(*[f"folder:{number}#reader@user:{number}" for number in range(4_000)])
    small = await open_node(database_url, LITTLE_BYTES, stack)

    preloaded = await preload_graph(small.ctx, inf)

    assert not preloaded.is_complete
    assert 0 < preloaded.objects < 8_000
    taken = {part.cache: part.bytes / part.max_bytes for part in small.ctx.caches.graph.measure()}
    assert max(taken["warrants"], taken["absent"]) <= 1
    assert await answers(small) == await answers(filled)


async def test_it_ends_when_the_time_is_over(filled: Node) -> None:
    assert await preload_graph(filled.ctx, time.monotonic()) == Preloaded(0, is_complete=False)
