"""Writes a line of JSON for each answered request, if the access log is enabled.

Lines are written in batches, because a system call per line would cost up to a tenth of a check. Lines that are not yet
written are lost when the process is killed, but not when it stops normally. Lines that cannot be written are lost,
too."""

import asyncio
import json
from collections.abc import Collection
from functools import lru_cache
from select import PIPE_BUF
from time import gmtime, strftime, time

import msgspec

from magistrate.log_output import LineOutput

WRITTEN_EVERY_SECONDS = 0.2
LINES_AT_ONCE = 10
"""Limits the lines per write. With paths of usual length they stay below 4 KiB, which a pipe does not interleave with
the lines of other workers (POSIX, PIPE_BUF)."""
MOST_LINES = 500
"""Limits the lines that wait to be written."""


MOST_PATH_CHARACTERS = 1_000
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


class AccessLog:
    """Writes lines to an output, except for requests of these routes."""

    def __init__(self, output: LineOutput, left_out: Collection[str] = ()) -> None:
        self._output = output
        self._left_out = frozenset(left_out)
        self._lines: list[Line] = []
        self._encoder = msgspec.json.Encoder()
        self._timer: asyncio.TimerHandle | None = None

    def write(self, request: str, method: str, route: str, path: str, status: int, seconds: float) -> None:
        """Adds a line. Must be called in an event loop."""
        if route in self._left_out:
            return
        now = time()
        stamp = f"{_whole_seconds(int(now))}.{int(now % 1 * 1_000):03}Z"
        self._lines.append(Line(stamp, request, method, path[:MOST_PATH_CHARACTERS], status, round(seconds * 1_000, 3)))
        if len(self._lines) >= MOST_LINES:
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
