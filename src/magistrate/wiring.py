"""Builds a running service from settings; this is the only module that may import everything."""

import asyncio
import gc
import multiprocessing
import os
import random
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import replace
from functools import partial
from io import BufferedReader
from pathlib import Path

import structlog
from uuid_utils import uuid7

from magistrate.api.app import Application
from magistrate.api.auth.bearer import Bearers
from magistrate.api.auth.callers import KeyRing, key_digest
from magistrate.api.auth.fetched_keys import FetchedKeys, KeyFile, KeyOrigin
from magistrate.api.auth.provider import Provider
from magistrate.api.auth.provider_keys import read_key_file
from magistrate.api.lines import read_line
from magistrate.api.server.access_log import AccessLog
from magistrate.api.server.fast_path_protocol import FastPathProtocol
from magistrate.api.server.ledger import Ledger
from magistrate.api.server.metrics import METRICS, Board, Readings
from magistrate.api.server.protocol import BoundedConfig, BoundedProtocol
from magistrate.api.server.server import GracefulServer, limit_connections, run_worker
from magistrate.api.server.supervisor import Bounds, Supervisor
from magistrate.api.service import Limits, Service
from magistrate.config import Settings, SqliteUrl, read_client_settings
from magistrate.engine import query
from magistrate.errors import InvalidSetting
from magistrate.log import log_to_stderr
from magistrate.operations.background import attempt_work, running_beside
from magistrate.operations.checks.decision_log import DecisionLog
from magistrate.operations.checks.graph import LiveGraph
from magistrate.operations.context import Context
from magistrate.operations.examples import Example, load_example, read_example
from magistrate.operations.importing.importer import Reached as Reached
from magistrate.operations.importing.importer import import_lines
from magistrate.operations.importing.line_file import LineFile
from magistrate.operations.listings import Listings
from magistrate.operations.models import Models
from magistrate.operations.object_types import seed_object_types
from magistrate.operations.retention import forget_ended, forget_events
from magistrate.operations.sessions.session_keys import SessionKeys
from magistrate.store.contract import Store
from magistrate.store.database import Observer, observe_nothing
from magistrate.store.sealing import UNSEALED, read_sealing

KEY_PREFIX = "magistrate_"
FORGET_EVERY_SECONDS = 600.0
IMPORT_TIMEOUT_MS = 600_000
LOOK_AT_PARENT_EVERY_SECONDS = 1.0
WRITE_METRICS_EVERY_SECONDS = 1.0
LISTEN_BACKLOG = 2_048
GARBAGE_THRESHOLDS = (2_000, 10, 100)
"""Sets the thresholds of `gc.set_threshold`. A full collection cannot be interrupted; during a large check it took a
tenth of a second, again and again. The remains of large checks are dismantled instead (engine/evaluation.py)."""
MOST_CHOSEN_WORKERS = 4
"""Limits the number of workers chosen by default; more have to be configured."""
SHOWN_TRIES = 3
"""Limits how many checks of an example are announced. Their contexts must be texts."""

log = structlog.get_logger()


def microseconds_now() -> int:
    return time.time_ns() // 1_000


def context_of(store: Store, settings: Settings) -> Context:
    models = Models(store)
    decisions = DecisionLog(store, settings.decision_log, microseconds_now) if settings.decision_log else None
    return Context(
        store=store,
        models=models,
        graph=LiveGraph(store, models, settings.graph_warrants, microseconds_now),
        now=microseconds_now,
        new_id=lambda: str(uuid7()),
        max_meta_bytes=settings.max_meta_bytes,
        max_definition_bytes=settings.max_definition_bytes,
        max_check_work=settings.max_check_work,
        max_context_bytes=settings.max_context_bytes,
        max_query_work=settings.max_query_work,
        listings=Listings(settings.kept_query_entries),
        session_keys=SessionKeys(store, microseconds_now),
        decisions=decisions,
    )


def migrate_store(settings: Settings) -> None:
    """Creates the store if necessary and brings its schema up to date. Raises StoreUnavailable, SchemaMismatch or
    InvalidSetting."""
    # The driver of the other store is not imported, because it would cost memory and time in every process.
    if isinstance(settings.database, SqliteUrl):
        from magistrate.store.sqlite_file import migrate_sqlite

        migrate_sqlite(settings.database.path, settings.store_timeout_ms)
    else:
        from magistrate.store.postgres import migrate_postgres

        migrate_postgres(settings.database.conninfo, settings.store_timeout_ms)


async def open_store(settings: Settings, observer: Observer = observe_nothing) -> Store:
    """Opens the store, which must be migrated. Raises StoreUnavailable, SchemaMismatch or InvalidSetting."""
    sealing = read_sealing(settings.secret_key_file) if settings.secret_key_file else UNSEALED
    if isinstance(settings.database, SqliteUrl):
        from magistrate.store.sqlite import open_sqlite

        return await open_sqlite(settings.database.path, settings.store_timeout_ms, observer, sealing)
    from magistrate.store.postgres import open_postgres

    return await open_postgres(
        settings.database.conninfo, settings.postgres_connections, settings.store_timeout_ms, observer, sealing
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


async def prepare_store(settings: Settings, example: Example | None = None) -> str | None:
    """Encrypts the session keys if that is configured, seeds a new store and loads the example.

    If no API key is configured and none was generated before, generates one and returns it: nobody else ever sees it
    again."""
    async with open_context(settings) as context:
        await context.store.seal_session_keys()
        await seed_object_types(context)
        if example is not None:
            await load_example(context, example)
        if settings.api_keys:
            return None
        key = KEY_PREFIX + secrets.token_urlsafe(32)
        return key if await context.store.keep_key_digest(key_digest(key), context.now()) else None


def import_file(
    settings: Settings, file: BufferedReader, source: str | None, chunk_lines: int, told: Callable[[Reached], None]
) -> Reached:
    """Imports a file into the store, which is created and brought up to date first, as operations/importing/importer.py
    describes.

    Raises InvalidRequest, StoreUnavailable, SchemaMismatch or InvalidSetting."""
    migrate_store(settings)
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    gc.freeze()  # see create_application
    given = LineFile(file, source, chunk_lines, settings.max_body_bytes)

    async def run_import() -> Reached:
        async with open_import_context(settings) as context:
            await seed_object_types(context)
            return await import_lines(context, given, partial(read_line, context, settings.max_json_depth), told)

    return asyncio.run(run_import())


def revoke_sessions(settings: Settings) -> int:
    """Ends all sessions and returns how many keys had signed them. Raises StoreUnavailable or SchemaMismatch."""

    async def revoke_all() -> int:
        # The secret key is not needed, because this is the only way out when it is lost.
        async with open_context(replace(settings, secret_key_file="")) as context:
            return await context.store.forget_session_keys()

    return asyncio.run(revoke_all())


def _provider(settings: Settings) -> Provider | None:
    """Returns the login provider, if one is configured; its keys are not fetched yet."""
    if not settings.jwt_keys:
        return None
    origin: KeyOrigin = KeyFile(settings.jwt_keys)
    if settings.jwt_keys_have_url:
        from magistrate.api.auth.key_url import KeyUrl  # see there

        origin = KeyUrl(settings.jwt_keys)
    claims = (settings.jwt_issuer, settings.jwt_audience, settings.jwt_user_claim, settings.jwt_tenant_claim)
    return Provider(FetchedKeys(origin), *claims)


@asynccontextmanager
async def open_service(settings: Settings) -> AsyncIterator[Service]:
    """Yields the service, and runs its background work until the context ends.

    Raises StoreUnavailable or SchemaMismatch."""
    async with open_context(settings) as context:
        provider = _provider(settings)
        digests = [key_digest(key) for key in settings.api_keys] or await context.store.key_digests()
        limits = Limits(
            settings.max_body_bytes, settings.max_json_depth, settings.body_timeout_ms, settings.request_timeout_ms
        )
        forgetting = _forget_now_and_then(context, settings)
        METRICS.read = partial(_readings, context)
        works = [forgetting, _stop_with_parent(), asyncio.to_thread(query.read_grammar), _write_metrics_now_and_then()]
        if provider is not None:
            works.append(provider.keys.keep_fresh())
        logging = context.decisions.writing() if context.decisions is not None else nullcontext()
        async with running_beside(*works), logging:
            yield Service(context, KeyRing(digests), Bearers(context, provider), limits)


async def _forget_now_and_then(context: Context, settings: Settings) -> None:
    while True:
        # The pause is random, because every worker does this on the same store.
        await asyncio.sleep(random.uniform(0.5, 1.5) * FORGET_EVERY_SECONDS)
        await attempt_work(_forget(context, settings), "what is over could not be forgotten")


async def _forget(context: Context, settings: Settings) -> None:
    await forget_ended(context, settings.retention_hours)
    await forget_events(context, settings.event_retention_hours, settings.retention_hours)


async def _write_metrics_now_and_then() -> None:
    while METRICS.board is not None:
        METRICS.board.write(METRICS.collect_values())
        await asyncio.sleep(WRITE_METRICS_EVERY_SECONDS)


def _readings(context: Context) -> Readings:
    """Returns the values that /metrics reports besides those of requests."""
    graph = context.graph
    return {
        "statements": context.store.statements,
        "graph_hits": graph.counts.hits,
        "graph_misses": graph.counts.misses,
        "graph_given_up": graph.counts.given_up,
        "graph_fetches": graph.counts.fetches,
        "graph_touches": graph.counts.touches,
        "graph_warrants": graph.rows,
        "graph_revision": graph.revision,
        "graph_lag_seconds": graph.lag_microseconds() / 1_000_000,
        "decisions_dropped": context.decisions.dropped if context.decisions is not None else 0,
    }


async def _stop_with_parent() -> None:
    """Stops a worker whose supervisor was killed; otherwise it would hold the port and nobody could stop it."""
    parent = multiprocessing.parent_process()
    while parent is None or parent.is_alive():
        await asyncio.sleep(LOOK_AT_PARENT_EVERY_SECONDS)
    signal.raise_signal(signal.SIGTERM)


def create_application(settings: Settings, metrics_folder: Path | None = None) -> Application:
    """Creates the ASGI application, in each worker process; the store must be migrated and seeded. Through the
    metrics folder, workers share their counters."""
    log_to_stderr()
    METRICS.board = None if metrics_folder is None else Board(metrics_folder)
    gc.collect()
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    gc.freeze()  # imported modules stay: scanning them for garbage took 25 ms, in the middle of long queries
    access_log = AccessLog(sys.stderr.fileno()) if settings.access_log else None
    return Application(partial(open_service, settings), Ledger(access_log))


def server_config(settings: Settings, metrics_folder: Path | None = None) -> BoundedConfig:
    """Returns the configuration that uvicorn runs, in this process or in workers."""
    return BoundedConfig(
        partial(create_application, settings, metrics_folder),
        factory=True,
        max_head_bytes=settings.max_head_bytes,
        head_timeout_ms=settings.head_timeout_ms,
        body_timeout_ms=settings.body_timeout_ms,
        keep_alive_timeout_ms=settings.keep_alive_timeout_ms,
        max_connections=limit_connections(settings.max_connections),
        protocol=FastPathProtocol if settings.fast_path else BoundedProtocol,
        loop="uvloop",
        ws="none",
        workers=settings.workers,
        log_level="error",  # faulty requests of clients are not logged
        access_log=False,
        server_header=False,
        proxy_headers=False,  # the address of the client is not used
        timeout_graceful_shutdown=-(-settings.stop_timeout_ms // 1000),
    )


def serve(settings: Settings, example_name: str | None = None, fix_permissions: bool = False) -> int:
    """Runs the service until SIGTERM or SIGINT and returns the exit code. The example must exist. With
    `fix_permissions`, database files that other users can read are first restricted to their owner.

    Raises StoreUnavailable, SchemaMismatch or InvalidSetting before anything is served, and InvalidRequest if the
    content of the store is incompatible with the example."""
    example = read_example(example_name) if example_name is not None else None
    settings = replace(settings, workers=settings.workers or _choose_workers())
    if settings.jwt_keys and not settings.jwt_keys_have_url:
        read_key_file(settings.jwt_keys)  # workers would continue without the keys
    listening = listen(settings)
    with listening:
        log_to_stderr()
        if isinstance(settings.database, SqliteUrl):
            from magistrate.store.sqlite_file import secure_files

            secure_files(settings.database.path, fix_permissions)
        migrate_store(settings)
        key = asyncio.run(prepare_store(settings, example))
        url = _announce(settings, listening, key)
        if example is not None:
            _announce_example(example, url, key)
        if settings.workers == 1:
            return _serve_alone(server_config(settings), listening)
        return _serve_together(settings, listening)


def _choose_workers() -> int:
    """Returns the number of workers for this machine, which is limited because each worker has a graph cache of its
    own and so takes more memory."""
    # Not every system can say which cores a process may use.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_CHOSEN_WORKERS)


def _serve_alone(config: BoundedConfig, listening: socket.socket) -> int:
    # The server stops on these signals, then raises them again for these handlers, which do nothing: exit code 0.
    for stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop, lambda *_: None)
    signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))  # the terminal was closed
    server = GracefulServer(config)
    server.run(sockets=[listening])
    return 0 if server.started else 1


def _serve_together(settings: Settings, listening: socket.socket) -> int:
    log_to_stderr()
    bounds = Bounds(stop=settings.stop_timeout_ms / 1000)
    with tempfile.TemporaryDirectory(prefix="magistrate-metrics-") as folder:
        worker = partial(run_worker, server_config(settings, Path(folder)))
        return Supervisor(worker, listening, settings.workers, bounds).run()


def listen(settings: Settings) -> socket.socket:
    """Returns a socket at the address of the settings. Raises InvalidSetting."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=LISTEN_BACKLOG)
    except (OSError, TypeError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "this is no address"
        raise InvalidSetting(f"cannot listen on {settings.host!a} port {settings.port}: {reason}") from error


def _announce(settings: Settings, listening: socket.socket, key: str | None) -> str:
    """Prints the URL of the service and the key it generated, and returns the URL."""
    host, port = listening.getsockname()[:2]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    where = settings.database.path if isinstance(settings.database, SqliteUrl) else "PostgreSQL"
    print(f"Magistrate listens on {url} and keeps its data in {where}", flush=True)
    if key is not None:
        print(f"\nAPI key, shown only this once: {key}\n\nTry it:\n", flush=True)
        print(f"  curl -s '{url}/v2/object-types?limit=1' -H 'Authorization: ApiKey {key}'\n", flush=True)
    elif not settings.api_keys:
        print("Callers use the API key that was shown at the first start", flush=True)
    return url


def _announce_example(example: Example, url: str, key: str | None) -> None:
    """Prints commands to paste into another terminal."""
    command_folder = os.path.dirname(sys.executable)
    exports = {
        "PATH": None if shutil.which("magistrate") else f"{command_folder}{os.pathsep}$PATH",
        "MAGISTRATE_SERVER": url if url != read_client_settings({}, {}).server else None,
        "MAGISTRATE_API_KEY": key,
    }
    print(f"The example is loaded: {example.about}. Ask it, in another terminal:\n")
    for name, value in exports.items():
        if value is not None:
            print(f'  export {name}="{value}"')
    for shown in example.tries[:SHOWN_TRIES]:
        context = "".join(f" --context {key}={value}" for key, value in shown.context.items())
        print(f"  magistrate check {shown.ask}{context} --explain")
    print(flush=True)
