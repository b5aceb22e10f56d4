"""Exports the spans of this process with the SDK of OpenTelemetry, in a thread (docs/tracing.md).

Requests wait for nothing here: if the receiver cannot be reached, or is slow, spans are dropped and counted. The SDK
has a thread of its own for this, which is bounded by the number of spans and not by their bytes, counts nothing, and
cannot be stopped in time. This module is imported only if spans are exported."""

import logging
import re
import threading
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import requests
import structlog
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    Status,
    StatusCode,
    TraceFlags,
    TraceState,
    set_span_in_context,
)
from opentelemetry.trace import SpanKind as SdkSpanKind
from uuid_utils import uuid4

from magistrate import __version__
from magistrate.outgoing_requests import choose_session_options
from magistrate.tracing import AttributeValue, SpanKind, SpanQueue, TraceSpan

EXPORT_EVERY_SECONDS = 5.0
"""Sets how long a span waits at most before it is exported."""
SPANS_AT_ONCE = 512
"""Limits the spans of one request to the receiver. As many as that are exported at once."""
FLUSH_SECONDS = 2.0
"""Limits the wait for the last spans when the service stops."""
MAX_QUERY_CHARACTERS = 4_096
"""Limits the text of statements in a span."""
MAX_SUMMARY_CHARACTERS = 255
"""Limits the summary of a statement, as the conventions for databases do."""

log = structlog.get_logger()

EXPORTER_LOGGER = "opentelemetry.exporter.otlp.proto.http.trace_exporter"


class ExportFaults(logging.Handler):
    """Keeps what the exporter would log, which it does for each attempt: only the first line says why."""

    def __init__(self) -> None:
        super().__init__()
        self._first = ""

    def emit(self, record: logging.LogRecord) -> None:
        self._first = self._first or record.getMessage()

    def take(self) -> str:
        first, self._first = self._first, ""
        return first


class GivenIds(IdGenerator):
    """Has the SDK use the ids that spans have already."""

    trace_id, span_id = 1, 1

    def generate_trace_id(self) -> int:
        return self.trace_id

    def generate_span_id(self) -> int:
        return self.span_id


class EndedSpans(SpanProcessor):
    """Collects the spans that the SDK has made, in their order."""

    def __init__(self) -> None:
        self._spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self._spans.append(span)

    def take(self) -> list[ReadableSpan]:
        spans, self._spans = self._spans, []
        return spans


CommonAttributes = Mapping[SpanKind, Mapping[str, AttributeValue]]


class SpanBuilder:
    """Makes spans of the SDK. `common` are the attributes that all spans of a kind have."""

    def __init__(self, resource: Resource, common: CommonAttributes) -> None:
        self._ids, self._ended = GivenIds(), EndedSpans()
        provider = TracerProvider(sampler=ALWAYS_ON, resource=resource, shutdown_on_exit=False, id_generator=self._ids)
        provider.add_span_processor(self._ended)
        self._tracer = provider.get_tracer("magistrate", __version__)
        self._common = common

    def build(self, spans: Sequence[TraceSpan]) -> list[ReadableSpan]:
        for span in spans:
            self._build(span)
        return self._ended.take()

    def _build(self, span: TraceSpan) -> None:
        trace, name = span.trace, span.name
        attributes = {**self._common.get(span.kind, {}), **span.attributes}
        if span.statements:
            described = describe_statements(tuple(span.statements))
            name = described.summary
            attributes |= described.attributes
        if span.error:
            attributes["error.type"] = span.error
        flags = TraceFlags(trace.flags)
        state = TraceState.from_header([trace.state]) if trace.state else None
        parent = SpanContext(trace.id, span.parent_id, span.kind is SpanKind.SERVER, flags, state)
        self._ids.trace_id, self._ids.span_id = trace.id, span.id
        made = self._tracer.start_span(
            name,
            set_span_in_context(NonRecordingSpan(parent)) if span.parent_id else set_span_in_context(NO_SPAN),
            SdkSpanKind[span.kind.name],
            attributes,
            [Link(SpanContext(link.trace_id, link.span_id, False, TraceFlags(link.flags))) for link in span.links],
            trace.anchor_ns + span.began_ns,
        )
        if span.error:
            made.set_status(Status(StatusCode.ERROR))
        made.end(trace.anchor_ns + span.ended_ns)


NO_SPAN = NonRecordingSpan(SpanContext(0, 0, False))


class StatementDescription(NamedTuple):
    """Says what statements do, by the conventions for databases of OpenTelemetry."""

    summary: str
    attributes: Mapping[str, AttributeValue]


_WORD = re.compile(r"\w+")
_CHANGE = re.compile(r"\b(INSERT INTO|UPDATE|DELETE FROM)\b")
_TABLE = re.compile(r"\b(?:(?:FROM|JOIN)\s+(\w+)\b(?!\s*\()|(?:INTO|UPDATE)\s+(?!SET\b)(\w+))")
BATCH = "BATCH"


@lru_cache(maxsize=256)
def describe_statements(texts: tuple[str, ...]) -> StatementDescription:
    """Describes statements that ran together, of which the texts have placeholders in place of values."""
    different = [*dict.fromkeys(texts)]
    operations = {_find_operation(text) for text in different}
    operation = operations.pop() if len(operations) == 1 else ""
    attributes: dict[str, AttributeValue] = {}
    if len(texts) > 1:
        operation = f"{BATCH} {operation}".rstrip()
        attributes["db.operation.batch.size"] = len(texts)
    summary = "; ".join(dict.fromkeys(map(_summarize, different)))[:MAX_SUMMARY_CHARACTERS]
    query = "; ".join(" ".join(text.split()) for text in (different if len(different) == 1 else texts))
    attributes["db.operation.name"] = operation
    attributes["db.query.summary"] = summary
    attributes["db.query.text"] = query if len(query) <= MAX_QUERY_CHARACTERS else f"{query[:MAX_QUERY_CHARACTERS]}..."
    return StatementDescription(summary, attributes)


def _summarize(text: str) -> str:
    """Returns the verb of a statement and the tables that it names, in their order."""
    tables = (read or changed for read, changed in _TABLE.findall(text))
    return " ".join((_find_operation(text), *dict.fromkeys(tables)))


def _find_operation(text: str) -> str:
    """Returns the verb of a statement. What a `WITH` changes is what the statement is for."""
    word = _WORD.search(text)
    if word is None or word[0].upper() != "WITH":
        return "" if word is None else word[0].upper()
    change = _CHANGE.search(text)
    return "SELECT" if change is None else change[1].split()[0]


def describe_process() -> Resource:
    """Returns what all spans of this process have in common. What the variables of OpenTelemetry say wins."""
    own = {"service.name": "magistrate", "service.version": __version__, "service.instance.id": str(uuid4())}
    return Resource.create({**own, **OTELResourceDetector().detect().attributes})


def open_exporter(url: str) -> OTLPSpanExporter:
    """Returns what sends spans to a URL, as all requests to other servers leave. Raises InvalidSetting."""
    options = choose_session_options(url)
    session = requests.Session()
    session.trust_env = False
    session.proxies = {scheme: options.proxy for scheme in ("http", "https") if options.proxy}
    session.hooks["response"].append(_refuse_redirect)
    return OTLPSpanExporter(endpoint=url, certificate_file=options.authorities or None, session=session)


def _refuse_redirect(response: requests.Response, **_: object) -> None:
    """Raises an error for an answer that the exporter would take for success, although nothing was delivered."""
    if 300 <= response.status_code < 400:
        response.close()
        raise requests.RequestException(f"{response.status_code} {response.reason}")


class SpanExport:
    """Exports what a queue holds until it is closed."""

    def __init__(self, queue: SpanQueue, url: str, common: CommonAttributes) -> None:
        self._queue = queue
        self._url = url
        self._builder = SpanBuilder(describe_process(), common)
        self._exporter = open_exporter(url)
        self._faults = ExportFaults()
        logger = logging.getLogger(EXPORTER_LOGGER)
        logger.handlers, logger.propagate = [self._faults], False
        self._reported = 0
        self._is_closing = False
        self._wake = threading.Event()
        queue.call_when(SPANS_AT_ONCE, self._wake.set)
        self._thread = threading.Thread(target=self._export_on, name="span-export", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Exports what waits, as far as the time for that is enough."""
        deadline = time.monotonic() + FLUSH_SECONDS
        self._is_closing = True
        self._wake.set()
        self._thread.join(max(0.0, deadline - time.monotonic()))
        self._exporter.shutdown()  # type: ignore[no-untyped-call]  # it says nothing of its types

    def _export_on(self) -> None:
        is_last = False
        while not is_last:
            self._wake.wait(EXPORT_EVERY_SECONDS)
            self._wake.clear()
            is_last = self._is_closing
            while spans := self._queue.take(SPANS_AT_ONCE):
                self._export(spans)

    def _export(self, spans: Sequence[TraceSpan]) -> None:
        try:
            is_exported = self._exporter.export(self._builder.build(spans)) is SpanExportResult.SUCCESS
        except Exception as error:  # whatever it is, the thread must go on
            is_exported, fault = False, repr(error)
        else:
            fault = self._faults.take()
        if is_exported:
            self._queue.exported += len(spans)
        else:
            self._queue.count_dropped(len(spans))
        dropped, self._reported = self._queue.dropped - self._reported, self._queue.dropped
        if dropped:
            error_text = fault or "the receiver is slower than spans come"
            log.warning("spans were dropped", outage="traces", spans=dropped, endpoint=self._url, error=error_text)
