"""Builds the client for TypeScript with its own tools, in a copy of its source."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.generated_docs import ROOT

SOURCE = ROOT / "clients" / "typescript"
PROGRAMS = ("node", "npm")
MISSING = "{} is not installed; the client for TypeScript needs node 20 or newer to be built, and npm"
DEADLINE_SECONDS = 300


def build_package(parent: Path) -> Path:
    """Returns the folder of the copy: its tools are installed, the package is in `dist`, its tests are in `build`."""
    folder = parent / "typescript"
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("node_modules", "dist", "build"))
    run_in(folder, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
    run_in(folder, "node_modules/.bin/tsc")
    run_in(folder, "node_modules/.bin/tsc", "-p", "tests")
    return folder


def run_in(folder: Path, *command: str | Path, environment: dict[str, str] | None = None) -> str:
    """Returns what a command prints, which must succeed. It finds no service in its environment but the given one."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("MAGISTRATE_")}
    ran = subprocess.run(
        command, cwd=folder, env=own | (environment or {}), capture_output=True, text=True, timeout=DEADLINE_SECONDS
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout
