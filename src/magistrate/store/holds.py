"""Measures how long a write holds other writers."""

import time
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from magistrate.engine.terms import Revision

S = TypeVar("S")


class DeletedChunk(NamedTuple):
    """Counts the warrants that one write of a delete by filter deleted. `hold_seconds` is about how long no other
    writer could write: from when this write had its turn until it was answered."""

    deleted: int
    hold_seconds: float


class TimedScript(Generic[S]):
    """Wraps a script of a write (`S`), and notes when it begins; the last time counts if it is begun more than once."""

    def __init__(self, script: Callable[[Revision], S]) -> None:
        self._script = script
        self._began_at = time.monotonic()

    def begin(self, head: Revision) -> S:
        self._began_at = time.monotonic()
        return self._script(head)

    def measure_seconds(self) -> float:
        """Returns the seconds since the script began."""
        return time.monotonic() - self._began_at
