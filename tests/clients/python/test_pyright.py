"""Pyright, which editors run, finds nothing in the client for Python, for the oldest Python and for the newest."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.generated_docs import ROOT

SOURCES = ROOT / "clients" / "python" / "src"


@pytest.mark.nightly
@pytest.mark.parametrize("version", ["3.9", pytest.param("3.13", marks=pytest.mark.nightly)])
def test_pyright_finds_nothing(node_folder: Path, version: str) -> None:
    found = check_types(node_folder, "--pythonversion", version, str(SOURCES))

    assert found.returncode == 0, found.stdout


@pytest.mark.nightly
def test_pyright_finds_what_is_wrong_in_a_caller(node_folder: Path, tmp_path: Path) -> None:
    caller = tmp_path / "caller.py"
    caller.write_text("from magistrate_client import Client\n\nClient().check('user:ann', 'viewer')\n")

    found = check_types(node_folder, str(caller))

    assert 'Argument missing for parameter "object"' in found.stdout


def check_types(node_folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command: list[str | Path] = [
        node_folder / "node_modules" / ".bin" / "pyright",
        "--pythonpath",
        sys.executable,
        *arguments,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)
