"""Builds what records and exports spans, from the settings and the variables of OpenTelemetry."""

import importlib.util
import os
from collections.abc import Mapping

import structlog

from magistrate.config.database_url import SqliteUrl
from magistrate.config.settings_table import Settings
from magistrate.config.trace_endpoint import TraceEndpoint, find_endpoint_fault, read_trace_endpoint
from magistrate.errors import InvalidSetting
from magistrate.tracing import AttributeValue, SpanKind, SpanQueue, Tracer

MAX_QUEUE_BYTES = 8_388_608
"""Limits the spans that wait to be exported, in bytes (8 MiB)."""

EXPORTER_MODULES = ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http.trace_exporter")

log = structlog.get_logger()


def find_trace_endpoint(settings: Settings) -> TraceEndpoint | None:
    """Returns where spans are exported to, or None if none are. Raises InvalidSetting if that cannot work; but a
    variable that is set for all programs of a platform is ignored then."""
    endpoint = read_trace_endpoint(settings.trace_endpoint, os.environ)
    if endpoint is None:
        return None
    try:
        _require_exporter(endpoint)
    except InvalidSetting:
        if endpoint.is_own:
            raise
        return None
    return endpoint


def find_ignored_endpoint(settings: Settings) -> str | None:
    """Returns why the endpoint that the variable of OpenTelemetry names is ignored; None if it is not, or there is
    none."""
    if settings.trace_endpoint:
        return None
    fault = find_endpoint_fault(os.environ)
    endpoint = read_trace_endpoint("", os.environ)
    if endpoint is not None:
        try:
            _require_exporter(endpoint)
        except InvalidSetting as error:
            fault = error.message
    return fault


def _require_exporter(endpoint: TraceEndpoint) -> None:
    """Raises InvalidSetting if the packages are missing, or a variable says how requests leave and cannot be used."""
    if not _has_exporter():
        raise InvalidSetting("trace_endpoint: packages are missing that export spans; install magistrate[otel]")
    from magistrate.outgoing_requests import choose_session_options  # an HTTP client takes memory

    choose_session_options(endpoint.url)


def _has_exporter() -> bool:
    """Returns whether the packages of the extra `otel` are installed."""
    try:
        return all(map(importlib.util.find_spec, EXPORTER_MODULES))
    except ModuleNotFoundError:
        return False


def check_traces(settings: Settings) -> None:
    """Raises InvalidSetting if spans cannot be exported: workers would continue without. Logs why a variable is
    ignored."""
    find_trace_endpoint(settings)
    if (reason := find_ignored_endpoint(settings)) is not None:
        log.warning("spans are not exported", error=reason)


def open_tracer(settings: Settings) -> Tracer | None:
    """Returns what decides which requests of this process are sampled, and begins to export their spans; None if none
    are exported."""
    endpoint = find_trace_endpoint(settings)
    if endpoint is None:
        return None
    from magistrate.wiring.trace_export import SpanExport  # it takes memory, and few services need it

    queue = SpanQueue(MAX_QUEUE_BYTES)
    common = {
        SpanKind.SERVER: {"url.scheme": "https" if settings.tls_cert else "http"},
        SpanKind.CLIENT: describe_database(settings),
    }
    export = SpanExport(queue, endpoint.url, common)
    return Tracer(
        settings.trace_sample,
        queue,
        trusts_callers=settings.trace_trust_parent,
        logs_ids=settings.trace_ids,
        close=export.close,
    )


def describe_database(settings: Settings) -> Mapping[str, AttributeValue]:
    """Returns the attributes that all statements have in common, by the conventions for databases of OpenTelemetry. No
    part of them is a secret."""
    if isinstance(settings.database, SqliteUrl):
        return {"db.system.name": "sqlite", "db.namespace": os.path.basename(settings.database.path)}
    from psycopg import ProgrammingError  # the driver of another store would take memory in every process
    from psycopg.conninfo import conninfo_to_dict

    try:
        parts = conninfo_to_dict(settings.database.conninfo)
    except ProgrammingError:  # it is refused when the store is opened
        parts = {}
    named = {"db.namespace": parts.get("dbname"), "server.address": parts.get("host")}
    port = str(parts.get("port") or "")
    return {
        "db.system.name": "postgresql",
        **{name: str(value) for name, value in named.items() if value},
        **({"server.port": int(port)} if port.isdigit() else {}),
    }
