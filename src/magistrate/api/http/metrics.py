"""Counts requests and events of the service for Prometheus.

Counting a request costs one dict lookup and three additions. The multiprocess counters of prometheus-client take ten
times as long, a twentieth of a whole check, so that library only renders the text here
(docs/decisions/0042-requests-are-counted-without-prometheus-client.md). Every worker can report for all, because each
one writes its counts to a file, periodically and before it reports. Counts of other workers are at most a second old,
and no counter ever decreases."""

import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path

import msgspec
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from uuid_utils import uuid7

from magistrate.api.http.json_values import build_decoder
from magistrate.engine.byte_sizes import CacheBytes
from magistrate.operations.lists.counts import EvaluatorCounts

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Lists the upper bounds of the latency buckets."""

COUNTERS = {
    "requests_shed": "Requests refused because too many were waiting, or had waited too long.",
    "bodies_refused": "Requests refused because there were too many bytes of bodies.",
    "received_dropped": "Connections dropped because too much was received that no request had taken.",
    "log_lines_lost": "Lines of the log and of the access log not written because nobody read them.",
    "unsent_dropped": "Connections dropped because too much was not read, and their clients had not for longest.",
    "unsent_refused": "Requests refused because there was no space for their answers.",
    "unauthenticated_limited": "Requests without a valid key that were beyond the limit of their source.",
    "unknown_tokens": "Consistency tokens ignored because they are from elsewhere.",
    "statements": "Statements that read, or that were part of a write.",
    "graph_hits": "Check requests answered from the graph cache alone.",
    "graph_misses": "Check requests answered from the graph cache after it read warrants.",
    "graph_given_up": "Check requests without debug that the graph cache could not answer.",
    "graph_fetches": "Batches of reads for checks that filled the graph cache, which lists fill too.",
    "graph_changes": "Changes of warrants applied to the graph cache.",
    "decisions_dropped": "Decisions not logged because too many were waiting.",
    "audit_dropped": "Records of the audit log not written because too many were waiting.",
}
GAUGES = {
    "requests_running": "Requests that run now; cached checks are not counted.",
    "requests_waiting": "Requests that wait to run.",
    "graph_entries": "Entries in the graph cache, those without warrants included.",
    "graph_revision": "Revision of the graph cache.",
    "request_body_bytes": "Bytes of the bodies of requests that are not answered yet, as sent and as decoded.",
    "received_bytes": "Bytes that clients have sent and no request has taken yet.",
    "unwritten_audit_bytes": "Bytes of records of the audit log that wait to be written.",
    "unwritten_log_bytes": "Bytes of lines of the log and of the access log that wait to be written.",
    "unwritten_decision_bytes": "Bytes of decisions that wait to be recorded.",
    "unsent_bytes": "Bytes of answers that are prepared or that clients have not read.",
    "request_cache_bytes": "Bytes of the cache of heads, bodies and contextual warrants that come again.",
    "graph_lag_seconds": "Seconds since the graph cache was last at the newest revision; 0 if it is now.",
}
CACHE_GAUGES = {
    "cache_bytes": "Bytes that a cache takes, by estimate.",
    "cache_max_bytes": "Bytes that a cache may take.",
}
"""Describes the gauges that each cache has."""
Readings = Mapping[str, float]
"""Maps names of COUNTERS and GAUGES to values."""

Key = tuple[str, str, int]
"""Identifies a series by method, route with its variables as in the table of routes (empty if there is none), and
status."""


class Timings(msgspec.Struct):
    """Counts the requests in each latency bucket: `counts[i]` has those that took up to SECONDS[i] and longer than the
    bound before it, and the last one has the rest."""

    seconds: float = 0.0
    counts: list[int] = msgspec.field(default_factory=lambda: [0] * (len(SECONDS) + 1))

    def add(self, other: "Timings") -> None:
        self.seconds += other.seconds
        self.counts = [own + more for own, more in zip(self.counts, other.counts, strict=True)]


class ProcessCounts(msgspec.Struct):
    """Holds the counts of one process."""

    pid: int
    requests: list[tuple[Key, Timings]]
    readings: dict[str, float]
    caches: list[CacheBytes] = msgspec.field(default_factory=list)
    lists: list[EvaluatorCounts] = msgspec.field(default_factory=list)
    stores: dict[str, int] = msgspec.field(default_factory=dict)


class Metrics:
    """Counts the requests of this process. `read` returns the values that other components count, once there is a
    service, `measure_caches` what its caches take, and `read_lists` how its lists were answered. `requests_by_store`
    counts the requests about each store, by the id in its tokens, and is None if they are not counted by store;
    `name_store` returns the name for such an id, or None for a store that is gone."""

    def __init__(self) -> None:
        self.unknown_tokens = 0
        self.shared_counts: SharedCounts | None = None
        """Holds the shared folder, or None if this process is the only one."""
        self.read: Callable[[], Readings] = dict
        self.read_server: Callable[[], Readings] = dict
        """Returns the values that are counted without a service, such as those of connections."""
        self.measure_caches: Callable[[], Sequence[CacheBytes]] = tuple
        self.read_lists: Callable[[], Sequence[EvaluatorCounts]] = tuple
        self.count_audit_dropped: Callable[[], int] = int
        self.requests_by_store: Counter[str] | None = None
        self.name_store: Callable[[str], str | None] = lambda store_id: None
        self._timings: dict[Key, Timings] = {}

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Counts an answered request and its duration."""
        key = (method, route, status)
        timings = self._timings.get(key)
        if timings is None:
            timings = self._timings[key] = Timings()
        timings.seconds += seconds
        timings.counts[bisect_left(SECONDS, seconds)] += 1

    def publish_values(self) -> ProcessCounts:
        """Returns the counts of this process, and writes them to the shared folder, if there is one."""
        counts = self.collect_values()
        if self.shared_counts is not None:
            self.shared_counts.write(counts)
        return counts

    def collect_values(self) -> ProcessCounts:
        own = {"unknown_tokens": self.unknown_tokens, "audit_dropped": self.count_audit_dropped()}
        readings = {**own, **self.read_server(), **self.read()}
        timings, caches = [*self._timings.items()], [*self.measure_caches()]
        return ProcessCounts(os.getpid(), timings, readings, caches, [*self.read_lists()], self._name_stores())

    def _name_stores(self) -> dict[str, int]:
        """Returns how many requests were about each store, by its name, and discards those of stores that are gone."""
        counts = self.requests_by_store
        if counts is None:
            return {}
        names = {store_id: self.name_store(store_id) for store_id in counts}
        for store_id in [store_id for store_id, name in names.items() if name is None]:
            del counts[store_id]
        return {name: counts[store_id] for store_id, name in names.items() if name is not None}


class SharedCounts:
    """Represents the folder to which the workers of one service write their counts, one file each. The files of workers
    that have ended stay, so that no counter decreases."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._name = f"{os.getpid()}-{uuid7()}"
        self._decoder = build_decoder(ProcessCounts)

    def write(self, counts: ProcessCounts) -> None:
        """Writes the counts of this process. A failed write is ignored: other workers then report the last counts they
        read."""
        own = self._folder / self._name
        unfinished = own.with_suffix(".new")
        with suppress(OSError):
            with open(unfinished, "wb", opener=_create_for_owner) as file:
                file.write(msgspec.json.encode(counts))
            unfinished.replace(own)

    def read(self) -> list[ProcessCounts]:
        files = [file for file in self._folder.iterdir() if not file.suffix]
        return [self._decoder.decode(file.read_bytes()) for file in files]


def _create_for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


METRICS = Metrics()


def exposition(own: ProcessCounts) -> bytes:
    """Returns all metrics in Prometheus' text format: those of this process, `own`, or if there are several workers,
    the sums of what they have published. It takes tens of milliseconds if many routes were called, and may be called in
    a thread."""
    registry = CollectorRegistry()
    registry.register(_Collected([own] if METRICS.shared_counts is None else METRICS.shared_counts.read()))
    return generate_latest(registry)


class _Collected:
    """Collects the metrics for prometheus-client."""

    def __init__(self, counts: Sequence[ProcessCounts]) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        yield from _request_metrics(process_counts.requests for process_counts in self._counts)
        for name, meaning in COUNTERS.items():
            total = sum(process_counts.readings.get(name, 0) for process_counts in self._counts)
            yield CounterMetricFamily(f"magistrate_{name}", meaning, value=total)
        for name, meaning in GAUGES.items():
            gauge = GaugeMetricFamily(f"magistrate_{name}", meaning, labels=["worker"])
            for process_counts in self._counts:
                if name in process_counts.readings and _is_alive(process_counts.pid):
                    gauge.add_metric([str(process_counts.pid)], process_counts.readings[name])
            yield gauge
        yield from _list_metrics(self._counts)
        if METRICS.requests_by_store is not None:
            yield _count_by_store(self._counts)
        yield from _cache_metrics([process_counts for process_counts in self._counts if _is_alive(process_counts.pid)])


def _request_metrics(counts: Iterable[Iterable[tuple[Key, Timings]]]) -> Iterator[Metric]:
    timings: dict[Key, Timings] = {}
    for process_counts in counts:
        for key, counted in process_counts:
            timings.setdefault(key, Timings()).add(counted)
    requests = CounterMetricFamily(
        "magistrate_requests", "Requests answered, by route and status.", labels=["method", "route", "status"]
    )
    by_route: dict[tuple[str, str], Timings] = {}
    for (method, route, status), counted in timings.items():
        requests.add_metric([method, route, str(status)], sum(counted.counts))
        by_route.setdefault((method, route), Timings()).add(counted)
    seconds = HistogramMetricFamily(
        "magistrate_request_seconds", "Time taken to answer requests.", labels=["method", "route"]
    )
    for (method, route), counted in by_route.items():
        bounds = [*map(str, SECONDS), "+Inf"]
        buckets = list(zip(bounds, map(float, accumulate(counted.counts)), strict=True))
        seconds.add_metric([method, route], buckets, counted.seconds)
    yield requests
    yield seconds


def _count_by_store(counts: Iterable[ProcessCounts]) -> Metric:
    requests = CounterMetricFamily("magistrate_store_requests", "Requests about a store.", labels=["store"])
    total: Counter[str] = Counter()
    for process_counts in counts:
        total.update(process_counts.stores)
    for name, number in sorted(total.items()):
        requests.add_metric([name], number)
    return requests


def _list_metrics(counts: Iterable[ProcessCounts]) -> Iterator[Metric]:
    lists = CounterMetricFamily("magistrate_lists", "Lists answered, by evaluator.", labels=["evaluator"])
    seconds = CounterMetricFamily(
        "magistrate_lists_seconds", "Seconds until an evaluator had all rows of its lists.", labels=["evaluator"]
    )
    by_evaluator: dict[str, list[EvaluatorCounts]] = {}
    for process_counts in counts:
        for counted in process_counts.lists:
            by_evaluator.setdefault(counted.evaluator, []).append(counted)
    for evaluator, each in by_evaluator.items():
        lists.add_metric([evaluator], sum(counted.lists for counted in each))
        seconds.add_metric([evaluator], sum(counted.seconds for counted in each))
    yield lists
    yield seconds


def _cache_metrics(counts: Sequence[ProcessCounts]) -> Iterator[Metric]:
    for name, meaning in CACHE_GAUGES.items():
        gauge = GaugeMetricFamily(f"magistrate_{name}", meaning, labels=["worker", "cache"])
        for process_counts in counts:
            for cache in process_counts.caches:
                gauge.add_metric(
                    [str(process_counts.pid), cache.cache], cache.bytes if name == "cache_bytes" else cache.max_bytes
                )
        yield gauge


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
