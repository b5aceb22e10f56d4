"""`./run` where something that it needs is missing: it says what, and leaves nothing half done behind."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.generated_docs import ROOT

TOOLS = ("cat", "cksum", "dirname")
"""What it takes from the system besides the shell."""

INSTALLING = "Installing what is needed into {}/.venv, which takes a minute or two the first time"
PYTHON_WITHOUT_NETWORK = "#!/bin/sh\necho no network >&2\nexit 7\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What `./run` reads of a checkout, and `bin` with the tools alone."""
    for name in ("run", "pyproject.toml", "constraints.txt", "clients/python/pyproject.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "bin").mkdir()
    for name in TOOLS:
        path = shutil.which(name)
        assert path is not None
        (tmp_path / "bin" / name).symlink_to(path)
    return tmp_path


def run(checkout: Path, *arguments: str) -> tuple[int, str]:
    """The exit code, and what is printed on stderr."""
    environment = {"PATH": str(checkout / "bin"), "HOME": str(checkout)}
    ran = subprocess.run([checkout / "run", *arguments], env=environment, capture_output=True, text=True)
    return ran.returncode, ran.stderr


@pytest.mark.parametrize("command", ["serve", "magistrate", "test", "check"])
def test_without_python_it_says_so_and_nothing_else(checkout: Path, command: str) -> None:
    assert run(checkout, command) == (
        1,
        "Python 3.11 or newer, with venv and pip, is needed and was not found; PYTHON=/path/to/python3 names one.\n",
    )
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize("command", ["serve", "magistrate", "test", "check"])
@pytest.mark.parametrize("installed", ["installed-service", "installed-all"])
def test_an_installation_that_fails_is_tried_again(checkout: Path, command: str, installed: str) -> None:
    python = checkout / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(PYTHON_WITHOUT_NETWORK)
    python.chmod(0o755)
    (checkout / ".venv" / installed).write_text("other versions\n")

    for _ in range(2):
        assert run(checkout, command) == (7, f"{INSTALLING.format(checkout)}\nno network\n")
