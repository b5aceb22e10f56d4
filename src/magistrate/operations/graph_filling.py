"""Fills the graph caches with what the stores have, before checks need it (docs/scaling.md#a-filled-cache).

A store is read object by object, by the same reads as for a check that misses them, so changes meanwhile are noted in
the same way. What was read is packed; a check that misses an entry makes it from that. Before the service is ready,
nobody else needs the event loop; afterwards the caches are filled while it is idle, and again after changes."""

import asyncio
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import NamedTuple
from weakref import WeakKeyDictionary

from magistrate.engine.cache.filling import find_missing, list_starts
from magistrate.engine.cache.graph import CheckpointNeeded, Graph
from magistrate.engine.cache.packing import Packing
from magistrate.engine.names import ObjectId, Revision, TypeName
from magistrate.engine.work import Work
from magistrate.errors import RevisionUnavailable, StoreDeleted
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.live_graph import LiveGraph, fetch_entries
from magistrate.operations.scheduling import IdlePace, Pace, attempt_work, limit_work
from magistrate.store.contract.lists import ObjectFilter, Slice
from magistrate.store.contract.stores import DEFAULT_STORE

PAGE_OBJECTS = 400
"""Limits the objects that are read together: with some views each, that is a statement of some milliseconds. With half
as many, filling takes a tenth more of the processor; twice as many are packed in steps that are twice as long."""
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
    """Fills the graph cache of a store until it is full, or until this monotonic time. What cannot be packed is cached
    as entries, as long as that evicts nothing. Raises StoreUnavailable, StoreDeleted, and RevisionUnavailable; what was
    read until then stays cached."""
    objects, model, live = 0, None, ctx.caches.graph
    if not live.is_enabled:
        return Filled(objects, is_complete=False)
    graph = await live.follow_to(NO_DEMAND)
    generations, evictions = graph.generations, graph.packed.evictions
    for of_type in sorted(graph.model.types):
        page = _ObjectPage(of_type)
        while page.follows:
            if pace.is_up():
                await pace.checkpoint()
            graph = await live.follow_to(NO_DEMAND)
            if graph.model is not model:
                await _make_views(graph, pace, until)
                model = graph.model
            is_over = time.monotonic() >= until or ctx.caches.graph is not live or graph.packed.evictions != evictions
            packed_page = None if is_over else await _pack_page(ctx, graph, page, pace)
            if packed_page is None:
                return Filled(objects, is_complete=False)
            page = packed_page
            unpacked = graph.packed.select_unpacked(of_type, page.ids)
            if unpacked and graph.generations == generations:
                await live.fill(graph, find_missing(graph, of_type, unpacked), pace)
            objects += len(page.ids)
    return Filled(objects, is_complete=True)


class _ObjectPage(NamedTuple):
    """Has the ids of some objects of a type, of which the last is `last`, and says whether others follow."""

    of_type: TypeName
    last: ObjectId | None = None
    follows: bool = True
    ids: Sequence[ObjectId] = ()


async def _pack_page(ctx: Context, graph: Graph, former: _ObjectPage, pace: Pace) -> _ObjectPage | None:
    """Packs the page that follows, and returns it, or None if it does not fit. If that is wasted, the returned page is
    without ids and with the same last one."""
    live, of_type = ctx.caches.graph, former.of_type
    packing = Packing(graph, of_type, former.last)
    boundary = None if former.last is None else (former.last, of_type)
    part = Slice("objectId", PAGE_OBJECTS, boundary=boundary)
    with live.noting_changes(packing):
        page = (await ctx.store.list_objects(part, ObjectFilter(of_type=of_type), packing.revision)).value
        ids = [row.id for row in page.rows]
        if packing.is_needed:
            packing.begin(ids)
            await fetch_entries(packing, ctx.store, limit_work(sys.maxsize), live.counts, pace)
            if not packing.finish(ids[-1] if page.follows else None):
                return None
    return (
        former._replace(ids=())
        if packing.is_wasted
        else _ObjectPage(of_type, ids[-1] if ids else None, page.follows, ids)
    )


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
