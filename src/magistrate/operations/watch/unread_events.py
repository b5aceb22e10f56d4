"""Counts what is written while a reader reads nothing, of which only so much may wait (docs/watch.md#slow-readers).

Nothing is kept for the reader meanwhile: it would get this from the log. But one that leaves so much unread is slower
than the writers, and is better off if it begins where it can keep up."""

MAX_UNREAD_EVENTS = 1_024
MAX_UNREAD_BYTES = 1_048_576
"""Limit the events that wait for a reader that reads nothing, and their bytes (1 MiB)."""


class UnreadEvents:
    """Counts events."""

    def __init__(self) -> None:
        self._events = 0
        self._bytes = 0

    def add(self, events: int, size: int) -> None:
        self._events += events
        self._bytes += size

    @property
    def are_too_many(self) -> bool:
        return self._events >= MAX_UNREAD_EVENTS or self._bytes >= MAX_UNREAD_BYTES
