"""Random histories of a real service, with a mirror whose process is killed again and again: its table is always the
access as of its own position, exactly."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from magistrate.client import Client as ApiClient
from magistrate.mirror.mirroring import Mirror, MirrorOptions
from magistrate.mirror.open_target import choose_target
from tests.conftest import list_seeds
from tests.databases import PostgresServer
from tests.mirror.histories import OF, WITHIN_SECONDS, History, expect_exact, find_position
from tests.processes.starting import start_process
from tests.running import KEY, Client


def mirror_until_killed(client: Client, url: str, history: History, random: Random, *, is_early: bool) -> None:
    """Kills the mirror at any moment after its start, or while it follows what is written."""
    command = [sys.executable, "-m", "magistrate", "mirror", "--of", ",".join(OF), "--to", url]
    environment = os.environ | {"MAGISTRATE_SERVER": str(client.base_url), "MAGISTRATE_API_KEY": KEY}
    before = find_position(url)
    process = start_process(command, environment=environment)
    began_at, early = time.monotonic(), random.uniform(0.3, 1.5)
    while time.monotonic() < began_at + (early if is_early else WITHIN_SECONDS):
        history.write()
        if not is_early and find_position(url) != before:
            break
    for _ in range(random.randrange(10)):
        history.write()
    process.send_signal(signal.SIGKILL)
    _, errors = process.communicate()
    assert "Traceback" not in errors


def replay_and_kill(client: Client, url: str, seed: int, kills: int) -> None:
    history, random = History(client, seed), Random(seed)
    seen = 0
    for number in range(kills):
        mirror_until_killed(client, url, history, random, is_early=not number % 3)
        seen += expect_exact(client, url)
    with ApiClient(str(client.base_url), KEY) as api:
        Mirror(api, choose_target(url, "access"), MirrorOptions(OF, once=True)).run()
    assert expect_exact(client, url)
    assert seen


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/app.db"
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    made = server.new_url()
    yield made
    server.give_back(made)


@pytest.mark.nightly
def test_a_mirror_that_is_killed_is_exact_at_its_position(client: Client, url: str) -> None:
    replay_and_kill(client, url, seed=1, kills=3)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", list_seeds(4, 10))
def test_many_histories_are_exact(client: Client, url: str, seed: int) -> None:
    replay_and_kill(client, url, seed, kills=20)
