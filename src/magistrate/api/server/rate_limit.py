"""Limits how many requests a second each caller may make, over all workers of a service.

Each caller has a token bucket that holds the requests of one second. A bucket is kept as the time at which it is full
again (the generic cell rate algorithm), so it is one number, and one that is full is the same as none: its slot can be
given to another caller. All workers map the same slots into their memory, and no lock is taken: two that answer the
same caller within the same microsecond may count one request between them. See
docs/decisions/0063-callers-have-buckets-in-shared-memory.md."""

import mmap
import os
import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

from magistrate.errors import InvalidSetting, TooManyRequests
from magistrate.operations.callers import Caller

SECOND_NS = 1_000_000_000
SLOTS = 65_536
"""Sets the number of callers that are limited at the same time (1 MiB). Others have to find a full bucket."""
PROBES = 8
"""Limits the slots in which a caller is looked for."""
WORDS = 2
"""Sets the numbers of a slot: the fingerprint of the caller, 0 if there is none, and the time in nanoseconds at which
the bucket is full."""
SHARED_NAME = "rate-limit.slots"
"""Names the file of shared slots. Files with a suffix are not metrics; see Board."""

COUNTED = "magistrate.counted"
"""Names the entry of the ASGI scope that says that a request was counted before the web framework got it."""


class TokenBuckets:
    """Counts the requests of each fingerprint, a number other than 0, against `per_second`. `slots` come from
    `open_slots`; `clock` returns nanoseconds since a moment that all processes of the machine share.

    No more requests are admitted than all slots together allow: a fingerprint that finds no slot with a full bucket
    shares one."""

    def __init__(self, per_second: int, slots: "memoryview[int]", clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._interval = SECOND_NS // per_second
        self._allowance = SECOND_NS - self._interval
        self._slots = slots
        self._clock = clock

    def admit(self, fingerprint: int) -> bool:
        """Returns whether one more request may be made now, and counts it if so."""
        now, slots = self._clock(), self._slots
        place = find_place(slots, fingerprint, now)
        full_at = slots[place + 1]
        if full_at <= now:
            slots[place] = fingerprint
        elif full_at - now > self._allowance:
            return False
        slots[place + 1] = max(full_at, now) + self._interval
        return True


class RateLimit:
    """Counts the requests of callers against `per_second`. `slots` come from `open_slots`; `clock` returns nanoseconds
    since a moment that all processes of the machine share."""

    def __init__(self, per_second: int, slots: "memoryview[int]", clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._interval = SECOND_NS // per_second
        self._allowance = SECOND_NS - self._interval
        self._slots = slots
        self._clock = clock
        self._caller: Caller | None = None
        self._fingerprint = 0
        self._slot = slots[:WORDS]
        """Hold the caller of the request before and its slot: most requests of a service come from the same caller."""

    def admit(self, caller: Caller) -> bool:
        """Returns whether the caller may make a request now, and counts it if so."""
        now = self._clock()
        slot = self._slot
        if caller is not self._caller or slot[0] != self._fingerprint:
            slot = self._find_slot(caller, now)
        if slot[1] <= now:
            slot[1] = now + self._interval
            return True
        full_at = slot[1]
        if full_at - now > self._allowance:
            return False
        slot[1] = full_at + self._interval
        return True

    def require(self, caller: Caller) -> None:
        """Raises TooManyRequests unless the caller may make a request now; otherwise counts it."""
        if not self.admit(caller):
            raise TooManyRequests

    def _find_slot(self, caller: Caller, now: int) -> "memoryview[int]":
        """Returns the slot of a caller, or takes one whose bucket is full, or else the one that is full next: whoever
        had it then has a full bucket too early."""
        fingerprint, slots = _fingerprint(caller), self._slots
        place = find_place(slots, fingerprint, now)
        if slots[place] != fingerprint:
            slots[place + 1] = now
            slots[place] = fingerprint
        self._caller, self._fingerprint, self._slot = caller, fingerprint, slots[place : place + WORDS]
        return self._slot


def find_place(slots: "memoryview[int]", fingerprint: int, now: int) -> int:
    """Returns where the slot of a fingerprint begins, or else, of the slots that it may have, the one whose bucket is
    full or will be next."""
    count = len(slots) // WORDS
    places = [(fingerprint + probe) % count * WORDS for probe in range(PROBES)]
    place = next((one for one in places if slots[one] == fingerprint), None)
    return min(places, key=lambda one: max(slots[one + 1], now)) if place is None else place


def open_slots(folder: Path | None, count: int = SLOTS, name: str = SHARED_NAME) -> "memoryview[int]":
    """Returns the slots that all workers share through this folder, in a file of this name, or slots of this process if
    it is None. Raises InvalidSetting."""
    size = count * WORDS * 8
    if folder is None:
        return memoryview(bytearray(size)).cast("q")
    try:
        descriptor = os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _allocate(descriptor, size)
            return memoryview(mmap.mmap(descriptor, size)).cast("q")
        finally:
            os.close(descriptor)
    except OSError as error:
        raise InvalidSetting(f"rate_limit: workers cannot share their counts in {folder}: {error.strerror}") from error


def _allocate(descriptor: int, size: int) -> None:
    """Makes a file this large. With a hole in it, a full disk would end the process that writes there."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
    else:
        os.ftruncate(descriptor, size)


def _fingerprint(caller: Caller) -> int:
    """Returns a number other than 0 that stands for a caller, by its identity."""
    return int.from_bytes(blake2b(caller.identity.encode(), digest_size=8).digest(), "big", signed=True) or 1
