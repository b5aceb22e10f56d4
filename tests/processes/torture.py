"""Kills readers, nodes and the database at random, again and again, while clients write: what each reader has got is
the log, each revision once and in order, and every write that was acknowledged is in it.

`./run torture` does so for as long as wanted; `tests/processes/test_torture.py` for some seconds. With `--operations`,
it records a history of all that clients do, under more faults, and checks it (docs/history-check.md)."""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count, groupby
from pathlib import Path

import httpx

from tests.databases import new_migrated_file, postgres_server, query_sql
from tests.histories.torture import torture_history
from tests.processes.forked_service import ForkedService
from tests.processes.served_processes import free_port
from tests.processes.starting import start_process
from tests.processes.torture_reader import REFUSED
from tests.running import KEY, Client
from tests.waiting import wait_until

NODES, READERS, WRITERS = 2, 4, 3
LARGE_EVERY, LARGE = 50, 600
"""Say how often a write creates how many objects at once: more than fit a page of the log."""
KILL_SECONDS = (0.1, 1.5)
"""Bounds the pause between two kills."""
NODE, READER, DATABASE = "node", "reader", "database"
KILLS = (NODE, READER, NODE, READER, NODE, READER)
"""Lists what is killed in each round, with the database once if it can be, in another order each time."""
WITHIN_SECONDS = 120.0
BEGIN, LAST = "begin-", "last-"
"""Begin the ids of the objects that are created before and behind all others."""


@dataclass(slots=True)
class TortureReport:
    """Counts what has happened. `acknowledged` has the ids of the objects of the writes that were answered with 200."""

    revisions: int = 0
    kills: dict[str, int] = field(default_factory=lambda: {NODE: 0, READER: 0, DATABASE: 0})
    unknown: int = 0
    """Counts the writes that may have been made or not."""
    acknowledged: set[str] = field(default_factory=set)

    def __str__(self) -> str:
        killed = ", ".join(f"{number} {name}s" for name, number in self.kills.items())
        return f"{self.revisions:,} revisions, {self.unknown} writes unanswered; killed: {killed}"


class Node:
    """Is one service with the same port whenever it runs."""

    def __init__(self, folder: Path, database_url: str) -> None:
        folder.mkdir()
        self._folder, self._database_url = folder, database_url
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._service: ForkedService | None = None

    def start(self) -> None:
        service = ForkedService(self._folder, "--port", str(self._port), database_url=self._database_url, api_key=KEY)
        self._service = service.__enter__()

    def kill(self) -> None:
        """Ends it as `kill -9` does."""
        if self._service is not None:
            self._service.__exit__(None, None, None)
            self._service = None


class Reader:
    """Is a process that is killed and started again."""

    def __init__(self, path: Path, token: str, urls: Sequence[str]) -> None:
        self.path = path
        self._token, self._urls = token, urls
        self._starts = count(1)
        self.start()

    def start(self) -> None:
        seed = f"{self.path.name}-{next(self._starts)}"
        reader = "tests.processes.torture_reader"
        command = [sys.executable, "-m", reader, self._token, seed, str(self.path), *self._urls]
        self._process = start_process(command, output=subprocess.DEVNULL)

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()

    def has_reached(self, token: str) -> bool:
        """Returns whether it has got a revision. Raises AssertionError if it was refused."""
        last = self.path.read_bytes()[-65_536:].decode().rstrip("\n").rpartition("\n")[2]
        assert not last.startswith(REFUSED), last
        return last.startswith(f"{token} ")

    def list_revisions(self) -> Iterator[tuple[str, str]]:
        """Yields the token of each revision that it has got, and the ids of its objects."""
        with self.path.open() as file:
            for line in file:
                token, _, ids = line.rstrip("\n").partition(" ")
                assert token != REFUSED, line
                yield token, ids


class Torture:
    """`crash_database` kills the server of the database and starts it again; None if that is only a file."""

    def __init__(self, folder: Path, database_url: str, crash_database: Callable[[], None] | None, seed: int) -> None:
        self.report = TortureReport()
        self._folder, self._database_url = folder, database_url
        self._crash_database = crash_database
        self._rng = random.Random(seed)
        self._numbers = count()
        self._is_over = threading.Event()
        self._fault: BaseException | None = None
        self._nodes = [Node(folder / f"node-{number}", database_url) for number in range(NODES)]

    def run(self, revisions: int, seconds: float, rounds: int | None = None) -> TortureReport:
        """Goes on for so many revisions, seconds or rounds of kills, and compares what the readers have with the
        log."""
        with ExitStack() as stack:
            for node in self._nodes:
                stack.callback(node.kill)
                node.start()
            begin = self._create_surely(BEGIN)
            urls = [node.url for node in self._nodes]
            readers = [Reader(self._folder / f"reader-{number}", begin, urls) for number in range(READERS)]
            for reader in readers:
                stack.callback(reader.kill)
            writers = [threading.Thread(target=self._write_on, args=(number, revisions)) for number in range(WRITERS)]
            stack.callback(self._is_over.set)
            for writer in writers:
                writer.start()
            ends_at = time.monotonic() + seconds
            for _ in count() if rounds is None else range(rounds):
                if not self._kill_round(readers, writers, ends_at):
                    break
            self._is_over.set()
            for writer in writers:
                writer.join()
            if self._fault is not None:
                raise self._fault
            last = self._create_surely(LAST)
            wait_until(lambda: all(reader.has_reached(last) for reader in readers), WITHIN_SECONDS)
            self._compare(readers)
        return self.report

    def _write_on(self, writer: int, revisions: int) -> None:
        """Writes until it shall end, or so many are written by all together."""
        rng = random.Random(f"{writer}-{self._rng.random()}")
        while not self._is_over.is_set() and (number := next(self._numbers)) < revisions:
            ids = [f"w{number}"] if number % LARGE_EVERY else [f"w{number}.{place}" for place in range(LARGE)]
            try:
                self._create(rng.choice(self._nodes).url, ids)
            except httpx.TransportError:
                self.report.unknown += 1
                time.sleep(rng.uniform(0, 0.05))
            except BaseException as error:  # raised again where the readers are compared
                self._fault = error
                return

    def _create(self, url: str, ids: Sequence[str]) -> str:
        """Creates objects in one write, and returns its token. Raises httpx.TransportError unless it was made."""
        body = {"create": {"objects": [{"objectType": "document", "objectId": name} for name in ids]}}
        with Client(url) as client:
            answer = client.post("/v2/writes", json=body)
        if answer.status_code >= 500:
            raise httpx.TransportError(answer.text)
        assert answer.status_code == 200, answer.text
        self.report.acknowledged.update(ids)
        return str(answer.headers["Service-Token"])

    def _create_surely(self, name: str) -> str:
        """Creates an object whose id begins so, and returns the token of the write."""
        deadline = time.monotonic() + WITHIN_SECONDS
        for attempt in count():
            try:
                return self._create(self._rng.choice(self._nodes).url, [f"{name}{attempt}"])
            except httpx.TransportError:
                assert time.monotonic() < deadline
                time.sleep(0.1)
        raise AssertionError

    def _kill_round(self, readers: Sequence[Reader], writers: Sequence[threading.Thread], ends_at: float) -> bool:
        """Kills everything in KILLS, and returns whether there is time for more, and something to write."""
        names = [*KILLS, *([] if self._crash_database is None else [DATABASE])]
        self._rng.shuffle(names)
        for name in names:
            time.sleep(self._rng.uniform(*KILL_SECONDS))
            if time.monotonic() >= ends_at or not any(writer.is_alive() for writer in writers):
                return False
            if name == DATABASE and self._crash_database is not None:
                self._crash_database()
            else:
                killed: Node | Reader = self._rng.choice(self._nodes) if name == NODE else self._rng.choice(readers)
                killed.kill()
                time.sleep(self._rng.uniform(0, 0.5))
                killed.start()
            self.report.kills[name] += 1
        return True

    def _compare(self, readers: Sequence[Reader]) -> None:
        """Fails unless each reader has each revision of the log behind the first write, once and in order."""
        rows = query_sql(self._database_url, "SELECT revision, key FROM change WHERE kind = 'object' ORDER BY revision")
        log = [
            ",".join(sorted(json.loads(str(key))[1] for _, key in written))
            for _, written in groupby(rows, lambda row: row[0])
        ]
        written = log[max(place for place, ids in enumerate(log) if ids.startswith(BEGIN)) + 1 :]
        self.report.revisions = len(written)
        lost = self.report.acknowledged - {name for ids in log for name in ids.split(",")}
        assert not lost, f"{len(lost)} objects of writes that were acknowledged are not in the log"
        tokens = [token for token, _ in readers[0].list_revisions()]
        assert len({*tokens}) == len(tokens)
        for reader in readers:
            received = [*reader.list_revisions()]
            assert [ids for _, ids in received] == written, f"{reader.path} differs from the log"
            assert [token for token, _ in received] == tokens


@contextmanager
def open_database(store: str, folder: Path) -> Iterator[tuple[str, Callable[[], None] | None]]:
    """Yields the URL of a new database, and what crashes its server: kills all of it in the middle of what it does, and
    starts it again."""
    if store == "sqlite":
        yield new_migrated_file(folder / "torture.db"), None
        return
    with postgres_server(folder) as server:
        server.keep_commits()
        yield server.new_migrated_url(), server.crash


def main() -> None:
    parser = argparse.ArgumentParser(prog="./run torture", description=__doc__)
    parser.add_argument("--store", choices=["sqlite", "postgres"], default="postgres")
    parser.add_argument("--revisions", type=int, default=1_000_000, metavar="N", help="default: 1,000,000")
    parser.add_argument("--seconds", type=float, default=600, metavar="N", help="at most; default: 600")
    operations = "record a history of so many operations, and check it"
    parser.add_argument("--operations", type=int, default=0, metavar="N", help=operations)
    parser.add_argument("--seed", type=int, default=None, metavar="N", help="what is killed when; default: another")
    chosen = parser.parse_args()
    seed = random.randrange(1_000_000) if chosen.seed is None else chosen.seed
    print(f"--store {chosen.store} --seed {seed}", flush=True)
    if chosen.operations:
        with tempfile.TemporaryDirectory(prefix="torture-") as folder:
            report = torture_history(Path(folder), chosen.store, chosen.operations, chosen.seconds, seed)
        sys.exit(1 if report.findings else 0)
    with tempfile.TemporaryDirectory(prefix="torture-") as folder, open_database(chosen.store, Path(folder)) as opened:
        print(Torture(Path(folder), *opened, seed).run(chosen.revisions, chosen.seconds))


if __name__ == "__main__":
    main()
