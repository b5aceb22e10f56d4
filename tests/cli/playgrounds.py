"""Playgrounds, run by the command in a thread."""

import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.processes.starting import start_process

LINK = re.compile(r"^  (http://\S+)$")

FILE = """\
# Shared by a colleague.
model: |
  version 1.0

  type user
  type document
    relation viewer [user]

setup:
  warrants:
    - document:plan#viewer@user:ann
    - {warrant: "document:plan#viewer@user:old", expires_at: "2020-01-01T00:00:00Z"}
tests:
  - {name: ann reads, check: "document:plan#viewer@user:ann", expect: true}
"""


@contextmanager
def playground(folder: Path, *arguments: str) -> Iterator[tuple[str, list[str]]]:
    """Yields the URL that a playground prints, and the lines before it; it is stopped like by Ctrl+C."""
    command = [sys.executable, "-m", "magistrate", "playground", *arguments]
    environment = {**os.environ, "MAGISTRATE_DATABASE_URL": "sqlite:///must-not-be-used.db", "TMPDIR": str(folder)}
    with start_process(command, folder=folder, environment=environment) as process:
        assert process.stdout is not None
        lines: list[str] = []
        try:
            for line in process.stdout:
                lines.append(line.rstrip("\n"))
                if found := LINK.match(lines[-1]):
                    yield found[1], lines
                    break
        finally:
            process.send_signal(signal.SIGINT)
            process.stdout.read()
        assert process.wait(60) == 0, lines
