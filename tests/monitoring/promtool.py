"""Runs promtool, which checks rules and runs their tests as Prometheus does."""

import subprocess
from pathlib import Path

import pytest

from tests.debian_packages import Program

PROMTOOL = Program("promtool", ("prometheus",))
find_promtool = PROMTOOL.find


def run_promtool(*arguments: str | Path) -> str:
    """Returns what it prints. Fails the test with that if something is wrong; skips it where there is no promtool."""
    program = find_promtool()
    if program is None:
        pytest.skip("promtool is not installed, and the Debian package prometheus cannot be downloaded")
    ran = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout
