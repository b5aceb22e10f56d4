"""What is measured: our own server on each store, or one that somebody else has started."""

import itertools
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import msgspec

from benchmarks.cores import ALL_CORES, SERVER_CORE
from benchmarks.databases import NewDatabase
from benchmarks.datasets.dataset import Dataset
from benchmarks.datasets.lines import lines
from benchmarks.keep_alive import request_bytes
from benchmarks.mixed.asks import Ask
from benchmarks.mixed.dialect import Dialect
from benchmarks.mixed.generator import closed_loop
from benchmarks.mixed.mixes import PLACES
from benchmarks.mixed.openfga import fill_openfga
from benchmarks.mixed.warrant_api import WarrantApi, warrant_body
from benchmarks.server import AUTHORIZATION, Server, serving

FILL_SECONDS = 7_200
PRELOADING = ("--graph-preload",)
_CONNECTIONS = 8


@dataclass(frozen=True, slots=True)
class System:
    """A server with a data set in it. `cpu_seconds`: the processor time it has used so far, where that can be known;
    `fill_seconds`: how long it took to load."""

    name: str
    url: str
    dialect: Dialect
    dataset: Dataset = field(repr=False)
    cpu_seconds: Callable[[], float] | None = None
    fill_seconds: float = 0.0
    own: Server | None = None

    @property
    def case(self) -> str:
        return f"{self.dataset.name}, {self.dataset.size:,}, {self.name}"


class Startable(Protocol):
    """Something on which servers are started, with a data set in it. `can_preload`: they can fill their cache before
    they answer."""

    @property
    def can_preload(self) -> bool: ...

    def start(self, is_preloaded: bool = False) -> AbstractContextManager[System]: ...


@dataclass(frozen=True, slots=True)
class OwnDatabase:
    """A database of ours with a data set in it, on which servers are started."""

    can_preload: ClassVar[bool] = True

    store: str
    url: str
    dataset: Dataset = field(repr=False)
    fill_seconds: float

    @classmethod
    def filled(cls, store: str, url: str, dataset: Dataset) -> "OwnDatabase":
        """Fills an empty database. Raises CalledProcessError."""
        started = time.perf_counter()
        fill(url, dataset)
        return cls(store, url, dataset, time.perf_counter() - started)

    @contextmanager
    def start(self, is_preloaded: bool = False) -> Iterator[System]:
        """Our own server with one worker on one core. If it `is_preloaded`, it is ready when its cache is filled."""
        with serving(self.url, flags=PRELOADING if is_preloaded else ()) as server:
            api = WarrantApi()
            yield System(self.store, server.url, api, self.dataset, server.cpu_seconds, self.fill_seconds, server)


def fill(database_url: str, dataset: Dataset) -> None:
    """Imports the data set into an empty database of ours, as anyone would. Raises CalledProcessError."""
    import_lines(database_url, lines(dataset))


def import_lines(database_url: str, given: Iterable[bytes]) -> None:
    """The same with any lines. Raises CalledProcessError."""
    command = [sys.executable, "-m", "magistrate", "import", "-", "--database-url", database_url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as importing:
        assert importing.stdin is not None
        importing.stdin.writelines(given)
    if importing.returncode:
        raise subprocess.CalledProcessError(importing.returncode, command)


@contextmanager
def nodes(new_database: NewDatabase, dataset: Dataset) -> Iterator[tuple[Server, Server]]:
    """Two servers of ours on one database."""
    url = new_database("nodes")
    fill(url, dataset)
    with serving(url, cores=(SERVER_CORE,)) as one, serving(url, cores=ALL_CORES) as other:
        yield one, other


@dataclass(frozen=True, slots=True)
class Running:
    """A server that runs already, and goes on."""

    can_preload: ClassVar[bool] = False

    system: System

    def start(self, is_preloaded: bool = False) -> AbstractContextManager[System]:
        return nullcontext(self.system)


@dataclass(frozen=True, slots=True)
class Remote:
    """A server that runs already, with nothing in it. `kind`: `warrant` or `openfga`. `batch`: warrants written in one
    request, where the API leaves the choice; 1 for one without arrays. `pid`: of its process, if that is here."""

    kind: str
    name: str
    url: str
    key: str
    batch: int
    pid: int | None

    def filled(self, dataset: Dataset) -> System:
        started = time.perf_counter()
        dialect = self._fill(dataset)
        took = time.perf_counter() - started
        cpu_seconds = Server(self.pid, self.url, 0.0).cpu_seconds if self.pid else None
        return System(self.name, self.url, dialect, dataset, cpu_seconds, took)

    def _fill(self, dataset: Dataset) -> Dialect:
        if self.kind == "openfga":
            place = PLACES[dataset.name]
            written = [place.of_user("any", "any"), place.of_group("any", "any"), place.member("any", "any")]
            return fill_openfga(self.url, dataset, written, self.key)
        api = WarrantApi(self.key)
        closed_loop(self.url, map(Ask, api.define(dataset.types)), 1, FILL_SECONDS)
        closed_loop(self.url, map(Ask, self._writes(dataset)), _CONNECTIONS, FILL_SECONDS)
        return api

    def _writes(self, dataset: Dataset) -> Iterator[bytes]:
        rows = dataset.warrants()
        while chunk := list(itertools.islice(rows, self.batch)):
            bodies: Sequence[object] = [warrant_body(row) for row in chunk]
            body = msgspec.json.encode(bodies if self.batch > 1 else bodies[0])
            yield request_bytes("POST", "/v2/warrants", body, f"ApiKey {self.key}" if self.key else AUTHORIZATION)
