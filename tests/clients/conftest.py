"""The Node libraries, installed once for all tests of them."""

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent / "node"
DEADLINE_SECONDS = 90


@pytest.fixture(scope="session")
def node_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the libraries are installed, as package-lock.json has them."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed; the Node libraries need node 18.17 or newer, and npm")
    folder = tmp_path_factory.mktemp("node")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(SOURCES / name, folder)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
    installed = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=DEADLINE_SECONDS)
    assert installed.returncode == 0, installed.stderr
    return folder
