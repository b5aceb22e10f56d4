"""A service that hostile requests are sent to, with a pulse beside it; started anew when it is stuck or gone."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

from benchmarks.cores import ALL_CORES
from benchmarks.fairness.asking import Caller
from benchmarks.fairness.population import CALM_CHECK
from benchmarks.fairness.pulse import Beats, Pulse, pulse
from benchmarks.fairness.stage import Stage
from benchmarks.fairness.thread_time import ThreadClock
from benchmarks.keep_alive import request_bytes
from benchmarks.server import Server, serving

MAX_SETTLING_SECONDS = 10.0
CALM_SECONDS, CALM_SHARE = 0.3, 0.5
"""A worker that the pulse alone keeps busy is ready to run for less than this share of such a time."""

HEALTH, CHECK = "healthz", "check"
REQUESTS = {HEALTH: request_bytes("GET", "/healthz"), CHECK: request_bytes("POST", "/v2/check", CALM_CHECK)}


class Service:
    """`stage` is of the service that runs now."""

    def __init__(self, stack: ExitStack, database_url: str, workers: int, deadline_seconds: float) -> None:
        self._stack = stack
        self._database_url = database_url
        self._workers = workers
        self._deadline_seconds = deadline_seconds
        self.stage = Stage(Caller(("", 0), deadline_seconds), database_url, ())
        self._start()

    def _start(self) -> None:
        self._server: Server = self._stack.enter_context(
            serving(self._database_url, self._workers, ALL_CORES, ("--decision-log", "100000"))
        )
        url = urlsplit(self._server.url)
        address = (url.hostname or "", url.port or 0)
        self.stage.caller = Caller(address, self._deadline_seconds)
        self.stage.worker_pids = self._server.workers()
        self._pulse: Pulse = self._stack.enter_context(pulse(address, REQUESTS, self.stage.worker_pids))

    def restart(self) -> None:
        self._server.kill()
        self._stack.close()
        self._start()

    @property
    def unreached_workers(self) -> int:
        return self._pulse.unreached

    def begin(self) -> None:
        self._pulse.begin()

    def end(self) -> Beats:
        return self._pulse.end()

    def settle(self) -> None:
        """Waits until the workers have nothing left to do, or MAX_SETTLING_SECONDS: what one request costs after it
        was answered, or given up, must not be charged to the next."""
        clocks = [ThreadClock(pid) for pid in self.stage.worker_pids]
        deadline = time.perf_counter() + MAX_SETTLING_SECONDS
        while time.perf_counter() < deadline:
            before = [clock.read() for clock in clocks]
            time.sleep(CALM_SECONDS)
            spent = [clock.read() - then for clock, then in zip(clocks, before, strict=True)]
            if all(one.cpu + one.delay < CALM_SHARE * CALM_SECONDS for one in spent):
                return


@contextmanager
def running_service(database_url: str, workers: int, deadline_seconds: float) -> Iterator[Service]:
    with ExitStack() as stack:
        yield Service(stack, database_url, workers, deadline_seconds)
