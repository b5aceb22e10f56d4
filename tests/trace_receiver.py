"""A receiver of OpenTelemetry's protocol (OTLP over HTTP), on a real socket, that decodes what it is sent."""

import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.http_server import SilentHandler, serving

WITHIN_SECONDS = 15.0


class ReceivedSpan(NamedTuple):
    """`links` are pairs of the ids of a trace and a span; `resource` are the attributes of the process."""

    name: str
    kind: str
    trace_id: str
    span_id: str
    parent_id: str
    state: str
    attributes: Mapping[str, Any]
    links: Sequence[tuple[str, str]]
    status: str
    began_ns: int
    ended_ns: int
    resource: Mapping[str, Any]


class ReceivedExport(NamedTuple):
    """The names of headers are in lower case."""

    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(slots=True)
class TraceReceiver:
    """`answer` says with which status each request is answered, after it has waited as long as it wants, and `reason`
    with which text beside it, if not the usual one."""

    url: str = ""
    answer: Callable[[], int] = lambda: 200
    reason: str | None = None
    requests: list[ReceivedExport] = field(default_factory=list)
    spans: list[ReceivedSpan] = field(default_factory=list)
    """The spans of all requests that were answered 200."""
    changed: threading.Condition = field(default_factory=threading.Condition)

    def receive(self, request: ReceivedExport) -> int:
        status = self.answer()
        with self.changed:
            self.requests.append(request)
            if status == 200:
                self.spans += read_spans(request.body)
            self.changed.notify_all()
        return status

    def wait_for(self, *, of_name: str, count: int = 1) -> list[ReceivedSpan]:
        """All spans of this name, once there are so many."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.named(of_name)) >= count, WITHIN_SECONDS), (
                of_name,
                [span.name for span in self.spans],
            )
            return self.named(of_name)

    def named(self, name: str) -> list[ReceivedSpan]:
        return [span for span in self.spans if span.name == name]

    def children(self, parent: ReceivedSpan) -> list[ReceivedSpan]:
        return [span for span in self.spans if (span.trace_id, span.parent_id) == (parent.trace_id, parent.span_id)]

    def below(self, parent: ReceivedSpan) -> list[ReceivedSpan]:
        """All descendants, in the order of their beginning."""
        found = [*self.children(parent)]
        for span in found:
            found += self.children(span)
        return sorted(found, key=lambda span: span.began_ns)


def read_spans(body: bytes) -> list[ReceivedSpan]:
    decoded = ExportTraceServiceRequest.FromString(body)
    return [
        ReceivedSpan(
            name=span.name,
            kind=span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
            trace_id=span.trace_id.hex(),
            span_id=span.span_id.hex(),
            parent_id=span.parent_span_id.hex(),
            state=span.trace_state,
            attributes=_read_attributes(span.attributes),
            links=[(link.trace_id.hex(), link.span_id.hex()) for link in span.links],
            status=span.status.StatusCode.Name(span.status.code).removeprefix("STATUS_CODE_"),
            began_ns=span.start_time_unix_nano,
            ended_ns=span.end_time_unix_nano,
            resource=_read_attributes(of_process.resource.attributes),
        )
        for of_process in decoded.resource_spans
        for of_scope in of_process.scope_spans
        for span in of_scope.spans
    ]


def _read_attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}


@contextmanager
def receiving_traces(tls: ssl.SSLContext | None = None) -> Iterator[TraceReceiver]:
    receiver = TraceReceiver()

    class Handler(SilentHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = receiver.receive(
                ReceivedExport(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            )
            self.send_response(status, receiver.reason)
            self.send_header("Content-Length", "0")
            self.end_headers()

    with serving(Handler, tls) as url:
        receiver.url = url
        yield receiver


def answer_slowly(seconds: float) -> Callable[[], int]:
    def answer() -> int:
        time.sleep(seconds)
        return 200

    return answer
