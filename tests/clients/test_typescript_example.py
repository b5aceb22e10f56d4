"""The example with Express (examples/express-notes) answers what its README shows."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from magistrate import __version__
from tests.generated_docs import ROOT
from tests.processes.starting import start_process
from tests.running import KEY, Client
from tests.shown_commands import read_shown, type_commands

EXAMPLE = ROOT / "examples" / "express-notes"
STARTED_WITHIN_SECONDS = 60.0

SHOWN = read_shown((EXAMPLE / "README.md").read_text())


@pytest.fixture(scope="module")
def example(typescript_folder: Path) -> Path:
    """The example with the client installed; Express is in the folder above."""
    folder = typescript_folder / "express-notes"
    shutil.copytree(EXAMPLE, folder)
    shutil.rmtree(folder / "node_modules", ignore_errors=True)
    package = folder / "node_modules" / "@magistrate" / "client"
    shutil.copytree(typescript_folder / "dist", package / "dist")
    shutil.copy(typescript_folder / "package.json", package)
    return folder


@contextmanager
def running(folder: Path, service: Client, log: Path) -> Iterator[str]:
    """The URL of the example, for as long as it runs."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("MAGISTRATE_")}
    variables = {"MAGISTRATE_URL": str(service.base_url).rstrip("/"), "MAGISTRATE_API_KEY": KEY, "PORT": "0"}
    with log.open("w") as output:
        process = start_process(["node", "server.js"], folder=folder, environment=own | variables, output=output)
    try:
        yield announced(process, log)
    finally:
        process.terminate()
        process.wait(timeout=30)


def announced(process: subprocess.Popen[str], log: Path) -> str:
    deadline = time.monotonic() + STARTED_WITHIN_SECONDS
    while not (found := re.search(r"Listening on (\S+)", log.read_text())):
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)
    return found[1]


def test_it_answers_what_its_readme_shows(example: Path, shared_client: Client, tmp_path: Path) -> None:
    with running(example, shared_client, tmp_path / "log") as url:
        printed = type_commands([command.replace("http://127.0.0.1:8080", url) for command, _ in SHOWN], tmp_path)

    assert len(printed) == 10
    for (command, promised), real in zip(SHOWN, printed, strict=True):
        assert real.strip() == promised.strip(), command
    assert shared_client.get("/v2/warrants", params={"objectType": "note"}).json()["results"][0]["relation"] == "owner"


def test_it_depends_on_the_version_of_this_repository() -> None:
    assert f'"@magistrate/client": "^{__version__}"' in (EXAMPLE / "package.json").read_text()
