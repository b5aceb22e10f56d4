"""Writes lines to a file descriptor without waiting for whoever reads them.

A pipe that nobody empties takes 64 KiB, and a write to it would then hold the whole process. What it does not take at
once is written by a thread. Beyond a bound, lines are lost, and a later one says how many."""

import fcntl
import os
import select
import socket
import stat
import threading
from collections import deque
from contextlib import suppress
from datetime import UTC, datetime

MOST_WAITING_BYTES = 1_048_576
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
            left = lines if self._waiting else self._write_now(lines, count)
            if left and left is lines and self.waiting_bytes + len(lines) > MOST_WAITING_BYTES:
                self.lost += count
            elif left:
                self._waiting.append((left, count))
                self.waiting_bytes += len(left)
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
            left = self._write_now(lines, count)
            self.waiting_bytes -= len(lines) - len(left)
            if left:
                self._waiting.appendleft((left, count))
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
