"""Builds the context of operations on an open store."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from ipaddress import ip_network
from typing import NamedTuple
from weakref import ref

from uuid_utils import uuid7

import magistrate
from magistrate.api.http.request_values import measure_parameters
from magistrate.config.settings_table import Settings
from magistrate.engine.byte_sizes import CacheBytes
from magistrate.engine.lists.language import measure_queries
from magistrate.engine.policy.policy import measure_policies
from magistrate.errors import NotFound
from magistrate.operations.cache_budget import CacheBudget, CacheShare
from magistrate.operations.checks.counts import CheckCounts
from magistrate.operations.checks.decision_log import DecisionLog, UnwrittenDecisions
from magistrate.operations.context import Caches, Context
from magistrate.operations.lists.bitmap_listings import BitmapSearches
from magistrate.operations.lists.counts import ListCounts
from magistrate.operations.lists.listings import Listings
from magistrate.operations.live_graph import GraphCounts, LiveGraph
from magistrate.operations.models.cache import Models
from magistrate.operations.models.compiled_models import CompiledModels
from magistrate.operations.openfga.documents import KeptDocuments, OpenFgaModels
from magistrate.operations.readers.shared_reads import SharedReadBytes, SharedReads
from magistrate.operations.runs import release_runs
from magistrate.operations.sessions.session_keys import SessionKeys
from magistrate.operations.stores.contexts import MAX_CONTEXTS, StoreContexts
from magistrate.operations.watch.feed_memory import FeedMemory
from magistrate.operations.watch.revision_feed import RevisionFeed
from magistrate.operations.webhooks.addresses import AddressGuard
from magistrate.operations.webhooks.receivers import WebhookOptions
from magistrate.store.contract.store import Store
from magistrate.store.leadership import ALONE, Leadership
from magistrate.wiring.stores import open_stores

IMPORT_TIMEOUT_MS = 600_000
LISTS_SHARE, MODELS_SHARE, SEARCHES_SHARE = 8, 64, 64
"""Divide the bytes of caches: an eighth is for lists, a 64th for models of the past, as much for what searches of lists
have in common, the rest for the graph cache."""


class SharedState:
    """Holds what the stores of a process share: the limits on their caches, compiled models, and the counters, which
    stay when a context is dropped."""

    def __init__(self, settings: Settings, max_contexts: int = 1) -> None:
        self.budget = CacheBudget(settings.cache_bytes, max_contexts)
        self.compiled_models = CompiledModels()
        self.graph_counts = GraphCounts()
        self.list_counts = ListCounts()
        self.check_counts = CheckCounts()
        self.shared_read_bytes = SharedReadBytes()
        self.feed_memory = FeedMemory()
        self.openfga_documents = KeptDocuments()
        self.unwritten = UnwrittenDecisions(settings.max_unwritten_bytes)
        guard = AddressGuard([ip_network(text) for text in settings.webhook_networks])
        self.webhooks = WebhookOptions(guard, f"Magistrate/{magistrate.__version__}", settings.public_url)


def context_of(store: Store, settings: Settings, shared: SharedState | None = None) -> Context:
    """Builds a context whose caches are replaced when the store turns out to have another history. One without shared
    state has the whole budget."""
    shared = shared or SharedState(settings)
    share = shared.budget.open()
    decisions = None
    if settings.decision_log:
        decisions = DecisionLog(store, settings.decision_log, shared.unwritten)
    context = Context(
        store=store,
        caches=_build_caches(store, shared, share),
        now=store.now,
        new_id=lambda: str(uuid7()),
        max_meta_bytes=settings.max_meta_bytes,
        max_definition_bytes=settings.max_definition_bytes,
        max_check_work=settings.max_check_work,
        max_context_bytes=settings.max_context_bytes,
        max_query_work=settings.max_query_work,
        share=share,
        feed=RevisionFeed(store, shared.feed_memory),
        list_counts=shared.list_counts,
        check_counts=shared.check_counts,
        decisions=decisions,
        is_strict=settings.strict,
        begins_with_types=settings.predefined_types is not False,
        begins_others_with_types=settings.predefined_types is True,
        webhooks=shared.webhooks,
    )
    # A context that nobody uses is freed at once, for which nothing that it has may refer to it.
    weakly = ref(context)

    def replace_caches() -> None:
        if (replaced := weakly()) is not None:
            replaced.replace_caches(_build_caches(replaced.store, shared, share))

    store.known.call_on_change(replace_caches)
    return context


def _build_caches(store: Store, shared: SharedState, share: CacheShare) -> Caches:
    parts = _divide_bytes(share.bytes)
    models = Models(store, parts.past_models, share.grow, shared.compiled_models)
    graph = LiveGraph(store, models, parts.graph, store.now, counts=shared.graph_counts, grow=share.grow)
    listings = Listings(parts.lists, share.grow)
    searches = BitmapSearches(parts.searches, share.grow)

    def resize(max_bytes: int) -> None:
        parts = _divide_bytes(max_bytes)
        graph.resize(parts.graph)
        release_runs(listings.resize(parts.lists))
        models.resize(parts.past_models)
        searches.resize(parts.searches)

    share.resize = resize
    return Caches(
        models=models,
        graph=graph,
        listings=listings,
        bitmap_searches=searches,
        session_keys=SessionKeys(store, store.now),
        shared_reads=SharedReads(shared.shared_read_bytes),
        openfga=OpenFgaModels(store, models, shared.openfga_documents),
    )


class _Parts(NamedTuple):
    """Holds the bytes that the caches of a store may take."""

    graph: int
    lists: int
    past_models: int
    searches: int


def _divide_bytes(max_bytes: int) -> _Parts:
    lists, past, searches = (max_bytes // share for share in (LISTS_SHARE, MODELS_SHARE, SEARCHES_SHARE))
    return _Parts(max_bytes - lists - past - searches, lists, past, searches)


def measure_caches(contexts: StoreContexts) -> Sequence[CacheBytes]:
    """Returns how many bytes each cache of this process takes, of all stores together, and the limits on them."""
    sums: dict[str, CacheBytes] = {}
    for context in contexts:
        for name, taken, limit in (
            *context.caches.graph.measure(),
            *context.caches.listings.measure(),
            context.caches.models.measure_past(),
            context.caches.bitmap_searches.measure(),
        ):
            others = sums.get(name, CacheBytes(name, 0, 0))
            sums[name] = CacheBytes(name, others.bytes + taken, others.max_bytes + limit)
    default = contexts.default
    of_all_stores = (
        default.caches.shared_reads.total.measure(),
        default.caches.openfga.kept.measure(),
        default.feed.memory.measure(),
        *default.store.measure_caches(),
    )
    return (*sums.values(), *of_all_stores, *measure_policies(), measure_queries(), measure_parameters())


@asynccontextmanager
async def open_contexts(settings: Settings, leadership: Leadership = ALONE) -> AsyncIterator[StoreContexts]:
    """Opens the stores, which must be migrated, and yields contexts that work on them; `leadership` is that of
    `open_stores`. Raises StoreUnavailable or SchemaMismatch."""
    stores = await open_stores(settings, leadership=leadership)
    try:
        shared = SharedState(settings, MAX_CONTEXTS)
        yield StoreContexts(stores, lambda store: context_of(store, settings, shared))
    finally:
        await stores.close()


@asynccontextmanager
async def open_context(settings: Settings, named: str = "") -> AsyncIterator[Context]:
    """Yields the context of the store with this name or id, or of `default` if it is empty; see `open_contexts`.
    Raises NotFound."""
    async with open_contexts(settings) as contexts:
        if not named:
            yield contexts.default
            return
        stored = await contexts.stores.find_store(named)
        if stored is None:
            raise NotFound("Store", named, " in this database")
        context = context_of(contexts.stores.open_store(stored), settings)
        context.store_number = stored.number
        yield context


def open_import_context(settings: Settings, named: str) -> AbstractAsyncContextManager[Context]:
    """Opens a context for imports into a store, as `open_context` does, in which a chunk may take longer than a request
    may, and wait for longer chunks of others."""
    settings = replace(settings, secret_key_file="")  # imports have nothing to do with sessions
    return open_context(replace(settings, store_timeout_ms=max(settings.store_timeout_ms, IMPORT_TIMEOUT_MS)), named)
