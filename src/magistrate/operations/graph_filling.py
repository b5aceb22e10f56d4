"""Fills the graph caches with what the stores have, before checks need it (docs/scaling.md#a-filled-cache).

A store is read object by object, by the same reads and into the same entries as for a check that misses them, so
changes meanwhile are noted in the same way. Before the service is ready, nobody else needs the event loop; afterwards
the caches are filled while it is idle, and again after changes."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import NamedTuple
from weakref import WeakKeyDictionary

from magistrate.engine.cache.filling import find_missing, find_missing_wildcards, list_starts
from magistrate.engine.cache.graph import CheckpointNeeded, Graph
from magistrate.engine.names import ObjectId, Revision, TypeName
from magistrate.engine.work import Work
from magistrate.errors import RevisionUnavailable, StoreDeleted
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.live_graph import LiveGraph
from magistrate.operations.scheduling import IdlePace, Pace, attempt_work
from magistrate.store.contract.lists import ObjectFilter, Slice
from magistrate.store.contract.stores import DEFAULT_STORE

PAGE_OBJECTS = 200
"""Limits the objects that are read together: with some views each, that is a statement of some milliseconds. With
fewer, statements, and what each fetch does besides, take a fifth of the time."""
LOOK_EVERY_SECONDS = 1.0
"""Sets how often it is found out whether something has changed."""
PASS_SHARE = 50
"""Divides the time after a pass, during which no other begins: it takes at most a fiftieth of the time to read again
what others change all the time."""


@dataclass(frozen=True, slots=True)
class Filled:
    """Says of how many objects everything is cached, and whether these are all there are: otherwise the cache is full,
    or the time is over."""

    objects: int
    is_complete: bool


async def fill_graph(ctx: Context, pace: Pace, until: float = inf) -> Filled:
    """Fills the graph cache of a store until it is full, which is when reading on would evict something, or until this
    monotonic time. Raises StoreUnavailable, StoreDeleted, and RevisionUnavailable; what was read until then stays
    cached."""
    objects, model, live = 0, None, ctx.caches.graph
    if not live.is_enabled:
        return Filled(objects, is_complete=False)
    graph = await live.follow_to(NO_DEMAND)
    generations = graph.generations
    async for of_type, ids in _list_objects(ctx, live, sorted(graph.model.types)):
        if pace.is_up():
            await pace.checkpoint()
        graph = await live.follow_to(NO_DEMAND)
        if graph.model is not model:
            await _make_views(graph, pace, until)
            model = graph.model
            await live.fill(graph, find_missing_wildcards(graph), pace)
            graph = await live.follow_to(NO_DEMAND)
        if time.monotonic() >= until or graph.generations != generations or ctx.caches.graph is not live:
            return Filled(objects, is_complete=False)
        await live.fill(graph, find_missing(graph, of_type, ids), pace)
        objects += len(ids)
    return Filled(objects, is_complete=True)


async def _list_objects(
    ctx: Context, live: LiveGraph, types: Sequence[TypeName]
) -> AsyncIterator[tuple[TypeName, Sequence[ObjectId]]]:
    """Yields the ids of all objects of these types, in pages of one type, each as of the revision of the graph, which a
    replica may hold. What is written meanwhile may be among them."""
    for of_type in types:
        part: Slice | None = Slice("objectId", PAGE_OBJECTS)
        while part is not None:
            page = (await ctx.store.list_objects(part, ObjectFilter(of_type=of_type), live.revision)).value
            ids = [row.id for row in page.rows]
            if ids:
                yield of_type, ids
            part = Slice("objectId", PAGE_OBJECTS, boundary=(ids[-1], of_type)) if page.follows else None


async def _make_views(graph: Graph, pace: Pace, until: float) -> None:
    """Prepares what checks may start from, unless the time is over, or views would be evicted for it."""
    work, evictions = Work(sys.maxsize, pace.is_up), graph.view_evictions
    for start in list_starts(graph.model):
        while time.monotonic() < until and graph.view_evictions == evictions:
            try:
                graph.find_view(*start, work)
                break
            except CheckpointNeeded:
                work.pass_checkpoint()
                await pace.checkpoint()


class _LastPass(NamedTuple):
    """Says how a graph was when its last pass began, when the next may begin, and whether the cache was full then: what
    did not fit is cached as it is used."""

    losses: tuple[Revision, int]
    used_in: int
    next_at: float
    was_full: bool


class GraphFiller:
    """Fills the graph caches of the stores whose contexts are open, one after another, while the event loop is idle."""

    def __init__(self, contexts: Iterable[Context]) -> None:
        self._contexts = contexts
        self._passes: WeakKeyDictionary[LiveGraph, _LastPass] = WeakKeyDictionary()

    async def run(self) -> None:
        """Fills until it is cancelled."""
        while True:
            for number in [context.store_number for context in self._contexts]:
                await attempt_work(self._fill_store(number), "the graph cache could not be filled")
            await asyncio.sleep(LOOK_EVERY_SECONDS)

    async def _fill_store(self, number: int) -> None:
        """Fills the graph of a store if it may lack something. Nothing refers to the context afterwards, because one
        that nobody uses is dropped."""
        context = next((context for context in self._contexts if context.store_number == number), None)
        if context is None or not context.caches.graph.is_enabled:
            return
        live = context.caches.graph
        last = self._passes.get(live)
        if last is not None and time.monotonic() < last.next_at:
            return
        with suppress(StoreDeleted, RevisionUnavailable):
            if last is None or number == DEFAULT_STORE or context.share.used_in > last.used_in:
                await live.follow_to(NO_DEMAND)
            losses = live.count_losses()
            if last is not None and (losses == last.losses or (last.was_full and not live.has_space)):
                return
            await self.fill(context, IdlePace())

    async def fill(self, context: Context, pace: Pace, until: float = inf) -> Filled:
        """Does what `fill_graph` does, as the pass of the graph that was last."""
        live, used_in, began_at = context.caches.graph, context.share.used_in, time.monotonic()
        losses = live.count_losses()
        filled = await fill_graph(context, pace, until)
        ended_at = time.monotonic()
        if filled.is_complete or ended_at < until:
            losses = losses if losses[0] else live.count_losses()  # the graph has begun meanwhile
            next_at = ended_at + PASS_SHARE * (ended_at - began_at)
            self._passes[live] = _LastPass(losses, used_in, next_at, was_full=not filled.is_complete)
        return filled
