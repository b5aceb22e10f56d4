"""Checks in many stores of one database, by two processes that share nothing else."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from benchmarks.counting import CountingDatabase
from magistrate.store.contract.revisions import AGING_MS, STALE_MS
from magistrate.store.contract.stores import NewStore, StoreLimits
from magistrate.store.sql_store import SqlStore
from magistrate.wiring.contexts import context_of
from magistrate.wiring.stores import migrate_store, open_stores
from tests.conftest import new_database_url
from tests.operations.node import Node
from tests.operations.stored_warrants import DRIVE
from tests.running import settings_for

pytestmark = pytest.mark.anyio

STORES = 20
ASKED = "folder:0#viewer@user:ann"


@pytest.fixture
async def processes(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[list[Node], list[Node]]]:
    """The stores as each process has them open."""
    settings = settings_for(new_database_url("postgres", tmp_path, request))
    migrate_store(settings)
    async with AsyncExitStack() as stack:
        both: list[list[Node]] = []
        for is_second in (False, True):
            stores = await open_stores(settings)
            stack.push_async_callback(stores.close)
            nodes = []
            for number in range(STORES):
                if not is_second:
                    await stores.create(NewStore(f"store-{number}", "", StoreLimits(), "ann", 5))
                stored = await stores.find_store(f"store-{number}")
                assert stored is not None
                store = stores.open_store(stored)
                assert isinstance(store, SqlStore)
                nodes.append(Node(context_of(store, settings), CountingDatabase(store.database)))
            both.append(nodes)
        for node in both[0]:
            await node.define(DRIVE)
            await node.grant(ASKED)
        yield both[0], both[1]


async def keep_asking(nodes: list[Node], seconds: float) -> tuple[int, float]:
    """Checks in one store after another. Returns how many statements that took, and how many seconds."""
    statements, began_at = nodes[0].ctx.store.statements, time.monotonic()
    while time.monotonic() < began_at + seconds:
        for node in nodes:
            assert await node.allowed(ASKED)
        await asyncio.sleep(0.005)  # for statements that others share
    return nodes[0].ctx.store.statements - statements, time.monotonic() - began_at


async def test_many_stores_in_use_take_the_statements_of_one(processes: tuple[list[Node], list[Node]]) -> None:
    _, nodes = processes
    await keep_asking(nodes, 10 * STALE_MS / 1_000)

    statements, seconds = await keep_asking(nodes, 1)

    assert 0 < statements <= seconds * 1_000 / AGING_MS + STORES


async def test_a_write_of_another_process_is_seen_in_time_in_each_of_many_stores(
    processes: tuple[list[Node], list[Node]],
) -> None:
    writers, nodes = processes
    await keep_asking(nodes, 10 * STALE_MS / 1_000)
    for _ in range(3):
        for writer, node in zip(writers, nodes, strict=True):
            await writer.revoke(ASKED)
            written_at = time.monotonic()
            while await node.allowed(ASKED):
                assert time.monotonic() - written_at <= 2 * STALE_MS / 1_000
                for other in nodes[:5]:
                    await other.allowed(ASKED)
                await asyncio.sleep(0.001)  # lets the followers run
            await writer.grant(ASKED)
            await asyncio.sleep(STALE_MS / 1_000)
            assert await node.allowed(ASKED)
