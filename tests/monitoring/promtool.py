"""Runs promtool, which checks rules and runs their tests as Prometheus does."""

import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.generated_docs import ROOT

FOLDER = ROOT / ".venv" / "prometheus"
"""Keeps the package of Debian, which is not installed."""
DOWNLOADED_WITHIN_SECONDS = 120


def find_promtool() -> Path | None:
    """Returns the program: the installed one, or that of the package of Debian, which is downloaded the first time;
    None where neither can be had."""
    if installed := shutil.which("promtool"):
        return Path(installed)
    program = FOLDER / "usr" / "bin" / "promtool"
    if not program.exists():
        _unpack()
    return program if program.exists() else None


def _unpack() -> None:
    if not all(map(shutil.which, ("apt-get", "dpkg"))):
        return
    # In a folder of its own: another process of the tests may run the program while this one unpacks it.
    with suppress(subprocess.SubprocessError, OSError), TemporaryDirectory(dir=FOLDER.parent) as folder:
        subprocess.run(
            ["apt-get", "download", "prometheus"],
            cwd=folder,
            capture_output=True,
            check=True,
            timeout=DOWNLOADED_WITHIN_SECONDS,
        )
        for package in Path(folder).glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, f"{folder}/unpacked"], capture_output=True, check=True)
        Path(folder, "unpacked").rename(FOLDER)  # fails if another process was faster


def run_promtool(*arguments: str | Path) -> str:
    """Returns what it prints. Fails the test with that if something is wrong; skips it where there is no promtool."""
    program = find_promtool()
    if program is None:
        pytest.skip("promtool is not installed, and the Debian package prometheus cannot be downloaded")
    ran = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout
