"""Builds the context of operations on an open store."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace

from uuid_utils import uuid7

from magistrate.config import Settings
from magistrate.operations.checks.decision_log import DecisionLog
from magistrate.operations.checks.graph import LiveGraph
from magistrate.operations.context import Context
from magistrate.operations.existing_numbers import ExistingNumbers
from magistrate.operations.listings import Listings
from magistrate.operations.models import Models
from magistrate.operations.object_listings import ObjectLists
from magistrate.operations.sessions.session_keys import SessionKeys
from magistrate.operations.subject_listings import SubjectLists
from magistrate.store.contract import Store
from magistrate.wiring.stores import open_store

IMPORT_TIMEOUT_MS = 600_000


def context_of(store: Store, settings: Settings) -> Context:
    models = Models(store)
    existing = ExistingNumbers()
    decisions = DecisionLog(store, settings.decision_log) if settings.decision_log else None
    return Context(
        store=store,
        models=models,
        graph=LiveGraph(store, models, settings.graph_warrants, store.now),
        object_lists=ObjectLists(existing),
        subject_lists=SubjectLists(existing),
        now=store.now,
        new_id=lambda: str(uuid7()),
        max_meta_bytes=settings.max_meta_bytes,
        max_definition_bytes=settings.max_definition_bytes,
        max_check_work=settings.max_check_work,
        max_context_bytes=settings.max_context_bytes,
        max_query_work=settings.max_query_work,
        listings=Listings(settings.kept_query_entries),
        session_keys=SessionKeys(store, store.now),
        decisions=decisions,
        is_strict=settings.strict,
    )


@asynccontextmanager
async def open_context(settings: Settings) -> AsyncIterator[Context]:
    """Opens the store, which must be migrated, and yields a context that works on it. Raises StoreUnavailable or
    SchemaMismatch."""
    store = await open_store(settings)
    try:
        yield context_of(store, settings)
    finally:
        await store.close()


def open_import_context(settings: Settings) -> AbstractAsyncContextManager[Context]:
    """Opens a context for imports, in which a chunk may take longer than a request may, and wait for longer chunks of
    others."""
    settings = replace(settings, secret_key_file="")  # imports have nothing to do with sessions
    return open_context(replace(settings, store_timeout_ms=max(settings.store_timeout_ms, IMPORT_TIMEOUT_MS)))
