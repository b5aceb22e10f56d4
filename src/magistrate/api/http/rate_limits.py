"""Limits how many requests a second each caller may make, over all workers of a service.

Each caller has a token bucket that holds the requests of one second. A bucket is kept as the time at which it is full
again (the generic cell rate algorithm), so it is one number, and one that is full is the same as none: its slot can be
given to another caller. All workers map the same slots into their memory, and no lock is taken: two that answer the
same caller within the same microsecond may count one request between them. See
docs/decisions/0063-callers-have-buckets-in-shared-memory.md."""

import asyncio
import mmap
import os
import time
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from pathlib import Path
from time import time_ns

import msgspec
import structlog

from magistrate.api.audit.log import AuditLog
from magistrate.api.audit.records import REFUSED, AuditRecord
from magistrate.errors import InvalidSetting, StoreRateExceeded, TooManyRequests
from magistrate.operations.context import Context
from magistrate.operations.keys.callers import Caller
from magistrate.temporary_files import allocate_file

SECOND_NS = 1_000_000_000
SLOTS = 65_536
"""Sets the number of callers that are limited at the same time (1 MiB). Others have to find a full bucket."""
PROBES = 8
"""Limits the slots in which a caller is looked for."""
WORDS = 2
"""Sets the numbers of a slot: the fingerprint of the caller, 0 if there is none, and the time in nanoseconds at which
the bucket is full."""
STORE_SLOTS = 16_384
"""Sets the number of stores that are limited at the same time (256 KiB), like SLOTS."""
SHARED_NAME, STORES_NAME = "rate-limit.slots", "store-rates.slots"
"""Name the files of shared slots. Files with a suffix are not metrics; see SharedCounts."""


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


class StoreRates:
    """Counts the requests to each store, from all its callers, against the limit of the store: a bucket a store, as in
    TokenBuckets. Stores without a limit are not counted."""

    def __init__(self, slots: "memoryview[int]", clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._slots = slots
        self._clock = clock

    def is_exhausted(self, store: int, per_second: int) -> bool:
        """Returns whether a store, given by its number, may get no more requests now. Counts none."""
        now = self._clock()
        place = find_place(self._slots, store, now)
        is_full = self._slots[place] != store  # whoever has no slot has a full bucket
        return not is_full and self._slots[place + 1] - now > SECOND_NS - SECOND_NS // per_second

    def admit_store(self, store: int, per_second: int) -> bool:
        """Returns whether a store may get one more request now, and counts it if so."""
        return TokenBuckets(per_second, self._slots, self._clock).admit(store)

    def require(self, context: Context) -> None:
        """Raises StoreRateExceeded if the store of a context has a limit and may get no more requests now; otherwise
        counts one."""
        per_second = context.requests_per_second
        if per_second is not None and not self.admit_store(context.store_number, per_second):
            raise StoreRateExceeded


class RateLimit(TokenBuckets):
    """Counts the requests of callers."""

    def __init__(self, per_second: int, slots: "memoryview[int]", clock: Callable[[], int] = time.monotonic_ns) -> None:
        super().__init__(per_second, slots, clock)
        self._caller: Caller | None = None
        self._fingerprint = 0
        self._slot = slots[:WORDS]
        """Hold the caller of the request before and its slot: most requests of a service come from the same caller."""

    def admit_caller(self, caller: Caller) -> bool:
        """Returns whether the caller may make a request now, and counts it if so, like `admit`."""
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
        if not self.admit_caller(caller):
            raise TooManyRequests

    def _find_slot(self, caller: Caller, now: int) -> "memoryview[int]":
        """Returns the slot of a caller, or takes one whose bucket is full, or else the one that is full next: whoever
        had it then has a full bucket too early."""
        fingerprint, slots = _digest(caller.identity), self._slots
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
    place = next((number for number in places if slots[number] == fingerprint), None)
    return min(places, key=lambda number: max(slots[number + 1], now)) if place is None else place


def open_slots(folder: Path | None, count: int = SLOTS, name: str = SHARED_NAME) -> "memoryview[int]":
    """Returns the slots that all workers share through this folder, in a file of this name, or slots of this process if
    it is None. Raises InvalidSetting."""
    size = count * WORDS * 8
    if folder is None:
        return memoryview(bytearray(size)).cast("q")
    try:
        descriptor = os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            allocate_file(descriptor, size)
            return memoryview(mmap.mmap(descriptor, size)).cast("q")
        finally:
            os.close(descriptor)
    except OSError as error:
        raise InvalidSetting(f"rate_limit: workers cannot share their counts in {folder}: {error.strerror}") from error


def _digest(name: str) -> int:
    """Returns a number other than 0 that stands for a source or a caller."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big", signed=True) or 1


PERIOD_SECONDS = 10.0
"""Sets how often the requests that were refused beyond the limit are reported."""
SOURCES = 8_192
"""Sets the number of sources that are limited at the same time, over all workers (128 KiB). Further ones share the
places of others."""
ALL_SOURCES_FACTOR = 20
"""Sets how many times the limit of one source all together may reach: a network of addresses is cheap."""
MAX_COUNTED = 1_000
"""Limits the sources that are counted by themselves in a period, each in some 400 bytes; the others are counted
together."""
OTHER_SOURCES = "others"
PREFIX_BITS = 64
SOURCES_NAME, ALL_SOURCES_NAME = "refused.slots", "all-refused.slots"
"""Name the files of shared slots. Files with a suffix are not metrics; see SharedCounts."""
_UNKNOWN, _ALL = "unknown", "all sources"

log = structlog.get_logger()


class RefusedCount(msgspec.Struct):
    """Counts the requests of one source, or of one caller, that were refused in a period and have no line of their
    own. `since` is the time of the first, in microseconds since 1970 UTC, and `status` that of the last."""

    since: int
    status: int
    times: int = 0


class RefusedRequests:
    """Limits and counts the requests that are refused. `audit_log` is None if there is none."""

    def __init__(
        self,
        sources: TokenBuckets,
        all_sources: TokenBuckets,
        audit_log: AuditLog | None = None,
        now: Callable[[], int] = time_ns,
    ) -> None:
        self.limited = 0
        """Counts the requests of sources that were beyond the limit."""
        self._sources = sources
        self._all_sources = all_sources
        self._audit_log = audit_log
        self._now = now
        self._by_source: dict[str, RefusedCount] = {}
        self._by_actor: dict[str, RefusedCount] = {}
        self._timer: asyncio.TimerHandle | None = None

    def admit_source(self, source: str) -> bool:
        """Returns whether a request of this source may be refused like any other, and counts it."""
        return self._sources.admit(_digest(f"source {source}")) and self._all_sources.admit(_digest(f"source {_ALL}"))

    def admit_actor(self, identity: str) -> bool:
        """Returns whether a refused request of this caller may have a line of its own, and counts it."""
        return self._sources.admit(_digest(f"actor {identity}"))

    def is_suspect(self, source: str) -> bool:
        """Returns whether this source was beyond the limit in the present period."""
        return source in self._by_source

    def count_source(self, source: str) -> None:
        """Counts a request that was answered with 429."""
        self.limited += 1
        self._count(self._by_source, source, 429)

    def count_actor(self, actor: str, status: int) -> None:
        self._count(self._by_actor, actor, status)

    def report(self) -> None:
        """Writes what was counted to the logs."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        by_source, by_actor = self._by_source, self._by_actor
        self._by_source, self._by_actor = {}, {}
        if by_source:
            worst = max(by_source, key=lambda source: by_source[source].times)
            times, most = sum(count.times for count in by_source.values()), by_source[worst].times
            log.warning("requests without a valid key", times=times, sources=len(by_source), source=worst, of_it=most)
        if self._audit_log is not None:
            for source, counted in by_source.items():
                self._audit_log.note(_build_record(counted, self._now() // 1_000, source=source))
            for actor, counted in by_actor.items():
                self._audit_log.note(_build_record(counted, self._now() // 1_000, actor=actor))

    def _count(self, counts: dict[str, RefusedCount], name: str, status: int) -> None:
        if name not in counts and len(counts) >= MAX_COUNTED:
            name = OTHER_SOURCES
        counted = counts.get(name)
        if counted is None:
            counted = counts[name] = RefusedCount(self._now() // 1_000, status)
        counted.times += 1
        counted.status = status
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(PERIOD_SECONDS, self.report)


def _build_record(counted: RefusedCount, at: int, actor: str | None = None, source: str | None = None) -> AuditRecord:
    return AuditRecord(
        at, REFUSED, actor, status=counted.status, source=source, times=counted.times, since=counted.since
    )


@lru_cache(maxsize=1_024)
def name_source(host: str | None) -> str:
    """Returns the source that a client at this address belongs to."""
    try:
        address = ip_address((host or "").partition("%")[0])
    except ValueError:
        return _UNKNOWN
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if isinstance(address, IPv4Address):
        return str(address)
    return str(IPv6Network((address, PREFIX_BITS), strict=False))
