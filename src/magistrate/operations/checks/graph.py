"""Decides checks from the graph cache, which follows the store. Every answer is exact at one revision, and that
revision is the newest within the limits of Staleness.

A walk sees the graph at one revision; if the graph changes while the walk has yielded, it starts again. Warrants that
it misses are read as of that revision and cached; then the walk starts again at the revision that the graph has by
then. A final decision is therefore always computed at a single revision."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import msgspec

from magistrate.engine.decision import Decision
from magistrate.engine.evaluation import Question
from magistrate.engine.graph import Fetch, GivenUp, Graph, Missing, TurnIsOver, Walk, group_names
from magistrate.engine.plans import Model
from magistrate.engine.terms import Revision
from magistrate.engine.work import WORK_IN_A_TURN, Work
from magistrate.errors import BudgetSpent, MagistrateError, StoreUnavailable
from magistrate.operations.consistency import Freshness
from magistrate.operations.models import Models
from magistrate.operations.turns import Turns, checkpoint
from magistrate.store.contract import Snapshot, Store
from magistrate.store.following import Mark, Staleness, Touches

MOST_TOUCHES = 2_000
"""Limits the changes that are applied one by one; when there are more at once, the cache is cleared."""
MOST_WALKS = 40
"""Limits the walks for one check; after that many, it is decided without the graph. Each walk needs one level more than
the one before."""
WORK = 2_000
WORK_FOR_A_QUESTION = 10
"""Limits, together with WORK, the units of work (walking and reading) after which a check is decided without the graph.
The amount equals what an Evaluation of as many checks takes, so the graph costs at most about as much as it could save.
What was read and decided until then stays cached, and the next such check gets further."""

Decided = Snapshot[list[Decision]]

IsLast = Callable[[bool], bool]
"""The callable returns whether the decisions after one are not needed, given whether that one authorizes."""


class CheckBatch(msgspec.Struct, frozen=True):
    """Holds checks to be decided in order, up to the last that is needed, at one time (`now`, in microseconds since
    1970 UTC) and with at most `most_work` units of work."""

    questions: Sequence[Question]
    is_last: IsLast
    now: int
    most_work: int


@dataclass(slots=True)
class GraphCounts:
    """Holds counters since the start of the process. `hits`: requests decided in memory alone; `misses`: requests
    decided after a read; `given_up`: requests decided without the graph. `fetches`: batches of reads; `touches`:
    warrants that began or ended."""

    hits: int = 0
    misses: int = 0
    given_up: int = 0
    fetches: int = 0
    touches: int = 0


class LiveGraph:
    """Holds the graph cache of one process and keeps it current."""

    def __init__(self, store: Store, models: Models, most_rows: int, now: Callable[[], int]) -> None:
        self.counts = GraphCounts()
        self._now = now
        self._followed_at = 0
        self._store = store
        self._models = models
        self._most_rows = most_rows
        self._graph: Graph | None = None
        self._mark: Mark = (0.0, 0)
        self._following_ahead: asyncio.Task[None] | None = None
        self._reading_ahead: asyncio.Task[None] | None = None
        self._begun = 0
        self._done = 0
        """These count how often the store was followed: how many attempts have begun, and the number of the last that
        succeeded."""
        self._following = Turns()
        self._fetches: set[Fetch] = set()

    @property
    def rows(self) -> int:
        """Returns approximately how many warrants are cached."""
        return self._graph.rows if self._graph is not None else 0

    @property
    def revision(self) -> Revision:
        """Returns the revision of the graph; 0 before the first check."""
        return self._graph.revision if self._graph is not None else Revision(0)

    def lag_microseconds(self) -> int:
        """Returns how long ago the graph was last known to be at the newest revision; 0 if it is now, or if there is no
        graph."""
        try:
            is_current = self._graph is None or self._store.staleness(self._mark) == Staleness.CURRENT
        except StoreUnavailable:
            is_current = False
        return 0 if is_current else self._now() - self._followed_at

    def decide_now(self, asked: CheckBatch, freshness: Freshness) -> Decided | None:
        """Returns the decisions if they need no waiting, otherwise None. Raises StoreUnavailable."""
        graph = self._graph
        if graph is None or not self._is_fresh(graph, freshness):
            return None
        walk = Walk(graph, asked.now, _work_for(asked), shares=len(asked.questions) > 1)
        decided: list[Decision] = []
        try:
            for question in asked.questions:
                decision = walk.decide(question)
                if decision is None or walk.work.turn_is_over:
                    return None
                decided.append(decision)
                if asked.is_last(decision.is_authorized):
                    break
        except (GivenUp, TurnIsOver, BudgetSpent):
            return None
        self.counts.hits += 1
        if walk.missing.groups:
            self._read_ahead(graph, walk.missing)
        return Snapshot(graph.revision, decided)

    async def decide_checks(self, asked: CheckBatch, freshness: Freshness) -> Decided | None:
        """Returns the decisions, or None if they have to be made without the graph.

        Raises InvalidParameter if the token is from the future, StoreUnavailable.
        """
        if not self._most_rows:
            return None
        work = _work_for(asked)
        walking: _Walking | None = None
        fetched: object = None
        try:
            for _ in range(MOST_WALKS):
                graph = await self._current(freshness)
                if walking is None or not walking.is_at(graph):
                    walking = _Walking(graph, asked, work)
                if (decided := await self._walk_on(walking, graph)) is not None:
                    self.counts.hits += fetched is None
                    self.counts.misses += fetched is not None
                    self._read_ahead(graph, walking.missing)
                    return Snapshot(walking.revision, decided)
                missing = walking.missing
                if missing and missing.things() == fetched:
                    break  # the cache has no capacity for all of it
                if missing:
                    await self._fetch(Fetch(graph, missing), work)
                    fetched = missing.things()
        except (GivenUp, BudgetSpent):
            pass
        self.counts.given_up += 1
        return None

    async def _walk_on(self, walking: "_Walking", graph: Graph) -> list[Decision] | None:
        """Returns the decisions, or None if something is missing or the graph has changed in the meantime."""
        walking.begin_round()
        while not walking.go_on():
            await checkpoint()
            if not walking.is_at(graph):
                return None
        return walking.outcome()

    def _is_fresh(self, graph: Graph, freshness: Freshness) -> bool:
        """Returns whether the graph is as fresh as required. Starts following the store in the background when it is
        aging."""
        if freshness.newest or freshness.revision > graph.revision:
            return False
        staleness = self._store.staleness(self._mark)
        if staleness == Staleness.AGING and self._following_ahead is None:
            self._following_ahead = asyncio.create_task(self._follow_ahead())
        return staleness != Staleness.STALE

    async def _current(self, freshness: Freshness) -> Graph:
        """Returns the graph, as fresh as required."""
        graph = self._graph
        if graph is None or not self._is_fresh(graph, freshness):
            graph = await self._follow_store(freshness)
            freshness.demand(graph.revision)
        return graph

    async def _follow_store(self, freshness: Freshness) -> Graph:
        """Returns the graph after following the store from now on; unless the newest revision is required, a result
        from a moment ago also suffices."""
        before = self._begun
        async with self._following.turn():
            was_followed = self._done > before or not freshness.newest
            enough = replace(freshness, newest=not was_followed)
            if self._graph is None or not self._is_fresh(self._graph, enough):
                await self._follow()
            assert self._graph is not None
            return self._graph

    async def _follow_ahead(self) -> None:
        """Follows the store ahead of time, so that no request has to wait for it."""
        try:
            async with self._following.turn():
                await self._follow()
        except MagistrateError:
            pass  # the next request that has to wait for it gets the error
        finally:
            self._following_ahead = None

    async def _follow(self) -> None:
        self._begun += 1
        number, began_at = self._begun, self._now()
        mark, graph = self._store.mark(), self._graph
        news = await self._store.list_touches(graph.revision if graph is not None else Revision(0), MOST_TOUCHES)
        if graph is None or graph.model.revision != news.model_revision:
            model = await self._models.at(news.revision, news.model_revision)
            await _compile_groups(model)
        else:
            model = graph.model
        if graph is None:
            self._graph = Graph(model, news.revision, self._most_rows)
        else:
            self._bring_forward(graph, model, news)
        self._mark, self._followed_at, self._done = mark, began_at, number

    def _bring_forward(self, graph: Graph, model: Model, news: Touches) -> None:
        if news.touches is None:
            graph.clear(news.revision)
        else:
            graph.apply(news.touches, news.revision)
            self.counts.touches += len(news.touches)
        if model is not graph.model:
            graph.change_model(model, news.revision)
        for fetch in self._fetches:
            if news.touches is None or fetch.model is not model:
                fetch.is_in_vain = True
            else:
                fetch.note_changes(news.touches)

    def _read_ahead(self, graph: Graph, missing: Missing) -> None:
        """Starts reading the groups that a decision managed without, one level of each: a subject whose groups are all
        known needs one lookup per object, however deeply they nest."""
        if missing.groups and self._reading_ahead is None:
            fetch = Fetch(graph, missing.of_groups())
            self._reading_ahead = asyncio.create_task(self._fetch_ahead(fetch))

    async def _fetch_ahead(self, fetch: Fetch) -> None:
        try:
            await self._fetch(fetch, Work(WORK))
        except MagistrateError:
            pass  # a check that needs the same warrants gets the error
        finally:
            self._reading_ahead = None

    async def _fetch(self, fetch: Fetch, work: Work) -> None:
        """Reads what the fetch needs and caches it. Raises BudgetSpent; what was read until then stays cached."""
        self._fetches.add(fetch)
        try:
            while (wanted := fetch.reads()) is not None:
                reads, most = wanted
                self.counts.fetches += 1
                rows = (await self._store.read_warrants(reads, fetch.revision, most)).rows
                fetch.take(rows)
                while not fetch.keep(WORK_IN_A_TURN):
                    await checkpoint()
                work.spend(sum(map(len, rows)))
        finally:
            self._fetches.discard(fetch)


async def _compile_groups(model: Model) -> None:
    """Compiles the plans of all groups, because a new graph looks at all of them without yielding."""
    work = Work(sys.maxsize)
    for names in group_names(model):
        while not model.prepare(*names, work):
            work.begin_turn()
            await checkpoint()


def _work_for(asked: CheckBatch) -> Work:
    return Work(min(asked.most_work, WORK + WORK_FOR_A_QUESTION * len(asked.questions)))


class _Walking:
    """Walks one graph at one revision, check by check, in rounds: each round retries the checks that are still open,
    with the warrants read since."""

    def __init__(self, graph: Graph, asked: CheckBatch, work: Work) -> None:
        self.revision = graph.revision
        self._graph = graph
        self._asked = asked
        self._work = work
        self._decisions: list[Decision | None] = [None] * len(asked.questions)

    @property
    def missing(self) -> Missing:
        return self._walk.missing

    def is_at(self, graph: Graph) -> bool:
        """Returns whether the decisions so far still hold for this graph; if not, they have to be made again."""
        return graph is self._graph and graph.revision == self.revision

    def begin_round(self) -> None:
        self._walk = Walk(self._graph, self._asked.now, self._work, shares=len(self._decisions) > 1)
        self._left = [place for place, decision in enumerate(self._decisions) if decision is None]
        self._left.reverse()
        self._is_open = False

    def go_on(self) -> bool:
        """Returns true when the round is complete, false when its turn is over. Raises GivenUp, BudgetSpent."""
        walk, left = self._walk, self._left
        walk.work.begin_turn()
        while left:
            if walk.work.turn_is_over:
                return False
            place = left[-1]
            try:
                decision = self._decisions[place] = walk.decide(self._asked.questions[place])
            except TurnIsOver:
                return False
            left.pop()
            if decision is None:
                self._is_open = True  # the other checks still collect what they miss
            elif not self._is_open and self._asked.is_last(decision.is_authorized):
                break
        return True

    def outcome(self) -> list[Decision] | None:
        """Returns the decisions up to the last that is needed; None if one of them is open."""
        decided: list[Decision] = []
        for decision in self._decisions:
            if decision is None:
                return None
            decided.append(decision)
            if self._asked.is_last(decision.is_authorized):
                break
        return decided
