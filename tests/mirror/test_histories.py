"""Random histories of a real service, with a mirror whose process is killed again and again: its table is always the
access as of its own position, exactly."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import apsw
import psycopg
import pytest

from magistrate.client import Client as ApiClient
from magistrate.mirror.mirroring import Mirror, MirrorOptions
from magistrate.mirror.open_target import choose_target
from magistrate.mirror.verification import verify_mirror
from tests.databases import PostgresServer
from tests.mirror.tables import read_position
from tests.processes.starting import start_process
from tests.running import KEY, Client
from tests.scenario_files import warrant_body

OF = ["document#can-read@user", "folder#viewer@user"]
TYPES: dict[str, Any] = {
    "user": {},
    "group": {"member": {}},
    "folder": {"viewer": {}},
    "document": {
        "parent": {},
        "blocked": {},
        "viewer": {
            "inheritIf": "anyOf",
            "rules": [{"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}],
        },
        "can-read": {
            "inheritIf": "allOf",
            "rules": [{"inheritIf": "viewer"}, {"inheritIf": "noneOf", "rules": [{"inheritIf": "blocked"}]}],
        },
    },
}
OTHER_DOCUMENT = {**TYPES["document"], "can-read": {"inheritIf": "viewer"}}
OPTIONS = MirrorOptions(OF)
WITHIN_SECONDS = 60


class History:
    """Writes at random: warrants of groups, folders, exclusions and wildcards, some of which expire, objects that are
    deleted, and another rule."""

    def __init__(self, client: Client, seed: int) -> None:
        self._client = client
        self._random = Random(seed)
        client.define(TYPES)

    def write(self) -> None:
        choice = self._random.random()
        if choice < 0.6:
            body = warrant_body(self._draw_warrant())
            if self._random.random() < 0.2:
                soon = datetime.now(UTC) + timedelta(seconds=self._random.uniform(0.2, 2))
                body |= {"expiresAt": soon.isoformat().replace("+00:00", "Z")}
            self._client.write([body])
        elif choice < 0.85:
            self._client.delete_json("/v2/warrants", [warrant_body(self._draw_warrant())])
        elif choice < 0.95:
            named = {"objectType": self._draw("document", "user", "folder"), "objectId": self._draw("a", "b", "é")}
            self._client.delete_json("/v2/objects", [named])
        else:
            definition = self._draw(TYPES["document"], OTHER_DOCUMENT)
            body = {"type": "document", "relations": definition}
            self._client.put("/v2/object-types/document", json=body).raise_for_status()

    def _draw(self, *values: Any) -> Any:
        return self._random.choice(values)

    def _draw_warrant(self) -> str:
        subject = self._draw("user:a", "user:b", "user:é", "user:*", "group:g#member")
        document, folder = f"document:{self._draw('a', 'b', 'é')}", f"folder:{self._draw('a', 'b')}"
        return str(
            self._draw(
                f"{document}#viewer@{subject}",
                f"{document}#blocked@{subject}",
                f"{document}#parent@{folder}",
                f"{folder}#viewer@{subject}",
                f"group:g#member@user:{self._draw('a', 'b', 'é')}",
            )
        )


def expect_exact(client: Client, url: str) -> bool:
    """Returns whether there is a position; the table has to be what it was then."""
    target = choose_target(url, "access")
    with ApiClient(str(client.base_url), KEY) as api, closing(target):
        verification = verify_mirror(api, target, OPTIONS)
    assert verification is None or verification.agrees, verification
    return verification is not None


def find_position(url: str) -> object:
    try:
        return read_position(url)
    except (apsw.Error, psycopg.Error):
        return None  # the tables are not there yet


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


def test_a_mirror_that_is_killed_is_exact_at_its_position(client: Client, url: str) -> None:
    replay_and_kill(client, url, seed=1, kills=3)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(10))
def test_many_histories_are_exact(client: Client, url: str, seed: int) -> None:
    replay_and_kill(client, url, seed, kills=20)
