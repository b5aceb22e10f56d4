"""A service for the clients of its APIs, and the Node libraries and our client for TypeScript, installed once for all
tests of them."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.built_folders import build_once
from tests.clients.typescript_package import MISSING, PROGRAMS, build_package
from tests.conftest import STORES, new_database_url
from tests.running import Client, running_service, settings_for

SOURCES = Path(__file__).parent / "node"
DEADLINE_SECONDS = 90


@pytest.fixture(scope="session")
def node_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the libraries are installed, as package-lock.json has them."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed; the Node libraries need node 18.17 or newer, and npm")
    return build_once(tmp_path_factory, "node", install_libraries)


def install_libraries(folder: Path) -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(SOURCES / name, folder)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
    installed = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=DEADLINE_SECONDS)
    assert installed.returncode == 0, installed.stderr


@pytest.fixture(scope="session")
def typescript_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a copy of the client for TypeScript, which is built."""
    for program in PROGRAMS:
        if shutil.which(program) is None:
            pytest.skip(MISSING.format(program))
    return build_once(tmp_path_factory, "clients", build_package) / "typescript"


@pytest.fixture(scope="module", params=STORES)
def shared_client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a service that all tests of a module share, on each store in turn at night: what is tested here are
    clients of APIs, which are tested on both."""
    url = new_database_url(request.param, tmp_path_factory.mktemp("shared"), request)
    with running_service(settings_for(url)) as service, Client(service) as client:
        yield client
