"""Checks decided from the graph in memory, which follows the store: every answer is exact at one revision, and that
revision is the newest but for what Store.mark leaves open.

A walk is never interrupted, so it sees the graph at one revision. What it misses is read as of that revision and kept;
then it begins anew, at the revision the graph has by then. So what is decided in the end was decided at once."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from magistrate.engine.conditions import Conditions
from magistrate.engine.evaluation import Question
from magistrate.engine.graph import Fetch, Found, GivenUp, Graph, Walk
from magistrate.engine.terms import Revision
from magistrate.engine.work import Work
from magistrate.errors import BudgetSpent
from magistrate.operations.consistency import Freshness
from magistrate.operations.models import Models
from magistrate.operations.turns import give_way
from magistrate.store.contract import Snapshot, Store

MOST_TOUCHES = 2_000
"""Changes that are applied one by one; after more of them at a time, the graph begins anew."""
MOST_WALKS = 40
"""For one check: after so many, it is decided without the graph. Each needs one level more than the one before."""

Decided = Snapshot[list[Found]]


@dataclass(slots=True)
class Counts:
    """Since the start. `checks`: requests that were decided in memory; `fetches`: statements' worth of reads it took to
    fill it; `given_up`: requests that were decided without the graph; `touches`: warrants that came or went."""

    checks: int = 0
    fetches: int = 0
    given_up: int = 0
    touches: int = 0


class LiveGraph:
    """The graph of one process."""

    def __init__(self, store: Store, models: Models, most_rows: int) -> None:
        self.counts = Counts()
        self._store = store
        self._models = models
        self._most_rows = most_rows
        self._graph: Graph | None = None
        self._mark: object = None
        self._follows = 0
        self._following = asyncio.Lock()
        self._fetches: set[Fetch] = set()

    @property
    def rows(self) -> int:
        return self._graph.rows if self._graph is not None else 0

    @property
    def revision(self) -> int:
        return self._graph.revision if self._graph is not None else 0

    async def decided(
        self,
        questions: Sequence[Question],
        freshness: Freshness,
        is_last: Callable[[bool], bool],
        now: int,
        most_work: int,
    ) -> Decided | None:
        """In order, up to the last that is needed; None if that has to be found out without the graph.

        Raises InvalidParameter if the token is from the future, StoreUnavailable.
        """
        if not self._most_rows:
            return None
        fetched: object = None
        try:
            for _ in range(MOST_WALKS):
                graph = await self._current(freshness)
                walk, revision = Walk(graph, Work(most_work)), graph.revision
                found = await self._walked(walk, graph, questions, is_last, now)
                if found is not None:
                    self.counts.checks += 1
                    return Snapshot(revision, found)
                if walk.missing and walk.missing == fetched:
                    break  # there is no room for all of it
                if walk.missing:
                    await self._fetch(Fetch(graph, walk.missing))
                fetched = walk.missing
        except (GivenUp, BudgetSpent):
            pass
        self.counts.given_up += 1
        return None

    async def _walked(
        self, walk: Walk, graph: Graph, questions: Sequence[Question], is_last: Callable[[bool], bool], now: int
    ) -> list[Found] | None:
        """None if something is missing, or if the graph has moved on meanwhile."""
        revision = graph.revision
        decided: list[Found] = []
        is_open = False
        for question in questions:
            found = walk.decide(question, Conditions(question.context, now, walk.work))
            if found is None:
                is_open = True  # the others shall say what they miss, too
            else:
                decided.append(found)
                if not is_open and is_last(found.holds):
                    break
            if walk.work.turn_is_over:
                await give_way()
                walk.work.begin_turn()
                if graph is not self._graph or graph.revision != revision:
                    return None
        return None if is_open else decided

    async def _current(self, freshness: Freshness) -> Graph:
        """As fresh as it must be."""
        graph = self._graph
        is_fresh = graph is not None and not freshness.newest and freshness.revision <= graph.revision
        if graph is None or not is_fresh or self._mark != self._store.mark():
            graph = await self._followed(is_fresh)
            freshness.demand(graph.revision)
        return graph

    async def _followed(self, is_fresh: bool) -> Graph:
        """After following the store once from now on, or since its mark changed if that is enough."""
        before = self._follows
        async with self._following:
            if self._graph is None or self._mark != self._store.mark() or (not is_fresh and self._follows == before):
                await self._follow()
            assert self._graph is not None
            return self._graph

    async def _follow(self) -> None:
        self._follows += 1
        mark, graph = self._store.mark(), self._graph
        news = await self._store.list_touches(graph.revision if graph is not None else Revision(0), MOST_TOUCHES)
        if graph is None or graph.model.revision != news.model_revision:
            model = await self._models.at(news.revision, news.model_revision)
            graph = self._graph = Graph(model, news.revision, self._most_rows)
        elif news.touches is None:
            graph.clear(news.revision)
            for fetch in self._fetches:
                fetch.is_in_vain = True
        else:
            graph.apply(news.touches, news.revision)
            self.counts.touches += len(news.touches)
            for fetch in self._fetches:
                fetch.touch(news.touches)
        self._mark = mark

    async def _fetch(self, fetch: Fetch) -> None:
        self._fetches.add(fetch)
        try:
            while (wanted := fetch.reads()) is not None:
                reads, most = wanted
                self.counts.fetches += 1
                fetch.take((await self._store.read_warrants(reads, fetch.revision, most)).rows)
        finally:
            self._fetches.discard(fetch)
