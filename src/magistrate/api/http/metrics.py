"""Counts requests and events of the service for Prometheus.

Counting a request costs one dict lookup and three additions. The multiprocess counters of prometheus-client take ten
times as long, a twentieth of a whole check, so that library only renders the text here
(docs/decisions/0042-requests-are-counted-without-prometheus-client.md). Every worker can report for all, because each
one writes its counts to a file, periodically and before it reports. Counts of other workers are at most a second old,
and no counter ever decreases."""

import os
import platform
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path

import msgspec
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from uuid_utils import uuid7

from magistrate import __version__
from magistrate.api.http.json_values import build_decoder
from magistrate.api.http.metric_table import METRIC_ROWS, METRIC_TABLE, MetricKind, MetricRow
from magistrate.durations import SECONDS, Durations

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Readings = Mapping[str, float | Mapping[str, float]]
"""Maps keys of the metric table to values, or to values by a label."""
LabelledDurations = Mapping[str, Mapping[str, Durations]]
"""Maps keys of histograms to durations by a label."""

Key = tuple[str, str, int]
"""Identifies a series by method, route with its variables as in the table of routes (empty if there is none), and
status."""


class ProcessCounts(msgspec.Struct):
    """Holds the counts of one process, and the versions of the service and of Python that it runs."""

    pid: int
    requests: list[tuple[Key, Durations]]
    readings: dict[str, float | dict[str, float]]
    durations: dict[str, dict[str, Durations]] = {}
    build: tuple[str, str] = ("", "")


BUILD = (__version__, platform.python_version())


class Metrics:
    """Counts the requests of this process. `read` returns the values that other components count, and `read_durations`
    the durations, once there is a service. `requests_by_store` counts the requests about each store, by the id in its
    tokens, and is None if they are not counted by store; `name_store` returns the name for such an id, or None for a
    store that is gone."""

    def __init__(self) -> None:
        self.unknown_tokens = 0
        self.shared_counts: SharedCounts | None = None
        """Holds the shared folder, or None if this process is the only one."""
        self.read: Callable[[], Readings] = dict
        self.read_server: Callable[[], Readings] = dict
        """Returns the values that are counted without a service, such as those of connections."""
        self.read_durations: Callable[[], LabelledDurations] = dict
        self.count_audit_dropped: Callable[[], int] = int
        self.requests_by_store: Counter[str] | None = None
        self.name_store: Callable[[str], str | None] = lambda store_id: None
        self._requests: dict[Key, Durations] = {}

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Counts an answered request and its duration."""
        key = (method, route, status)
        durations = self._requests.get(key)
        if durations is None:
            durations = self._requests[key] = Durations()
        durations.seconds += seconds
        durations.counts[bisect_left(SECONDS, seconds)] += 1

    def publish_values(self) -> ProcessCounts:
        """Returns the counts of this process, and writes them to the shared folder, if there is one."""
        counts = self.collect_values()
        if self.shared_counts is not None:
            self.shared_counts.write(counts)
        return counts

    def collect_values(self) -> ProcessCounts:
        own: Readings = {
            "unknown_tokens": self.unknown_tokens,
            "audit_dropped": self.count_audit_dropped(),
            **({} if self.requests_by_store is None else {"store_requests": self._name_stores(self.requests_by_store)}),
        }
        read = {**own, **self.read_server(), **self.read()}
        readings = {key: dict(value) if isinstance(value, Mapping) else value for key, value in read.items()}
        durations = {key: dict(by_label) for key, by_label in self.read_durations().items()}
        return ProcessCounts(os.getpid(), [*self._requests.items()], readings, durations, BUILD)

    def _name_stores(self, counts: Counter[str]) -> dict[str, float]:
        """Returns how many requests were about each store, by its name, and discards those of stores that are gone."""
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
    """Collects the metrics for prometheus-client: counters are sums over all workers, also those that have ended, and
    gauges are those of each worker that runs. What is counted by a label is missing if no worker counts it."""

    def __init__(self, counts: Sequence[ProcessCounts]) -> None:
        self._counts = counts
        self._alive = [process_counts for process_counts in counts if _is_alive(process_counts.pid)]

    def collect(self) -> Iterator[Metric]:
        yield from self._collect_requests()
        yield self._collect_builds()
        yield from self._collect_processes()
        for row in METRIC_TABLE:
            if row.name in _COLLECTED_APART or (row.labels and not self._is_measured(row)):
                continue
            if row.kind is MetricKind.COUNTER:
                yield self._add_counter(row)
            elif row.kind is MetricKind.GAUGE:
                yield self._list_gauge(row)
            else:
                yield self._add_durations(row)

    def _is_measured(self, row: MetricRow) -> bool:
        return any(row.key in counts.readings or row.key in counts.durations for counts in self._counts)

    def _collect_requests(self) -> Iterator[Metric]:
        by_key: dict[Key, Durations] = defaultdict(Durations)
        by_route: dict[tuple[str, ...], Durations] = defaultdict(Durations)
        for process_counts in self._counts:
            for key, counted in process_counts.requests:
                by_key[key].add(counted)
                by_route[key[:2]].add(counted)
        requests = _begin_counter(METRIC_ROWS[_REQUESTS])
        for (method, route, status), counted in by_key.items():
            requests.add_metric([method, route, str(status)], sum(counted.counts))
        yield requests
        yield _build_histogram(METRIC_ROWS[_REQUEST_SECONDS], by_route)

    def _collect_builds(self) -> Metric:
        builds = _begin_gauge(METRIC_ROWS[_BUILD_INFO])
        for build in sorted({process_counts.build for process_counts in self._alive}):
            builds.add_metric(build, 1)
        return builds

    def _collect_processes(self) -> Iterator[Metric]:
        families = {
            row.name: _begin_counter(row) if row.kind is MetricKind.COUNTER else _begin_gauge(row)
            for row in METRIC_TABLE
            if row.name.startswith(_PROCESS)
        }
        for process_counts in self._alive:
            for family in _read_process(process_counts.pid):
                for sample in family.samples:
                    families[sample.name].add_metric([str(process_counts.pid)], sample.value)
        yield from families.values()

    def _add_counter(self, row: MetricRow) -> Metric:
        counter = _begin_counter(row)
        totals: Counter[str] = Counter() if row.labels else Counter({"": 0})
        for process_counts in self._counts:
            totals.update(_by_label(process_counts, row))
        for label, total in sorted(totals.items()):
            counter.add_metric([label] if row.labels else [], total)
        return counter

    def _list_gauge(self, row: MetricRow) -> Metric:
        gauge = _begin_gauge(row)
        for process_counts in self._alive:
            for label, value in _by_label(process_counts, row).items():
                gauge.add_metric([str(process_counts.pid), *([label] if row.labels else [])], value)
        return gauge

    def _add_durations(self, row: MetricRow) -> Metric:
        totals: dict[tuple[str, ...], Durations] = defaultdict(Durations)
        for process_counts in self._counts:
            for label, counted in process_counts.durations.get(row.key, {}).items():
                totals[label,].add(counted)
        return _build_histogram(row, totals)


_REQUESTS, _REQUEST_SECONDS = "magistrate_requests_total", "magistrate_request_seconds"
_BUILD_INFO, _PROCESS = "magistrate_build_info", "process_"
_COLLECTED_APART = frozenset(
    (_REQUESTS, _REQUEST_SECONDS, _BUILD_INFO, *(row.name for row in METRIC_TABLE if row.name.startswith(_PROCESS)))
)


def _by_label(process_counts: ProcessCounts, row: MetricRow) -> Mapping[str, float]:
    """Returns the values of a metric by its label, empty if it has none."""
    values = process_counts.readings.get(row.key, {})
    return values if isinstance(values, Mapping) else {"": values}


def _begin_counter(row: MetricRow) -> CounterMetricFamily:
    return CounterMetricFamily(row.name, row.meaning, labels=row.all_labels)


def _begin_gauge(row: MetricRow) -> GaugeMetricFamily:
    return GaugeMetricFamily(row.name, row.meaning, labels=row.all_labels)


def _build_histogram(row: MetricRow, durations: Mapping[tuple[str, ...], Durations]) -> Metric:
    histogram = HistogramMetricFamily(row.name, row.meaning, labels=row.all_labels)
    bounds = [*map(str, SECONDS), "+Inf"]
    for labels, counted in durations.items():
        buckets = list(zip(bounds, map(float, accumulate(counted.counts)), strict=True))
        histogram.add_metric(labels, buckets, counted.seconds)
    return histogram


def _read_process(pid: int) -> Iterable[Metric]:
    return ProcessCollector(pid=lambda: pid, registry=None).collect()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
