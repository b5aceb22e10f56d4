"""Builds the context of operations on an open store."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace

from uuid_utils import uuid7

from magistrate.api.http.request_values import measure_parameters
from magistrate.config.settings_table import Settings
from magistrate.engine.byte_sizes import CacheBytes
from magistrate.engine.lists.language import measure_queries
from magistrate.engine.policy.policy import measure_policies
from magistrate.errors import NotFound
from magistrate.operations.checks.decision_log import DecisionLog, UnwrittenDecisions
from magistrate.operations.context import Caches, Context
from magistrate.operations.lists.bitmap_listings import BitmapSearches
from magistrate.operations.lists.listings import Listings
from magistrate.operations.live_graph import GraphCounts, LiveGraph
from magistrate.operations.models.cache import Models
from magistrate.operations.readers.shared_reads import SharedReads
from magistrate.operations.sessions.session_keys import SessionKeys
from magistrate.operations.stores.contexts import StoreContexts
from magistrate.store.contract.store import Store
from magistrate.wiring.stores import open_stores

IMPORT_TIMEOUT_MS = 600_000
LISTS_SHARE, MODELS_SHARE = 8, 32
"""Divide the bytes of caches: an eighth is for lists, a 32nd for models of the past, the rest for the graph cache."""


def context_of(store: Store, settings: Settings, unwritten: UnwrittenDecisions | None = None) -> Context:
    """Builds a context whose caches are replaced when the store turns out to have another history. `unwritten` is what
    the contexts of a process share."""
    counts = GraphCounts()
    decisions = None
    if settings.decision_log:
        unwritten = unwritten or UnwrittenDecisions(settings.max_unwritten_bytes)
        decisions = DecisionLog(store, settings.decision_log, unwritten)
    context = Context(
        store=store,
        caches=_build_caches(store, settings, counts),
        now=store.now,
        new_id=lambda: str(uuid7()),
        max_meta_bytes=settings.max_meta_bytes,
        max_definition_bytes=settings.max_definition_bytes,
        max_check_work=settings.max_check_work,
        max_context_bytes=settings.max_context_bytes,
        max_query_work=settings.max_query_work,
        decisions=decisions,
        is_strict=settings.strict,
    )
    store.known.call_on_change(lambda: context.replace_caches(_build_caches(store, settings, counts)))
    return context


def _build_caches(store: Store, settings: Settings, counts: GraphCounts) -> Caches:
    max_bytes = settings.cache_bytes
    lists, past = max_bytes // LISTS_SHARE, max_bytes // MODELS_SHARE
    models = Models(store, past)
    return Caches(
        models=models,
        graph=LiveGraph(store, models, max_bytes - lists - past, store.now, counts=counts),
        listings=Listings(lists),
        bitmap_searches=BitmapSearches(),
        session_keys=SessionKeys(store, store.now),
        shared_reads=SharedReads(),
    )


def measure_caches(context: Context) -> Sequence[CacheBytes]:
    """Returns how many bytes each cache of this process takes, and the limits on them."""
    return (
        *context.caches.graph.measure(),
        *context.caches.listings.measure(),
        context.caches.models.measure_past(),
        context.caches.shared_reads.measure(),
        *context.store.measure_caches(),
        *measure_policies(),
        measure_queries(),
        measure_parameters(),
    )


@asynccontextmanager
async def open_contexts(settings: Settings) -> AsyncIterator[StoreContexts]:
    """Opens the stores, which must be migrated, and yields contexts that work on them. Raises StoreUnavailable or
    SchemaMismatch."""
    stores = await open_stores(settings)
    try:
        unwritten = UnwrittenDecisions(settings.max_unwritten_bytes)
        yield StoreContexts(stores, lambda store: context_of(store, settings, unwritten))
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
        yield context_of(contexts.stores.open_store(stored), settings)


def open_import_context(settings: Settings, named: str) -> AbstractAsyncContextManager[Context]:
    """Opens a context for imports into a store, as `open_context` does, in which a chunk may take longer than a request
    may, and wait for longer chunks of others."""
    settings = replace(settings, secret_key_file="")  # imports have nothing to do with sessions
    return open_context(replace(settings, store_timeout_ms=max(settings.store_timeout_ms, IMPORT_TIMEOUT_MS)), named)
