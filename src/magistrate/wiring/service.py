"""Builds the parts of a running service, and runs its background work."""

import asyncio
import multiprocessing
import random
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from magistrate.api.auth.bearer import Bearers, Provider
from magistrate.api.auth.provider_keys import FetchedKeys, KeyFile, KeyOrigin
from magistrate.api.calls import Limits, Service
from magistrate.api.http.admission import Admissions, admissions
from magistrate.api.http.metrics import METRICS, Readings
from magistrate.api.http.rate_limits import STORE_SLOTS, RateLimit, StoreRates, open_slots
from magistrate.config.settings_table import Settings
from magistrate.engine.lists.language import read_grammar
from magistrate.errors import StoreDeleted
from magistrate.operations.context import Context
from magistrate.operations.graph_filling import GraphFiller
from magistrate.operations.scheduling import SHARED_PACE, attempt_work, running_beside
from magistrate.operations.stores.contexts import MAX_CONTEXTS, StoreContexts
from magistrate.operations.stores.removal import remove_deleted
from magistrate.operations.webhooks.deliverer import WebhookDeliverer
from magistrate.operations.writes.retention import MICROSECONDS_PER_HOUR, delete_ended, delete_events, end_expired
from magistrate.store.leadership import ALONE, Leadership
from magistrate.tracing import Tracer
from magistrate.wiring.api_keys import ReloadSignal, ServiceKeys
from magistrate.wiring.backups import restore_upload
from magistrate.wiring.contexts import measure_caches, open_contexts
from magistrate.wiring.forward_rules import RuleFile

log = structlog.get_logger()

DELETE_EVERY_SECONDS = 800.0
SYNCHRONIZE_EVERY_SECONDS = 1.0
END_EXPIRED_EVERY_SECONDS = 1.0
REMOVE_EVERY_SECONDS = 2.0
FOLLOWER_PAUSES = 30
"""Counts the pauses after which a worker that does not lead does the work of the leader, in case that one hangs."""
_PAUSES = random.Random()
"""Chooses pauses, because every service does the same work on the same store. It leaves alone the generator that all
share, which a program around the service may have seeded."""
LOOK_AT_PARENT_EVERY_SECONDS = 1.0
WRITE_METRICS_EVERY_SECONDS = 1.0


def _provider(settings: Settings) -> Provider | None:
    """Returns the login provider, if one is configured; its keys are not fetched yet."""
    if not settings.jwt_keys:
        return None
    origin: KeyOrigin = KeyFile(settings.jwt_keys)
    if settings.jwt_keys_have_url:
        from magistrate.api.auth.key_url import KeyUrl  # see there

        origin = KeyUrl(settings.jwt_keys)
    return Provider(
        FetchedKeys(origin),
        settings.jwt_issuer,
        settings.jwt_audience,
        user_claim=settings.jwt_user_claim,
        tenant_claim=settings.jwt_tenant_claim,
        scopes_claim=settings.jwt_scopes_claim,
    )


@asynccontextmanager
async def open_service(
    settings: Settings,
    reload_signal: ReloadSignal | None = None,
    shared_folder: Path | None = None,
    rate_limit: RateLimit | None = None,
    store_rates: StoreRates | None = None,
    tracer: Tracer | None = None,
    leadership: Leadership = ALONE,
) -> AsyncIterator[Service]:
    """Yields the service, and runs its background work until the context ends. `reload_signal` and `shared_folder`
    are those of ServiceKeys, `rate_limit` and `store_rates` are those of the Service;
    the latter counts in this process alone unless it is given. `tracer` records deliveries to webhooks. Of the workers
    with one leadership, one does the work that is needed once.

    Raises StoreUnavailable, SchemaMismatch or InvalidSetting."""
    async with open_contexts(settings, leadership) as contexts:
        context = contexts.default
        provider = _provider(settings)
        keys = ServiceKeys(settings, contexts, reload_signal, shared_folder)
        ring = await keys.open()
        context.take_over_keys = keys.take_over
        context.restore = partial(restore_upload, settings)
        admitted = admissions(
            settings.max_running_requests,
            settings.max_waiting_requests,
            settings.wait_timeout_ms,
            settings.max_all_bodies_bytes,
        )
        deliverer = WebhookDeliverer(contexts, tracer, leadership.take)
        _connect_metrics(settings, contexts, admitted, deliverer)
        rule_file = RuleFile(settings, shared_folder)
        forward_rules = await rule_file.open()
        works = [_stop_with_parent(), asyncio.to_thread(read_grammar), _write_metrics_now_and_then()]
        works += [rule_file.keep_fresh(), keys.keep_fresh(), keys.follow_changes(), keys.end_expired()]
        works += [_synchronize_clock_periodically(context), *([] if provider is None else [provider.keys.keep_fresh()])]
        if not settings.read_only:
            works += [keys.note_uses(), deliverer.run(), *_maintain_stores(contexts, leadership, settings)]
        logging = context.decisions.unwritten.writing() if context.decisions is not None else nullcontext()
        filler = GraphFiller(contexts)
        async with running_beside(*works), logging:
            if settings.graph_preload:
                preload = _preload(filler, contexts, settings.graph_preload_seconds)
                await attempt_work(preload, "the graph cache was not filled")
            bearers = Bearers(contexts, provider)
            async with running_beside(*([filler.run()] if settings.graph_filling else [])):
                yield Service(
                    contexts,
                    ring,
                    bearers,
                    _read_limits(settings),
                    admissions=admitted,
                    store_rates=store_rates or StoreRates(open_slots(None, STORE_SLOTS)),
                    rate_limit=rate_limit,
                    public_url=settings.public_url,
                    forward_rules=forward_rules,
                )


def _read_limits(settings: Settings) -> Limits:
    return Limits(
        settings.max_body_bytes,
        settings.max_json_depth,
        settings.body_timeout_ms,
        settings.request_timeout_ms,
        settings.max_restore_bytes,
    )


def _connect_metrics(
    settings: Settings, contexts: StoreContexts, admitted: Admissions, deliverer: WebhookDeliverer
) -> None:
    """Has the metrics of this process read what the service counts."""
    METRICS.read = partial(_readings, contexts, admitted, deliverer)
    METRICS.read_durations = lambda: {"head_lock_seconds": contexts.default.store.head_locks.read()}
    METRICS.requests_by_store = Counter() if settings.metrics_store_label else None
    METRICS.name_store = contexts.name_issuer


async def _preload(filler: GraphFiller, contexts: StoreContexts, seconds: float) -> None:
    """Fills the graph caches of the stores, one after another, until the time is over."""
    began_at, objects, is_complete = time.monotonic(), 0, True
    for number in contexts.list_numbers()[:MAX_CONTEXTS]:
        with suppress(StoreDeleted):
            filled = await filler.fill(contexts.open_context(number), SHARED_PACE, began_at + seconds)
            objects, is_complete = objects + filled.objects, is_complete and filled.is_complete
    took = round(time.monotonic() - began_at, 3)
    log.info("the graph cache was filled", objects=objects, complete=is_complete, seconds=took)


async def _pause(leadership: Leadership, seconds: float) -> None:
    """Pauses for about so long before work that is needed once; for much longer in a worker that does not lead."""
    for _ in range(FOLLOWER_PAUSES):
        await asyncio.sleep(_PAUSES.uniform(0.5, 1) * seconds)
        if leadership.take():
            return


def _maintain_stores(
    contexts: StoreContexts, leadership: Leadership, settings: Settings
) -> Iterator[Coroutine[Any, Any, None]]:
    """Yields what ends and deletes rows of stores that are over, until it is cancelled."""
    yield _delete_periodically(contexts, leadership, settings)
    yield _end_expired_periodically(contexts, leadership)
    yield _remove_deleted_periodically(contexts, leadership)


async def _delete_periodically(contexts: StoreContexts, leadership: Leadership, settings: Settings) -> None:
    hours = settings.retention_hours, max(settings.event_retention_hours, settings.retention_hours)

    async def list_numbers() -> Sequence[int]:
        now = contexts.default.now()
        before, events_before = (now - kept * MICROSECONDS_PER_HOUR for kept in hours)
        return await contexts.stores.list_outdated(before, events_before)

    async def work(context: Context) -> None:
        await delete_ended(context, settings.retention_hours)
        await delete_events(context, settings.event_retention_hours, settings.retention_hours)

    while True:
        await _pause(leadership, DELETE_EVERY_SECONDS)
        await _work_on_stores(contexts, list_numbers, work, "expired data could not be deleted")


async def _synchronize_clock_periodically(context: Context) -> None:
    while True:
        await asyncio.sleep(_PAUSES.uniform(0.5, 1) * SYNCHRONIZE_EVERY_SECONDS)
        await attempt_work(context.store.synchronize_clock(), "the clock of the database could not be read")


async def _end_expired_periodically(contexts: StoreContexts, leadership: Leadership) -> None:
    async def list_numbers() -> Sequence[int]:
        return await contexts.stores.list_expired(contexts.default.now())

    async def work(context: Context) -> None:
        await end_expired(context)

    while True:
        await _pause(leadership, END_EXPIRED_EVERY_SECONDS)
        await _work_on_stores(contexts, list_numbers, work, "expired warrants could not be ended")


async def _work_on_stores(
    contexts: StoreContexts,
    list_numbers: Callable[[], Awaitable[Sequence[int]]],
    work: Callable[[Context], Awaitable[None]],
    name: str,
) -> None:
    """Does some work on the stores that have it, one after another. A fault of one is logged, and the others have their
    turn. Raises nothing."""
    numbers: Sequence[int] = ()

    async def list_stores() -> None:
        nonlocal numbers
        numbers = await list_numbers()

    async def work_on(number: int) -> None:
        with suppress(StoreDeleted):
            await work(contexts.open_context(number))

    await attempt_work(list_stores(), name)
    for number in numbers:
        await attempt_work(work_on(number), name)


async def _remove_deleted_periodically(contexts: StoreContexts, leadership: Leadership) -> None:
    while True:
        await _pause(leadership, REMOVE_EVERY_SECONDS)
        await attempt_work(remove_deleted(contexts), "rows of deleted stores could not be removed")


async def _write_metrics_now_and_then() -> None:
    while METRICS.shared_counts is not None:
        METRICS.publish_values()
        await asyncio.sleep(WRITE_METRICS_EVERY_SECONDS)


def _readings(contexts: StoreContexts, admitted: Admissions, deliverer: WebhookDeliverer) -> Readings:
    """Returns the values that /metrics reports besides those of requests: sums over all stores, but the revision, and
    how far the graph is behind, of the store `default`."""
    context = contexts.default
    graph = context.caches.graph
    lists, caches = context.list_counts.read(), measure_caches(contexts)
    pool, webhooks = context.store.count_connections(), deliverer.webhooks
    replicas = context.store.count_replica_reads()
    return {
        **{f"pool_{name}": value for name, value in pool._asdict().items()},
        "replica_reads": {name: getattr(replicas, name) for name in ("served", "behind", "failed")},
        "replica_lag_revisions": replicas.lag_revisions,
        "checks": context.check_counts.read(),
        "lists": {counts.evaluator: counts.lists for counts in lists},
        "lists_seconds": {counts.evaluator: counts.seconds for counts in lists},
        "cache_bytes": {cache.cache: cache.bytes for cache in caches},
        "cache_max_bytes": {cache.cache: cache.max_bytes for cache in caches},
        "follower_lag_seconds": {
            "stores": contexts.measure_lag(),
            "changes": max(each.caches.graph.measure_wait() for each in contexts),
        },
        "requests_running": sum(admission.running for admission in admitted.by_scope.values()),
        "requests_waiting": sum(admission.waiting for admission in admitted.by_scope.values()),
        "requests_shed": sum(admission.shed for admission in admitted.by_scope.values()),
        "request_body_bytes": admitted.bodies.bytes,
        "bodies_refused": admitted.bodies.refused,
        "statements": context.store.statements,
        "graph_hits": graph.counts.hits,
        "graph_misses": graph.counts.misses,
        "graph_given_up": graph.counts.given_up,
        "graph_fetches": graph.counts.fetches,
        "graph_changes": graph.counts.changes,
        "graph_entries": sum([each.caches.graph.count_entries() for each in contexts]),
        "graph_revision": graph.revision,
        "graph_lag_seconds": graph.lag_microseconds() / 1_000_000,
        "unwritten_decision_bytes": context.decisions.unwritten.bytes if context.decisions is not None else 0,
        "webhook_deliveries": deliverer.counts.read(),
        "webhooks": {"enabled": webhooks.enabled, "retrying": webhooks.retrying, "dead": webhooks.dead},
        "webhook_lag_seconds": webhooks.lag_seconds,
        "decisions_dropped": context.decisions.unwritten.dropped if context.decisions is not None else 0,
    }


async def _stop_with_parent() -> None:
    """Stops a worker whose supervisor was killed; otherwise it would hold the port and nobody could stop it."""
    parent = multiprocessing.parent_process()
    while parent is None or parent.is_alive():
        await asyncio.sleep(LOOK_AT_PARENT_EVERY_SECONDS)
    signal.raise_signal(signal.SIGTERM)
