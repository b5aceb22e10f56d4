"""Measures how a process uses its database: the lock that lines up writers, and its connections."""

from collections.abc import Mapping
from typing import NamedTuple

from magistrate.durations import Durations


class HeadLocks:
    """Counts for how long groups of writes waited for the lock that lines up writers, and for how long they had it."""

    __slots__ = ("holds", "waits")

    def __init__(self) -> None:
        self.waits, self.holds = Durations(), Durations()

    def read(self) -> Mapping[str, Durations]:
        """Returns the durations by phase."""
        return {"wait": self.waits, "hold": self.holds}


class PoolCounts(NamedTuple):
    """Holds how many connections to a server there are, how many of these nothing uses, and how many reads and writes
    wait for one; and how many had to wait since the start, for how many seconds all together, how many connections
    could not be made, and how many were lost while they were used."""

    connections: int = 0
    idle: int = 0
    waiting: int = 0
    waits: int = 0
    wait_seconds: float = 0.0
    failures: int = 0
    lost: int = 0


NO_POOL = PoolCounts()
"""Is that of a database without a server."""


class ReplicaCounts(NamedTuple):
    """Holds how many reads replicas answered, how many were repeated on the primary because a replica lacked the
    revision, and how many because it failed; and how many revisions of the store `default` that replica lacks which is
    furthest behind, of those that answer."""

    served: int = 0
    behind: int = 0
    failed: int = 0
    lag_revisions: int = 0


NO_REPLICAS = ReplicaCounts()
"""Is that of a database without replicas."""
