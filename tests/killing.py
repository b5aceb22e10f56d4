"""Commands that are killed in the middle of what they do."""

import signal
import time
from collections.abc import Callable, Sequence

from tests.processes.starting import start_process

WITHIN_SECONDS = 60


def kill_when(is_time: Callable[[], object], command: Sequence[str]) -> None:
    """Begins the command, and kills it then, unless it has ended."""
    running = start_process(command)
    deadline = time.monotonic() + WITHIN_SECONDS
    try:
        while not is_time() and running.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        running.send_signal(signal.SIGKILL)
        running.communicate()
