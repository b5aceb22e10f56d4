"""Keeps the graph cache at the newest revision of the store, within the limits of Staleness, and reads what it misses.

A walk sees the graph at one revision. Warrants that it misses are read as of that revision and cached; then the walk
continues, or begins anew if the graph has changed while the walk had yielded or waited. A final decision is therefore
always computed at a single revision."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence, Set
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace

from magistrate.engine.byte_sizes import CacheBytes
from magistrate.engine.cache.adjacency_reads import EntryFetch
from magistrate.engine.cache.entry_reads import Fetch, MissingEntries
from magistrate.engine.cache.graph import Graph
from magistrate.engine.cache.segments import stay_as_large
from magistrate.engine.model.model import Model
from magistrate.engine.model.reachability import group_names
from magistrate.engine.names import Revision
from magistrate.engine.warrants.reader import WarrantReader
from magistrate.engine.warrants.warrant import WarrantPattern
from magistrate.engine.work import WORK_BETWEEN_LOOKS, Work
from magistrate.errors import MagistrateError, StoreUnavailable
from magistrate.operations.consistency import NO_DEMAND, Freshness
from magistrate.operations.models.cache import Models
from magistrate.operations.runs import free_in_steps
from magistrate.operations.scheduling import SHARED_PACE, Pace, SharedLock, checkpoint, limit_work
from magistrate.operations.shared_fetches import SharedFetches
from magistrate.store.contract.revisions import NOTHING_WRITTEN, Mark, Staleness, WarrantChanges
from magistrate.store.contract.store import Store
from magistrate.tracing import CACHE_HIT, CACHE_PARTIAL, CURRENT, open_span

MAX_PATTERNS = 200
"""Limits the further patterns. When there would be more, only those of the last request are kept."""
NO_PATTERNS: frozenset[WarrantPattern] = frozenset()


class ExtendedGraph:
    """Holds one more graph, which is always at the revision of the graph cache, or nothing.

    A check with contextual warrants whose patterns the model does not have needs plans that expand these patterns, so
    its entries are others than those of the graph cache. The model of this graph also has the patterns of recent
    contextual warrants. No contextual warrant is in it."""

    def __init__(self, max_bytes: int, grow: Callable[[], bool]) -> None:
        self._max_bytes = max_bytes
        self._grow = grow
        self._patterns = NO_PATTERNS
        self._graph: Graph | None = None

    def count_entries(self) -> int:
        return self._graph.count_entries() if self._graph is not None else 0

    def measure(self) -> CacheBytes:
        """Returns how many bytes it takes, and the limit on them."""
        parts = self._graph.measure() if self._graph is not None else ()
        return CacheBytes("contextual", sum([part.bytes for part in parts]), self._max_bytes)

    def find(self, patterns: Set[WarrantPattern]) -> Graph | None:
        """Returns the graph if its model has these patterns."""
        graph = self._graph
        return graph if graph is not None and patterns <= graph.model.patterns else None

    def extend_model(self, model: Model, patterns: Set[WarrantPattern]) -> Model:
        """Returns the model that a graph with these patterns needs, given that of the graph cache."""
        return model.with_patterns(self._join(patterns))

    def extend(self, current: Graph, patterns: Set[WarrantPattern]) -> Graph:
        """Returns the graph with these patterns, at the revision of `current`, which is the graph cache. The plans of
        all groups in the model of `extend_model` should be compiled."""
        joined = self._join(patterns)
        model = current.model.with_patterns(joined)
        if self._graph is not None and not joined.issuperset(self._patterns):
            self.evict()
        if self._graph is None:
            self._graph = Graph(model, current.revision, self._max_bytes, discard=free_in_steps, grow=self._grow)
        else:
            self._graph.change_model(model, current.revision)
        self._patterns = joined
        return self._graph

    def _join(self, patterns: Set[WarrantPattern]) -> frozenset[WarrantPattern]:
        joined = self._patterns | patterns
        return joined if len(joined) <= MAX_PATTERNS else frozenset(patterns)

    def bring_forward(self, model: Model, former: Model, news: WarrantChanges) -> None:
        """Applies changes that the graph cache has applied. When its model has changed, the graph is evicted."""
        if model is not former or news.changes is None:
            self.evict()
        elif self._graph is not None:
            self._graph.apply(news.changes, news.revision)

    def resize(self, max_bytes: int) -> None:
        """Sets the limit on its bytes, and evicts what exceeds it."""
        self._max_bytes = max_bytes
        if self._graph is not None:
            self._graph.resize(max_bytes)

    def release(self) -> None:
        """Evicts the graph, and lets go of all that refers to itself."""
        if self._graph is not None:
            self._graph.release()
        self._graph = None

    def evict(self) -> None:
        """Evicts the graph."""
        if self._graph is not None:
            self._graph.clear(self._graph.revision)  # what is evicted is freed in steps
        self._graph, self._patterns = None, NO_PATTERNS


MAX_CHANGES = 2_000
"""Limits the changes that are applied one by one; when there are more at once, the cache is cleared."""
MAX_CHANGES_AT_ONCE = 100
"""Limits the changes that are applied before a check that does not wait."""
EXTENDED_SHARE = 16
"""Divides the bytes of the graph cache: a sixteenth is for the extended graph."""
WORK_AHEAD = 2_000
"""Limits the units of work of a read that no check waits for."""


FOLLOW = "follow changes"
"""Names the spans in which requests wait until the graph is as fresh as required."""


@dataclass(slots=True)
class GraphCounts:
    """Holds counters since the start of the process. `hits`: requests decided in memory alone; `misses`: requests
    decided after a read; `given_up`: requests decided without the graph. `fetches`: batches of reads; `changes`:
    warrants that began or ended."""

    hits: int = 0
    misses: int = 0
    given_up: int = 0
    fetches: int = 0
    changes: int = 0


GraphFetch = Fetch | EntryFetch
"""Stands for reads whose rows are cached in a graph, which may have changed since."""


class LiveGraph:
    """Holds the graph cache of one process and keeps it current."""

    def __init__(
        self,
        store: Store,
        models: Models,
        max_bytes: int,
        now: Callable[[], int],
        counts: GraphCounts | None = None,
        grow: Callable[[], bool] = stay_as_large,
    ) -> None:
        self.counts = counts or GraphCounts()
        self._grow = grow
        self._now = now
        self._followed_at = 0
        self._store = store
        self._models = models
        self._max_bytes = max_bytes - max_bytes // EXTENDED_SHARE
        self._graph: Graph | None = None
        self._extended = ExtendedGraph(max_bytes // EXTENDED_SHARE, grow)
        self._mark: Mark = (0.0, 0)
        self._newest = NOTHING_WRITTEN
        """Identifies the revision of the graph."""
        self._following_ahead: asyncio.Task[None] | None = None
        self._fetching_ahead: asyncio.Task[None] | None = None
        self._waiting_since: float | None = None
        self._begun = 0
        self._done = 0
        """These count how often the store was followed: how many attempts have begun, and the number of the last that
        succeeded."""
        self._following = SharedLock()
        self._fetches: set[GraphFetch] = set()
        self._shared_fetches = SharedFetches()

    def count_entries(self) -> int:
        """Returns how many entries are cached, those without warrants included."""
        return self._extended.count_entries() + (self._graph.count_entries() if self._graph is not None else 0)

    def measure(self) -> Sequence[CacheBytes]:
        """Returns how many bytes each part takes, and the limits on them; none before the first check."""
        return (*(self._graph.measure() if self._graph is not None else ()), self._extended.measure())

    @property
    def revision(self) -> Revision:
        """Returns the revision of the graph; 0 before the first check."""
        return self._graph.revision if self._graph is not None else Revision(0)

    def lag_microseconds(self) -> int:
        """Returns how long ago the graph was last known to be at the newest revision; 0 if it is now, or if there is no
        graph."""
        since_followed = self._now() - self._followed_at
        try:
            if self._graph is None or self._store.is_newest(self._mark):
                return 0
            return int(min(since_followed, self._store.measure_lag(self._mark) * 1_000_000))
        except StoreUnavailable:
            return since_followed

    @property
    def is_enabled(self) -> bool:
        return self._max_bytes > 0

    def resize(self, max_bytes: int) -> None:
        """Sets the limit on its bytes, and evicts what exceeds it."""
        extended = max_bytes // EXTENDED_SHARE
        self._max_bytes = max_bytes - extended
        self._extended.resize(extended)
        if self._graph is not None:
            self._graph.resize(self._max_bytes)

    def release(self) -> None:
        """Evicts all entries, in steps, and lets go of all that refers to itself: nobody uses the store any more."""
        self._extended.release()
        if self._graph is not None:
            self._graph.release()
        self._graph = None

    @property
    def has_reads_ahead(self) -> bool:
        """Returns whether a task reads that goes on without the requests that wait for it."""
        tasks = (self._following_ahead, self._fetching_ahead)
        return any(task is not None for task in tasks)

    def evict(self) -> None:
        """Evicts all entries, which are freed in steps."""
        self._extended.evict()
        if self._graph is not None:
            self._graph.clear(self._graph.revision)

    def count_losses(self) -> tuple[Revision, int]:
        """Returns a value that is another one when entries may have become missing, other than for lack of space."""
        return self.revision, self._graph.clearings + self._graph.packed.evictions if self._graph is not None else 0

    @property
    def has_space(self) -> bool:
        """Returns whether the graph has space for as much again as it has, without evicting anything."""
        return self._graph is None or self._graph.has_space

    def count_decision(self, had_to_read: bool) -> None:
        self.counts.misses += had_to_read
        self.counts.hits += not had_to_read
        if (span := CURRENT.get()) is not None:
            span.trace.note_cache(CACHE_PARTIAL if had_to_read else CACHE_HIT)

    def current_graph(self, freshness: Freshness, patterns: Set[WarrantPattern] = NO_PATTERNS) -> Graph | None:
        """Returns a graph whose model has these patterns if it is as fresh as required, otherwise None. Raises
        StoreUnavailable."""
        graph = self._graph
        if graph is None or not self._is_fresh(graph, freshness):
            return None
        return graph if not patterns or patterns <= graph.model.patterns else self._extended.find(patterns)

    def find_graph(self, at: Revision) -> Graph | None:
        """Returns the graph if it is at this revision."""
        return self._graph if self._graph is not None and self._graph.revision == at else None

    async def follow_to(self, freshness: Freshness, patterns: Set[WarrantPattern] = NO_PATTERNS) -> Graph:
        """Returns a graph whose model has these patterns, as fresh as required. Raises InvalidParameter if the token is
        from the future, StoreUnavailable."""
        graph = self.current_graph(freshness)
        if graph is None:
            with open_span(FOLLOW):
                graph = await self._follow_store(freshness)
            freshness.demand(graph.revision)
        return graph if not patterns or patterns <= graph.model.patterns else await self._extend(graph, patterns)

    async def _extend(self, graph: Graph, patterns: Set[WarrantPattern]) -> Graph:
        """Returns a graph that also has these patterns. Plans are compiled until nothing else changes meanwhile."""
        model = None
        while (larger := self._extended.extend_model(graph.model, patterns)) is not model:
            model = larger
            await compile_groups(model)
        extended = self._extended.find(patterns) or self._extended.extend(graph, patterns)
        for fetch in self._fetches:
            fetch.is_wasted |= fetch.graph.model is not fetch.model
        return extended

    async def fetch(self, graph: Graph, missing: MissingEntries, work: Work) -> None:
        """Reads and caches what is missing, and waits for what other requests read already. Raises BudgetExceeded; what
        was read until then stays cached."""
        model, others = graph.model, self._shared_fetches.find(graph, missing)
        if not others:
            await self._fetch_shared(graph, missing, work)
            return
        if missing := missing.without(others):
            await self._fetch_shared(graph, missing, work)
        unread = {key for key, shared in others.items() if not await shared.wait_until_read()}
        if unread and graph.model is model:
            await self._fetch_shared(graph, missing.select(unread), work)

    async def _fetch_shared(self, graph: Graph, missing: MissingEntries, work: Work) -> None:
        with self._shared_fetches.share(graph, missing) as shared:
            fetch = Fetch(graph, missing)
            await self._fetch(fetch, work)
            shared.is_complete = not fetch.is_wasted

    async def fill(self, graph: Graph, missing: MissingEntries, pace: Pace) -> None:
        """Reads and caches what is missing, for which nobody waits."""
        fetch = Fetch(graph, missing)
        with self.noting_changes(fetch):
            await fetch_entries(fetch, self._store, limit_work(sys.maxsize), self.counts, pace)

    @contextmanager
    def noting_changes(self, fetch: GraphFetch) -> Iterator[None]:
        """Passes the changes of the graph to a fetch meanwhile."""
        self._fetches.add(fetch)
        try:
            yield
        finally:
            self._fetches.discard(fetch)

    def read_ahead(self, graph: Graph, missing: MissingEntries) -> None:
        """Starts reading the groups that a decision managed without, one level of each: a subject whose groups are all
        known needs one lookup per object, however deeply they nest."""
        if missing.groups and self._fetching_ahead is None:
            fetch = Fetch(graph, missing.of_groups())
            self._fetches.add(fetch)  # the graph may change before the task begins
            self._fetching_ahead = asyncio.create_task(self._fetch_ahead(fetch))

    def _is_fresh(self, graph: Graph, freshness: Freshness) -> bool:
        """Returns whether the graph is as fresh as required. Starts following the store in the background when it is
        aging."""
        if freshness.newest and not self._store.is_newest(self._mark):
            return False
        staleness = self._store.staleness(self._mark)
        if staleness == Staleness.STALE:
            self._follow_at_once(graph)
            staleness = self._store.staleness(self._mark)
        if freshness.revision > graph.revision:
            return False
        if staleness == Staleness.AGING and self._following_ahead is None:
            self._following_ahead = asyncio.create_task(self._follow_ahead())
        return staleness != Staleness.STALE

    def _follow_at_once(self, graph: Graph) -> None:
        """Applies the changes since the graph was brought up to date, if they are few and known without waiting."""
        began_at = self._now()
        marked_changes = self._store.find_warrant_changes(self._newest, MAX_CHANGES_AT_ONCE)
        if marked_changes is None:
            return
        mark, news = marked_changes
        if news.changes is not None and news.model_revision == graph.model.revision:
            self._bring_forward(graph, graph.model, news)
            self._mark, self._followed_at, self._newest = mark, began_at, news.newest

    async def _follow_store(self, freshness: Freshness) -> Graph:
        """Returns the graph after following the store from now on; unless the newest revision is required, a result
        from a moment ago also suffices."""
        before = self._begun
        async with self._following_store():
            was_followed = self._done > before or not freshness.newest
            enough = replace(freshness, newest=not was_followed)
            is_fresh = self._graph is not None and self._is_fresh(self._graph, enough)
            if not is_fresh and not await self._confirm(enough):
                await self._follow()
            assert self._graph is not None
            return self._graph

    async def _follow_ahead(self) -> None:
        """Follows the store ahead of time, so that no request has to wait for it, or has it in its trace."""
        CURRENT.set(None)  # in the context of this task
        try:
            async with self._following_store():
                if not await self._confirm(NO_DEMAND):
                    await self._follow()
        except MagistrateError:
            pass  # the next request that has to wait for it gets the error
        finally:
            self._following_ahead = None

    async def _confirm(self, freshness: Freshness) -> bool:
        """Returns whether the graph is as fresh as required because its store has not moved, as a statement shows that
        all stores in use share."""
        graph = self._graph
        if graph is None or freshness.newest or freshness.revision > graph.revision:
            return False
        return await self._store.confirm_mark(self._mark)

    def measure_wait(self) -> float:
        """Returns for how many seconds the graph has waited for the changes of the store; 0 if it does not wait."""
        return 0.0 if self._waiting_since is None else time.monotonic() - self._waiting_since

    @asynccontextmanager
    async def _following_store(self) -> AsyncIterator[None]:
        """Waits until no other task follows the store, and notes that this one does."""
        async with self._following.acquire():
            self._waiting_since = time.monotonic()
            try:
                yield
            finally:
                self._waiting_since = None

    async def _follow(self) -> None:
        self._begun += 1
        number, began_at = self._begun, self._now()
        mark, graph = self._store.mark(), self._graph
        since = self._newest
        news = await self._store.list_warrant_changes(since, MAX_CHANGES)
        if graph is None or graph.model.revision != news.model_revision:
            model = await self._models.at(news.revision, news.model_revision)
            await compile_groups(model)
        else:
            model = graph.model
        self._done = number
        if graph is None:
            self._graph = Graph(model, news.revision, self._max_bytes, discard=free_in_steps, grow=self._grow)
        elif self._newest == since:
            self._bring_forward(graph, model, news)
        elif graph.revision < news.revision:
            self._bring_forward(graph, model, _as_unknown(news))  # some of them are applied already
        else:
            return
        self._mark, self._followed_at, self._newest = mark, began_at, news.newest

    def _bring_forward(self, graph: Graph, model: Model, news: WarrantChanges) -> None:
        self._extended.bring_forward(model, graph.model, news)
        if news.changes is None:
            graph.clear(news.revision)
        else:
            graph.apply(news.changes, news.revision)
            self.counts.changes += len(news.changes)
        if model is not graph.model:
            graph.change_model(model, news.revision)
        for fetch in self._fetches:
            if news.changes is None or fetch.graph.model is not fetch.model:
                fetch.is_wasted = True
            else:
                fetch.note_changes([change.names for change in news.changes])

    async def _fetch_ahead(self, fetch: Fetch) -> None:
        CURRENT.set(None)  # no request waits for it
        try:
            await self._fetch(fetch, limit_work(WORK_AHEAD))
        except MagistrateError:
            pass  # a check that needs the same warrants gets the error
        finally:
            self._fetching_ahead = None

    async def _fetch(self, fetch: Fetch, work: Work) -> None:
        with self.noting_changes(fetch):
            await fetch_entries(fetch, self._store, work, self.counts)


async def fetch_entries(
    fetch: Fetch, reader: WarrantReader, work: Work, counts: GraphCounts, pace: Pace = SHARED_PACE
) -> None:
    """Reads what the fetch needs and caches it. Raises BudgetExceeded; what was read until then stays cached."""
    while (next_reads := fetch.reads()) is not None:
        reads, most = next_reads
        counts.fetches += 1
        warrants = (await reader.read_warrants(reads, fetch.revision, most)).warrants
        if pace.is_up():
            await pace.checkpoint()
        fetch.take(warrants)
        while not fetch.keep(WORK_BETWEEN_LOOKS):
            if pace.is_up():
                await pace.checkpoint()
        work.spend(sum(map(len, warrants)))


def _as_unknown(news: WarrantChanges) -> WarrantChanges:
    """Returns the changes as ones that evict what they affect, so that it does not matter if some are applied twice."""
    changes = None if news.changes is None else [change._replace(exists=None) for change in news.changes]
    return replace(news, changes=changes)


async def compile_groups(model: Model) -> None:
    """Compiles the plans of all groups, because a new graph looks at all of them without yielding."""
    work = limit_work(sys.maxsize)
    for names in group_names(model):
        while not model.prepare(*names, work):
            work.pass_checkpoint()
            await checkpoint()
