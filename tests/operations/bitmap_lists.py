"""Contexts whose lists are computed with bitmaps, and stored groups for them."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.counting import CountingDatabase, counting_store
from magistrate.operations.context import Context
from magistrate.operations.lists.listings import Listings
from magistrate.operations.models.object_types import put_object_types
from magistrate.wiring.contexts import context_of
from tests.memory_source import model_of
from tests.operations.stored_groups import DRIVE, grant, page_of
from tests.running import settings_for

TYPES: dict[str, dict[str, Any]] = {**DRIVE, "group": {"member": {}}}

OFF, TINY = 0, 5


@pytest.fixture
async def counted(database_url: str) -> AsyncIterator[tuple[Context, CountingDatabase]]:
    store, database = await counting_store(database_url)
    ctx = context_of(store, settings_for(database_url))
    await put_object_types(ctx, list(model_of(TYPES).types.values()), ctx.stamp("ann"))
    yield ctx, database
    await store.close()


@pytest.fixture
def ctx(counted: tuple[Context, CountingDatabase]) -> Context:
    return counted[0]


def with_capacity(ctx: Context, database_url: str, most: int) -> Context:
    """As another worker has it, on the same store."""
    return context_of(ctx.store, settings_for(database_url, cache_bytes=most))


def without_listings(ctx: Context) -> Context:
    return replace(ctx, caches=replace(ctx.caches, listings=Listings(100_000_000)))


async def warm(ctx: Context, q: str) -> None:
    """Runs a query twice: the second time, what it depends on is cached."""
    for _ in range(2):
        await page_of(without_listings(ctx), q)


async def fill_group(ctx: Context, users: int) -> None:
    """A document in a folder, whose viewers are a group and the group within it."""
    await grant(ctx, "document:d00#parent@folder:f", "folder:f#viewer@group:g#member", "group:g#member@group:h#member")
    members = [f"group:{'gh'[number % 2]}#member@user:u{number:02}" for number in range(users)]
    await grant(ctx, *members)
