"""Servers to measure: each a process of its own, on one core unless said otherwise, and a free port of the loopback
address."""

import os
import re
import select
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cores import SERVER_CORE, on_core
from magistrate.config.settings_table import PREFIX

API_KEY = "benchmark-key-0123456789"
AUTHORIZATION = f"ApiKey {API_KEY}"

START_SECONDS = 120
STOP_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Server:
    """`ready_seconds`: from the start of the process to the first 200 of /readyz."""

    pid: int
    url: str
    ready_seconds: float

    def workers(self) -> list[int]:
        """The processes that answer requests: those it started that run the service, or itself."""
        started = [pid for pid in _with_descendants(self.pid) if pid != self.pid]
        return [pid for pid in started if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()] or [self.pid]

    def kill(self) -> None:
        """Ends it and what it started at once: for a server that may no longer obey SIGTERM."""
        _kill(list(_with_descendants(self.pid)))

    def cpu_seconds(self) -> float:
        """The processor time all its threads have used so far, and those of the workers it started."""
        return sum(self.cpu_seconds_by_process().values())

    def cpu_seconds_by_process(self) -> dict[int, float]:
        """The same apart for each, by process id."""
        return {pid: _cpu_seconds(pid) for pid in _with_descendants(self.pid)}

    def resident_mb(self) -> float:
        """The memory it holds now, shared libraries included, in units of 1,000,000 bytes."""
        [kib] = re.findall(r"^VmRSS:\s+(\d+) kB$", Path(f"/proc/{self.pid}/status").read_text(), re.MULTILINE)
        return int(kib) * 1024 / 1_000_000


def _with_descendants(pid: int) -> Iterator[int]:
    yield pid
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended started nobody
            for child in (thread / "children").read_text().split():
                yield from _with_descendants(int(child))


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(
    database_url: str, workers: int = 1, cores: Sequence[int] = (SERVER_CORE,), flags: Sequence[str] = ()
) -> Iterator[Server]:
    """Magistrate itself, stopped with SIGTERM in the end."""
    own = ("--port", "0", "--workers", str(workers), "--database-url", database_url, "--api-key", API_KEY)
    with running("magistrate", "serve", *own, *flags, cores=cores) as server:
        yield server


@contextmanager
def running(*module: str, cores: Sequence[int] = (SERVER_CORE,)) -> Iterator[Server]:
    """`python -m` this module, which prints its URL in its first line and answers /readyz.

    Raises RuntimeError if it does not within START_SECONDS.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    started = time.perf_counter()
    with on_core(*cores):
        process = subprocess.Popen([sys.executable, "-m", *module], stdout=subprocess.PIPE, text=True, env=environment)
    try:
        url = _announced_url(process)
        with urllib.request.urlopen(f"{url}/readyz", timeout=START_SECONDS):
            ready_seconds = time.perf_counter() - started
        yield Server(process.pid, url, ready_seconds)
    finally:
        _stop(process)


def _announced_url(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    readable, _, _ = select.select([process.stdout], [], [], START_SECONDS)
    line = process.stdout.readline() if readable else ""
    found = re.search(r"http://[\d.]+:\d+", line)
    if found is None:
        raise RuntimeError(f"no server after {START_SECONDS} seconds, or it ended: it printed {line!r}")
    return found[0]


def _stop(process: subprocess.Popen[str]) -> None:
    pids = list(_with_descendants(process.pid)) if process.poll() is None else []
    process.terminate()
    try:
        process.communicate(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        _kill(pids)
        process.communicate()


def _kill(pids: Sequence[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
