"""Limits how many requests of a source are refused one by one for want of a valid key (docs/operating.md#rate-limits).

Anybody who can connect may send such requests, and each is a line of the audit log. Beyond the limit, requests are
refused with 429 at little cost, and counted: all logs together have one line for each source and period. A source is
the address of the client, or its network if it has IPv6: whoever has one such address has all of its network. Refusals
of callers that are known are limited in the same way, by their names, but their answers stay the same."""

import asyncio
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from time import time_ns

import msgspec
import structlog

from magistrate.api.server.audit_log import AuditLog
from magistrate.api.server.audit_records import REFUSED, AuditRecord
from magistrate.api.server.rate_limit import TokenBuckets

PERIOD_SECONDS = 10.0
"""Sets how often the requests that were refused beyond the limit are reported."""
SOURCES = 8_192
"""Sets the number of sources that are limited at the same time, over all workers (128 KiB). Further ones share the
places of others."""
ALL_SOURCES_FACTOR = 20
"""Sets how many times the limit of one source all together may reach: a network of addresses is cheap."""
MOST_COUNTED = 1_000
"""Limits the sources that are counted by themselves in a period, each in some 400 bytes; the others are counted
together."""
OTHER_SOURCES = "others"
PREFIX_BITS = 64
SOURCES_NAME, ALL_SOURCES_NAME = "refused.slots", "all-refused.slots"
"""Name the files of shared slots. Files with a suffix are not metrics; see Board."""
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
        return self._sources.admit(_digest("source", source)) and self._all_sources.admit(_digest("source", _ALL))

    def admit_actor(self, identity: str) -> bool:
        """Returns whether a refused request of this caller may have a line of its own, and counts it."""
        return self._sources.admit(_digest("actor", identity))

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
            times, most = sum(one.times for one in by_source.values()), by_source[worst].times
            log.warning("requests without a valid key", times=times, sources=len(by_source), source=worst, of_it=most)
        if self._audit_log is not None:
            for source, counted in by_source.items():
                self._audit_log.note(_build_record(counted, self._now() // 1_000, source=source))
            for actor, counted in by_actor.items():
                self._audit_log.note(_build_record(counted, self._now() // 1_000, actor=actor))

    def _count(self, counts: dict[str, RefusedCount], name: str, status: int) -> None:
        if name not in counts and len(counts) >= MOST_COUNTED:
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


def _digest(kind: str, name: str) -> int:
    """Returns a number other than 0 that stands for a source or a caller."""
    return int.from_bytes(blake2b(f"{kind} {name}".encode(), digest_size=8).digest(), "big", signed=True) or 1


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
