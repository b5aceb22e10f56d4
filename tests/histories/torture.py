"""Records a history while services, their workers and the database are killed, frozen, cut off and out of space, and
checks it: `./run torture --operations N`."""

import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import msgspec

from history_check.checker import Report, check_history
from tests.databases import new_migrated_file, postgres_server
from tests.histories.disks import FAULT_SECONDS, NO_DISK, fill_disk, mounted_disk
from tests.histories.models import OF
from tests.histories.recording import Spec, define_types, join_parts, read_last, write_header
from tests.processes.relay import no_delay, relaying
from tests.processes.served_processes import children_of, free_port, serving
from tests.processes.service_process import ServiceProcess
from tests.processes.starting import start_process
from tests.running import KEY
from tests.waiting import wait_until

PAUSE_SECONDS = (1.0, 4.0)
"""Bounds the pause between two faults."""
DELAY_SECONDS = (0.0, 0.1)
"""Bounds for how long a slow network to the database keeps what is sent, each way: twice what a check may lag."""
CLIENTS, READERS = 4, ("", "", OF[0])
WITHIN_SECONDS = 60.0

Fault = Callable[[], None]


class TorturedService:
    """Is a service with the same port whenever it runs."""

    def __init__(self, folder: Path, database_url: str, workers: int) -> None:
        folder.mkdir()
        self._folder, self._database_url, self._workers = folder, database_url, workers
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._process: ServiceProcess | None = None

    def start(self) -> None:
        flags = ("--port", str(self._port), "--workers", str(self._workers))
        service = ServiceProcess(self._folder, *flags, database_url=self._database_url, api_key=KEY)
        self._process = service.__enter__()

    def kill(self) -> None:
        """Ends the supervisor as `kill -9` does, or the only process."""
        assert self._process is not None
        workers = serving(children_of(self._process.process.pid))
        self._process.kill()
        self._process.errors()
        wait_until(lambda: not serving(workers), WITHIN_SECONDS)

    def restart(self) -> None:
        self.kill()
        self.start()

    def restart_if_ended(self) -> None:
        """Starts it again if it has given up, as systemd does: it takes five failures of workers in a row as a fault of
        the machine."""
        assert self._process is not None
        if self._process.process.poll() is not None:
            self.start()

    def list_serving(self) -> list[int]:
        assert self._process is not None
        pid = self._process.process.pid
        return serving(children_of(pid)) if self._workers > 1 else [pid]

    def kill_worker(self, rng: random.Random) -> None:
        if pids := self.list_serving():
            with suppress(ProcessLookupError):
                os.kill(rng.choice(pids), signal.SIGKILL)

    def freeze(self, rng: random.Random) -> None:
        """Stops a process for a while, as a machine without time for it does."""
        if pids := self.list_serving():
            pid = rng.choice(pids)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                time.sleep(rng.uniform(*FAULT_SECONDS))
                os.kill(pid, signal.SIGCONT)

    def take_descriptors(self, rng: random.Random) -> None:
        """Leaves a process no descriptor more than it has, for a while."""
        if pids := self.list_serving():
            pid = rng.choice(pids)
            with suppress(ProcessLookupError, FileNotFoundError):
                before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
                highest = max(int(name) for name in os.listdir(f"/proc/{pid}/fd"))
                resource.prlimit(pid, resource.RLIMIT_NOFILE, (highest + 1, before[1]))
                time.sleep(rng.uniform(*FAULT_SECONDS))
                resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


@contextmanager
def tortured_sqlite(folder: Path, rng: random.Random) -> Iterator[tuple[list[TorturedService], Mapping[str, Fault]]]:
    """Yields a service with two workers on a SQLite file, and what can be done to it."""
    with mounted_disk(folder / "disk") as is_mounted:
        url = new_migrated_file(folder / "disk" / "history.db")
        service = TorturedService(folder / "service", url, workers=2)
        faults: dict[str, Fault] = {
            "worker killed": lambda: service.kill_worker(rng),
            "worker killed too": lambda: service.kill_worker(rng),
            "supervisor killed": service.restart,
            "worker frozen": lambda: service.freeze(rng),
            "no descriptors": lambda: service.take_descriptors(rng),
        }
        if is_mounted:
            faults["disk full"] = lambda: fill_disk(folder / "disk", rng)
        else:
            print(NO_DISK, file=sys.stderr)
        yield [service], faults


@contextmanager
def tortured_postgres(folder: Path, rng: random.Random) -> Iterator[tuple[list[TorturedService], Mapping[str, Fault]]]:
    """Yields two services on PostgreSQL, of which one reaches it through a relay, and what can be done to them."""
    with ExitStack() as stack:
        disk = folder / "disk"
        is_mounted = stack.enter_context(mounted_disk(disk))
        server = stack.enter_context(postgres_server(folder, disk))
        server.keep_commits()
        url = server.new_migrated_url()
        (folder / "relay").mkdir()
        relay = stack.enter_context(relaying(folder / "relay", url))
        services = [
            TorturedService(folder / "node-1", url, workers=1),
            TorturedService(folder / "node-2", relay.url, workers=1),
        ]

        def cut() -> None:
            relay.cut()
            time.sleep(rng.uniform(*FAULT_SECONDS))
            relay.mend()

        def delay() -> None:
            relay.slow_down(lambda: rng.uniform(*DELAY_SECONDS))
            time.sleep(rng.uniform(*FAULT_SECONDS))
            relay.slow_down(no_delay)

        def freeze_database() -> None:
            with server.frozen():
                time.sleep(rng.uniform(*FAULT_SECONDS))

        def fill() -> None:
            fill_disk(disk, rng)
            server.ensure_running()  # it ends if it cannot log what it needs to recover

        faults: dict[str, Fault] = {
            "node killed": lambda: rng.choice(services).restart(),
            "database killed": server.crash,
            "database frozen": freeze_database,
            "node frozen": lambda: rng.choice(services).freeze(rng),
            "no descriptors": lambda: rng.choice(services).take_descriptors(rng),
            "network cut": cut,
            "network slow": delay,
        }
        if is_mounted:
            faults["disk full"] = fill
        else:
            print(NO_DISK, file=sys.stderr)
        yield services, faults


TORTURED = {"sqlite": tortured_sqlite, "postgres": tortured_postgres}


def record_under_faults(
    folder: Path, store: str, operations: int, seconds: float, seed: int
) -> tuple[Path, Counter[str]]:
    """Returns the history, and how often each fault was made."""
    rng, made, path = random.Random(seed), Counter[str](), folder / "history.jsonl"
    with ExitStack() as stack:
        services, faults = stack.enter_context(TORTURED[store](folder, rng))
        for service in services:
            service.start()
            stack.callback(service.kill)
        urls = [service.url for service in services]
        base, types = define_types(urls[0], seed)
        write_header(path, base, types, store, services=len(services))
        clients = Spec("c", str(folder), urls, base, seed, operations, CLIENTS)
        readers = msgspec.structs.replace(clients, name="r", operations=0, clients=0, readers=[*READERS])
        processes = [start_threads(folder, spec) for spec in (clients, readers)]
        for process in processes:
            stack.callback(process.kill)
        ends_at = time.monotonic() + seconds
        while processes[0].poll() is None and time.monotonic() < ends_at:
            time.sleep(rng.uniform(*PAUSE_SECONDS))
            name = rng.choice([*faults])
            faults[name]()
            made[name.removesuffix(" too")] += 1
            for service in services:
                service.restart_if_ended()
        wait_until(lambda: all(map(is_ready, urls)), WITHIN_SECONDS)
        clients.is_over.touch()
        read_last(folder, urls, base)
        for process in processes:
            assert process.wait(WITHIN_SECONDS) == 0, (folder / "threads.log").read_text()
    join_parts(folder, path)
    return path, made


def start_threads(folder: Path, spec: Spec) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.histories.recording", msgspec.json.encode(spec).decode()]
    with (folder / "threads.log").open("a") as log:
        return start_process(command, output=log)


def is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def torture_history(folder: Path, store: str, operations: int, seconds: float, seed: int) -> Report:
    """Records and checks a history, and prints the report."""
    began_at = time.monotonic()
    path, made = record_under_faults(folder, store, operations, seconds, seed)
    took = time.monotonic() - began_at
    print(f"{store}: {path.stat().st_size / 1e6:.0f} MB in {took:.0f} s", flush=True)
    print(*(f"{name:24} {number:>12,}" for name, number in sorted(made.items())), sep="\n", flush=True)
    report = check_history(path)
    print(*report.lines(), sep="\n", flush=True)
    return report
