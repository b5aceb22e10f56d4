"""@openfga/sdk, as installed from npm, against `/stores` (docs/openfga.md)."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import DEADLINE_SECONDS, SOURCES
from tests.running import KEY, Client

SCENARIOS = ("stores", "models", "tuples", "checks", "lists", "assertions", "otherRequests")

OLDEST_NODE = (20, 19)


def read_node_version() -> tuple[int, ...]:
    command = ["node", "--version"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=DEADLINE_SECONDS)
    return tuple(map(int, ran.stdout.strip().removeprefix("v").split(".")))


@pytest.fixture(scope="module")
def lines(node_folder: Path, shared_client: Client) -> list[dict[str, Any]]:
    """What one process that runs all scenarios prints."""
    if read_node_version() < OLDEST_NODE:
        pytest.skip("@openfga/sdk needs node 20.19 or newer")
    url = str(shared_client.base_url).rstrip("/")
    command = ["node", str(SOURCES / "openfga-run.mjs"), url, KEY]
    ran = subprocess.run(command, cwd=node_folder, capture_output=True, text=True, timeout=DEADLINE_SECONDS)
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_goes_as_its_users_expect(name: str, lines: list[dict[str, Any]]) -> None:
    [ran] = [line for line in lines if line.get("scenario") == name]

    assert ran["failure"] is None, ran["failure"]


def test_every_public_method_is_called(lines: list[dict[str, Any]]) -> None:
    """A method that a later version of the SDK has needs a scenario."""
    methods, *ran = lines

    assert {method for line in ran for method in line["called"]} == {*methods["methods"]}
    assert {line["scenario"] for line in ran} == {*SCENARIOS}
