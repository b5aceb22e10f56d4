"""The runbook, as an operator works through it: each of its commands is run, in one shell, with its two services and a
PostgreSQL server."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.databases import PostgresServer
from tests.generated_docs import ROOT
from tests.monitoring.promtool import find_promtool
from tests.processes.served_processes import free_port
from tests.processes.starting import start_process

BLOCK = re.compile(r"^```(console|yaml) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
URLS = [f"postgresql://magistrate@database.internal/{name}" for name in ("magistrate", "restored")]
PORTS = ("8443", "8444", "9443", "9444")
COMMAND_SECONDS, ENDED_WITHIN_SECONDS = 60, 120
MARK = "-- the command has ended with"
PROGRAMS = ("bash", "openssl", "psql")


class Shell:
    """A shell that commands are typed into, in which what runs in the background goes on."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._folder = folder
        self._process = start_process(
            ["bash"],
            folder=folder,
            environment=environment,
            errors=subprocess.STDOUT,
            has_own_session=True,
            stdin=subprocess.PIPE,
        )

    def type(self, command: str) -> tuple[int, str]:
        """Answers the exit code of the command, and what it has printed. One that takes too long fails the test."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{command}\nprintf '\\n{MARK} %s\\n' $?\n")
        self._process.stdin.flush()
        printed: list[str] = []
        timer = threading.Timer(COMMAND_SECONDS, self._kill)
        timer.start()
        try:
            for line in self._process.stdout:
                if line.startswith(MARK):
                    return int(line.removeprefix(MARK)), "".join(printed).removesuffix("\n")
                printed.append(line)
        finally:
            timer.cancel()
        logs = {log.name: log.read_text() for log in self._folder.glob("*.log")}
        raise AssertionError(f"the shell ended in {command}: {printed}, and the services have logged {logs}")

    def close(self) -> None:
        """Ends the shell, and all that it has started."""
        self._kill()
        self._process.communicate(timeout=ENDED_WITHIN_SECONDS)

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the commands run."""
    path = tmp_path / "folder"
    path.mkdir()
    (path / "deploy").symlink_to(ROOT / "deploy")
    return path


@pytest.fixture
def shell(tmp_path: Path, folder: Path, postgres: PostgresServer) -> Iterator[Shell]:
    programs = tmp_path / "programs"
    programs.mkdir()
    if promtool := find_promtool():
        (programs / "promtool").symlink_to(promtool)
    for name, arguments in {"curl": f"{ROOT}/tests/curl.py", "magistrate": "-m magistrate"}.items():
        add_program(programs / name, f"{sys.executable} {arguments}")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MAGISTRATE_", "PG"))}
    path = os.pathsep.join([str(programs), str(postgres.programs), inherited["PATH"]])
    if missing := [name for name in PROGRAMS if not shutil.which(name, path=path)]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    opened = Shell(folder, inherited | {"PATH": path})
    yield opened
    opened.close()


def add_program(path: Path, command: str) -> None:
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    path.chmod(0o755)


@pytest.mark.nightly
def test_the_commands_of_the_runbook_do_what_it_says(shell: Shell, folder: Path, postgres: PostgresServer) -> None:
    text = (ROOT / "docs" / "runbook.md").read_text()
    for url in URLS:
        text = text.replace(url, postgres.new_url())
    for port in PORTS:
        text = text.replace(port, str(free_port()))
    for language, name, block in BLOCK.findall(text):
        if language != "console":
            (folder / name).write_text(block)
            continue
        for command, promised in COMMAND.findall(block):
            if command.startswith("promtool ") and find_promtool() is None:
                continue
            code, printed = shell.type(command)
            assert code == 0, (command, printed)
            assert not promised or printed.strip() == promised.strip(), command
