"""A worker process, as its supervisor sees it."""

import asyncio
import multiprocessing
import signal
import socket
from collections.abc import Callable
from contextlib import suppress

from magistrate.api.accepting import read_reports, send_connection

RunWorker = Callable[[socket.socket], None]
"""What a worker process runs, with its end of the channel. Must be picklable."""

LATE_AFTER_TICKS = 3
"""Reports come every second: a worker that misses some gets no connection while others do not."""

# Not forked: threads and connections of the supervisor would not survive that.
_PROCESSES = multiprocessing.get_context("spawn")


class Worker:
    """Is started when it is made; raises OSError if that fails."""

    def __init__(self, run_worker: RunWorker) -> None:
        self.channel, theirs = socket.socketpair()
        self.channel.setblocking(False)
        self._process = _PROCESSES.Process(target=run_worker, args=(theirs,))
        try:
            self._process.start()
        except OSError:
            self.channel.close()
            raise
        finally:
            theirs.close()
        self.ticks = 0
        """Seconds since it was started, or since it was retired. Seconds in which the supervisor itself was stopped,
        as all processes of a container may be, are not counted; nor are they in the others."""
        self.ticks_ready = 0
        self.ticks_silent = 0
        self.is_retired = False
        """Whether it is to end: it gets no connections, and is not replaced when it does."""
        self.was_killed_for: str | None = None
        self.ready: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        """Becomes true when it serves, false when it ends before."""
        self.ended = asyncio.Event()
        self._sent = 0
        self._received = 0
        self._open = 0
        self._has_room = True
        self._unread_report = b""

    @property
    def pid(self) -> int | None:
        return self._process.pid

    @property
    def sentinel(self) -> int:
        """A descriptor that becomes readable when the process ends."""
        return self._process.sentinel

    @property
    def is_ready(self) -> bool:
        return self.ready.done() and self.ready.result()

    @property
    def takes_connections(self) -> bool:
        return self.is_ready and not self.is_retired and self._has_room

    @property
    def load(self) -> tuple[bool, int, int]:
        """What to choose by the worker that gets a connection: whether it is late, how many it has, how many it has
        had."""
        return self.ticks_silent >= LATE_AFTER_TICKS, self._open + self._sent - self._received, self._sent

    def give(self, connection: socket.socket) -> bool:
        """Returns whether the worker has got the connection, or will."""
        try:
            send_connection(self.channel, connection)
        except OSError:  # it does not read, or has ended; of that we shall hear
            self._has_room = False
            return False
        self._sent += 1
        return True

    def read_report(self) -> bool:
        """Takes note of what the worker says; returns False when it will not say anything more."""
        try:
            received = self.channel.recv(65_536)
        except BlockingIOError:
            return True
        except OSError:
            received = b""
        if not received:
            self._has_room = False
            return False
        report, self._unread_report = read_reports(self._unread_report + received)
        if report is not None:
            self._received, self._open = report.received, report.open
            self.ticks_silent, self._has_room = 0, True
            if report.is_leaving:
                self.is_retired = True
            if not self.ready.done():
                self.ready.set_result(True)
        return True

    def tick(self) -> None:
        self.ticks += 1
        self.ticks_silent += 1
        self.ticks_ready += self.is_ready

    def retire(self) -> None:
        """Tells the worker to finish what it has."""
        self.is_retired = True
        self.ticks = 0
        self.channel.close()
        with suppress(ProcessLookupError):
            self._process.terminate()

    def kill(self, reason: str) -> None:
        self.was_killed_for = reason
        self._process.kill()

    def bury(self) -> str:
        """Frees what a process that has ended leaves behind; returns why it ended."""
        self._process.join()
        code = self._process.exitcode or 0
        self._process.close()
        self.channel.close()
        if not self.ready.done():
            self.ready.set_result(False)
        self.ended.set()
        if self.was_killed_for is not None:
            return self.was_killed_for
        return f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
