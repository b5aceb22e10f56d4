"""Two processes on one database, for tests of what one sees of the other."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from benchmarks.counting import counting_store
from magistrate.wiring.contexts import context_of
from tests.operations.node import Node
from tests.operations.stored_warrants import DRIVE
from tests.running import settings_for


@pytest.fixture
async def nodes(database_url: str) -> AsyncIterator[tuple[Node, Node]]:
    """Two processes on one database."""
    async with AsyncExitStack() as stack:
        opened = []
        for _ in range(2):
            store, database = await counting_store(database_url)
            stack.push_async_callback(store.close)
            opened.append(Node(context_of(store, settings_for(database_url)), database))
        await opened[0].define(DRIVE)
        yield opened[0], opened[1]


@pytest.fixture
def node(nodes: tuple[Node, Node]) -> Node:
    return nodes[0]
