"""Waits in tests for what other threads and processes do."""

import time
from collections.abc import Callable

SHORTEST_SECONDS, LONGEST_SECONDS = 0.02, 0.2
"""Limits how long it waits between two calls, which is a tenth of the time that it has waited: what it waits for, such
as processes that start, needs the processor."""


def wait_until(is_so: Callable[[], object], within_seconds: float = 60.0) -> None:
    """Calls `is_so` again and again until it returns something true. Fails once the time is over."""
    began_at = time.monotonic()
    while not is_so():
        waited = time.monotonic() - began_at
        assert waited < within_seconds, "it was not so in time"
        time.sleep(min(max(waited / 10, SHORTEST_SECONDS), LONGEST_SECONDS))
