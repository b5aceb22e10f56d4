"""Waits in tests for what other threads and processes do."""

import time
from collections.abc import Callable

INTERVAL_SECONDS = 0.02


def wait_until(is_so: Callable[[], object], within_seconds: float = 60.0) -> None:
    """Calls `is_so` again and again until it returns something true. Fails once the time is over."""
    deadline = time.monotonic() + within_seconds
    while not is_so():
        assert time.monotonic() < deadline, "it was not so in time"
        time.sleep(INTERVAL_SECONDS)
