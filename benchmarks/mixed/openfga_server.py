"""Starts OpenFGA, whose program somebody has built (`go install github.com/openfga/openfga/cmd/openfga@latest`), on one
core and a database of its own on PostgreSQL."""

import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import ClassVar
from urllib.error import URLError

import psycopg

from benchmarks.cores import SERVER_CORE, on_core
from benchmarks.datasets.dataset import Dataset
from benchmarks.mixed.openfga import OpenFga
from benchmarks.mixed.systems import Remote, System
from benchmarks.server import START_SECONDS, STOP_SECONDS, Server

MAX_CHECKS = 1_000
"""In one batch, as ours takes; OpenFGA takes 50 by default."""
DEADLINE = "600s"
"""Instead of the 3 s that OpenFGA has by default, after which a list is cut off, and checks of a batch are errors."""
STALE = ("CHECK_QUERY_CACHE", "CHECK_ITERATOR_CACHE", "LIST_OBJECTS_ITERATOR_CACHE")
"""The caches with which answers may be as old as their entries: off as OpenFGA comes, and for 10 s when on."""
TTL = "10s"
CACHED_RESULTS = 1_000_000
"""More than any measurement needs: of the 10,000 that OpenFGA keeps by default, it would evict some."""
VARIANTS: Mapping[str, Sequence[str]] = {"OpenFGA": (), f"OpenFGA, answers up to {TTL} old": STALE}


@dataclass(frozen=True, slots=True)
class OpenFgaDatabase:
    """A database of OpenFGA with a data set in it, on which servers are started with some `caches`."""

    can_preload: ClassVar[bool] = False

    program: str
    url: str
    caches: Sequence[str]
    filled: System = field(repr=False)
    """Says what is in it; its server has ended."""

    @contextmanager
    def start(self, is_preloaded: bool = False) -> Iterator[System]:
        with serve_openfga(self.program, self.url, self.caches) as server:
            yield replace(self.filled, url=server.url, cpu_seconds=server.cpu_seconds)


def fill_openfga_database(
    program: str, url: str, dataset: Dataset, name: str, caches: Sequence[str]
) -> OpenFgaDatabase:
    """Fills an empty database through the API. Raises CalledProcessError, RuntimeError."""
    datastore = ("--datastore-engine", "postgres", "--datastore-uri", url)
    subprocess.run([program, "migrate", *datastore], check=True, capture_output=True)
    with serve_openfga(program, url, caches) as server:
        system = Remote("openfga", name, server.url, "", 1, None).filled(dataset)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")  # as PostgreSQL would by itself before long
    assert isinstance(system.dialect, OpenFga)
    return OpenFgaDatabase(
        program, url, caches, replace(system, dialect=replace(system.dialect, max_checks=MAX_CHECKS))
    )


@contextmanager
def serve_openfga(program: str, url: str, caches: Sequence[str] = ()) -> Iterator[Server]:
    """Raises RuntimeError if it does not answer within START_SECONDS."""
    http, grpc = _free_address(), _free_address()
    settings = {
        "DATASTORE_ENGINE": "postgres",
        "DATASTORE_URI": url,
        "HTTP_ADDR": http,
        "GRPC_ADDR": grpc,
        "PLAYGROUND_ENABLED": "false",
        "METRICS_ENABLED": "false",
        "LOG_LEVEL": "error",
        "REQUEST_TIMEOUT": DEADLINE,
        "LIST_OBJECTS_DEADLINE": DEADLINE,
        "MAX_CHECKS_PER_BATCH_CHECK": str(MAX_CHECKS),
        **{f"{cache}_ENABLED": "true" for cache in caches},
        **{f"{cache}_TTL": TTL for cache in caches},
        "CHECK_CACHE_LIMIT": str(CACHED_RESULTS),
    }
    environment = {**os.environ, **{f"OPENFGA_{name}": value for name, value in settings.items()}}
    started = time.perf_counter()
    with (
        on_core(SERVER_CORE),
        subprocess.Popen([program, "run"], env=environment, stdout=subprocess.DEVNULL) as process,
    ):
        try:
            while not _answers(f"http://{http}/healthz"):
                if process.poll() is not None or time.perf_counter() > started + START_SECONDS:
                    raise RuntimeError(f"no server after {START_SECONDS} seconds, or it ended")
                time.sleep(0.05)
            yield Server(process.pid, f"http://{http}", time.perf_counter() - started)
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def _free_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return "{}:{}".format(*listener.getsockname())


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as answer:
            return bool(answer.status == 200)
    except URLError:
        return False
