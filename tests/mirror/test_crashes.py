"""The mirror, the service and the database server are killed at random while somebody writes: the table of the mirror
is always the access as of its own position, and has all that was written in the end."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

import httpx
import pytest

from magistrate.client import Client as ApiClient
from magistrate.mirror.mirroring import Mirror, MirrorOptions
from magistrate.mirror.open_target import choose_target
from tests.databases import PostgresServer, set_default
from tests.mirror.histories import OF, WITHIN_SECONDS, History, expect_exact, find_position
from tests.mirror.tables import read_position
from tests.processes.service_process import ServiceProcess
from tests.processes.starting import start_process
from tests.running import KEY


class Victims:
    """A service on a database, and a mirror of it, all of which can be killed, and are there again at once. The port of
    the service stays the same."""

    def __init__(self, folder: Path, source: str, target: str) -> None:
        self._folder, self._source, self._target = folder, source, target
        self._running = ExitStack()
        self.service = self._running.enter_context(ServiceProcess(folder, database_url=source, api_key=KEY))
        self.client = self.service.client()
        self.mirror = self._start_mirror()

    def _start_mirror(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "magistrate", "mirror", "--of", ",".join(OF), "--to", self._target]
        environment = os.environ | {"MAGISTRATE_SERVER": self.service.url, "MAGISTRATE_API_KEY": KEY}
        return start_process(command, environment=environment, output=subprocess.DEVNULL)

    def kill_service(self) -> None:
        self.service.kill()
        again = ServiceProcess(
            self._folder, "--port", self.service.url.rpartition(":")[2], database_url=self._source, api_key=KEY
        )
        self.service = self._running.enter_context(again)

    def kill_mirror(self) -> None:
        self.end_mirror(signal.SIGKILL)
        self.mirror = self._start_mirror()

    def end_mirror(self, how: signal.Signals) -> None:
        self.mirror.send_signal(how)
        self.mirror.wait(WITHIN_SECONDS)

    def wait_until_ready(self) -> None:
        wait_until(lambda: self.client.get("/readyz").status_code == 200)

    def close(self) -> None:
        self.end_mirror(signal.SIGKILL)
        self.client.close()
        self._running.close()


def wait_until(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + WITHIN_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@contextmanager
def writing(history: History) -> Iterator[None]:
    """Writes in a thread, whatever comes of it."""
    is_over = threading.Event()

    def write() -> None:
        while not is_over.wait(0.005):
            try:
                history.write()
            except httpx.HTTPError:
                is_over.wait(0.05)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def kill_again_and_again(victims: Victims, kill_database: Callable[[], None] | None, target: str, rounds: int) -> None:
    random, client = Random(rounds), victims.client
    history = History(client, rounds)
    kills = [victims.kill_mirror, victims.kill_service, *([kill_database] if kill_database else [])]
    for number in range(rounds):
        before = find_position(target)
        with writing(history):
            wait_until(lambda before=before: find_position(target) != before)  # type: ignore[misc]
            time.sleep(random.uniform(0, 0.3))
            for kill in (kills[number % len(kills)], random.choice(kills)):
                kill()
        victims.wait_until_ready()
        assert expect_exact(client, target)
    assert victims.mirror.poll() is None


@pytest.mark.parametrize("rounds", [3, pytest.param(30, marks=pytest.mark.nightly)])
def test_whatever_is_killed_the_table_is_exact_at_its_position(
    database_url: str, tmp_path: Path, request: pytest.FixtureRequest, rounds: int
) -> None:
    if database_url.startswith("sqlite:"):
        target, kill_database = f"sqlite:///{tmp_path}/app.db", None
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        target = server.new_url()
        for url in (database_url, target):
            set_default(url, "synchronous_commit", "on")

        def kill_database() -> None:
            with server.crashed():
                time.sleep(0.1)

    victims = Victims(tmp_path, database_url, target)
    try:
        kill_again_and_again(victims, kill_database, target, rounds)
        victims.end_mirror(signal.SIGTERM)
        with ApiClient(victims.service.url, KEY) as api:
            Mirror(api, choose_target(target, "access"), MirrorOptions(OF, once=True)).run()
        assert expect_exact(victims.client, target)
        assert read_position(target)
    finally:
        victims.close()
