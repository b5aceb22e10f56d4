"""A line of JSON for each request that was answered, if it is wanted.

Lines are written some at a time: a system call for each would cost as much as a tenth of a check. What is not written
yet when the process is killed is lost; when it stops, nothing is. What cannot be written is lost, too."""

import asyncio
import os
from contextlib import suppress
from functools import lru_cache
from time import gmtime, strftime, time

import msgspec

WRITTEN_EVERY_SECONDS = 0.2
LINES_AT_ONCE = 10
"""Written by one call: with paths of usual lengths less than the 4 KiB of which a pipe lets no other worker's lines in
between (POSIX, PIPE_BUF)."""
MOST_LINES = 500
"""That wait to be written."""


class Line(msgspec.Struct):
    """`request` is the id in the answer's header `Warrant-Request-Id`; `path` without the query string, its escapes
    resolved; `ms` from the moment the request was read until its answer was ready."""

    time: str
    request: str
    method: str
    path: str
    status: int
    ms: float


class AccessLog:
    """To a file descriptor that is not closed by it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: list[Line] = []
        self._encoder = msgspec.json.Encoder()
        self._timer: asyncio.TimerHandle | None = None

    def write(self, request: str, method: str, path: str, status: int, seconds: float) -> None:
        """Must be called in an event loop."""
        now = time()
        stamp = f"{_whole_seconds(int(now))}.{int(now % 1 * 1_000):03}Z"
        self._lines.append(Line(stamp, request, method, path, status, round(seconds * 1_000, 3)))
        if len(self._lines) >= MOST_LINES:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(WRITTEN_EVERY_SECONDS, self.flush)

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        lines, self._lines = self._lines, []
        with suppress(OSError):  # nobody reads it, or the disk is full: requests are answered all the same
            for start in range(0, len(lines), LINES_AT_ONCE):
                left = self._encoder.encode_lines(lines[start : start + LINES_AT_ONCE])
                while left:
                    left = left[os.write(self._descriptor, left) :]


@lru_cache(maxsize=2)
def _whole_seconds(seconds: int) -> str:
    return strftime("%Y-%m-%dT%H:%M:%S", gmtime(seconds))
