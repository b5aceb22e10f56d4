"""The readers of docs/watch.md, as programs of their own."""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest

from tests.processes.service_process import ServiceProcess
from tests.processes.starting import start_process
from tests.running import KEY

GUIDE = Path(__file__).parents[2] / "docs/watch.md"
PROGRAMS = {"python": [sys.executable, "reader.py"], "ts": ["node", "reader.mjs"], "sh": ["sh", "reader.sh"]}
"""By language how its reader is run; that in TypeScript has no types, so it is JavaScript as well."""
NEEDED = {"python": [], "ts": ["node"], "sh": ["curl"]}


def read_program(language: str) -> str:
    [program] = re.findall(rf"^```{language}\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    return str(program)


@contextmanager
def reading(folder: Path, command: Sequence[str], url: str) -> Iterator[Iterator[str]]:
    """The lines that a reader prints, which is killed at the end."""
    environment = {"PATH": os.environ["PATH"], "MAGISTRATE_SERVER": url, "MAGISTRATE_API_KEY": KEY, "no_proxy": "*"}
    with start_process(
        command, folder=folder, environment=environment, errors=sys.stderr, has_own_session=True
    ) as reader:
        assert reader.stdout is not None
        try:
            yield iter(reader.stdout.readline, "")
        finally:
            os.killpg(reader.pid, 9)


def find_users(lines: Iterator[str], last: str) -> list[str]:
    """The ids of the users whose creation a reader prints, up to this one."""
    users: list[str] = []
    for line in islice(lines, 20):
        users += [str(created["objectId"]) for created in json.loads(line).get("objects", {}).get("created", ())]
        if last in users:
            return users
    raise AssertionError(f"the reader has ended, or prints {users} alone")


@pytest.mark.parametrize("language", PROGRAMS)
def test_a_reader_misses_nothing_while_it_is_away(language: str, tmp_path: Path) -> None:
    if missing := [program for program in NEEDED[language] if shutil.which(program) is None]:
        pytest.skip(f"{missing[0]} is not here")
    command = PROGRAMS[language]
    (tmp_path / command[-1]).write_text(read_program(language))
    served = tmp_path / "served"
    served.mkdir()
    with ServiceProcess(served, api_key=KEY, database_url=f"sqlite:///{served}/m.db") as service:
        with service.client() as client, reading(tmp_path, command, service.url) as lines:
            next(lines)
            client.post("/v2/objects", json={"objectType": "user", "objectId": "ann"}).raise_for_status()
            assert find_users(lines, "ann") == ["ann"]
        with service.client() as client:
            client.post("/v2/objects", json={"objectType": "user", "objectId": "kim"}).raise_for_status()
            with reading(tmp_path, command, service.url) as lines:
                users = find_users(lines, "kim")

    # It may have been ended between a line and the position behind it.
    assert users in (["kim"], ["ann", "kim"])
