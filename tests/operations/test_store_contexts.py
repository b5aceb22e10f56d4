"""A process opens the contexts of stores when they are used, and drops those that nobody has used for longest."""

import asyncio
import gc
from collections.abc import AsyncIterator, Sequence
from typing import Any
from weakref import ref

import pytest

from magistrate.errors import StoreDeleted
from magistrate.operations.checks.check import check
from magistrate.operations.checks.check_batch import ALL_NEEDED
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.runs import finish_releases
from magistrate.operations.stores import contexts as store_contexts
from magistrate.operations.stores.contexts import KEPT_ROUNDS, StoreContexts
from magistrate.operations.stores.stores import StoreDraft, create_store, delete_store
from magistrate.store.contract.stores import StoreLimits
from magistrate.wiring.contexts import measure_caches, open_contexts
from magistrate.wiring.stores import migrate_store
from tests.operations.stored_warrants import define, grant, question
from tests.running import settings_for

pytestmark = pytest.mark.anyio

STORES = 6
OPEN = 3
TYPES = {"document": {"viewer": {"inheritIf": "editor"}, "editor": {}}}


@pytest.fixture
async def contexts(database_url: str) -> AsyncIterator[StoreContexts]:
    settings = settings_for(database_url, decision_log=100)
    migrate_store(settings)
    async with open_contexts(settings) as opened:
        await opened.follow()
        await define(opened.default, TYPES)
        for number in range(STORES):
            draft = StoreDraft(f"s{number}", "", StoreLimits(), "default")
            await create_store(opened.default, draft, "ann")
        await opened.follow()
        yield opened
        await finish_releases()


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_contexts, "MAX_CONTEXTS", OPEN + 1)


def find(contexts: StoreContexts, number: int) -> Context:
    stored = contexts.find(f"s{number}")
    assert stored is not None
    return contexts.open_context(stored.number)


async def may_view(contexts: StoreContexts, number: int, user: str) -> bool:
    checks = [question(f"document:plan#viewer@user:{user}")]
    context = find(contexts, number)
    for _ in range(2):  # the second one is cached
        decided = await check(context, checks, ALL_NEEDED, NO_DEMAND)
    while context.caches.graph.has_reads_ahead:
        await asyncio.sleep(0.01)
    if context.decisions is not None:
        await context.decisions.unwritten.write()
    return decided.value[0].is_authorized


async def use_all(contexts: StoreContexts) -> Sequence[bool]:
    return [await may_view(contexts, number, f"u{number % 2}") for number in range(STORES)]


async def fill(contexts: StoreContexts) -> None:
    for number in range(STORES):
        await grant(find(contexts, number), "document:plan#editor@user:u1")


@pytest.mark.usefixtures("few")
async def test_at_most_so_many_contexts_are_open_and_answers_stay_those_of_the_store(contexts: StoreContexts) -> None:
    await fill(contexts)
    for _ in range(3):
        assert await use_all(contexts) == [number % 2 == 1 for number in range(STORES)]

    assert len([*contexts]) == OPEN + 1
    assert contexts.default in contexts


@pytest.mark.usefixtures("few")
async def test_a_dropped_context_is_freed_at_once_without_a_collection(contexts: StoreContexts) -> None:
    await fill(contexts)
    await may_view(contexts, 0, "u1")
    context = find(contexts, 0)
    graph = context.caches.graph.find_graph(context.caches.graph.revision)
    caches = context.caches
    parts: list[ref[Any]] = [*map(ref, (context, context.store, caches.graph, graph, caches.models))]
    del context, graph, caches
    gc.collect()
    gc.disable()
    try:
        for number in range(1, STORES):
            await may_view(contexts, number, "u1")
        await finish_releases()
        await asyncio.sleep(0.05)  # for timers of requests, which are cancelled lazily
        assert [part() for part in parts] == [None] * len(parts)
    finally:
        gc.enable()


@pytest.mark.usefixtures("few")
async def test_dropped_contexts_leave_nothing_that_only_a_collection_would_free(contexts: StoreContexts) -> None:
    """Survivors of collections are frozen: cycles among them would stay for good (wiring/garbage_collection.py)."""
    await fill(contexts)
    await use_all(contexts)
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        await use_all(contexts)
        await finish_releases()
        gc.collect()
        left = [one for one in gc.garbage if type(one).__module__.startswith("magistrate.")]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()

    assert left == []


@pytest.mark.usefixtures("few")
async def test_a_context_that_is_used_is_not_dropped(contexts: StoreContexts) -> None:
    await fill(contexts)
    used = find(contexts, 0)

    await use_all(contexts)

    assert find(contexts, 0) is used
    assert await may_view(contexts, 0, "u1")


@pytest.mark.usefixtures("few")
async def test_a_context_with_decisions_to_write_is_not_dropped(contexts: StoreContexts) -> None:
    await fill(contexts)
    await check(find(contexts, 0), [question("document:plan#viewer@user:u1")], ALL_NEEDED, NO_DEMAND)
    kept = ref(find(contexts, 0))

    for number in range(1, STORES):
        find(contexts, number)

    assert kept() is not None
    assert find(contexts, 0) is kept()


@pytest.mark.usefixtures("few")
async def test_counters_stay_when_contexts_are_dropped(contexts: StoreContexts) -> None:
    await fill(contexts)
    counts = contexts.default.caches.graph.counts
    before, statements = counts.misses + counts.given_up, contexts.default.store.statements
    await use_all(contexts)
    await may_view(contexts, 5, "u1")
    await may_view(contexts, 4, "u1")

    assert counts.misses + counts.given_up >= before + STORES
    assert counts.hits > 0
    assert contexts.default.store.statements > statements


async def test_no_store_gives_up_a_walk_because_its_caches_grow_meanwhile(contexts: StoreContexts) -> None:
    await fill(contexts)
    before = [find(contexts, number).share.bytes for number in range(STORES)]
    counts = contexts.default.caches.graph.counts

    assert await use_all(contexts) == [False, True] * (STORES // 2)

    assert all(find(contexts, number).share.bytes > small for number, small in enumerate(before))
    assert (counts.given_up, counts.misses, counts.hits) == (0, STORES, STORES)


async def test_contexts_that_nobody_uses_are_dropped_after_some_time(
    contexts: StoreContexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    await use_all(contexts)
    for _ in range(3):
        await contexts.follow()
    assert len([*contexts]) == STORES + 1

    monkeypatch.setattr(store_contexts, "KEPT_ROUNDS", 1)
    for _ in range(STORES):
        await contexts.follow()

    assert [*contexts] == [contexts.default]
    assert KEPT_ROUNDS > 100


async def test_caches_of_all_stores_are_measured_together_and_limited_by_one_budget(contexts: StoreContexts) -> None:
    await fill(contexts)
    await use_all(contexts)

    sums = {each.cache: each for each in measure_caches(contexts)}
    each = [{one.cache: one.bytes for one in context.caches.graph.measure()} for context in contexts]
    limits = [sums[name].max_bytes for name in ("warrants", "absent", "decisions", "ids", "views", "contextual")]

    assert sums["warrants"].bytes == sum(one.get("warrants", 0) for one in each) > 0
    assert sums["absent"].bytes == sum(one.get("absent", 0) for one in each) > 0
    assert sum(limits) <= settings_for("sqlite:///x").cache_bytes


async def test_the_context_of_a_deleted_store_is_discarded(contexts: StoreContexts) -> None:
    stored = contexts.find("s0")
    assert stored is not None
    await may_view(contexts, 0, "u1")
    await delete_store(contexts.default, "s0")
    await contexts.follow()

    with pytest.raises(StoreDeleted):
        contexts.open_context(stored.number)
