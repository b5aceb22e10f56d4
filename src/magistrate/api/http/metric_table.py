"""Describes every metric once: /metrics, docs/monitoring.md and the dashboards of deploy/grafana are made of this
table."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

PREFIX, TOTAL = "magistrate_", "_total"
UNITS = ("seconds", "bytes")


class MetricKind(StrEnum):
    """Names the kinds of metrics as Prometheus does."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class MetricRow(NamedTuple):
    """Describes a metric. `panel` is the title of the panel that shows it, on one of the dashboards: with `shows_most`
    the highest value of all workers, otherwise their sum. Gauges have a label `worker` besides `labels`."""

    name: str
    kind: MetricKind
    meaning: str
    panel: str
    labels: tuple[str, ...] = ()
    has_worker: bool = False
    shows_most: bool = False

    @property
    def all_labels(self) -> tuple[str, ...]:
        return ("worker", *self.labels) if self.has_worker else self.labels

    @property
    def key(self) -> str:
        """Returns the name by which values are read: without what all names have in common."""
        return self.name.removeprefix(PREFIX).removesuffix(TOTAL)

    @property
    def unit(self) -> str:
        """Returns the unit, with which the name ends; nothing if it counts."""
        ending = self.name.removesuffix(TOTAL).rpartition("_")[2]
        return ending if ending in UNITS else ""


def _counter(name: str, meaning: str, panel: str, *labels: str) -> MetricRow:
    return MetricRow(f"{PREFIX}{name}{TOTAL}", MetricKind.COUNTER, meaning, panel, labels)


def _gauge(name: str, meaning: str, panel: str, *labels: str, shows_most: bool = False) -> MetricRow:
    kind = MetricKind.GAUGE
    return MetricRow(f"{PREFIX}{name}", kind, meaning, panel, labels, has_worker=True, shows_most=shows_most)


def _histogram(name: str, meaning: str, panel: str, *labels: str) -> MetricRow:
    return MetricRow(f"{PREFIX}{name}", MetricKind.HISTOGRAM, meaning, panel, labels)


def _of_process(name: str, meaning: str, panel: str, shows_most: bool = False) -> MetricRow:
    """Returns the row of a metric that prometheus-client reads of a process, by the name that it has everywhere."""
    kind = MetricKind.COUNTER if name.endswith(TOTAL) else MetricKind.GAUGE
    return MetricRow(f"process_{name}", kind, meaning, panel, has_worker=True, shows_most=shows_most)


_SERVICE = (
    MetricRow(
        f"{PREFIX}build_info",
        MetricKind.GAUGE,
        "1 for each version that a worker runs.",
        "Versions",
        labels=("version", "python"),
        shows_most=True,
    ),
    _counter("requests", "Requests answered.", "Requests", "method", "route", "status"),
    _histogram("request_seconds", "Time taken to answer requests.", "Response time", "method", "route"),
    _counter(
        "checks",
        "Checks by their result: authorized, denied, or failed, because something is not defined, a limit was exceeded "
        "or the database was unavailable. Each warrant of a batch counts.",
        "Checks",
        "result",
    ),
    _counter("lists", "Lists answered, by what answered them.", "Lists", "evaluator"),
    _counter("lists_seconds", "Time until all rows of lists were known.", "Time spent on lists", "evaluator"),
    _counter("store_requests", "Requests about a store, with --metrics-store-label only.", "Busiest stores", "store"),
    _gauge("requests_running", "Requests that run now; cached checks are not counted.", "Requests that run or wait"),
    _gauge("requests_waiting", "Requests that wait to run.", "Requests that run or wait"),
    _counter(
        "requests_shed", "Requests refused because too many were waiting, or had waited too long.", "Refused requests"
    ),
    _counter("bodies_refused", "Requests refused because there were too many bytes of bodies.", "Refused requests"),
    _counter("unsent_refused", "Requests refused because there was no space for their answers.", "Refused requests"),
    _counter(
        "unauthenticated_limited",
        "Requests without a valid key that were beyond the limit of their source.",
        "Refused requests",
    ),
    _counter(
        "received_dropped",
        "Connections dropped because too much was received that no request had taken.",
        "Dropped connections",
    ),
    _counter(
        "unsent_dropped",
        "Connections dropped because too much was not read, and their clients had not for longest.",
        "Dropped connections",
    ),
    _gauge(
        "request_body_bytes",
        "Bytes of the bodies of requests that are not answered yet, as sent and as decoded.",
        "Memory of requests",
    ),
    _gauge("received_bytes", "Bytes that clients have sent and no request has taken yet.", "Memory of requests"),
    _gauge("unsent_bytes", "Bytes of answers that are prepared or that clients have not read.", "Memory of requests"),
    _gauge(
        "request_cache_bytes",
        "Bytes of the cache of heads, bodies and contextual warrants that come again.",
        "Memory of requests",
    ),
    _gauge(
        "unwritten_log_bytes",
        "Bytes of lines of the log and of the access log that wait to be written.",
        "Memory of requests",
    ),
    _counter(
        "log_lines_lost",
        "Lines of the log and of the access log not written because nobody read them.",
        "Log lines lost",
    ),
    _counter("spans_exported", "Spans of sampled requests that the receiver of traces has.", "Spans"),
    _counter(
        "spans_dropped",
        "Spans of sampled requests that were not exported: the receiver failed, or too many were waiting.",
        "Spans",
    ),
    _of_process("cpu_seconds_total", "Processor time of a worker, user and system.", "Processor time"),
    _of_process("resident_memory_bytes", "Memory of a worker.", "Memory of workers"),
    _of_process("virtual_memory_bytes", "Address space of a worker.", "Address space of workers"),
    _of_process("open_fds", "File descriptors that a worker has open.", "File descriptors"),
    _of_process("max_fds", "File descriptors that a worker may open.", "File descriptors"),
    _of_process(
        "start_time_seconds",
        "When a worker was started, in seconds since 1970 UTC.",
        "Age of the newest worker",
        shows_most=True,
    ),
)

_STORE = (
    _counter("statements", "Statements that read, or that were part of a write.", "Statements"),
    _histogram(
        "head_lock_seconds",
        "Time for which groups of writes waited for the lock that lines up writers (wait), and had it (hold). On "
        "PostgreSQL it is that of the store, and holding it has a round trip more; on SQLite it is that of the file.",
        "Lock of writers",
        "phase",
    ),
    _counter("replica_reads", "Reads sent to replicas, by what came of it.", "Reads of replicas", "outcome"),
    _gauge(
        "replica_lag_revisions",
        "Revisions of the store `default` that the replica lacks which is furthest behind.",
        "Lag of replicas",
        shows_most=True,
    ),
    _gauge("pool_connections", "Connections to PostgreSQL; 0 with SQLite.", "Connections to PostgreSQL"),
    _gauge("pool_idle", "Connections to PostgreSQL that nothing uses now.", "Connections to PostgreSQL"),
    _gauge("pool_waiting", "Reads and writes that wait for a connection now.", "Connections to PostgreSQL"),
    _counter("pool_waits", "Reads and writes that had to wait for a connection.", "Waits for connections"),
    _counter("pool_failures", "Connections to PostgreSQL that could not be made.", "Waits for connections"),
    _counter("pool_lost", "Connections to PostgreSQL that were lost while they were used.", "Waits for connections"),
    _counter("pool_wait_seconds", "Time waited for connections that were obtained.", "Time waited for connections"),
    _counter("graph_hits", "Check requests answered from the graph cache alone.", "Graph cache"),
    _counter("graph_misses", "Check requests answered from the graph cache after it read warrants.", "Graph cache"),
    _counter("graph_given_up", "Check requests without debug that the graph cache could not answer.", "Graph cache"),
    _counter(
        "graph_fetches",
        "Batches of reads for checks that filled the graph cache, which lists fill too.",
        "Reads of the graph cache",
    ),
    _gauge(
        "graph_entries",
        "Entries in the graph cache, those without warrants included: each has the warrants on an object, or those to "
        "a subject.",
        "Entries of the graph cache",
    ),
    _gauge("cache_bytes", "Bytes that a cache takes, by estimate.", "Caches", "cache"),
    _gauge("cache_max_bytes", "Bytes that a cache may take.", "Limits of caches", "cache"),
)

_FEED = (
    _gauge(
        "follower_lag_seconds",
        "How far a follower is behind: for stores, the time since the list of stores and the keys were last read, "
        "four times a second; for changes, how long the graph cache that has waited longest has waited for the changes "
        "of its store, 0 if none waits.",
        "Lag of followers",
        "follower",
        shows_most=True,
    ),
    _gauge(
        "graph_lag_seconds",
        "Time since the graph cache of the store default was last known to be at the newest revision; 0 if it is now. "
        "On PostgreSQL it grows while there are no requests.",
        "Age of the graph cache",
        shows_most=True,
    ),
    _gauge("graph_revision", "Revision of the graph cache of the store default.", "Revision", shows_most=True),
    _counter(
        "webhook_deliveries",
        "Attempts to deliver to webhooks, by what came of them: delivered; failed, and attempted again; gone, the "
        "receiver wants no more; or dead, the last attempt has failed.",
        "Deliveries to webhooks",
        "result",
    ),
    _gauge(
        "webhooks",
        "Webhooks of all stores: enabled; retrying, those of them of which a delivery has failed; and dead ones, to "
        "which nothing is sent any more. Each worker counts them.",
        "Webhooks",
        "state",
        shows_most=True,
    ),
    _gauge(
        "webhook_lag_seconds",
        "For how long the oldest change has waited that an enabled webhook has not got. Each worker measures it.",
        "Lag of webhooks",
        shows_most=True,
    ),
    _gauge("streams", "Streams that are being sent: those of watches, and backups.", "Streams"),
    _counter("streams_refused", "Streams answered with 503 because too many were open.", "Streams refused"),
    _counter("graph_changes", "Changes of warrants applied to the graph cache.", "Changes followed"),
    _counter("unknown_tokens", "Consistency tokens ignored because they are from elsewhere.", "Unknown tokens"),
    _counter("decisions_dropped", "Decisions not logged because too many were waiting.", "Events lost"),
    _counter("audit_dropped", "Records of the audit log not written because too many were waiting.", "Events lost"),
    _gauge("unwritten_decision_bytes", "Bytes of decisions that wait to be recorded.", "Events that wait"),
    _gauge("unwritten_audit_bytes", "Bytes of records of the audit log that wait to be written.", "Events that wait"),
)

DASHBOARDS: Mapping[str, Sequence[MetricRow]] = {"service": _SERVICE, "store": _STORE, "feed": _FEED}
"""Has the metrics by the dashboard that shows them: of the API and its processes, of the database and the caches, and
of what follows changes."""
METRIC_TABLE: Sequence[MetricRow] = (*_SERVICE, *_STORE, *_FEED)
METRIC_ROWS: Mapping[str, MetricRow] = {row.name: row for row in METRIC_TABLE}
