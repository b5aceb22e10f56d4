"""The libraries for Node and for browsers, as installed from npm, against the service (docs/compatibility.md#v1 and
docs/warrant-sdks.md#other-libraries)."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import DEADLINE_SECONDS, SOURCES
from tests.clients.methods import WARRANT_JS, WARRANT_NODE, example_of, is_request, method_names
from tests.running import KEY, Client

LIBRARIES = {"warrant-node": WARRANT_NODE, "warrant-js": WARRANT_JS}

Told = dict[str, list[dict[str, Any]]]
"""By library, what run.mjs printed."""


@pytest.fixture(scope="module")
def told(node_folder: Path, shared_client: Client) -> Told:
    """One process runs all scenarios of a library."""
    return {library: _run(library, node_folder, shared_client) for library in LIBRARIES}


def _run(library: str, folder: Path, service: Client) -> list[dict[str, Any]]:
    command = ["node", str(SOURCES / "run.mjs"), library, str(service.base_url).rstrip("/"), KEY]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=DEADLINE_SECONDS)
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


@pytest.mark.parametrize(("library", "name"), [(library, name) for library in LIBRARIES for name in LIBRARIES[library]])
def test_a_scenario_goes_as_its_users_expect(library: str, name: str, told: Told) -> None:
    [ran] = [line for line in told[library] if line.get("scenario") == name]

    assert ran["failure"] is None, ran["failure"]
    for method, request in LIBRARIES[library][name].items():
        sent = ran["calls"][method]
        assert bool(sent) == (request is not None), method
        assert all(is_request(request, one) for one in sent), (method, sent)


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_public_method_is_in_one_scenario(library: str, told: Told) -> None:
    methods, *ran = told[library]

    assert sorted(method_names(LIBRARIES[library])) == sorted(methods["methods"])
    assert {line["scenario"] for line in ran} == set(LIBRARIES[library])


def test_the_example_of_the_documentation_runs(node_folder: Path, shared_client: Client) -> None:
    command = ["node", "-e", example_of("js", shared_client)]
    ran = subprocess.run(command, cwd=node_folder, capture_output=True, text=True, timeout=DEADLINE_SECONDS)

    assert (ran.stdout, ran.stderr) == ("true\n", "")
