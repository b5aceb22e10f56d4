"""Configures how a process of the service writes its log: to stderr, a line of JSON at a time (docs/operating.md#log).

Whatever writes to the log goes through the same processors, also libraries that use the module `logging`, warnings of
Python, and errors that nobody handles. Lines have no secrets, and those of an outage are limited."""

import fcntl
import json
import logging
import mmap
import os
import select
import struct
import sys
import threading
import time
from collections.abc import MutableMapping
from contextlib import suppress
from multiprocessing.util import Finalize
from pathlib import Path
from types import TracebackType
from typing import Any

import structlog

from magistrate.log_output import LineOutput
from magistrate.redaction import redact

Event = MutableMapping[str, Any]

NS_BETWEEN_LINES = 10_000_000_000
"""Sets how often an outage is reported while it lasts (10 s), over all processes of a service."""
OUTAGES = ("store", "token provider", "connections", "descriptors")
"""Lists the values of the member `outage`: causes that concern all requests and processes alike."""
SHARED_NAME = "outages.slots"
"""Names the file of shared slots. Files with a suffix are not metrics; see Board."""
MOST_REPEATED = 256
"""Limits the different lines of libraries whose repetitions are counted."""
MOST_LINE_BYTES = select.PIPE_BUF
"""Limits a line: longer ones could be mixed with those of other workers in a pipe (POSIX)."""
SHORTENED_CHARACTERS = (2_000, 1_000, 500, 250, 100, 20)
"""Lists the lengths to which the texts of a line that is too long are cut, until it fits."""

_SLOT = struct.Struct("qq")
"""Holds when the next line of an outage may be written, in nanoseconds of the monotonic clock, and how many were to be
written since the one before."""
_MUST_LEAVE_OUT = 0


class OutageSlots:
    """Counts the lines of each outage: over all workers if they share a folder, and otherwise in this process."""

    def __init__(self, folder: Path | None) -> None:
        size = len(OUTAGES) * _SLOT.size
        self._slots: bytearray | mmap.mmap = bytearray(size)
        self._descriptor: int | None = None
        self._repeated: dict[str, tuple[int, int]] = {}
        """Holds the same for the lines of libraries, by what they say."""
        if folder is not None:
            with suppress(OSError):  # then each worker reports by itself
                self._descriptor = os.open(folder / SHARED_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                os.ftruncate(self._descriptor, size)
                self._slots = mmap.mmap(self._descriptor, size)

    def count(self, outage: str) -> int:
        """Returns how many lines there were since the last one that was written, including this one; 0 if it must be
        left out."""
        if outage not in OUTAGES:
            self._repeated[outage], times = _advance(*self._repeated.get(outage, (0, 0)))
            if len(self._repeated) > MOST_REPEATED:
                self._repeated.pop(next(iter(self._repeated)))
            return times
        place = OUTAGES.index(outage) * _SLOT.size
        if self._descriptor is not None:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        try:
            slot, times = _advance(*_SLOT.unpack_from(self._slots, place))
            _SLOT.pack_into(self._slots, place, *slot)
        finally:
            if self._descriptor is not None:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        return times


def _advance(next_at: int, times: int) -> tuple[tuple[int, int], int]:
    """Returns the slot after another line, and how many the line stands for."""
    now = time.monotonic_ns()
    if now < next_at:
        return (next_at, times + 1), _MUST_LEAVE_OUT
    return (now + NS_BETWEEN_LINES, 0), times + 1


_slots = OutageSlots(None)
_outputs: dict[tuple[int, int], LineOutput] = {}
"""Holds the output of this process, by its identifier and the file that stderr is."""


def find_output() -> LineOutput:
    """Returns what writes lines to stderr in this process. Raises OSError, ValueError or AttributeError if there is
    none."""
    descriptor = sys.stderr.fileno()
    key = (os.getpid(), os.fstat(descriptor).st_ino)
    output = _outputs.get(key)
    if output is None:
        _outputs.clear()
        output = _outputs[key] = LineOutput(descriptor)
        Finalize(None, output.drain, exitpriority=1)  # also at the end of a worker
    return output


def count_waiting_bytes() -> int:
    """Returns the bytes of the lines that wait to be written."""
    return sum(output.waiting_bytes for output in _outputs.values())


def count_lost_lines() -> int:
    """Returns how many lines were not written because nobody reads stderr."""
    return sum(output.lost for output in _outputs.values())


def log_to_stderr(shared_folder: Path | None = None) -> None:
    """Makes this process write its log to stderr, as lines of JSON. Workers share a folder."""
    global _slots
    _slots = OutageSlots(shared_folder)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            _limit_outages,
            structlog.processors.format_exc_info,
            render_line,
        ],
        logger_factory=lambda *_: _LineWriter(),
        cache_logger_on_first_use=True,
    )


def log_all_output() -> None:
    """Makes everything else that Python reports on stderr go through the log. It is called once, by a process that
    belongs to the service."""
    logging.raiseExceptions = False
    root = logging.getLogger()
    root.handlers = [_LibraryHandler(logging.WARNING)]
    root.setLevel(logging.WARNING)
    logging.captureWarnings(True)
    sys.excepthook = _log_uncaught
    sys.unraisablehook = lambda fault: _log_uncaught(fault.exc_type, fault.exc_value, fault.exc_traceback)
    threading.excepthook = lambda fault: _log_uncaught(fault.exc_type, fault.exc_value, fault.exc_traceback)


def render_line(logger: object, method: str, event: Event) -> str:
    """Returns a line without secrets, and short enough that no other worker writes into it."""
    ordered = {name: event.pop(name) for name in ("time", "level", "event") if name in event}
    line = {name: redact(value) for name, value in (ordered | dict(event)).items()}
    rendered = json.dumps(line)
    for most in SHORTENED_CHARACTERS:
        if len(rendered) < MOST_LINE_BYTES:
            break
        rendered = json.dumps({name: _shorten(value, most) for name, value in line.items()})
    return rendered


def _shorten(value: Any, most: int) -> Any:
    """Returns a value whose text has at most so many characters: the end of it, where a traceback has the error."""
    text = value if isinstance(value, str) else json.dumps(value)
    return value if len(text) <= most else f"[...] {text[-most:]}"


def _limit_outages(logger: object, method: str, event: Event) -> Event:
    if (outage := event.get("outage")) is not None:
        if not (times := _slots.count(str(outage))):
            raise structlog.DropEvent
        event["times"] = times
        if outage not in OUTAGES:
            del event["outage"]
    return event


class _LineWriter:
    """Writes each line with one system call. A line that cannot be written at once is lost: requests are answered all
    the same."""

    def msg(self, line: str) -> None:
        with suppress(OSError, ValueError, AttributeError):  # stderr may be closed, or missing
            find_output().write(line.encode() + b"\n")

    log = debug = info = warning = warn = error = critical = fatal = failure = err = exception = msg


class _LibraryHandler(logging.Handler):
    """Writes what libraries log. Lines that repeat are limited like those of an outage: the message without its
    arguments says which are the same."""

    def emit(self, record: logging.LogRecord) -> None:
        outage = "store" if record.name.startswith("psycopg") else f"{record.name}: {record.msg}"
        with suppress(Exception):  # a message whose arguments do not fit, for example
            structlog.get_logger().log(
                min(record.levelno // 10 * 10, logging.CRITICAL),
                record.getMessage(),
                logger=record.name,
                outage=outage,
                exc_info=record.exc_info,
            )


def _log_uncaught(
    kind: type[BaseException], error: BaseException | None, trace: TracebackType | None, *_: object
) -> None:
    if issubclass(kind, KeyboardInterrupt | SystemExit):
        return
    fault = error or kind()
    structlog.get_logger().critical("an error was not handled", error=repr(fault), exc_info=(kind, fault, trace))
