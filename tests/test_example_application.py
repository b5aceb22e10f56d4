"""The example application: its own tests pass, one command runs it, and its README shows what it really answers."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.generated_docs import ROOT
from tests.processes.starting import start_process
from tests.shown_commands import read_shown, type_commands

EXAMPLE = ROOT / "examples" / "document-sharing"
README = (EXAMPLE / "README.md").read_text()
STARTED_WITHIN_SECONDS = 60.0

CHANGING = [(re.compile(r"\b[0-9a-f]{16}\b"), "<id>"), (re.compile(r"(ann\.)([0-9a-f]{64}|4be1…)"), r"\1<signature>")]


def settled(text: str) -> str:
    for pattern, name in CHANGING:
        text = pattern.sub(name, text)
    return text.strip()


def shown() -> list[tuple[str, str]]:
    """Every command that the README has typed into a second terminal, with the output it shows."""
    return read_shown(README.partition("## Try it")[2])


@contextmanager
def running(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`./run` in a process group of its own, and the URL of the application, from its start to its end."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("MAGISTRATE_")}
    environment = own | {"SHARING_VENV": sys.prefix, "SHARING_DATA": str(folder / "data"), "PORT": "0"}
    log = folder / "log"
    with log.open("w") as output:
        process = start_process([EXAMPLE / "run"], environment=environment, output=output, has_own_session=True)
    try:
        yield process, announced(process, log)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(timeout=30)


def announced(process: subprocess.Popen[str], log: Path) -> str:
    deadline = time.monotonic() + STARTED_WITHIN_SECONDS
    while not (found := re.search(r"Uvicorn running on (\S+)", log.read_text())):
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)
    return found[1]


@pytest.mark.nightly
def test_its_own_tests_pass(tmp_path: Path) -> None:
    # In a folder of its own: a second pytest would close that of the first to the user that PostgreSQL runs as.
    command = [sys.executable, "-m", "pytest", str(EXAMPLE), "--basetemp", str(tmp_path / "own")]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)

    assert ran.returncode == 0, ran.stdout


def test_its_readme_shows_what_it_answers_and_a_signal_stops_it_until_the_next_start(tmp_path: Path) -> None:
    with running(tmp_path) as (process, url):
        commands = [command.replace("http://127.0.0.1:8080", url) for command, _ in shown()]
        printed = type_commands(commands, tmp_path)
        magistrate = (tmp_path / "data" / "magistrate.log").read_text().split()[3]
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=30) == 130

    assert len(printed) > 20
    for (command, promised), real in zip(shown(), printed, strict=True):
        assert settled(real) == settled(promised), command
    for stopped in (url, magistrate):
        with pytest.raises(httpx.ConnectError):
            httpx.get(stopped, trust_env=False)

    with running(tmp_path) as (process, url):
        again = [f"API={url}", *commands[2:4], 'curl -s $API/folders -H "$ANN"']
        [*_, kept] = type_commands(again, tmp_path)
        process.terminate()
        assert process.wait(timeout=30) == 143

    assert json.loads(kept)[0]["title"] == "Plans"


def test_what_it_does_not_know_is_answered_by_what_it_can_do() -> None:
    ran = subprocess.run([EXAMPLE / "run", "tset"], env=os.environ | {"SHARING_VENV": sys.prefix}, capture_output=True)

    assert ran.returncode == 2
    assert b"./run test    its tests" in ran.stderr


def test_all_that_it_installs_is_tested_here_at_a_fixed_version() -> None:
    required = re.findall(r"^[\w-]+", (EXAMPLE / "requirements.txt").read_text(), re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    tested = "\n".join([*project["dependencies"], *project["optional-dependencies"]["dev"]])
    pinned = (ROOT / "constraints.txt").read_text()

    assert len(required) >= 4
    for name in required:
        assert re.search(rf"^{name}\b", tested, re.MULTILINE), name
        assert re.search(rf"^{name}==", pinned, re.MULTILINE), name
