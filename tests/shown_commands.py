"""The commands that a README shows, and what a shell prints for them."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.generated_docs import ROOT


def read_shown(text: str) -> list[tuple[str, str]]:
    """Every command that a page has typed, with the output it shows."""
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    return [pair for block in blocks for pair in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)]


def type_commands(commands: list[str], folder: Path) -> list[str]:
    """What each printed, one shell having run them all; `folder` is one for the command `curl`."""
    (folder / "curl").write_text(f'#!/bin/sh\nexec {sys.executable} {ROOT}/tests/curl.py "$@"\n')
    (folder / "curl").chmod(0o755)
    environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}
    script = "\n".join(f"{command}\nprintf '\\036'" for command in commands)
    ran = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    return ran.stdout.split("\036")[:-1]
