"""Gives requests their ids, and records those that were answered."""

import asyncio
import json
from collections.abc import Collection
from functools import lru_cache
from itertools import count
from select import PIPE_BUF
from time import gmtime, perf_counter, strftime, time

import msgspec
from msgspec.structs import astuple
from uuid_utils import uuid4, uuid7

from magistrate.api.audit.log import AuditLog
from magistrate.api.http.metrics import METRICS
from magistrate.api.http.rate_limits import RefusedRequests
from magistrate.log import LineOutput
from magistrate.tracing import Tracer, TraceSpan, end_request, name_span

WRITTEN_EVERY_SECONDS = 0.2
LINES_AT_ONCE = 10
"""Limits the lines per write. With paths of usual length they stay below 4 KiB, which a pipe does not interleave with
the lines of other workers (POSIX, PIPE_BUF)."""
MAX_LINES = 500
"""Limits the lines that wait to be written."""


MAX_PATH_CHARACTERS = 1_000
"""Limits the path in a line, so that no line is longer than such a write."""


class Line(msgspec.Struct, tag_field="event", tag="request"):
    """Represents a line of the log. `request` is the id in the response header `Warrant-Request-Id`, `path` is
    unescaped and without the query string, and `ms` runs from when the request was read until its answer was ready."""

    time: str
    request: str
    method: str
    path: str
    status: int
    ms: float
    level: str = "info"


class TracedLine(Line, tag_field="event", tag="request"):
    """Represents the same with the ids of the trace and of the span of the request. A line without them costs less."""

    trace_id: str = ""
    span_id: str = ""


class AccessLog:
    """Writes lines to an output, except for requests of these routes."""

    def __init__(self, output: LineOutput, left_out: Collection[str] = ()) -> None:
        self._output = output
        self._left_out = frozenset(left_out)
        self._lines: list[Line] = []
        self._encoder = msgspec.json.Encoder()
        self._timer: asyncio.TimerHandle | None = None

    def write(
        self,
        method: str,
        route: str,
        status: int,
        seconds: float,
        *,
        path: str,
        request_id: str,
        span: TraceSpan | None = None,
    ) -> None:
        """Adds a line, which names a span if it is given. Must be called in an event loop."""
        if route in self._left_out:
            return
        now = time()
        stamp = f"{_whole_seconds(int(now))}.{int(now % 1 * 1_000):03}Z"
        line = Line(
            time=stamp,
            request=request_id,
            method=method,
            path=path[:MAX_PATH_CHARACTERS],
            status=status,
            ms=round(seconds * 1_000, 3),
        )
        self._lines.append(line if span is None else TracedLine(*astuple(line), *name_span(span).values()))
        if len(self._lines) >= MAX_LINES:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(WRITTEN_EVERY_SECONDS, self.flush)

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        lines, self._lines = self._lines, []
        for start in range(0, len(lines), LINES_AT_ONCE):
            self._write(lines[start : start + LINES_AT_ONCE])

    def _render(self, line: Line) -> bytes:
        if line.path.isprintable():
            return self._encoder.encode(line) + b"\n"
        return json.dumps(msgspec.to_builtins(line)).encode() + b"\n"  # a terminal could obey what the path has

    def _write(self, lines: list[Line]) -> None:
        """Writes lines with one system call, or each with its own if they are too long together. Those that nobody
        takes are lost."""
        content = b"".join(map(self._render, lines))
        if len(content) > PIPE_BUF and len(lines) > 1:
            for line in lines:
                self._write([line])
            return
        self._output.write(content, len(lines))


@lru_cache(maxsize=2)
def _whole_seconds(seconds: int) -> str:
    return strftime("%Y-%m-%dT%H:%M:%S", gmtime(seconds))


TIMED = 15
"""Cuts the time and the version from the text of a UUID of version 7."""
COUNTED = -12
"""Cuts the hexadecimal digits from a UUID that count instead: 48 bits."""


class RequestIds:
    """Makes ids in the form of UUIDs of version 7 (RFC 9562). All begin like one that was made with this object, at its
    time and with random bits; the rest is a counter, which takes a third of the time of a new UUID."""

    def __init__(self) -> None:
        # Two UUIDs of version 7 that are made in the same millisecond may begin alike.
        self._beginning = f"{str(uuid7())[:TIMED]}{str(uuid4())[TIMED:COUNTED]}"
        self._numbers = count()

    def make(self) -> str:
        return f"{self._beginning}{next(self._numbers):012x}"


class Ledger:
    """Makes the ids of requests, counts requests, writes them to the access log if there is one, and ends their traces.
    The audit log is None if there is none; so is `refused` if any number of requests may be refused, and `tracer` if
    none is sampled."""

    def __init__(
        self,
        access_log: AccessLog | None = None,
        audit_log: AuditLog | None = None,
        refused: RefusedRequests | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        self.tracer = tracer
        self._logs_trace_ids = tracer is not None and tracer.logs_ids
        self._access_log = access_log
        self.make_request_id = RequestIds().make
        self.audit_log = audit_log
        self.refused = refused

    def record_answer(
        self,
        method: str,
        route: str,
        status: int,
        started: float,
        *,
        path: str,
        request_id: str,
        span: TraceSpan | None = None,
    ) -> None:
        """Records an answer. `route` is the path as in the table of routes, empty if there is none; `started` is a time
        of time.perf_counter; `span` is the first of the request, if it is sampled."""
        seconds = perf_counter() - started
        METRICS.observe(method, route, status, seconds)
        if self._access_log is not None:
            shown = span if self._logs_trace_ids else None
            self._access_log.write(method, route, status, seconds, path=path, request_id=request_id, span=shown)
        if span is not None:
            end_request(span, method, route, status, path=path, request_id=request_id)

    def count_answer(self, method: str, route: str, status: int, started: float) -> None:
        """Counts an answer that has no line of its own in any log. The arguments are those of `record_answer`."""
        METRICS.observe(method, route, status, perf_counter() - started)

    def stopping(self) -> None:
        """Writes what waits in the logs, because no more requests are answered."""
        if self.refused is not None:
            self.refused.report()
        if self._access_log is not None:
            self._access_log.flush()
        if self.audit_log is not None:
            self.audit_log.close()
        if self.tracer is not None:
            self.tracer.close()
