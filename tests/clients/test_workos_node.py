"""@workos-inc/node, as installed from npm, against /fga/v1 (docs/warrant-sdks.md#workos)."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import DEADLINE_SECONDS, SOURCES
from tests.clients.methods import WORKOS_NODE, is_request, method_names
from tests.clients.workos_types import TYPES
from tests.running import KEY, Client


@pytest.fixture(scope="module")
def lines(node_folder: Path, shared_client: Client) -> list[dict[str, Any]]:
    """What one process that runs all scenarios prints."""
    shared_client.put("/fga/v1/resource-types", json=TYPES).raise_for_status()
    url = str(shared_client.base_url).rstrip("/")
    command = ["node", str(SOURCES / "fga-run.mjs"), url, KEY]
    ran = subprocess.run(command, cwd=node_folder, capture_output=True, text=True, timeout=DEADLINE_SECONDS)
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


@pytest.mark.parametrize("name", WORKOS_NODE)
def test_a_scenario_goes_as_its_users_expect(name: str, lines: list[dict[str, Any]]) -> None:
    [ran] = [line for line in lines if line.get("scenario") == name]

    assert ran["failure"] is None, ran["failure"]
    for method, request in WORKOS_NODE[name].items():
        sent = ran["calls"][method]
        assert sent
        assert all(is_request(request, one) for one in sent), (method, sent)


def test_every_public_method_is_in_one_scenario(lines: list[dict[str, Any]]) -> None:
    methods, *ran = lines

    assert sorted(method_names(WORKOS_NODE)) == sorted(methods["methods"])
    assert {line["scenario"] for line in ran} == set(WORKOS_NODE)
