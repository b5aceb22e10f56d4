"""Runs the service: in this process, or in workers under a supervisor."""

import asyncio
import math
import os
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath

import structlog

from magistrate.api.audit.log import AuditLog, check_audit_log
from magistrate.api.auth.provider_keys import read_key_file
from magistrate.api.endpoints.public import PROBES
from magistrate.api.http.application import Application
from magistrate.api.http.connection import Connection
from magistrate.api.http.connection_memory import ConnectionMemory, UnsentAnswers
from magistrate.api.http.cors import CorsPolicy
from magistrate.api.http.ledger import AccessLog, Ledger
from magistrate.api.http.metrics import METRICS, SharedCounts
from magistrate.api.http.rate_limits import (
    ALL_SOURCES_FACTOR,
    ALL_SOURCES_NAME,
    SOURCES,
    SOURCES_NAME,
    STORE_SLOTS,
    STORES_NAME,
    RateLimit,
    RefusedRequests,
    StoreRates,
    TokenBuckets,
    open_slots,
)
from magistrate.api.http.server_config import BoundedConfig
from magistrate.api.http.tls import TlsFiles, load_context
from magistrate.api.processes.acceptors import Acceptor
from magistrate.api.processes.server import GracefulServer, limit_connections, run_worker
from magistrate.api.processes.supervisor import Bounds, Supervisor
from magistrate.config.settings import read_client_settings
from magistrate.config.settings_table import ALL_REQUESTS, Settings
from magistrate.config.trace_endpoint import list_trace_secrets
from magistrate.errors import InvalidSetting
from magistrate.log import find_output, hide_secrets, log_all_output, log_to_stderr
from magistrate.operations.models.examples import Example
from magistrate.store.leadership import Leadership
from magistrate.store.migration import Migration
from magistrate.temporary_files import make_temporary_folder
from magistrate.terminal import printable_lines
from magistrate.wiring.api_keys import CLIENT_KEY_REMEDY, ReloadSignal, check_key_file
from magistrate.wiring.examples import read_example
from magistrate.wiring.forward_rules import check_forward_rules
from magistrate.wiring.garbage_collection import SURVIVORS
from magistrate.wiring.maintenance import prepare_store
from magistrate.wiring.service import open_service
from magistrate.wiring.stores import check_replicas, migrate_store, secure_store
from magistrate.wiring.traces import check_traces, open_tracer

SHOWN_TRIES = 3
"""Limits how many checks of an example are announced. Their contexts must be texts."""


def announce(text: str = "") -> None:
    """Prints lines, of which parts come from files and settings."""
    print(printable_lines(text), flush=True)


def name_url(listening: socket.socket, scheme: str = "http") -> str:
    """Returns the URL of what listens at a socket."""
    host, port = listening.getsockname()[:2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def announce_service(settings: Settings, listening: Sequence[socket.socket], key: str | None) -> str:
    """Prints the URLs of the service and the key it generated, and returns the URL that clients use."""
    urls = [name_url(listener, "https" if settings.tls_cert else "http") for listener in listening]
    url = urls[0]
    announce(f"Magistrate listens on {' and '.join(urls)} and keeps its data in {settings.database.place}")
    if settings.console:
        announce(f"Open {url}/console in a browser to see who may do what, and why")
    if settings.admin_port:
        announce(f"Health and metrics are on port {settings.admin_port}, too")
    url = settings.public_url or url
    if key is not None:
        announce(f"\nAPI key, shown only this once: {key}\n\nTry it:\n")
        announce(f"  curl -s '{url}/v2/object-types?limit=1' -H 'Authorization: ApiKey {key}'\n")
    elif not settings.configures_api_keys:
        announce("Callers use the API key that was shown at the first start")
    return url


def announce_example(example: Example, url: str, key: str | None) -> None:
    """Prints commands to paste into another terminal."""
    command_folder = os.path.dirname(sys.executable)
    exports = {
        "PATH": None if shutil.which("magistrate") else f"{command_folder}{os.pathsep}$PATH",
        "MAGISTRATE_SERVER": url if url != read_client_settings({}, {}).server else None,
        "MAGISTRATE_API_KEY": key,
    }
    announce(f"The example is loaded: {example.about}. Try it in another terminal:\n")
    for name, value in exports.items():
        if value is not None:
            announce(f'  export {name}="{value}"')
    for shown in example.tries[:SHOWN_TRIES]:
        context = "".join(f" --context {key}={value}" for key, value in shown.context.items())
        announce(f"  magistrate check {shown.check}{context} --explain")
    announce()


ROOT = Path("/")


def find_cpu_quota(root: Path = ROOT) -> int | None:
    """Returns the number of whole processors, at least 1, or None if there is no limit. `root` is where /proc and /sys
    are.

    Each cgroup above is looked at, too, because its limit holds for all below it. Inside of a container, the path that
    the kernel names may be that of the host; the limit is at the mount point then."""
    shares = [share for folder in _list_folders(root) if (share := _read_share(folder)) is not None]
    return max(1, math.floor(min(shares))) if shares else None


def _list_folders(root: Path) -> Iterator[Path]:
    """Yields the folders of the cgroups that may limit this process, of version 2 and version 1."""
    lines = []
    with suppress(OSError):
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        for name in (controllers, "cpu") if controllers else ("", "unified"):
            mounted = root / "sys/fs/cgroup" / name
            for part in (PurePosixPath(path), *PurePosixPath(path).parents):
                yield mounted / str(part).lstrip("/")


def _read_share(folder: Path) -> float | None:
    """Returns how many processors a cgroup may use; None if it has no limit, or is none."""
    with suppress(OSError, ValueError, ZeroDivisionError):
        quota, _, period = (folder / "cpu.max").read_text().partition(" ")
        return None if quota == "max" else int(quota) / int(period or 100_000)
    with suppress(OSError, ValueError, ZeroDivisionError):
        quota, period = ((folder / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        return int(quota) / int(period) if int(quota) > 0 else None
    return None


log = structlog.get_logger()

SWITCH_SECONDS = 0.0005
"""Limits how long the event loop waits for the interpreter while a thread is running Python. It waits after each system
call and for each row of SQLite, many times in one iteration; with Python's default of 5 ms, a large object type that is
validated in a thread held it for 100 ms."""

LISTEN_BACKLOG = 2_048
ALL_OF_IPV4 = "0.0.0.0"  # noqa: S104  # nothing listens on it unless the operator says so
MAX_CHOSEN_WORKERS = 4
"""Limits the number of workers chosen by default; more have to be configured."""


def create_application(
    settings: Settings, shared_folder: Path | None = None, reload_signal: ReloadSignal | None = None
) -> Application:
    """Creates the ASGI application, in each worker process; the store must be migrated and seeded. Through the
    shared folder, workers share their counters, the rate limits, the digests of the key file, the rules for gateways
    and the lock on standard output. `reload_signal` is that of ServiceKeys."""
    log_to_stderr(shared_folder, settings.trace_ids)
    sys.setswitchinterval(SWITCH_SECONDS)
    METRICS.shared_counts = None if shared_folder is None else SharedCounts(shared_folder)
    SURVIVORS.install()
    unlogged = () if settings.access_log == ALL_REQUESTS else PROBES
    access_log = AccessLog(find_output(), unlogged) if settings.access_log else None
    cors = CorsPolicy(settings.cors_origins, settings.cors_all_routes) if settings.cors_origins else None
    audit_log = None
    if settings.audit_log:
        audit_log = AuditLog(settings.audit_log, settings.audit_format, shared_folder, settings.max_unwritten_bytes)
    METRICS.count_audit_dropped = int if audit_log is None else audit_log.count_dropped
    rate_limit = RateLimit(settings.rate_limit, open_slots(shared_folder)) if settings.rate_limit else None
    store_rates = StoreRates(open_slots(shared_folder, STORE_SLOTS, STORES_NAME))
    tracer = open_tracer(settings)
    opened = partial(
        open_service,
        settings,
        reload_signal,
        shared_folder,
        rate_limit=rate_limit,
        store_rates=store_rates,
        tracer=tracer,
        leadership=Leadership(shared_folder),
    )
    refused = _limit_refused(settings, shared_folder, audit_log)
    ledger = Ledger(access_log, audit_log, refused, tracer)
    application = Application(
        opened,
        ledger,
        cors,
        has_console=settings.console,
        has_openfga=settings.openfga,
        public_url=settings.public_url,
        request_cache_bytes=settings.request_cache_bytes,
        received=ConnectionMemory(settings.max_received_bytes),
        unsent=UnsentAnswers(settings.max_unsent_bytes, settings.wait_timeout_ms / 1000),
        max_streams=settings.max_streams,
    )
    METRICS.read_server = application.read_metrics
    return application


def _limit_refused(
    settings: Settings, shared_folder: Path | None, audit_log: AuditLog | None
) -> RefusedRequests | None:
    """Returns what limits the requests without a valid key, or None if there may be any number of them."""
    per_second = settings.rate_limit_unauthenticated
    if not per_second:
        return None
    sources = TokenBuckets(per_second, open_slots(shared_folder, SOURCES, SOURCES_NAME))
    all_sources = TokenBuckets(per_second * ALL_SOURCES_FACTOR, open_slots(shared_folder, 1, ALL_SOURCES_NAME))
    return RefusedRequests(sources, all_sources, audit_log)


def server_config(
    settings: Settings, shared_folder: Path | None = None, reload_signal: ReloadSignal | None = None
) -> BoundedConfig:
    """Returns the configuration that uvicorn runs, in this process or in workers."""
    return BoundedConfig(
        partial(create_application, settings, shared_folder, reload_signal),
        factory=True,
        max_head_bytes=settings.max_head_bytes,
        head_timeout_ms=settings.head_timeout_ms,
        body_timeout_ms=settings.body_timeout_ms,
        keep_alive_timeout_ms=settings.keep_alive_timeout_ms,
        max_connections=limit_connections(settings.max_connections),
        tls=tls_files(settings),
        admin_port=settings.admin_port,
        protocol=Connection,
        takes_fast_path=settings.fast_path,
        loop="uvloop",
        ws="none",
        workers=settings.workers,
        log_config=None,  # log.py says how, also for others that log
        log_level="error",  # faulty requests of clients are not logged
        access_log=False,
        server_header=False,
        proxy_headers=False,  # the address of the client is not used
        timeout_graceful_shutdown=-(-settings.stop_timeout_ms // 1000),
    )


def serve(
    settings: Settings,
    example_name: str | None = None,
    fix_permissions: bool = False,
    ignored_variables: Sequence[str] = (),
) -> int:
    """Runs the service until SIGTERM or SIGINT and returns the exit code. The example must exist. With
    `fix_permissions`, database files that other users can read are first restricted to their owner.
    `ignored_variables` are logged.

    Raises StoreUnavailable, SchemaMismatch or InvalidSetting before anything is served, and InvalidRequest if the
    content of the store is incompatible with the example."""
    example = read_example(example_name) if example_name is not None else None
    if example is not None and settings.read_only:
        raise InvalidSetting("an example is written to the database, which --read-only excludes")
    settings = choose_workers(settings)
    check_provider(settings)
    _begin_log(settings, None)
    if ignored_variables:
        log.debug("variables that a container platform makes of services are ignored", variables=ignored_variables)
    if settings.has_client_key:
        log.warning("the key of clients is used as a key of the service", remedy=CLIENT_KEY_REMEDY)
    check_traces(settings)
    check_key_file(settings)
    check_forward_rules(settings)
    if (files := tls_files(settings)) is not None:
        load_context(files)  # workers would wait for a certificate that can be used
    check_audit_log(settings.audit_log)
    check_replicas(settings)
    with ExitStack() as stack:
        shared_folder = _share_folder(settings, stack)
        listening = _listen_until_end(settings, stack)
        sockets = [*listening]
        if settings.admin_port:
            sockets += _listen_until_end(replace(settings, port=settings.admin_port), stack)
        secure_store(settings, fix_permissions)
        _migrate(settings)
        key = None if settings.read_only else asyncio.run(prepare_store(settings, example))
        url = announce_service(settings, listening, key)
        if example is not None:
            announce_example(example, url, key)
        if shared_folder is None:
            return serve_alone(settings, sockets)
        return _serve_together(settings, sockets, shared_folder)


def _migrate(settings: Settings) -> None:
    """Brings the schema up to date, unless that is forbidden, and logs what is applied to a store that exists."""

    def report(migration: Migration) -> None:
        log.info("a migration begins", number=migration.number, name=migration.name)

    began_at = time.monotonic()
    applied = migrate_store(settings, report)
    if applied and applied[0].number > 1:
        seconds = round(time.monotonic() - began_at, 3)
        log.info("the database was migrated", schema=applied[-1].number, seconds=seconds)


def check_provider(settings: Settings) -> None:
    """Raises InvalidSetting if the keys of the login provider cannot be used, or not be fetched because of a variable:
    workers would continue without the keys."""
    if settings.jwt_keys_have_url:
        from magistrate.outgoing_requests import (
            choose_http_options,  # an HTTP client takes memory, and few services need one
        )

        choose_http_options(settings.jwt_keys)
    elif settings.jwt_keys:
        read_key_file(settings.jwt_keys)


def _share_folder(settings: Settings, stack: ExitStack) -> Path | None:
    """Returns the folder that workers share until the end, or None for one worker. Raises InvalidSetting."""
    if settings.workers == 1:
        return None
    return stack.enter_context(make_temporary_folder("metrics", f"{settings.workers} workers share"))


def choose_workers(settings: Settings) -> Settings:
    """Returns the settings with the number of workers that will run."""
    return replace(settings, workers=settings.workers or _choose_workers())


def _listen_until_end(settings: Settings, stack: ExitStack) -> list[socket.socket]:
    return [stack.enter_context(listening) for listening in listen(settings)]


def tls_files(settings: Settings) -> TlsFiles | None:
    """Returns the files of the certificate, or None if connections are not encrypted."""
    if not settings.tls_cert:
        return None
    return TlsFiles(settings.tls_cert, settings.tls_key, settings.tls_client_ca)


def _choose_workers() -> int:
    """Returns the number of workers for this machine, which is limited because each worker has a graph cache of its
    own and so takes more memory."""
    # Not every system can say which cores a process may use.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, find_cpu_quota() or cores, MAX_CHOSEN_WORKERS)


def serve_alone(settings: Settings, sockets: list[socket.socket]) -> int:
    """Runs the service in this process until SIGTERM or SIGINT, and returns the exit code."""
    reload_signal = ReloadSignal()
    server = GracefulServer(server_config(settings, reload_signal=reload_signal))
    is_stopped = threading.Event()

    def request_stop(*_: object) -> None:
        is_stopped.set()
        server.should_exit = True

    # While it runs, the server stops on these signals by handlers of its own, then raises them again for these.
    for stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop, request_stop)
    signal.signal(signal.SIGHUP, _stop_like_sigterm if _has_terminal() else reload_signal.receive)
    server.run(sockets=sockets)
    return 0 if server.started or is_stopped.is_set() else 1


def _has_terminal() -> bool:
    """Returns whether the service was started from a terminal, which sends SIGHUP when it is closed."""
    return sys.stderr is not None and sys.stderr.isatty()


def _stop_like_sigterm(*_: object) -> None:
    signal.raise_signal(signal.SIGTERM)


def _serve_together(settings: Settings, sockets: list[socket.socket], shared_folder: Path) -> int:
    bounds = Bounds(stop=settings.stop_timeout_ms / 1000)
    log_to_stderr(shared_folder)
    worker = partial(_run_logged_worker, settings, shared_folder)
    return Supervisor(worker, Acceptor(sockets, settings.admin_port), settings.workers, bounds).run()


def _begin_log(settings: Settings, shared_folder: Path | None) -> None:
    hide_secrets((*settings.secrets, os.environ.get("PGPASSWORD", ""), *list_trace_secrets(os.environ)))
    log_to_stderr(shared_folder)
    log_all_output()


def _run_logged_worker(settings: Settings, folder: Path, channel: socket.socket) -> None:
    """Runs a worker, of which all output is part of the log."""
    _begin_log(settings, folder)
    try:
        run_worker(server_config(settings, folder), channel)
    except Exception:  # multiprocessing would print it as it is
        log.critical("the worker has failed", exc_info=True)
        sys.exit(1)


def listen(settings: Settings) -> list[socket.socket]:
    """Returns sockets at the addresses of the settings, all at one port. Raises InvalidSetting."""
    port, sockets = settings.port, list[socket.socket]()
    with ExitStack() as stack:
        for host in _leave_out_covered(settings.hosts):
            sockets.append(stack.enter_context(_listen_at(host, port)))
            port = sockets[0].getsockname()[1]
        stack.pop_all()
    return sockets


def _leave_out_covered(hosts: Sequence[str]) -> Sequence[str]:
    """Returns the addresses without those that an address for all of them covers, which could not be taken."""
    if "::" in hosts:
        return ["::"]
    if ALL_OF_IPV4 in hosts:
        return [ALL_OF_IPV4, *dict.fromkeys(host for host in hosts if ":" in host)]
    return list(dict.fromkeys(hosts))


def _listen_at(host: str, port: int) -> socket.socket:
    if not host:
        raise InvalidSetting("host: an address between commas is empty")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    is_dual = host == "::" and socket.has_dualstack_ipv6()
    try:
        return socket.create_server((host, port), family=family, backlog=LISTEN_BACKLOG, dualstack_ipv6=is_dual)
    except (OSError, TypeError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "this is no address"
        raise InvalidSetting(f"cannot listen on {host!a} port {port}: {reason}") from error
