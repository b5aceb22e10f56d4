"""Checks decided from the graph in memory, which follows the store: every answer is exact at one revision, and that
revision is the newest but for what Staleness leaves open.

A walk is never interrupted, so it sees the graph at one revision. What it misses is read as of that revision and kept;
then it begins anew, at the revision the graph has by then. So what is decided in the end was decided at once."""

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
"""Changes that are applied one by one; after more of them at a time, the graph begins anew."""
MOST_WALKS = 40
"""For one check: after so many, it is decided without the graph. Each needs one level more than the one before."""
WORK = 2_000
WORK_FOR_A_QUESTION = 10
"""Units of work, walking and reading together, after which a check is decided without the graph: as much as an
Evaluation of so many questions takes, so that the graph costs at most about as much as it could save. What was read and
found out until then is kept, and the next such check gets further."""

Decided = Snapshot[list[Decision]]

IsLast = Callable[[bool], bool]
"""Whether what comes after a decision is not needed, given whether that authorizes."""


class CheckBatch(msgspec.Struct, frozen=True):
    """Questions to be decided in order, up to the last that is needed, at one time (`now`, in microseconds since 1970
    UTC) and with so much work at the most."""

    questions: Sequence[Question]
    is_last: IsLast
    now: int
    most_work: int


@dataclass(slots=True)
class GraphCounts:
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

    def decide_now(self, asked: CheckBatch, freshness: Freshness) -> Decided | None:
        """The decisions, if nothing has to be waited for. Raises StoreUnavailable."""
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
        """The decisions; None if they have to be found without the graph.

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
                    break  # there is no room for all of it
                if missing:
                    await self._fetch(Fetch(graph, missing), work)
                    fetched = missing.things()
        except (GivenUp, BudgetSpent):
            pass
        self.counts.given_up += 1
        return None

    async def _walk_on(self, walking: "_Walking", graph: Graph) -> list[Decision] | None:
        """None if something is missing, or if the graph has moved on meanwhile."""
        walking.begin_round()
        while not walking.go_on():
            await checkpoint()
            if not walking.is_at(graph):
                return None
        return walking.outcome()

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
            graph = await self._follow_store(freshness)
            freshness.demand(graph.revision)
        return graph

    async def _follow_store(self, freshness: Freshness) -> Graph:
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
        """Has the groups read that a decision did without, one level for each: a subject whose groups are all known
        needs one look at each object, however they nest."""
        if missing.groups and self._reading_ahead is None:
            fetch = Fetch(graph, missing.of_groups())
            self._reading_ahead = asyncio.create_task(self._fetch_ahead(fetch))

    async def _fetch_ahead(self, fetch: Fetch) -> None:
        try:
            await self._fetch(fetch, Work(WORK))
        except MagistrateError:
            pass  # a check that needs the same is told
        finally:
            self._reading_ahead = None

    async def _fetch(self, fetch: Fetch, work: Work) -> None:
        """Raises BudgetSpent; what was read until then is kept."""
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
    """A graph looks at them all when it is made, in one go."""
    work = Work(sys.maxsize)
    for names in group_names(model):
        while not model.prepare(*names, work):
            work.begin_turn()
            await checkpoint()


def _work_for(asked: CheckBatch) -> Work:
    return Work(min(asked.most_work, WORK + WORK_FOR_A_QUESTION * len(asked.questions)))


class _Walking:
    """Over one graph at one revision, from question to question, in rounds: in each, those that are still open are
    asked again, with what was read since."""

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
        """Whether what was decided is still right, or would have to be decided anew."""
        return graph is self._graph and graph.revision == self.revision

    def begin_round(self) -> None:
        self._walk = Walk(self._graph, self._asked.now, self._work, shares=len(self._decisions) > 1)
        self._left = [place for place, decision in enumerate(self._decisions) if decision is None]
        self._left.reverse()
        self._is_open = False

    def go_on(self) -> bool:
        """Whether the round is at its end; otherwise its turn is over. Raises GivenUp, BudgetSpent."""
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
                self._is_open = True  # the others shall say what they miss, too
            elif not self._is_open and self._asked.is_last(decision.is_authorized):
                break
        return True

    def outcome(self) -> list[Decision] | None:
        """The decisions up to the last that is needed; None if one of them is open."""
        decided: list[Decision] = []
        for decision in self._decisions:
            if decision is None:
                return None
            decided.append(decision)
            if self._asked.is_last(decision.is_authorized):
                break
        return decided
