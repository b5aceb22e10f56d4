"""Runs several worker processes behind one socket. See docs/decisions/0029-the-supervisor-accepts-connections.md."""

import asyncio
import multiprocessing
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import structlog

from magistrate.api.processes.acceptors import Acceptor, read_reports, send_connection

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
        """Orders the worker to finish its requests and end."""
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


log = structlog.get_logger()

TICK_SECONDS = 1.0

START_WITHIN_SECONDS = 300
"""Limits the start of a worker. It takes a second, and a hundred times as long on a hundredth of a core; one that takes
longer than this limit will never start."""

HUNG_AFTER_SECONDS = 30
"""Limits the time without a report, which the event loop sends every second. The limit exceeds any pause that a heavy
request causes, and any time for which a whole machine is likely to be too busy to run a process."""

STEADY_AFTER_SECONDS = 10
"""Sets the time after which the failure of a worker is not attributed to its start."""

MAX_FAILURES = 5
"""Limits the failures in a row, after which the cause is considered permanent."""

STOP_MARGIN_SECONDS = 10
"""Sets how long a worker may take to end after the time for requests in flight is over."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Holds the time limits in seconds; see the constants."""

    stop: float
    start: float = START_WITHIN_SECONDS
    hung: float = HUNG_AFTER_SECONDS
    steady: float = STEADY_AFTER_SECONDS


class Supervisor:
    """Keeps the given number of workers running, and gives each connection to the worker that has the fewest.

    A worker that ends or does not respond is replaced; after five failures in a row, all are stopped. On SIGHUP all are
    replaced one after the other, each when its successor serves; in a terminal, SIGHUP means that the terminal was
    closed."""

    def __init__(self, run_worker: RunWorker, acceptor: Acceptor, workers: int, bounds: Bounds) -> None:
        self._run_worker = run_worker
        self._acceptor = acceptor
        self._wanted = workers
        self._bounds = bounds
        self._workers: list[Worker] = []
        """Holds all running workers, including the retired ones."""
        self._incoming: Worker | None = None
        """Holds the worker that will replace another one when it is ready."""
        self._pending: tuple[socket.socket, bool] | None = None
        """Holds a connection for which no worker had capacity, and whether it came to the admin port."""
        self._failures = 0
        self._exit_code = 0
        self._is_stopping = False
        self._reloading: asyncio.Task[None] | None = None
        self._reload_again = False
        self._something_ended = asyncio.Event()
        self._has_terminal = False

    def run(self) -> int:
        """Runs until SIGTERM or SIGINT, or until workers fail; returns the exit code."""
        self._has_terminal = sys.stdin is not None and sys.stdin.isatty()
        asyncio.run(self._supervise())
        return self._exit_code

    async def _supervise(self) -> None:
        self._loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._stop)
        self._loop.add_signal_handler(signal.SIGHUP, self._stop if self._has_terminal else self._reload)
        self._acceptor.start(self._admit)
        self._acceptor.pause()  # until there is a worker to give connections to
        while not self._is_stopping or self._workers:
            self._fill_up()
            self._something_ended.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_SECONDS):
                    await self._something_ended.wait()
                    continue
            for worker in self._workers:
                worker.tick()
                self._kill_if_late(worker)

    def _fill_up(self) -> None:
        serving = sum(1 for worker in self._workers if not worker.is_retired and worker is not self._incoming)
        for _ in range(self._wanted - serving):
            if not self._is_stopping:
                self._start_worker()

    def _start_worker(self) -> Worker | None:
        try:
            worker = Worker(self._run_worker)
        except OSError as error:
            self._count_failure(None, f"could not be started: {error.strerror}")
            return None
        self._workers.append(worker)
        self._loop.add_reader(worker.channel.fileno(), self._read_report, worker)
        self._loop.add_reader(worker.sentinel, self._bury, worker)
        return worker

    def _admit(self, connection: socket.socket, is_admin: bool) -> None:
        for worker in sorted((worker for worker in self._workers if worker.takes_connections), key=_load):
            if worker.give(connection, is_admin):
                connection.close()
                return
        self._acceptor.pause()
        if self._pending is None:
            self._pending = connection, is_admin
        else:
            connection.close()  # the queue is emptied because all are stopped, and none takes any

    def _read_report(self, worker: Worker) -> None:
        was_retired = worker.is_retired
        if not worker.read_report():
            self._loop.remove_reader(worker.channel.fileno())
        elif worker.is_retired and not was_retired:
            log.warning("worker is replaced", pid=worker.pid, reason="it received a signal to stop")
            self._retire(worker)
            self._fill_up()
        self._accept_if_possible()

    def _accept_if_possible(self) -> None:
        if self._is_stopping or not any(worker.takes_connections for worker in self._workers):
            self._acceptor.pause()
            return
        pending, self._pending = self._pending, None
        self._acceptor.resume()
        if pending is not None:
            self._admit(*pending)

    def _retire(self, worker: Worker) -> None:
        self._loop.remove_reader(worker.channel.fileno())
        worker.retire()

    def _kill_if_late(self, worker: Worker) -> None:
        bounds = self._bounds
        if worker.was_killed_for is not None:
            return
        if worker.is_retired:
            if worker.ticks > bounds.stop + STOP_MARGIN_SECONDS:
                worker.kill(f"did not stop within {bounds.stop + STOP_MARGIN_SECONDS:g} seconds")
        elif not worker.is_ready:
            if worker.ticks > bounds.start:
                worker.kill(f"did not start within {bounds.start:g} seconds")
        elif worker.ticks_silent > bounds.hung:
            worker.kill(f"did not answer the health check for {bounds.hung:g} seconds")

    def _bury(self, worker: Worker) -> None:
        """Removes a worker that has ended, and counts its failure."""
        pid = worker.pid
        self._loop.remove_reader(worker.sentinel)
        if not worker.is_retired:
            self._loop.remove_reader(worker.channel.fileno())
        self._workers.remove(worker)
        reason = worker.bury()
        self._something_ended.set()
        if worker.was_killed_for is not None and self._is_stopping:
            self._exit_code = 1
        if worker.is_retired:
            if worker.was_killed_for is not None:
                log.error("worker was killed", pid=pid, reason=reason)
        elif worker is self._incoming:
            log.error("reload failed, the previous workers keep running", pid=pid, reason=reason)
        else:
            if worker.ticks_ready >= self._bounds.steady:
                self._failures = 0
            self._count_failure(pid, reason)
        self._accept_if_possible()

    def _count_failure(self, pid: int | None, reason: str) -> None:
        self._failures += 1
        if self._failures < MAX_FAILURES:
            log.error("worker is replaced", pid=pid, reason=reason, failures_in_a_row=self._failures)
            return
        log.error("the service stops: too many workers have failed in a row", pid=pid, reason=reason)
        self._exit_code = 1
        self._stop()

    def _stop(self) -> None:
        """Gives workers the connections that clients have made, and orders them to finish their requests."""
        if self._is_stopping:
            return
        self._is_stopping = True
        if self._reloading is not None:
            self._reloading.cancel()
        if self._pending is not None:
            self._pending[0].close()
        self._acceptor.close()
        for worker in self._workers:
            if not worker.is_retired:
                self._retire(worker)
        self._something_ended.set()

    def _reload(self) -> None:
        if self._reloading is None or self._reloading.done():
            self._reloading = self._loop.create_task(self._replace_all())
        else:
            self._reload_again = True  # workers that were already replaced may have started before the change

    async def _replace_all(self) -> None:
        self._reload_again = True
        while self._reload_again:
            self._reload_again = False
            for worker in [worker for worker in self._workers if not worker.is_retired]:
                if not worker.is_retired and worker in self._workers and not await self._replace(worker):
                    return

    async def _replace(self, worker: Worker) -> bool:
        """Returns whether another worker serves in the place of this one."""
        self._incoming = incoming = self._start_worker()
        try:
            is_ready = incoming is not None and await incoming.ready
        finally:
            self._incoming = None
        if is_ready and worker in self._workers and not worker.is_retired:
            self._retire(worker)
            await worker.ended.wait()
        return is_ready


def _load(worker: Worker) -> tuple[bool, int, int]:
    return worker.load
