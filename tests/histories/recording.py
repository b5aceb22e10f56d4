"""Records a history: clients and readers in threads, each with a file of its own, which are then put together.

`python -m tests.histories.recording SPEC` is one process with such threads, as `./run torture` starts some of."""

import json
import random
import shutil
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from history_check.operations import Header
from history_check.tokens import read_revision
from tests.histories.clients import HistoryClient, Sink
from tests.histories.connection import Connection
from tests.histories.models import OF, Types, draw_types
from tests.histories.readers import HistoryReader

STALE_SECONDS = 0.05
"""Is for how long a check or a query on PostgreSQL may miss the writes of other processes (docs/consistency.md)."""
WITHIN_SECONDS = 120.0
CLIENTS = 3
READ_ON_SECONDS = 0.5
"""Is how long readers have for the last events: each notices that all is over with the event after that."""
TYPES_READ_LAST = ("document", "folder", "group", "mark", "user")


class Spec(msgspec.Struct):
    """Says what threads of one process do: so many clients make `operations` in all, and each of `readers` follows that
    access, or everything if it is empty."""

    name: str
    folder: str
    urls: list[str]
    base: str
    seed: int
    operations: int
    clients: int
    readers: list[str] = msgspec.field(default_factory=list)

    @property
    def is_over(self) -> Path:
        """Is there as soon as all is to end."""
        return Path(self.folder, "over")


def write_header(path: Path, base: str, types: Types, database: str, services: int) -> None:
    stale = STALE_SECONDS if database == "postgres" and services > 1 else 0.0
    header = Header(base=base, types=types, database=database, stale_seconds=stale)
    path.write_bytes(msgspec.json.encode(header) + b"\n")


def define_types(url: str, seed: int) -> tuple[str, Types]:
    """Writes the types of a history, and returns the token of that with them."""
    rng = random.Random(seed)
    types = draw_types(rng)
    body = json.dumps([{"type": name, "relations": relations} for name, relations in types.items()]).encode()
    with closing(Connection([url], rng)) as connection:
        answer = connection.send("PUT", "/v2/object-types", body)
    assert answer.status == 200, answer.body
    return answer.token, types


def run_threads(spec: Spec) -> None:
    """Runs clients until they have made their operations, or all is to end; then readers until that."""
    threads = []
    for number in range(spec.clients):
        name = f"{spec.name}{number}"
        threads.append(threading.Thread(target=_run_client, args=(spec, name, spec.operations // spec.clients)))
    for number, of in enumerate(spec.readers):
        threads.append(threading.Thread(target=_run_reader, args=(spec, f"{spec.name}r{number}", of)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _run_client(spec: Spec, name: str, operations: int) -> None:
    with Path(spec.folder, f"{name}.part").open("wb") as file:
        sink = Sink(file)
        with closing(HistoryClient(name, spec.urls, spec.base, f"{spec.seed}-{name}", sink)) as client:
            while sink.written < operations and not spec.is_over.exists():
                client.act()


def _run_reader(spec: Spec, name: str, of: str) -> None:
    with Path(spec.folder, f"{name}.part").open("wb", buffering=0) as file:
        HistoryReader(name, spec.urls, spec.base, of, Sink(file)).follow(spec.is_over.exists)


def read_last(folder: Path, urls: Sequence[str], base: str) -> None:
    """Reads all that there is at the end, and the whole log up to there. The write behind all others ends readers."""
    with (folder / "last.part").open("wb") as file:
        sink = Sink(file)
        with closing(HistoryClient("last", urls, base, "last", sink)) as client:
            for of_type in TYPES_READ_LAST:
                client.list_everything(of_type)
            newest = _write_last(client)
        reader = HistoryReader("log", urls, base, "", sink)
        deadline = time.monotonic() + WITHIN_SECONDS
        reader.follow(lambda: read_revision(reader.token) >= read_revision(newest) or time.monotonic() > deadline)
        assert read_revision(reader.token) >= read_revision(newest), "the log could not be read in time"


def join_parts(folder: Path, path: Path) -> None:
    """Puts the history together, behind its header."""
    with path.open("ab") as history:
        for part in sorted(folder.glob("*.part")):
            with part.open("rb") as lines:
                shutil.copyfileobj(lines, history)


def _write_last(client: HistoryClient) -> str:
    """Returns the token of a write behind all others."""
    deadline = time.monotonic() + WITHIN_SECONDS
    while (token := client.write_mark()) is None:
        assert time.monotonic() < deadline, "no write could be made in time"
    return token


def record_in_threads(folder: Path, urls: Sequence[str], database: str, operations: int, seed: int) -> Path:
    """Returns the history of the threads of one process."""
    path = folder / "history.jsonl"
    base, types = define_types(urls[0], seed)
    write_header(path, base, types, database, len(urls))
    clients = Spec("c", str(folder), [*urls], base, seed, operations, CLIENTS)
    readers = msgspec.structs.replace(clients, name="r", operations=0, clients=0, readers=["", OF[0]])
    reading = threading.Thread(target=run_threads, args=(readers,))
    reading.start()
    run_threads(clients)
    time.sleep(READ_ON_SECONDS)
    readers.is_over.touch()
    read_last(folder, urls, base)
    reading.join()
    join_parts(folder, path)
    return path


if __name__ == "__main__":
    run_threads(msgspec.json.decode(sys.argv[1], type=Spec))
