"""The supervisor: workers that start slowly, fail, hang or leave; and how connections are spread over them."""

import contextlib
import json
import os
import re
import resource
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx
import pytest

from magistrate.api.processes.acceptors import REPORT_EVERY_SECONDS
from tests.api.sockets import connect, head, is_hung_up, read_answer
from tests.processes.served_processes import children_of, serving
from tests.processes.service_process import ServiceProcess
from tests.running import KEY, Client
from tests.waiting import wait_until

LONGER_THAN_A_HEALTH_CHECK = 7
PAUSE_SECONDS = 0.005
"""Passes between the requests of a client of a load: the processor is for the workers that start meanwhile."""


def in_workers(folder: Path, *lines: str) -> None:
    """Has each worker run this before anything else."""
    body = "\n".join(f"    {line}" for line in lines)
    (folder / "sitecustomize.py").write_text(
        f"import os, sys, time\nif '--multiprocessing-fork' in sys.argv:\n{body}\n"
    )


def supervised(folder: Path, hung_seconds: float = 3, steady_seconds: float = 600) -> ServiceProcess:
    program = ("tests.processes.supervised", str(folder), str(hung_seconds), str(steady_seconds))
    return ServiceProcess(folder, program=program)


def workers_of(service: ServiceProcess) -> set[int]:
    return set(serving(children_of(service.process.pid)))


def logged(errors: str) -> list[dict[str, Any]]:
    """What a service logged that came upon nothing unexpected itself."""
    assert "Exception in callback" not in errors
    return [json.loads(line) for line in errors.splitlines() if line.startswith("{")]


@pytest.mark.nightly
def test_workers_that_start_slowly_are_left_to_start(tmp_path: Path) -> None:
    in_workers(
        tmp_path,
        "open(f'started-{os.getpid()}', 'w').close()",
        f"time.sleep({LONGER_THAN_A_HEALTH_CHECK})",
    )

    with ServiceProcess(tmp_path, "--workers", "2", api_key=KEY) as service:
        wait_until(lambda: len(serving_now(service)) == 2)
        assert service.stop() == 0

        assert len(list(tmp_path.glob("started-*"))) == 2
        assert "worker is replaced" not in service.errors()


def serving_now(service: ServiceProcess) -> set[str]:
    """Of the workers that the one that answers knows of."""
    with service.client() as client:
        return set(re.findall(r'magistrate_graph_entries\{worker="(\d+)"\}', client.get("/metrics").text))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("os._exit(7)", "ended with exit code 7"),
        ("os.kill(os.getpid(), 9)", "ended by SIGKILL"),
        pytest.param(  # imports the service in each of five processes
            "import magistrate.wiring.server as w; w.SURVIVORS = None",
            "ended with exit code 1",
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_a_service_whose_workers_cannot_start_ends_and_says_why(tmp_path: Path, line: str, reason: str) -> None:
    in_workers(tmp_path, line)

    service = ServiceProcess(tmp_path, "--workers", "2", api_key=KEY)
    lines = logged(service.errors())

    assert service.process.returncode == 1
    replaced = [entry for entry in lines if entry["event"] == "worker is replaced"]
    assert [entry["failures_in_a_row"] for entry in replaced] == [1, 2, 3, 4]
    assert {entry["reason"] for entry in replaced} == {reason}
    assert len({entry["pid"] for entry in replaced}) == 4
    assert lines[-1]["event"] == "the service stops: too many workers have failed in a row"
    assert lines[-1]["reason"] == reason


def replace_one(service: ServiceProcess, harm: Callable[[int], None]) -> int:
    """Harms a worker, and waits until another serves in its place; returns the id of the process."""
    before = workers_of(service)
    harmed = min(before)
    harm(harmed)
    wait_until(lambda: len(workers_of(service) - {harmed}) == 2, 60)
    with service.client() as client:
        wait_until(lambda: client.get("/healthz").status_code == 200)
    return harmed


def test_a_worker_that_hangs_is_replaced_and_the_log_says_so(tmp_path: Path) -> None:
    with supervised(tmp_path) as service:
        wait_until(lambda: both_serve(service))
        hung = replace_one(service, lambda pid: os.kill(pid, signal.SIGSTOP))
        status, errors = service.stop(), service.errors()

    assert status == 0, errors
    lines = logged(errors)
    [entry] = [entry for entry in lines if entry["event"] == "worker is replaced"]
    assert entry["pid"] == hung
    assert entry["reason"] == "did not answer the health check for 3 seconds"


def test_a_worker_that_is_killed_is_replaced_and_the_log_says_so(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path, "--workers", "2", api_key=KEY) as service:
        wait_until(lambda: len(workers_of(service)) == 2)
        killed = replace_one(service, lambda pid: os.kill(pid, signal.SIGKILL))
        assert service.stop() == 0
        lines = logged(service.errors())

    [entry] = [entry for entry in lines if entry["event"] == "worker is replaced"]
    assert (entry["pid"], entry["reason"]) == (killed, "ended by SIGKILL")


@pytest.mark.nightly
def test_a_worker_that_is_told_to_stop_is_replaced_and_loses_no_connection(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path, "--workers", "2", api_key=KEY) as service:
        wait_until(lambda: len(serving_now(service)) == 2)
        with load_on(service) as load:
            stopped = replace_one(service, lambda pid: os.kill(pid, signal.SIGTERM))
            load.wait_for_more()
        assert service.stop() == 0
        lines = logged(service.errors())

    assert load.faults == []
    [entry] = [entry for entry in lines if entry["event"] == "worker is replaced"]
    assert (entry["pid"], entry["reason"]) == (stopped, "it received a signal to stop")


@pytest.mark.nightly
@pytest.mark.parametrize(("steady_seconds", "ends"), [(600, True), (0, False)])
def test_five_failures_in_a_row_end_the_service(tmp_path: Path, steady_seconds: float, ends: bool) -> None:
    with supervised(tmp_path, steady_seconds=steady_seconds) as service:
        for _ in range(4):
            wait_until(lambda: len(workers_of(service)) == 2)
            wait_until(lambda: both_serve(service))
            replace_one(service, lambda pid: os.kill(pid, signal.SIGKILL))
        wait_until(lambda: both_serve(service))
        os.kill(min(workers_of(service)), signal.SIGKILL)

        if ends:
            assert service.process.wait(timeout=60) == 1
            assert logged(service.errors())[-1]["reason"] == "ended by SIGKILL"
        else:
            wait_until(lambda: both_serve(service))
            assert service.stop() == 0


def both_serve(service: ServiceProcess) -> bool:
    with ExitStack() as stack:
        try:
            hold_connections(service, stack, 2)
        except ConnectionError:
            return False
        return len(connections_by_worker(service)) == 2


def hold_connections(service: ServiceProcess, stack: ExitStack, count: int) -> None:
    """Opens so many connections, and has a request answered on each."""
    with service.client() as client:
        opened = [stack.enter_context(connect(client, timeout=60)) for _ in range(count)]
        for connection in opened:
            connection.sendall(head(client, "GET", "/healthz"))
        for connection in opened:
            if not read_answer(connection).startswith(b"HTTP/1.1 200 "):
                raise ConnectionError


def connections_by_worker(service: ServiceProcess) -> Counter[int]:
    """How many open connections each worker has: ids of processes."""
    port = f":{int(service.url.rpartition(':')[2]):04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    sockets = {f"socket:[{row[9]}]" for row in rows if row[1].endswith(port) and row[3] == "01"}
    counted: Counter[int] = Counter()
    for pid in workers_of(service):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                counted[pid] += descriptor.readlink().name in sockets
    return +counted


@pytest.mark.nightly
def test_connections_that_come_at_once_are_spread_over_the_workers(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path, "--workers", "2", api_key=KEY) as service:
        wait_until(lambda: both_serve(service))
        for _ in range(3):
            wait_until(lambda: not connections_by_worker(service))
            time.sleep(1.5 * REPORT_EVERY_SECONDS)  # until then, the supervisor may count some that have ended
            with ExitStack() as stack:
                hold_connections(service, stack, 40)
                counts = connections_by_worker(service)

            assert counts.total() == 40
            assert max(counts.values()) <= 31


@pytest.mark.nightly
def test_a_worker_that_hangs_gets_no_connections_while_another_serves(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path, "--workers", "2", api_key=KEY) as service:
        wait_until(lambda: both_serve(service))
        hung = min(workers_of(service))
        os.kill(hung, signal.SIGSTOP)
        try:
            with ExitStack() as stack:
                wait_until(lambda: are_answered(service, stack, 20), 25)
        finally:
            os.kill(hung, signal.SIGCONT)


def are_answered(service: ServiceProcess, stack: ExitStack, count: int) -> bool:
    """Whether each of so many new connections is answered soon."""
    with service.client() as client:
        for _ in range(count):
            connection = stack.enter_context(connect(client, timeout=1))
            connection.sendall(head(client, "GET", "/healthz"))
            try:
                assert read_answer(connection).startswith(b"HTTP/1.1 200 ")
            except TimeoutError:
                return False
    return True


class Load:
    """Clients that send one request after the other on connections they keep; `faults` are requests without an
    answer."""

    def __init__(self, client: Client) -> None:
        self.faults: list[str] = []
        self.answered = 0
        self.refused = 0
        self.done = Event()
        self._client = client
        self._request = head(client, "GET", "/v2/object-types")

    def run(self) -> None:
        while not self.done.is_set():
            try:
                connection = connect(self._client)
            except ConnectionRefusedError:
                self.refused += 1
                return
            with connection:
                self._use(connection)

    def _use(self, connection: Any) -> None:
        while not self.done.is_set():
            try:
                connection.sendall(self._request)
                answer = read_answer(connection)
            except OSError as error:
                answer = repr(error).encode()
            if not answer.startswith(b"HTTP/1.1 200 "):
                self.faults.append(answer[:200].decode())
                return
            self.answered += 1
            self.done.wait(PAUSE_SECONDS)
            if b"\r\nconnection: close\r\n" in answer:
                assert is_hung_up(connection)
                return

    def wait_for_more(self) -> None:
        enough = self.answered + 50
        wait_until(lambda: self.answered > enough or bool(self.faults))


@contextlib.contextmanager
def load_on(service: ServiceProcess) -> Iterator[Load]:
    with service.client() as client:
        load = Load(client)
        threads = [Thread(target=load.run) for _ in range(6)]
        for thread in threads:
            thread.start()
        try:
            load.wait_for_more()
            yield load
        finally:
            load.done.set()
            for thread in threads:
                thread.join()


@pytest.mark.nightly
def test_a_reload_under_load_on_kept_connections_drops_no_request(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path, "--workers", "2", api_key=KEY) as service:
        wait_until(lambda: both_serve(service))
        with load_on(service) as load:
            for _ in range(2):
                before = workers_of(service)
                service.process.send_signal(signal.SIGHUP)
                wait_until(lambda before=before: len(workers_of(service) - before) == 2, 60)  # type: ignore[misc]
                wait_until(lambda before=before: not workers_of(service) & before, 60)  # type: ignore[misc]
            load.wait_for_more()
        assert service.stop() == 0
        assert logged(service.errors()) == []

    assert load.faults == []
    assert load.refused == 0


@pytest.mark.parametrize("workers", [pytest.param("1", marks=pytest.mark.nightly), "2"])
def test_a_stop_under_load_on_kept_connections_drops_no_request(tmp_path: Path, workers: str) -> None:
    with ServiceProcess(tmp_path, "--workers", workers, api_key=KEY) as service:
        with load_on(service) as load:
            service.process.send_signal(signal.SIGTERM)
            wait_until(lambda: load.refused == 6 or bool(load.faults))
        assert service.process.wait(timeout=60) == 0
        assert logged(service.errors()) == []

    assert load.faults == []


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.nightly)])
def test_running_out_of_descriptors_is_logged_and_passes(tmp_path: Path, workers: str) -> None:
    with ServiceProcess(tmp_path, "--workers", workers, api_key=KEY) as service:
        wait_until(lambda: workers == "1" or both_serve(service))
        for pid in workers_of(service) or {service.process.pid}:
            open_files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
            _, most = resource.prlimit(pid, resource.RLIMIT_NOFILE)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (open_files + 3, most))
        with service.client() as client, ExitStack() as stack:
            for _ in range(40):
                stack.enter_context(connect(client)).sendall(head(client, "GET", "/healthz"))
            time.sleep(0.5)
        with service.client() as client:
            wait_until(lambda: is_answered(client))
        assert service.stop() == 0
        lines = logged(service.errors())

    entries = [entry for entry in lines if entry["event"] == "connections cannot be accepted"]
    assert 1 <= len(entries) <= 4


def is_answered(client: Client) -> bool:
    try:
        return client.get("/healthz").status_code == 200
    except httpx.TransportError:
        return False
