"""Looks for what is wrong, or soon will be, with the settings, files and store of a service, and changes nothing."""

import asyncio
import os
import resource
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from magistrate.api.audit.log import STANDARD_OUTPUT
from magistrate.api.http.tls import load_context
from magistrate.api.processes.server import limit_connections
from magistrate.config.api_keys import find_exposed_mode, read_api_key_file
from magistrate.config.database_url import SqliteUrl
from magistrate.config.settings_table import NEVER, Settings
from magistrate.config.trace_endpoint import ENDPOINT_VARIABLE, HEADERS_VARIABLE, list_trace_secrets
from magistrate.errors import InvalidSetting, MagistrateError, StoreUnavailable
from magistrate.operations.keys.callers import Scope
from magistrate.store.contract.keys import StoredKey
from magistrate.store.migration import StoreReport
from magistrate.store.scripts.key_encryption import read_sealing
from magistrate.store.sqlite.files import find_exposed_files
from magistrate.temporary_files import find_temporary_folder
from magistrate.wiring.api_keys import CLIENT_KEY_REMEDY
from magistrate.wiring.forward_rules import read_forward_rules
from magistrate.wiring.server import check_provider, choose_workers, tls_files
from magistrate.wiring.stores import inspect_store, open_store
from magistrate.wiring.traces import find_ignored_endpoint, find_trace_endpoint

ERROR, WARNING = "error", "warning"
"""Are the levels of findings: the service would not start or not work; or it does, and something should be changed."""

LITTLE_SPACE_BYTES, NO_SPACE_BYTES = 1_073_741_824, 67_108_864
CLOCK_SECONDS = 2.0
"""Sets the difference between two clocks above which something is wrong. Synchronized clocks differ by milliseconds."""
EXPIRES_SOON = timedelta(days=14)
UNUSED = timedelta(days=90)
MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """Holds what one check found: ('warning', 'clock', 'the clock of ... is ahead', 'synchronize both clocks')."""

    level: str
    check: str
    message: str
    remedy: str


Findings = Iterator[tuple[str, str, str]]
"""Yields the level, message and remedy of findings."""


def diagnose(settings: Settings) -> list[DoctorFinding]:
    """Returns what all checks have found, in their order. A check that fails is a finding, too."""
    findings = []
    for name, (check, remedy_of_failure) in CHECKS.items():
        try:
            findings += [DoctorFinding(level, name, message, remedy) for level, message, remedy in check(settings)]
        except (MagistrateError, OSError) as error:
            message = error.message if isinstance(error, MagistrateError) else str(error)
            findings.append(DoctorFinding(ERROR, name, message, remedy_of_failure))
    return findings


def _check_settings(settings: Settings) -> Findings:
    if settings.store_timeout_ms >= settings.request_timeout_ms:
        yield (
            WARNING,
            f"store_timeout_ms ({settings.store_timeout_ms}) is not below request_timeout_ms "
            f"({settings.request_timeout_ms}), so requests end before the database is given up",
            "lower --store-timeout-ms or raise --request-timeout-ms",
        )
    if settings.wait_timeout_ms >= settings.request_timeout_ms:
        yield (
            WARNING,
            f"wait_timeout_ms ({settings.wait_timeout_ms}) is not below request_timeout_ms "
            f"({settings.request_timeout_ms}), so requests may spend all their time waiting",
            "lower --wait-timeout-ms",
        )
    exposed = [host for host in settings.hosts if not _is_loopback(host)]
    if not settings.tls_cert and exposed and not settings.public_url.startswith("https:"):
        yield (
            WARNING,
            f"the service listens on {', '.join(exposed)} without TLS, so keys and tokens can be read on the way",
            "give --tls-cert and --tls-key; or put a proxy with TLS in front and give its URL with --public-url",
        )
    if settings.tls_cert and settings.public_url.startswith("http:"):
        yield WARNING, "public_url begins with http:, but connections are encrypted", "write https: in --public-url"
    if settings.has_client_key:
        yield WARNING, "MAGISTRATE_API_KEY, the key of clients, is used as a key of the service", CLIENT_KEY_REMEDY
    if settings.jwt_keys.startswith("http:"):
        yield (
            WARNING,
            "jwt_keys is fetched without TLS: whoever can change the answer can make tokens",
            "write https: in --jwt-keys",
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _check_limits(settings: Settings) -> Findings:
    connections = limit_connections(settings.max_connections)
    if connections < settings.max_connections:
        open_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        yield (
            WARNING,
            f"a worker accepts {connections} connections, not {settings.max_connections}, because it may open "
            f"{open_files} files",
            f"raise the limit (`ulimit -n {settings.max_connections * 4 // 3 + 1}`, LimitNOFILE= of systemd) or lower "
            "--max-connections",
        )
    if choose_workers(settings).workers > 1:
        find_temporary_folder("several workers share")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    cached = settings.cache_bytes * max(settings.workers, 1)
    if cached > memory:
        yield (
            WARNING,
            f"full caches take {cached // 2**20:,} MiB, and the machine has {memory // 2**20:,} MiB",
            "lower --cache-bytes or --workers",
        )


def _check_files(settings: Settings) -> Findings:
    if isinstance(settings.database, SqliteUrl):
        for exposed in find_exposed_files(settings.database.path):
            yield (
                WARNING,
                f"other users can use {exposed.path} (mode {exposed.mode:04o}), and the keys in it that sessions are "
                "signed with",
                "start once with --fix-permissions, then run `magistrate sessions revoke`",
            )
    if settings.api_key_file and (mode := read_api_key_file(settings.api_key_file).exposed_mode) is not None:
        yield (
            WARNING,
            f"other users can use {settings.api_key_file} (mode {mode:04o})",
            f"run `chmod 600 {settings.api_key_file}` and replace the keys in it",
        )
    if settings.secret_key_file:
        read_sealing(settings.secret_key_file)  # refuses a file that others can use
    for path in (settings.tls_key, settings.audit_log):
        if path and path != STANDARD_OUTPUT and os.path.exists(path) and (mode := find_exposed_mode(os.stat(path))):
            yield WARNING, f"other users can use {path} (mode {mode:04o})", f"run `chmod 600 {path}`"
    for folder in {_folder_of(path) for path in _list_written_files(settings)}:
        if not os.access(folder, os.W_OK | os.X_OK):
            yield (
                ERROR,
                f"this user ({os.geteuid()}) cannot write to {folder}",
                "run as the user of the service, or change the owner of the folder",
            )
        elif os.stat(folder).st_mode & (stat.S_IWOTH | stat.S_ISVTX) == stat.S_IWOTH:
            yield WARNING, f"every user can replace the files in {folder}", f"run `chmod o-w {folder}`"


def _list_written_files(settings: Settings) -> Iterator[str]:
    if isinstance(settings.database, SqliteUrl):
        yield settings.database.path
    if settings.audit_log and settings.audit_log != STANDARD_OUTPUT:
        yield settings.audit_log


def _folder_of(path: str) -> str:
    return os.path.dirname(os.path.realpath(path))


def _check_certificate(settings: Settings) -> Findings:
    files = tls_files(settings)
    if files is None:
        return
    from cryptography import x509  # takes a moment to import

    load_context(files)
    until = x509.load_pem_x509_certificates(Path(files.certificate).read_bytes())[0].not_valid_after_utc
    if until < datetime.now(UTC):
        yield ERROR, f"{files.certificate} was valid until {until:%Y-%m-%d}", "renew the certificate"
    elif until < datetime.now(UTC) + EXPIRES_SOON:
        yield WARNING, f"{files.certificate} is valid until {until:%Y-%m-%d} only", "renew the certificate"


def _check_forward_rules(settings: Settings) -> Findings:
    if not settings.forward_rules:
        return
    read_forward_rules(settings)
    if os.stat(settings.forward_rules).st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        yield (
            WARNING,
            f"other users can change {settings.forward_rules}, which says what gateways let through",
            f"run `chmod go-w {settings.forward_rules}`",
        )


def _check_provider(settings: Settings) -> Findings:
    check_provider(settings)
    yield from ()


def _check_traces(settings: Settings) -> Findings:
    endpoint, ignored = find_trace_endpoint(settings), find_ignored_endpoint(settings)
    if ignored is not None:
        yield (
            WARNING,
            f"spans are not exported to what {ENDPOINT_VARIABLE} names: {ignored}",
            "correct it, or give --trace-endpoint, or unset the variable if no traces are wanted",
        )
    if endpoint is None:
        return
    parts = urlsplit(endpoint.url)
    if parts.scheme == "http" and not _is_loopback(parts.hostname or "") and list_trace_secrets(os.environ):
        yield (
            WARNING,
            f"the values of {HEADERS_VARIABLE} are sent to {parts.hostname} without TLS",
            "write https: in the URL of the receiver",
        )


def _check_outgoing(settings: Settings) -> Findings:
    """Finds variables that stop the importers and the clients of this machine; the service may not need them."""
    from magistrate.outgoing_requests import choose_http_options  # as in check_provider

    if not settings.jwt_keys_have_url:
        try:
            choose_http_options("https://magistrate.example")
        except InvalidSetting as error:
            yield (
                WARNING,
                f"no request to another server can leave: {error.message}",
                "correct the variable, or unset it",
            )


def _check_store(settings: Settings) -> Findings:
    report = inspect_store(settings)
    behind = f"the store has schema {report.version}, and this version needs {report.known}"
    if report.mismatch is not None:
        yield ERROR, report.mismatch, "install the version that made it again, or restore a backup of this one"
    elif report.pending and settings.migrate == NEVER:
        yield ERROR, behind, "run `magistrate migrate`, or start with --migrate auto"
    elif 0 < report.version < report.known:
        breaks_before = max(migration.breaks_before for migration in report.pending)
        yield (
            WARNING,
            behind,
            "back it up and start this version, which migrates it; versions that do not know schema "
            f"{breaks_before} refuse it then",
        )


def _check_replicas(settings: Settings) -> Findings:
    if not settings.read_databases:
        return
    primary_id = inspect_store(settings).default_id
    for number, database in enumerate(settings.read_databases, 1):
        fault = _find_replica_fault(replace(settings, database=database), primary_id)
        if fault is not None:
            yield (
                WARNING,
                f"the primary answers what replica {number} would: {fault}",
                "start the replica and let it catch up, or correct --read-database-url",
            )


def _find_replica_fault(settings: Settings, primary_id: str | None) -> str | None:
    """Returns why no read will be sent to the database of these settings."""
    try:
        report = inspect_store(settings)
    except StoreUnavailable as error:
        return error.message
    if report.mismatch is not None or report.pending:
        return report.mismatch or f"it has schema {report.version}, and this version needs {report.known}"
    return "it is another database than the primary" if report.default_id != primary_id else None


def _check_space(settings: Settings) -> Findings:
    for path in _list_written_files(settings):
        folder = _folder_of(path)
        free = shutil.disk_usage(folder).free
        size = 0
        with suppress(OSError):
            size = os.path.getsize(path)
        message = f"{folder} has {free // 2**20:,} MiB free"
        if free < NO_SPACE_BYTES:
            yield ERROR, f"{message}; writes will fail soon", "free some space or move the file to a larger disk"
        elif free < max(LITTLE_SPACE_BYTES, size):
            yield (
                WARNING,
                f"{message}, and {path} takes {size // 2**20:,} MiB; a migration may need as much again",
                "free some space or move the file to a larger disk",
            )


def _check_clock(settings: Settings) -> Findings:
    started_at = time.time()
    report = inspect_store(settings)
    between = started_at, time.time()
    if report.now is not None:
        ahead = _seconds_outside(report.now / 1_000_000, *between)
        if abs(ahead) > CLOCK_SECONDS:
            yield (
                WARNING,
                f"the clock of the database is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} that of this "
                "machine; expiry of warrants follows the former, tokens and keys the latter",
                "synchronize both with the same time servers",
            )
    yield from _find_writes_of_the_future(report)


def _seconds_outside(moment: float, earliest: float, latest: float) -> float:
    """Returns how far a moment is after the latest, or before the earliest as a negative number."""
    return moment - min(max(moment, earliest), latest)


def _find_writes_of_the_future(report: StoreReport) -> Findings:
    now = time.time() if report.now is None else report.now / 1_000_000
    if report.written_at is not None and report.written_at / 1_000_000 > now + CLOCK_SECONDS:
        written_at = datetime.fromtimestamp(report.written_at / 1_000_000, UTC)
        yield (
            WARNING,
            f"the newest write has the time {written_at:%Y-%m-%d %H:%M:%S} UTC, which is to come: a clock was ahead",
            "set the clock; docs/operating.md, Retention, says how to set such times",
        )


def _check_keys(settings: Settings) -> Findings:
    report = inspect_store(settings)
    if not report.is_usable:
        return
    keys = asyncio.run(_list_keys(settings))
    now = datetime.now(UTC)
    groups: dict[tuple[str, str], list[str]] = {}
    for key in keys:
        for message, remedy in _find_faults(key, now):
            groups.setdefault((message, remedy), []).append(key.name)
    for (message, remedy), names in groups.items():
        more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
        yield WARNING, f"{message}: {', '.join(names[:MAX_NAMED])}{more}", remedy


async def _list_keys(settings: Settings) -> tuple[StoredKey, ...]:
    store = await open_store(replace(settings, secret_key_file=""))
    try:
        return (await store.list_keys()).keys
    finally:
        await store.close()


def _find_faults(key: StoredKey, now: datetime) -> Iterator[tuple[str, str]]:
    """Yields what is wrong with a key, and the remedy."""
    expires_at = None if key.expires_at is None else _moment(key.expires_at)
    if expires_at is not None and expires_at <= now:
        yield "keys have expired", "create others if they are needed, and run `magistrate keys revoke NAME`"
        return
    if expires_at is not None and expires_at <= now + EXPIRES_SOON:
        yield "keys expire within 14 days", "create others and give them to the callers before"
    if _moment(key.last_used_at or key.created_at) < now - UNUSED:
        yield "keys were not used for 90 days", "run `magistrate keys revoke NAME` unless they are still needed"
    if Scope.ADMIN in key.scopes and expires_at is None:
        yield "keys may do everything and never expire", "give each caller one with the scopes it needs, and an expiry"


def _moment(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC)


CHECKS: dict[str, tuple[Callable[[Settings], Findings], str]] = {
    "settings": (_check_settings, "correct the setting"),
    "limits": (_check_limits, "correct the setting, or make such a folder"),
    "files": (_check_files, "correct the setting, or the file"),
    "certificate": (_check_certificate, "give a certificate and its key, or correct the files"),
    "provider": (_check_provider, "correct the setting, the file, or the variable"),
    "gateways": (_check_forward_rules, "correct the setting, or the file; `magistrate forward test FILE` says more"),
    "traces": (_check_traces, "correct the setting or the variable, or install magistrate[otel]"),
    "outgoing": (_check_outgoing, "correct the variable, or unset it"),
    "store": (_check_store, "start the database, or correct --database-url"),
    "replicas": (_check_replicas, "start the database of --database-url, or correct the URL that cannot be read"),
    "space": (_check_space, "create the folder"),
    "clock": (_check_clock, "see the findings of the store"),
    "keys": (_check_keys, "see the findings of the store"),
}
"""Maps names of checks to their functions, and to what to do if one fails."""
