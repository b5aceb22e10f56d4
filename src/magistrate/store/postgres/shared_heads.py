"""Shares, among the processes of a service on one machine, what one of them has followed of the heads of the stores.

The file is mapped into the memory of all of them. A lock on it that nobody waits for keeps reads and writes apart.
Times are those of the monotonic clock, which is the same for all processes of a machine. See
docs/decisions/0122-one-worker-follows-the-heads-for-all.md."""

import fcntl
import mmap
import os
import struct
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from magistrate.errors import InvalidSetting
from magistrate.temporary_files import allocate_file

SHARED_NAME = "heads.followed"
"""Names the file. Files with a suffix are not metrics; see SharedCounts."""
SLOTS = 4_096
"""Counts the slots; stores whose numbers have the same remainder share one. The file takes 100 kB."""
WANTED_SECONDS = 0.25
"""Sets for how long the heads are followed often after a process wanted it."""

_WANTED, _TIMES, _CLOCK, _SLOT = (struct.Struct(layout) for layout in ("=d", "=ddd", "=qqq", "=dqq"))
_TIMES_AT = _WANTED.size
_CLOCK_AT = _TIMES_AT + _TIMES.size
_SLOTS_AT = _CLOCK_AT + _CLOCK.size
NOTHING = 0.0


class FollowedTimes(NamedTuple):
    """Holds monotonic times: since `begun_at`, every head that was moved up to `read_at` is in its slot; the last of
    them was found at `moved_at`."""

    begun_at: float
    moved_at: float
    read_at: float


class MovedHead(NamedTuple):
    """Holds when a head was found to have moved, and the revision that it had then, with its bits. If several stores
    share the slot, it is that of any of them."""

    moved_at: float
    revision: int
    bits: int


class ClockMeasurement(NamedTuple):
    """Says that the clock of the database showed `remote` between two times of the monotonic clock, in microseconds."""

    sent_at: int
    received_at: int
    remote: int


class SharedHeads:
    """Represents the file in one process. Nothing here waits: what cannot be locked is not written, or not known."""

    def __init__(self, folder: Path) -> None:
        """Raises InvalidSetting."""
        size = _SLOTS_AT + SLOTS * _SLOT.size
        try:
            self._descriptor = os.open(folder / SHARED_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            allocate_file(self._descriptor, size)
            self._memory = mmap.mmap(self._descriptor, size)
        except OSError as error:
            raise InvalidSetting(f"workers cannot share the heads of stores in {folder}: {error.strerror}") from error

    def close(self) -> None:
        self._memory.close()
        os.close(self._descriptor)

    def want(self) -> None:
        """Notes that this process needs fresh times soon."""
        _WANTED.pack_into(self._memory, 0, time.monotonic())

    @property
    def is_wanted(self) -> bool:
        """Returns whether any process has needed fresh times recently."""
        [wanted_at] = _WANTED.unpack_from(self._memory, 0)
        return bool(time.monotonic() - wanted_at < WANTED_SECONDS)

    def read_times(self) -> FollowedTimes | None:
        """Returns the times; None if another process writes now, or none has."""
        with self._lock(fcntl.LOCK_SH) as is_locked:
            return self._read_times() if is_locked else None

    def read_head(self, store: int) -> tuple[FollowedTimes, MovedHead] | None:
        """Returns the times and the slot of a store; None as `read_times`."""
        with self._lock(fcntl.LOCK_SH) as is_locked:
            times = self._read_times() if is_locked else None
            if times is None:
                return None
            return times, MovedHead(*_SLOT.unpack_from(self._memory, _place_of(store)))

    def read_clock(self) -> ClockMeasurement | None:
        """Returns the last measurement of the clock of the database; None as `read_times`."""
        with self._lock(fcntl.LOCK_SH) as is_locked:
            measured = ClockMeasurement(*_CLOCK.unpack_from(self._memory, _CLOCK_AT)) if is_locked else None
        return measured if measured is not None and measured.sent_at else None

    def write_clock(self, measured: ClockMeasurement) -> None:
        with self._lock(fcntl.LOCK_EX) as is_locked:
            if is_locked:
                _CLOCK.pack_into(self._memory, _CLOCK_AT, *measured)

    def write(self, begun_at: float, read_at: float, moved: Iterable[tuple[int, MovedHead]]) -> bool:
        """Writes what was found, given the store of each head that has moved, and returns whether that was done. If it
        is not, the next call has to begin anew.

        The time up to which it counts is written last: if the process is killed within this call, what it has written
        counts for no later time than before."""
        with self._lock(fcntl.LOCK_EX) as is_locked:
            if not is_locked:
                return False
            _, moved_at, former_read_at = self._read_times() or FollowedTimes(begun_at, begun_at, begun_at)
            for store, head in moved:
                _SLOT.pack_into(self._memory, _place_of(store), *head)
                moved_at = max(moved_at, head.moved_at)
            _TIMES.pack_into(self._memory, _TIMES_AT, begun_at, moved_at, former_read_at)
            _TIMES.pack_into(self._memory, _TIMES_AT, begun_at, moved_at, read_at)
        return True

    def _read_times(self) -> FollowedTimes | None:
        times = FollowedTimes(*_TIMES.unpack_from(self._memory, _TIMES_AT))
        return times if times.read_at != NOTHING else None

    @contextmanager
    def _lock(self, operation: int) -> Iterator[bool]:
        try:
            fcntl.flock(self._descriptor, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        try:
            yield True
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)


def _place_of(store: int) -> int:
    return _SLOTS_AT + store % SLOTS * _SLOT.size
