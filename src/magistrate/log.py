"""Configures how a process of the service writes its log: to stderr, a line of JSON at a time (docs/operating.md#log).

Whatever writes to the log goes through the same processors, also libraries that use the module `logging`, warnings of
Python, and errors that nobody handles. Lines have no secrets, and those of an outage are limited."""

import fcntl
import json
import logging
import mmap
import os
import re
import select
import socket
import stat
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from multiprocessing.util import Finalize
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import structlog

from magistrate.tracing import CURRENT, name_span

HIDDEN = "..."
MIN_CONFIGURED_CHARACTERS = 6
"""Sets the length from which a configured secret is searched for wherever it stands; shorter ones would be found in
ordinary words."""

_PATTERNS = (
    (re.compile(r"(://)[^\s\"'<>]*@"), rf"\1{HIDDEN}@"),
    (
        re.compile(r"(?i)\b(password|passwd|secret|sslpassword)(\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s,;&'\")]+)"),
        rf"\1\2{HIDDEN}",
    ),
    (re.compile(r"(?i)([?&](?:key|token|ticket|password|secret|access_token)=)[^&\s\"']+"), rf"\1{HIDDEN}"),
    (re.compile(r"(?i)\b(apikey|bearer)\s+[^\s\"',]+"), rf"\1 {HIDDEN}"),
    (re.compile(r"\bmagistrate_[A-Za-z0-9_-]{40,}"), f"magistrate_{HIDDEN}"),
    (re.compile(r"\beyJ[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"), HIDDEN),
)
"""Lists what secrets look like, and what is shown instead."""

_configured: tuple[str, ...] = ()


def hide_secrets(secrets: Iterable[str]) -> None:
    """Makes this process hide these secrets, too, wherever they occur in a text."""
    global _configured
    _configured = tuple(
        sorted({secret for secret in secrets if len(secret) >= MIN_CONFIGURED_CHARACTERS}, key=len, reverse=True)
    )


def redact(value: Any) -> Any:
    """Returns a value for JSON, of which all texts are without secrets."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, dict):
        return {str(redact(key)): redact(member) for key, member in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [redact(member) for member in value]
    return redact_text(value if isinstance(value, str) else repr(value))


def redact_text(text: str) -> str:
    """Returns the text without secrets."""
    for secret in _configured:
        text = text.replace(secret, HIDDEN)
    for pattern, shown in _PATTERNS:
        text = pattern.sub(shown, text)
    return text


MAX_WAITING_BYTES = 1_048_576
"""Limits the lines that wait to be written (1 MiB)."""
DRAINED_WITHIN_SECONDS = 1.0
"""Sets how long a process that ends waits for its last lines to be read."""
LOOK_EVERY_SECONDS = 0.2


class LineOutput:
    """Writes lines to a descriptor, which stays open. Each call writes its lines as a whole if a pipe takes them, which
    it does up to PIPE_BUF bytes."""

    def __init__(self, descriptor: int) -> None:
        self.lost = 0
        """Counts the lines that were not written."""
        self.waiting_bytes = 0
        self._descriptor = descriptor
        self._reported = 0
        self._waiting: deque[tuple[bytes, int]] = deque()
        """Holds lines, and how many they are, in their order."""
        self._state = threading.Condition()
        self._thread: threading.Thread | None = None
        self._socket: socket.socket | None = None
        self._own = -1
        self._must_poll = False
        with suppress(OSError):
            mode = os.fstat(descriptor).st_mode
            if stat.S_ISSOCK(mode):
                self._socket = socket.socket(fileno=os.dup(descriptor))
            elif stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
                self._open_without_waiting()

    def write(self, lines: bytes, count: int = 1) -> None:
        """Writes these lines, of which there are so many, now or later, or counts them as lost. Raises nothing."""
        with self._state:
            unwritten = lines if self._waiting else self._write_now(lines, count)
            if unwritten and unwritten is lines and self.waiting_bytes + len(lines) > MAX_WAITING_BYTES:
                self.lost += count
            elif unwritten:
                self._waiting.append((unwritten, count))
                self.waiting_bytes += len(unwritten)
                self._start_thread()

    def drain(self, seconds: float = DRAINED_WITHIN_SECONDS) -> None:
        """Waits until nothing waits any more, but no longer than this."""
        with self._state:
            self._state.wait_for(lambda: not self._waiting, seconds)

    def close(self) -> None:
        """Closes what was opened here."""
        if self._own >= 0:
            os.close(self._own)
        if self._socket is not None:
            self._socket.close()

    def _open_without_waiting(self) -> None:
        """Opens the same file again, because everybody who has this descriptor shares whether it waits."""
        try:
            same = fcntl.fcntl(self._descriptor, fcntl.F_GETFL) & getattr(os, "O_DIRECT", 0)
            flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | same
            self._descriptor = self._own = os.open(f"/proc/self/fd/{self._descriptor}", flags)
        except OSError:  # it belongs to somebody else, or there is no such folder
            self._must_poll = True

    def _start_thread(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_on, name="log-output", daemon=True)
            self._thread.start()

    def _write_on(self) -> None:
        """Writes what waits until nothing does."""
        while True:
            with suppress(OSError, ValueError):
                select.select((), (self._descriptor,), (), LOOK_EVERY_SECONDS)
            with self._state:
                self._write_waiting()
                if not self._waiting:
                    self._thread = None
                    self._state.notify_all()
                    return

    def _write_waiting(self) -> None:
        while self._waiting:
            lines, count = self._waiting.popleft()
            unwritten = self._write_now(lines, count)
            self.waiting_bytes -= len(lines) - len(unwritten)
            if unwritten:
                self._waiting.appendleft((unwritten, count))
                return
        missing, self._reported = self.lost - self._reported, self.lost
        if missing:
            now = datetime.now(UTC).isoformat().replace("+00:00", "Z").encode()
            notice = b'{"time":"%s","level":"warning","event":"lines of the log were lost","times":%d}\n'
            self._write_now(notice % (now, missing), 0)

    def _write_now(self, lines: bytes, count: int) -> bytes:
        """Returns what was not taken of these lines; nothing if they are lost."""
        try:
            while lines:
                lines = lines[self._take(lines) :]
        except (BlockingIOError, InterruptedError):
            return lines
        except (OSError, ValueError):  # no reader, or the disk is full: requests are answered all the same
            self.lost += count
            return b""
        return lines

    def _take(self, content: bytes) -> int:
        """Returns how many bytes were written. Raises BlockingIOError if none can be now."""
        if self._socket is not None:
            return self._socket.send(content, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        if self._must_poll:
            if not select.select((), (self._descriptor,), (), 0)[1]:
                raise BlockingIOError
            content = content[: select.PIPE_BUF]
        return os.write(self._descriptor, content)


Event = MutableMapping[str, Any]

NS_BETWEEN_LINES = 10_000_000_000
"""Sets how often an outage is reported while it lasts (10 s), over all processes of a service."""
OUTAGES = ("store", "token provider", "connections", "descriptors", "traces")
"""Lists the values of the member `outage`: causes that concern all requests and processes alike."""
NS_BETWEEN_TRACE_LINES = 60_000_000_000
"""Sets the same for the outage `traces` (60 s), which harms no request."""
SHARED_NAME = "outages.slots"
"""Names the file of shared slots. Files with a suffix are shared memory, not metrics."""
MAX_REPEATED = 256
"""Limits the different lines of libraries whose repetitions are counted."""
MAX_LINE_BYTES = select.PIPE_BUF
"""Limits a line: longer ones could be mixed with those of other workers in a pipe (POSIX)."""
SHORTENED_CHARACTERS = (2_000, 1_000, 500, 250, 100, 20)
"""Lists the lengths to which the texts of a line that is too long are cut, until it fits."""

NS_UNTIL_ENDED = 2_000_000_000
"""Sets how long nothing must have failed before an outage has ended (2 s): one process may reach the store while others
still wait for it."""

_SLOT = struct.Struct("qqqq")
"""Holds an OutageState."""
_MUST_LEAVE_OUT = 0


class OutageState(NamedTuple):
    """Holds when the next line of an outage may be written, how many were to be written since the one before, when the
    last one was to be written, and when the first one was: 0 unless one was, and no line has said since that the outage
    has ended. Times are nanoseconds of the monotonic clock."""

    next_at: int = 0
    times: int = 0
    last_at: int = 0
    began_at: int = 0

    def add_line(self, now: int, between: int = NS_BETWEEN_LINES) -> tuple["OutageState", int]:
        """Returns the state after another line, and how many lines it stands for. `between` is the time to the next
        one at least."""
        if now < self.next_at:
            return self._replace(times=self.times + 1, last_at=now), _MUST_LEAVE_OUT
        return OutageState(now + between, 0, now, self.began_at or now), self.times + 1

    def has_ended(self, now: int) -> bool:
        """Returns whether the end is to be said now that something has succeeded."""
        return self.began_at > 0 and now - self.last_at >= NS_UNTIL_ENDED


class EndedOutage(NamedTuple):
    """Says of an outage that has ended how many lines there were that none has stood for, and how long it was, up to
    the last of them."""

    name: str
    times: int
    seconds: float


class OutageSlots:
    """Counts the lines of each outage: over all workers if they share a folder, and otherwise in this process."""

    def __init__(self, folder: Path | None) -> None:
        size = len(OUTAGES) * _SLOT.size
        self._slots: bytearray | mmap.mmap = bytearray(size)
        self._descriptor: int | None = None
        self._repeated: dict[str, OutageState] = {}
        """Holds the same for the lines of libraries, by what they say."""
        if folder is not None:
            with suppress(OSError):  # then each worker reports by itself
                self._descriptor = os.open(folder / SHARED_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                os.ftruncate(self._descriptor, size)
                self._slots = mmap.mmap(self._descriptor, size)

    def count(self, outage: str) -> int:
        """Returns how many lines there were since the last one that was written, including this one; 0 if it must be
        left out."""
        now = time.monotonic_ns()
        if outage not in OUTAGES:
            self._repeated[outage], times = self._repeated.get(outage, OutageState()).add_line(now)
            if len(self._repeated) > MAX_REPEATED:
                self._repeated.pop(next(iter(self._repeated)))
            return times
        with self._lock():
            between = NS_BETWEEN_TRACE_LINES if outage == "traces" else NS_BETWEEN_LINES
            state, times = self._read(outage).add_line(now, between)
            self._write(outage, state)
        return times

    def end(self, outage: str) -> EndedOutage | None:
        """Returns what is to be said of an outage now that something has succeeded: once, and only of one that a line
        was written of, which is too long ago for it to last. Costs a microsecond while there is none."""
        now = time.monotonic_ns()
        if not self._read(outage).has_ended(now):
            return None
        with self._lock():
            state = self._read(outage)
            if not state.has_ended(now):
                return None  # another process has said so
            self._write(outage, OutageState(state.next_at))
        return EndedOutage(outage, state.times, round((state.last_at - state.began_at) / 1_000_000_000, 3))

    def _read(self, outage: str) -> OutageState:
        return OutageState(*_SLOT.unpack_from(self._slots, OUTAGES.index(outage) * _SLOT.size))

    def _write(self, outage: str, state: OutageState) -> None:
        _SLOT.pack_into(self._slots, OUTAGES.index(outage) * _SLOT.size, *state)

    @contextmanager
    def _lock(self) -> Iterator[None]:
        if self._descriptor is not None:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            if self._descriptor is not None:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)


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


def end_outage(outage: str) -> None:
    """Writes that an outage has ended, if it was reported and has. It is to be called whenever something succeeds that
    such an outage would prevent."""
    if (ended := _slots.end(outage)) is not None:
        structlog.get_logger().warning("available again", outage=ended)


def log_to_stderr(shared_folder: Path | None = None, names_spans: bool = False) -> None:
    """Makes this process write its log to stderr, as lines of JSON. Workers share a folder. If it `names_spans`, lines
    about a sampled request have the ids of its trace and span."""
    global _slots
    _slots = OutageSlots(shared_folder)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            _limit_outages,
            structlog.processors.format_exc_info,
            *([_name_span] if names_spans else []),
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
        if len(rendered) < MAX_LINE_BYTES:
            break
        rendered = json.dumps({name: _shorten(value, most) for name, value in line.items()})
    return rendered


def render_failed_start(message: str) -> str:
    """Returns the line that says why the service did not start. Of a long reason, the beginning is kept."""
    if len(message) > SHORTENED_CHARACTERS[0]:
        message = f"{message[: SHORTENED_CHARACTERS[0]]} [...]"
    now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    return render_line(
        None, "", {"time": now, "level": "critical", "event": "the service did not start", "error": message}
    )


def _shorten(value: Any, most: int) -> Any:
    """Returns a value whose text has at most so many characters: the end of it, where a traceback has the error."""
    text = value if isinstance(value, str) else json.dumps(value)
    return value if len(text) <= most else f"[...] {text[-most:]}"


def _limit_outages(logger: object, method: str, event: Event) -> Event:
    outage = event.get("outage")
    if isinstance(outage, EndedOutage):
        event.update(outage=outage.name, times=outage.times, seconds=outage.seconds)
    elif outage is not None:
        if not (times := _slots.count(str(outage))):
            raise structlog.DropEvent
        event["times"] = times
        if outage not in OUTAGES:
            del event["outage"]
    return event


def _name_span(logger: object, method: str, event: Event) -> Event:
    if (span := CURRENT.get()) is not None:
        event.update(name_span(span))
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
