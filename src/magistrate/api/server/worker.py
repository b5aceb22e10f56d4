"""Represents a worker process for its supervisor."""

import asyncio
import multiprocessing
import signal
import socket
from collections.abc import Callable
from contextlib import suppress

from magistrate.api.server.accepting import read_reports, send_connection

RunWorker = Callable[[socket.socket], None]
"""Runs in a worker process, with that process's end of the channel. Must be picklable."""

LATE_AFTER_TICKS = 3
"""Sets how many reports, one per second, a worker may miss before connections go to other workers that are not late."""

# Not forked: threads and connections of the supervisor would not survive that.
_PROCESSES = multiprocessing.get_context("spawn")


class Worker:
    """Represents a worker process, which is started by the constructor. Raises OSError if the start fails."""

    def __init__(self, run_worker: RunWorker) -> None:
        self.channel, remote = socket.socketpair()
        self.channel.setblocking(False)
        self._process = _PROCESSES.Process(target=run_worker, args=(remote,))
        try:
            self._process.start()
        except OSError:
            self.channel.close()
            raise
        finally:
            remote.close()
        self.ticks = 0
        """Counts the seconds since the worker was started or retired. Seconds in which the supervisor itself was
        suspended, as all processes of a container may be, are not counted, here or in the other counters."""
        self.ticks_ready = 0
        self.ticks_silent = 0
        self.is_retired = False
        """Says whether the worker is to end: it gets no connections, and is not replaced when it ends."""
        self.was_killed_for: str | None = None
        self.ready: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        """Becomes true when the worker serves, false when it ends before."""
        self.ended = asyncio.Event()
        self._sent = 0
        self._received = 0
        self._open = 0
        self._has_capacity = True
        self._unread_report = b""

    @property
    def pid(self) -> int | None:
        return self._process.pid

    @property
    def sentinel(self) -> int:
        """Returns a descriptor that becomes readable when the process ends."""
        return self._process.sentinel

    @property
    def is_ready(self) -> bool:
        return self.ready.done() and self.ready.result()

    @property
    def takes_connections(self) -> bool:
        return self.is_ready and not self.is_retired and self._has_capacity

    @property
    def load(self) -> tuple[bool, int, int]:
        """Returns the key by which the worker for a connection is chosen: whether it is late, how many connections it
        has, and how many it has had."""
        return self.ticks_silent >= LATE_AFTER_TICKS, self._open + self._sent - self._received, self._sent

    def give(self, connection: socket.socket, is_admin: bool) -> bool:
        """Returns whether the worker has received the connection or will receive it."""
        try:
            send_connection(self.channel, connection, is_admin)
        except OSError:  # it does not read, or has ended, which the supervisor will notice
            self._has_capacity = False
            return False
        self._sent += 1
        return True

    def read_report(self) -> bool:
        """Reads the worker's reports; returns False when no more will come."""
        try:
            received = self.channel.recv(65_536)
        except BlockingIOError:
            return True
        except OSError:
            received = b""
        if not received:
            self._has_capacity = False
            return False
        report, self._unread_report = read_reports(self._unread_report + received)
        if report is not None:
            self._received, self._open = report.received, report.open
            self.ticks_silent, self._has_capacity = 0, True
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
        """Tells the worker to finish its requests and end."""
        self.is_retired = True
        self.ticks = 0
        self.channel.close()
        with suppress(ProcessLookupError):
            self._process.terminate()

    def kill(self, reason: str) -> None:
        self.was_killed_for = reason
        self._process.kill()

    def bury(self) -> str:
        """Releases the resources of a process that has ended; returns the reason why it ended."""
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
