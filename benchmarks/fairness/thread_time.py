"""What Linux reports of a thread of any process: how long it ran, and how long it could have run but had no core.

With both, a pause can be distinguished from a machine that is busy with something else."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ThreadTime:
    """In seconds since the thread began. `delay`: runnable, but waiting for a core."""

    cpu: float
    delay: float

    def __sub__(self, other: "ThreadTime") -> "ThreadTime":
        return ThreadTime(self.cpu - other.cpu, self.delay - other.delay)


NOTHING = ThreadTime(0.0, 0.0)


class ThreadClock:
    """Of the main thread of a process, which is the one that runs the event loop. Reading it takes a few microseconds.
    It stands still when the process is gone."""

    def __init__(self, pid: int) -> None:
        self._path = Path(f"/proc/{pid}/task/{pid}/schedstat")
        self._last = NOTHING

    def read(self) -> ThreadTime:
        try:
            cpu, delay, _ = self._path.read_text().split()
        except (OSError, ValueError):
            return self._last
        self._last = ThreadTime(int(cpu) / 1e9, int(delay) / 1e9)
        return self._last
