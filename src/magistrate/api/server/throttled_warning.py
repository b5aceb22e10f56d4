"""Limits the rate of a warning about an event that may be very frequent."""

import time

import structlog

log = structlog.get_logger()

SECONDS_BETWEEN_LINES = 10.0


class ThrottledWarning:
    """Logs an event when it first happens, and then at most every ten seconds, with the number of occurrences since the
    previous line."""

    def __init__(self, event: str) -> None:
        self._event = event
        self._times = 0
        self._next_at = 0.0

    def __call__(self, **fields: object) -> None:
        self._times += 1
        now = time.monotonic()
        if now >= self._next_at:
            log.warning(self._event, times=self._times, **fields)
            self._times = 0
            self._next_at = now + SECONDS_BETWEEN_LINES
