"""The client for TypeScript (clients/typescript): its own tests run against the service."""

import json
from pathlib import Path

import pytest

from magistrate import __version__
from tests.clients.typescript_package import SOURCE, run_in
from tests.generated_docs import ROOT
from tests.running import KEY, Client

TESTS = sorted(path.name for path in (SOURCE / "tests").glob("*.test.ts*"))
TEST = ("--test", "--test-reporter=tap")
PACKAGE = json.loads((SOURCE / "package.json").read_text())


def test_there_are_tests() -> None:
    assert len(TESTS) >= 2


@pytest.mark.parametrize("name", TESTS)
def test_its_own_tests_pass(name: str, typescript_folder: Path, shared_client: Client) -> None:
    compiled = f"build/tests/{name.partition('.test.')[0]}.test.js"
    environment = {"MAGISTRATE_URL": str(shared_client.base_url).rstrip("/"), "MAGISTRATE_API_KEY": KEY}

    assert "\n# fail 0\n" in run_in(typescript_folder, "node", *TEST, compiled, environment=environment)


def test_it_has_the_version_and_the_license_of_the_service() -> None:
    lock = json.loads((SOURCE / "package-lock.json").read_text())

    assert PACKAGE["version"] == lock["version"] == lock["packages"][""]["version"] == __version__
    assert (SOURCE / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_it_has_no_dependency() -> None:
    assert PACKAGE.get("dependencies", {}) == {}
    assert all(peer["optional"] for peer in PACKAGE["peerDependenciesMeta"].values())
    assert set(PACKAGE["peerDependenciesMeta"]) == set(PACKAGE["peerDependencies"])


def test_its_lock_file_names_no_registry() -> None:
    lock = json.loads((SOURCE / "package-lock.json").read_text())

    assert [name for name, package in lock["packages"].items() if "resolved" in package] == []
