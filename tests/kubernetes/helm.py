"""Runs Helm, which is built from its source where Go is."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.generated_docs import CHART, ROOT

SOURCE = "helm.sh/helm/v3/cmd/helm@v3.22.0"
FOLDER = ROOT / ".venv" / "helm"
"""Keeps what was built."""
GO = shutil.which("go") or "/usr/local/go/bin/go"
BUILT_WITHIN_SECONDS = 1_800
OLDEST, NEWEST = "1.27.0", "1.37.0"
"""The versions of Kubernetes that the chart is compared with."""
FOLDER_OF_CHART = ROOT / CHART
VALUES = sorted(FOLDER_OF_CHART.glob("ci/*-values.yaml"))

Json = dict[str, Any]


def find_helm(may_build: bool) -> Path:
    """Returns the program: an installed one of version 3, or the one that was built from its source, for which it takes
    minutes the first time. Skips the test where there is none."""
    program = FOLDER / "helm"
    if program.exists():
        return program
    installed = shutil.which("helm")
    if installed and "v3." in subprocess.run([installed, "version"], capture_output=True, text=True).stdout:
        return Path(installed)
    if not may_build:
        pytest.skip("Helm 3 is not here; `./run test -m nightly tests/kubernetes` builds it where Go is")
    if not os.path.exists(GO):
        pytest.skip("neither Helm 3 nor Go is installed")
    environment = os.environ | {"GOBIN": str(FOLDER)}
    built = subprocess.run(
        [GO, "install", SOURCE], env=environment, capture_output=True, text=True, timeout=BUILT_WITHIN_SECONDS
    )
    if built.returncode:
        pytest.skip(f"Helm cannot be built: {built.stderr[-300:]}")
    return program


class Helm:
    """Represents the program, with commands on our chart."""

    def __init__(self, program: Path) -> None:
        self._program = program

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self._program, *arguments], capture_output=True, text=True, check=False)

    def template(self, *options: str | Path, version: str = NEWEST) -> list[Json]:
        """Returns what the chart becomes with these options."""
        ran = self.run("template", "authz", FOLDER_OF_CHART, "--namespace", "auth", "--kube-version", version, *options)
        assert ran.returncode == 0, ran.stderr
        return [document for document in yaml.safe_load_all(ran.stdout) if document]


def find_kinds(documents: Sequence[Json], kind: str) -> list[Json]:
    return [document for document in documents if document["kind"] == kind]


def find_kind(documents: Sequence[Json], kind: str) -> Json:
    [document] = find_kinds(documents, kind)
    return document
