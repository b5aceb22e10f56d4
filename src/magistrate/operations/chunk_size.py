"""Adapts the chunks of a long write to the speed of the store, so that no other writer has to wait long for one."""

TARGET_HOLD_SECONDS = 0.010
"""Sets how long a chunk should hold other writers. A machine or a disk that is suddenly busy makes the chunk take
several times as long, and a writer that waits for it should still be answered within 50 ms."""
FIRST_CHUNK = 100
SMALLEST_CHUNK = 20
"""Bounds what a slow store makes of a chunk: with fewer rows, most of the time would go into the commit."""
LARGEST_CHUNK = 250


class ChunkSize:
    """Holds the number of rows that the next chunk should have."""

    def __init__(self) -> None:
        self.rows = FIRST_CHUNK

    def adapt(self, rows: int, hold_seconds: float) -> None:
        """Takes into account that a chunk of `rows` rows held other writers so long. The next one has as many as would
        have held them for TARGET_HOLD_SECONDS, but at most twice as many as this one."""
        fitting = rows * TARGET_HOLD_SECONDS / hold_seconds if hold_seconds > 0 else LARGEST_CHUNK
        self.rows = max(SMALLEST_CHUNK, min(LARGEST_CHUNK, 2 * rows, int(fitting)))


def pause_seconds(hold_seconds: float) -> float:
    """Returns how long to wait until the next chunk: as long as the last one held other writers, but not longer than
    one is meant to.

    SQLite has no queue for the writers of several processes; those that wait try again every few milliseconds. They
    find the lock free every second time instead of hardly ever."""
    return min(hold_seconds, TARGET_HOLD_SECONDS)
