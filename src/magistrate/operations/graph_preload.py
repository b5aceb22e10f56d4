"""Fills the graph cache with what a store has, before checks need it (docs/scaling.md#a-filled-cache).

The store is read object by object, by the same reads and into the same entries as for a check that misses them, so
changes meanwhile are noted in the same way."""

import sys
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from magistrate.engine.cache.graph import CheckpointNeeded, Graph
from magistrate.engine.cache.preloading import find_missing, list_starts
from magistrate.engine.names import ObjectId, TypeName
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.scheduling import checkpoint, limit_work
from magistrate.store.contract.lists import ObjectFilter, Slice

PAGE_OBJECTS = 200
"""Limits the objects that are read together: with some views each, that is a statement of some milliseconds."""


@dataclass(frozen=True, slots=True)
class Preloaded:
    """Says of how many objects everything was read, and whether these are all there are: otherwise the cache is full,
    or the time is over."""

    objects: int
    is_complete: bool


async def preload_graph(ctx: Context, until: float) -> Preloaded:
    """Fills the graph cache of a store until it is full, which is when reading on would evict something, or until this
    monotonic time. Raises StoreUnavailable and StoreDeleted; what was read until then stays cached."""
    objects, model = 0, None
    if not ctx.caches.graph.is_enabled:
        return Preloaded(objects, is_complete=False)
    first = await ctx.caches.graph.follow_to(NO_DEMAND)
    generations = first.generations
    async for of_type, ids in _list_objects(ctx, sorted(first.model.types)):
        graph = await ctx.caches.graph.follow_to(NO_DEMAND)
        if graph.model is not model:
            await _make_views(graph, until)
            model = graph.model
        if time.monotonic() >= until or graph.generations != generations:
            return Preloaded(objects, is_complete=False)
        await ctx.caches.graph.fetch(graph, find_missing(graph, of_type, ids), limit_work(sys.maxsize))
        objects += len(ids)
    return Preloaded(objects, is_complete=True)


async def _list_objects(ctx: Context, types: Sequence[TypeName]) -> AsyncIterator[tuple[TypeName, Sequence[ObjectId]]]:
    """Yields the ids of all objects of these types, in pages of one type. What is written meanwhile may be among
    them."""
    for of_type in types:
        part: Slice | None = Slice("objectId", PAGE_OBJECTS)
        while part is not None:
            page = (await ctx.store.list_objects(part, ObjectFilter(of_type=of_type))).value
            ids = [row.id for row in page.rows]
            if ids:
                yield of_type, ids
            part = Slice("objectId", PAGE_OBJECTS, boundary=(ids[-1], of_type)) if page.follows else None


async def _make_views(graph: Graph, until: float) -> None:
    """Prepares what checks may start from, unless the time is over, or views would be evicted for it."""
    work, evictions = limit_work(sys.maxsize), graph.view_evictions
    for start in list_starts(graph.model):
        while time.monotonic() < until and graph.view_evictions == evictions:
            try:
                graph.find_view(*start, work)
                break
            except CheckpointNeeded:
                work.pass_checkpoint()
                await checkpoint()
