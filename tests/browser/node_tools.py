"""Runs the tools of the console: they are those of package-lock.json, in a copy of its source."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.generated_docs import ROOT

SOURCE = ROOT / "console"
FOLDER = ROOT / "src" / "magistrate" / "examples"
"""The console contains one of them."""
PROGRAMS = ("node", "npm")
MISSING = "{} is not installed; building the console needs node 20.19 or newer, and npm"
DEADLINE_SECONDS = 300


def install_tools(parent: Path) -> Path:
    """Returns the folder of the copy, with the tools installed."""
    folder = parent / "console"
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("node_modules"))
    shutil.copytree(FOLDER, parent / FOLDER.relative_to(ROOT))
    run_tool(folder, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
    return folder


def run_tool(folder: Path, *command: str, **environment: str) -> None:
    ran = subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=DEADLINE_SECONDS
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
