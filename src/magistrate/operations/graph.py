"""Checks decided from the graph in memory, which follows the store: every answer is exact at one revision, and that
revision is the newest but for what Staleness leaves open.

A walk is never interrupted, so it sees the graph at one revision. What it misses is read as of that revision and kept;
then it begins anew, at the revision the graph has by then. So what is decided in the end was decided at once."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import msgspec

from magistrate.engine.decision import Decision
from magistrate.engine.evaluation import Question
from magistrate.engine.graph import Fetch, GivenUp, Graph, Missing, Walk
from magistrate.engine.terms import Revision
from magistrate.engine.work import Work
from magistrate.errors import BudgetSpent, MagistrateError, StoreUnavailable
from magistrate.operations.consistency import Freshness
from magistrate.operations.models import Models
from magistrate.operations.turns import Turns, give_way
from magistrate.store.contract import Snapshot, Store
from magistrate.store.following import Mark, Staleness

MOST_TOUCHES = 2_000
"""Changes that are applied one by one; after more of them at a time, the graph begins anew."""
MOST_WALKS = 40
"""For one check: after so many, it is decided without the graph. Each needs one level more than the one before."""

Decided = Snapshot[list[Decision]]

IsLast = Callable[[bool], bool]
"""Whether what comes after a decision is not needed, given whether that authorizes."""


class Asked(msgspec.Struct, frozen=True):
    """Questions to be decided in order, up to the last that is needed, at one time (`now`, in microseconds since 1970
    UTC) and with so much work at the most."""

    questions: Sequence[Question]
    is_last: IsLast
    now: int
    most_work: int


@dataclass(slots=True)
class Counts:
    """Since the start. `hits`: requests decided in memory alone; `misses`: after something was read for it; `given_up`:
    requests that were decided without the graph. `fetches`: batches of reads; `touches`: warrants that came or went."""

    hits: int = 0
    misses: int = 0
    given_up: int = 0
    fetches: int = 0
    touches: int = 0


class LiveGraph:
    """The graph of one process."""

    def __init__(self, store: Store, models: Models, most_rows: int, now: Callable[[], int]) -> None:
        self.counts = Counts()
        self._now = now
        self._followed_at = 0
        self._store = store
        self._models = models
        self._most_rows = most_rows
        self._graph: Graph | None = None
        self._mark: Mark = (0.0, 0)
        self._following_ahead: asyncio.Task[None] | None = None
        self._begun = 0
        self._done = 0
        """Of the times that the store was followed: how many have begun, and the number of the last that succeeded."""
        self._following = Turns()
        self._fetches: set[Fetch] = set()

    @property
    def rows(self) -> int:
        """About how many warrants are kept."""
        return self._graph.rows if self._graph is not None else 0

    @property
    def revision(self) -> Revision:
        """0 before the first check."""
        return self._graph.revision if self._graph is not None else Revision(0)

    def lag_microseconds(self) -> int:
        """How long ago the graph is known to have been of the newest revision; 0 if it is, or if there is none."""
        try:
            is_current = self._graph is None or self._store.staleness(self._mark) == Staleness.CURRENT
        except StoreUnavailable:
            is_current = False
        return 0 if is_current else self._now() - self._followed_at

    def decided_now(self, asked: Asked, freshness: Freshness) -> Decided | None:
        """The decisions, if nothing has to be waited for. Raises StoreUnavailable."""
        graph = self._graph
        if graph is None or not self._is_fresh(graph, freshness):
            return None
        walking = _Walking(graph, asked)
        try:
            if not walking.go_on() or walking.is_open:
                return None
        except (GivenUp, BudgetSpent):
            return None
        self.counts.hits += 1
        return Snapshot(graph.revision, walking.decided)

    async def decided(self, asked: Asked, freshness: Freshness) -> Decided | None:
        """The decisions; None if they have to be found without the graph.

        Raises InvalidParameter if the token is from the future, StoreUnavailable.
        """
        if not self._most_rows:
            return None
        fetched: object = None
        try:
            for _ in range(MOST_WALKS):
                graph = await self._current(freshness)
                walking, revision = _Walking(graph, asked), graph.revision
                if await self._walked(walking, graph) and not walking.is_open:
                    self.counts.hits += fetched is None
                    self.counts.misses += fetched is not None
                    return Snapshot(revision, walking.decided)
                missing = walking.missing
                if missing and missing.things() == fetched:
                    break  # there is no room for all of it
                if missing:
                    await self._fetch(Fetch(graph, missing))
                    fetched = missing.things()
        except (GivenUp, BudgetSpent):
            pass
        self.counts.given_up += 1
        return None

    async def _walked(self, walking: "_Walking", graph: Graph) -> bool:
        """False if the graph has moved on meanwhile."""
        revision = graph.revision
        while not walking.go_on():
            await give_way()
            if graph is not self._graph or graph.revision != revision:
                return False
        return True

    def _is_fresh(self, graph: Graph, freshness: Freshness) -> bool:
        """Whether it is as fresh as it must be. Sees to it that it remains so."""
        if freshness.newest or freshness.revision > graph.revision:
            return False
        staleness = self._store.staleness(self._mark)
        if staleness == Staleness.AGING and self._following_ahead is None:
            self._following_ahead = asyncio.create_task(self._follow_ahead())
        return staleness != Staleness.STALE

    async def _current(self, freshness: Freshness) -> Graph:
        """As fresh as it must be."""
        graph = self._graph
        if graph is None or not self._is_fresh(graph, freshness):
            graph = await self._followed(freshness)
            freshness.demand(graph.revision)
        return graph

    async def _followed(self, freshness: Freshness) -> Graph:
        """After the store was followed from now on; if that is not demanded, also from a moment ago."""
        before = self._begun
        async with self._following.turn():
            was_followed = self._done > before or not freshness.newest
            enough = replace(freshness, newest=not was_followed)
            if self._graph is None or not self._is_fresh(self._graph, enough):
                await self._follow()
            assert self._graph is not None
            return self._graph

    async def _follow_ahead(self) -> None:
        """So that nobody has to wait for it."""
        try:
            async with self._following.turn():
                await self._follow()
        except MagistrateError:
            pass  # whoever has to wait for it next is told
        finally:
            self._following_ahead = None

    async def _follow(self) -> None:
        self._begun += 1
        number, began_at = self._begun, self._now()
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
        self._mark, self._followed_at, self._done = mark, began_at, number

    async def _fetch(self, fetch: Fetch) -> None:
        self._fetches.add(fetch)
        try:
            while (wanted := fetch.reads()) is not None:
                reads, most = wanted
                self.counts.fetches += 1
                fetch.take((await self._store.read_warrants(reads, fetch.revision, most)).rows)
        finally:
            self._fetches.discard(fetch)


class _Walking:
    """Over one graph, from question to question. `decided`: in order, if nothing `is_open`."""

    def __init__(self, graph: Graph, asked: Asked) -> None:
        self.decided: list[Decision] = []
        self.is_open = False
        self._is_last = asked.is_last
        self._questions = iter(asked.questions)
        self._walk = Walk(graph, asked.now, Work(asked.most_work))

    @property
    def missing(self) -> Missing:
        return self._walk.missing

    def go_on(self) -> bool:
        """Whether it is at the end; otherwise its turn is over. Raises GivenUp, BudgetSpent."""
        walk = self._walk
        walk.work.begin_turn()
        for question in self._questions:
            decision = walk.decide(question)
            if decision is None:
                self.is_open = True  # the others shall say what they miss, too
            else:
                self.decided.append(decision)
                if not self.is_open and self._is_last(decision.is_authorized):
                    return True
            if walk.work.turn_is_over:
                return False
        return True
