"""Follows the clock of another machine without asking it each time."""

import time
from collections.abc import Callable


def _monotonic_microseconds() -> int:
    return time.monotonic_ns() // 1_000


class DatabaseClock:
    """Returns the time on the machine of the database, in microseconds since 1970 UTC.

    It counts from a monotonic clock, because the clock of this process may be set. Each measurement says between which
    bounds the other clock can lie, half a round trip each way; the time is moved only as far as it is outside."""

    def __init__(self, local: Callable[[], int] = _monotonic_microseconds) -> None:
        self.local = local
        self._ahead: int | None = None

    def now(self) -> int:
        """Returns the time; before the first measurement, that of this process."""
        return time.time_ns() // 1_000 if self._ahead is None else self.local() + self._ahead

    def adjust(self, sent_at: int, received_at: int, remote: int) -> None:
        """Takes a measurement: the other clock showed `remote` between these two local times."""
        least, most = remote - received_at, remote - sent_at
        ahead = (least + most) // 2 if self._ahead is None else self._ahead
        self._ahead = min(max(ahead, least), most)
