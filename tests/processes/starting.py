"""The one way in which tests start processes that they send signals to or stop, but for those that forked_service.py
forks and kills."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

LAUNCHER = Path(__file__).with_name("launch.py")

Output = int | IO[str]


def start_process(
    command: Sequence[str | Path],
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    output: Output = subprocess.PIPE,
    errors: Output | None = None,
    has_own_session: bool = False,
    stdin: int | None = None,
) -> subprocess.Popen[str]:
    """Returns a process in which every signal has its default action, whatever the tests themselves were started with.

    `output` is for stdout, and for stderr unless there are `errors`: apart from each other if it is a pipe. The process
    id is that of the command itself."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", LAUNCHER, *command],
        cwd=folder,
        env=environment,
        stdin=stdin,
        stdout=output,
        stderr=output if errors is None else errors,
        text=True,
        start_new_session=has_own_session,
    )
