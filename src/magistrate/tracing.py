"""Records what sampled requests do as spans, without any library (docs/tracing.md).

Whether a request is sampled is decided before anything else is done for it, so one that is not costs nothing more. A
span is a value with the times that were measured; a thread makes those of OpenTelemetry from them and exports them
(wiring/trace_export.py). See docs/decisions/0099-spans-are-recorded-by-hand-and-exported-by-a-thread.md."""

import random
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar, Token
from enum import Enum
from types import TracebackType
from typing import NamedTuple

AttributeValue = str | int
CACHE_HIT, CACHE_PARTIAL, CACHE_MISS = "hit", "partial", "miss"
"""Are the values of the attribute `magistrate.cache`: memory had all that was needed, or a part of it, or nothing."""
AUTHORIZED, DENIED, MIXED = "authorized", "denied", "mixed"
"""Are the values of the attribute `magistrate.result`."""
SAMPLED_FLAG = 1
MAX_SPANS = 250
"""Limits the spans of a request; those beyond it are counted in an attribute of its first span."""
MAX_TEXT_CHARACTERS = 1_000
"""Limits the characters of a path in a span."""


class SpanKind(Enum):
    """Says which side of a request a span is on, as OpenTelemetry defines it."""

    SERVER = "SERVER"
    CLIENT = "CLIENT"
    INTERNAL = "INTERNAL"


class CallerTrace(NamedTuple):
    """Holds what the caller of a request says about the trace that it belongs to (W3C Trace Context)."""

    trace_id: int
    span_id: int
    flags: int
    state: str = ""


class SpanLink(NamedTuple):
    """Identifies a span of another trace, or of the same."""

    trace_id: int
    span_id: int
    flags: int


class RequestTrace:
    """Holds what all spans of one request have in common. `anchor_ns` is the time of the clock at the beginning of
    time.perf_counter_ns, so that a clock that is set harms no duration."""

    __slots__ = (
        "anchor_ns",
        "cache",
        "checks",
        "flags",
        "id",
        "queue",
        "remaining",
        "result",
        "state",
        "statements",
        "unrecorded",
    )

    def __init__(self, trace_id: int, flags: int, state: str, queue: "SpanQueue") -> None:
        self.id = trace_id
        self.flags = flags
        self.state = state
        self.queue = queue
        self.anchor_ns = time.time_ns() - time.perf_counter_ns()
        self.remaining = MAX_SPANS if flags & SAMPLED_FLAG else 0
        self.unrecorded = 0
        self.statements = 0
        """Counts the statements of the request itself, without those of a group of writes."""
        self.checks = 0
        self.cache = ""
        self.result = ""

    @property
    def is_sampled(self) -> bool:
        return bool(self.flags & SAMPLED_FLAG)

    def note_cache(self, outcome: str) -> None:
        """Notes what came of a look into the caches: CACHE_HIT, CACHE_PARTIAL or CACHE_MISS. Different outcomes are
        partial together."""
        self.cache = outcome if self.cache in ("", outcome) else CACHE_PARTIAL

    def note_checks(self, checks: int, result: str) -> None:
        """Notes the result of so many checks: AUTHORIZED, DENIED or MIXED. Different results are mixed together."""
        self.checks += checks
        self.result = result if self.result in ("", result) else MIXED


class TraceSpan:
    """Represents something that takes time. As a context manager, it begins and ends with the context, and is the
    parent of the spans that are opened within it; it is exported when it has ended."""

    __slots__ = (
        "_token",
        "attributes",
        "began_ns",
        "ended_ns",
        "error",
        "id",
        "kind",
        "links",
        "name",
        "parent_id",
        "statements",
        "trace",
    )

    def __init__(
        self,
        trace: RequestTrace,
        name: str,
        parent_id: int = 0,
        kind: SpanKind = SpanKind.INTERNAL,
        statements: Sequence[str] = (),
    ) -> None:
        self.trace = trace
        self.id = _RANDOM.getrandbits(64) or 1
        self.name = name
        self.kind = kind
        self.parent_id = parent_id
        self.attributes: dict[str, AttributeValue] = {}
        self.links: tuple[SpanLink, ...] = ()
        self.statements = statements
        """Has the texts of the statements that it runs, if it runs any."""
        self.error = ""
        """Says what failed, in one word; empty if nothing did."""
        self.began_ns = time.perf_counter_ns()
        self.ended_ns = 0
        self._token: Token[TraceSpan | None] | None = None

    def open(self, name: str) -> "TraceSpan":
        """Returns a span within this one."""
        return TraceSpan(self.trace, name, self.id)

    def open_statements(self, texts: Sequence[str]) -> "TraceSpan":
        """Returns a span within this one that runs these statements together."""
        self.trace.statements += len(texts)
        return TraceSpan(self.trace, "", self.id, SpanKind.CLIENT, texts)

    def identify(self) -> SpanLink:
        """Returns what another span is linked to this one by."""
        return SpanLink(self.trace.id, self.id, self.trace.flags)

    def identify_parent(self) -> SpanLink:
        """Returns the same for the span that this one is within."""
        return SpanLink(self.trace.id, self.parent_id, self.trace.flags)

    def end(self, ended_ns: int | None = None) -> None:
        """Ends the span, now unless it ended before, and exports it."""
        self.ended_ns = time.perf_counter_ns() if ended_ns is None else ended_ns
        trace = self.trace
        if trace.remaining > 0:
            trace.remaining -= 1
            trace.queue.add(self)
        elif trace.is_sampled:
            trace.unrecorded += 1

    def __enter__(self) -> "TraceSpan":
        self.began_ns = time.perf_counter_ns()
        self._token = CURRENT.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._token is not None
        CURRENT.reset(self._token)
        self._token = None  # it refers to what has this span
        if kind is not None:
            self.error = kind.__name__
        self.end()


CURRENT: ContextVar[TraceSpan | None] = ContextVar("magistrate.span", default=None)
"""Has the span that what runs belongs to; None if its request is not sampled, or if it belongs to none."""


def open_span(name: str) -> AbstractContextManager[object]:
    """Returns a context that is a span if the request is sampled."""
    span = CURRENT.get()
    return NOT_RECORDED if span is None else span.open(name)


def open_statements(*texts: str) -> AbstractContextManager[object]:
    """Returns a context in which these statements run, which is a span if the request is sampled."""
    span = CURRENT.get()
    return NOT_RECORDED if span is None else span.open_statements(texts)


NOT_RECORDED = nullcontext()
"""Is the context of what belongs to no sampled request."""

_RANDOM = random.Random()
"""Makes ids, and decides which requests are sampled. A program around the service may have seeded that which all
share."""


def _notify_nobody() -> None:
    """Is called by a queue that nobody exports."""


class SpanQueue:
    """Holds the spans of a process that have ended until they are exported. Any thread may add some."""

    def __init__(self, max_bytes: int) -> None:
        self.dropped = 0
        """Counts the spans that will never be exported."""
        self.exported = 0
        self.bytes = 0
        self._max_bytes = max_bytes
        self._spans: deque[TraceSpan] = deque()
        self._lock = threading.Lock()
        self._many = max_bytes
        self._notify: Callable[[], None] = _notify_nobody

    def call_when(self, spans: int, notify: Callable[[], None]) -> None:
        """Calls back whenever so many spans wait."""
        self._many, self._notify = spans, notify

    def __len__(self) -> int:
        return len(self._spans)

    def add(self, span: TraceSpan) -> None:
        """Adds a span, or counts it as dropped if there is no space."""
        size = measure_span(span)
        with self._lock:
            if self.bytes + size > self._max_bytes:
                self.dropped += 1
                return
            self.bytes += size
            self._spans.append(span)
        if len(self._spans) == self._many:
            self._notify()

    def take(self, most: int) -> list[TraceSpan]:
        """Removes the oldest spans, and returns them."""
        with self._lock:
            spans = [self._spans.popleft() for _ in range(min(most, len(self._spans)))]
            self.bytes -= sum(map(measure_span, spans))
        return spans

    def count_dropped(self, spans: int) -> None:
        with self._lock:
            self.dropped += spans


BYTES_OF_A_SPAN = 900
"""Estimates what a span takes besides its texts, as measured, with the part that it has of its trace."""
BYTES_OF_AN_ATTRIBUTE = 100
BYTES_OF_A_LINK = 200


def measure_span(span: TraceSpan) -> int:
    """Returns an estimate of the bytes that a span takes, once it has ended."""
    texts = sum(map(len, span.statements)) + sum(
        len(text) for text in span.attributes.values() if isinstance(text, str)
    )
    return BYTES_OF_A_SPAN + BYTES_OF_AN_ATTRIBUTE * len(span.attributes) + BYTES_OF_A_LINK * len(span.links) + texts


class Tracer:
    """Decides which requests are sampled: the part `rate` of them; or, if it `trusts_callers`, those whose callers say
    so, and that part of the requests of callers who say nothing. If it `logs_ids`, those of callers who say no have a
    trace, too, of which nothing is recorded but the id can be logged."""

    def __init__(
        self,
        rate: float,
        queue: SpanQueue,
        trusts_callers: bool = False,
        logs_ids: bool = False,
        close: Callable[[], None] = _notify_nobody,
    ) -> None:
        self.queue = queue
        self.close = close
        """Exports the spans that wait, when no more requests are answered."""
        self.trusts_callers = trusts_callers
        self.logs_ids = logs_ids
        self._rate = rate
        self._draw = _RANDOM.random

    def begin(self, caller: CallerTrace | None = None) -> TraceSpan | None:
        """Returns the first span of a request, which has begun, or None if the request is not sampled."""
        if caller is None:
            if self._draw() >= self._rate:
                return None
            trace = RequestTrace(_RANDOM.getrandbits(128) or 1, SAMPLED_FLAG, "", self.queue)
            return TraceSpan(trace, "", kind=SpanKind.SERVER)
        if not (caller.flags & SAMPLED_FLAG or self.logs_ids):
            return None
        trace = RequestTrace(caller.trace_id, caller.flags, caller.state, self.queue)
        return TraceSpan(trace, "", caller.span_id, SpanKind.SERVER)

    def begin_work(self, name: str) -> TraceSpan | None:
        """Returns the first span of work that no request has caused, or None if it is not sampled."""
        if self._draw() >= self._rate:
            return None
        trace = RequestTrace(_RANDOM.getrandbits(128) or 1, SAMPLED_FLAG, "", self.queue)
        return TraceSpan(trace, name)


METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})
"""Lists the methods that spans name. Anybody may send others."""
OTHER_METHOD = "_OTHER"
SERVER_ERROR = 500


def end_request(span: TraceSpan, method: str, route: str, status: int, *, path: str, request_id: str) -> None:
    """Ends the first span of a request, and names it by the conventions for HTTP of OpenTelemetry. The arguments are
    those of Ledger.record_answer."""
    trace, attributes = span.trace, span.attributes
    if not trace.is_sampled:
        return
    is_usual = method in METHODS
    span.name = f"{method if is_usual else 'HTTP'} {route}".rstrip()
    attributes["http.request.method"] = method if is_usual else OTHER_METHOD
    if route:
        attributes["http.route"] = route
    attributes["url.path"] = path[:MAX_TEXT_CHARACTERS]
    attributes["http.response.status_code"] = status
    attributes["magistrate.request_id"] = request_id
    attributes["magistrate.statements"] = trace.statements
    own = (("checks", trace.checks), ("result", trace.result), ("cache", trace.cache))
    attributes |= {f"magistrate.{name}": value for name, value in (*own, ("spans_left_out", trace.unrecorded)) if value}
    if status >= SERVER_ERROR:
        span.error = str(status)
    trace.remaining += 1  # the first span is always exported
    span.end()


def name_span(span: TraceSpan) -> Mapping[str, str]:
    """Returns the members of a line of the log that say which span it is about."""
    return {"trace_id": f"{span.trace.id:032x}", "span_id": f"{span.id:016x}"}
