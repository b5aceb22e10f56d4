"""Makes deploy/prometheus/alerts.yml, and the table of alerts in docs/monitoring.md, of one table. That document has a
section on what to do for each."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import yaml

PAGE = "docs/monitoring.md"
WINDOW = "5m"

CRITICAL, WARNING = "critical", "warning"
"""Name the severities: somebody has to look at once, or on the next working day."""


class Alert(NamedTuple):
    """Describes an alert, which fires when the expression has had a value for so many minutes. `condition` says the
    same for people; `summary` may have the variables of Prometheus' templates."""

    name: str
    severity: str
    minutes: int
    expression: str
    condition: str
    summary: str


def _rate(selector: str, window: str = WINDOW) -> str:
    return f"sum by (instance) (rate({selector}[{window}]))"


def _share(part: str, whole: Sequence[str], window: str = WINDOW) -> str:
    return f"{_rate(part, window)} / ({' + '.join(_rate(name, window) for name in whole)})"


def _quantile(histogram: str, selector: str, window: str = WINDOW) -> str:
    return f"histogram_quantile(0.99, sum by (instance, le) (rate({histogram}_bucket{{{selector}}}[{window}])))"


def _any_increase(*names: str) -> str:
    return " + ".join(f"sum by (instance) (increase({name}[15m]))" for name in names) + " > 0"


ALERTS = (
    Alert(
        "MagistrateDown",
        CRITICAL,
        2,
        'up{job="magistrate"} == 0',
        "Prometheus gets no metrics of a service.",
        "No metrics of {{ $labels.instance }}",
    ),
    Alert(
        "MagistrateAbsent",
        CRITICAL,
        5,
        "absent(magistrate_build_info)",
        "Prometheus knows of no service at all.",
        "No service reports metrics",
    ),
    Alert(
        "MagistrateErrors",
        CRITICAL,
        5,
        _share('magistrate_requests_total{status=~"5.."}', ["magistrate_requests_total"]) + " > 0.01",
        "More than 1 % of requests are answered with a status of 500 or more.",
        "{{ $value | humanizePercentage }} of the requests to {{ $labels.instance }} fail",
    ),
    Alert(
        "MagistrateChecksFail",
        WARNING,
        10,
        _share('magistrate_checks_total{result="failed"}', ["magistrate_checks_total"]) + " > 0.01",
        "More than 1 % of checks get no decision.",
        "{{ $value | humanizePercentage }} of the checks of {{ $labels.instance }} get no decision",
    ),
    Alert(
        "MagistrateSlowChecks",
        WARNING,
        10,
        _quantile("magistrate_request_seconds", 'route="/v2/check"') + " > 0.1",
        "The p99 of `/v2/check` is above 100 ms.",
        "The p99 of checks of {{ $labels.instance }} is {{ $value | humanizeDuration }}",
    ),
    Alert(
        "MagistrateOverloaded",
        WARNING,
        5,
        f"{_rate('magistrate_requests_shed_total')} > 0",
        "Requests are refused because too many wait.",
        '{{ $value | printf "%.1f" }} requests a second to {{ $labels.instance }} are refused',
    ),
    Alert(
        "MagistrateMemoryBound",
        WARNING,
        0,
        _any_increase(
            "magistrate_bodies_refused_total",
            "magistrate_received_dropped_total",
            "magistrate_unsent_dropped_total",
            "magistrate_unsent_refused_total",
        ),
        "Requests were refused, or connections dropped, because clients held too much memory.",
        "{{ $labels.instance }} refuses requests or drops connections to bound its memory",
    ),
    Alert(
        "MagistrateUnauthenticated",
        WARNING,
        15,
        f"{_rate('magistrate_unauthenticated_limited_total')} > 1",
        "More than one request a second comes without a valid key, beyond the limit of its source.",
        "{{ $labels.instance }} gets many requests without a valid key",
    ),
    Alert(
        "MagistrateBehind",
        CRITICAL,
        1,
        "max by (instance) (magistrate_follower_lag_seconds) > 5",
        "Changes are not followed for more than 5 seconds.",
        "{{ $labels.instance }} is {{ $value | humanizeDuration }} behind its database",
    ),
    Alert(
        "MagistrateWritersWait",
        WARNING,
        10,
        _quantile("magistrate_head_lock_seconds", 'phase="wait"') + " > 1",
        "The p99 of the wait for the lock of writers is above one second.",
        "Writes of {{ $labels.instance }} wait {{ $value | humanizeDuration }} for their turn",
    ),
    Alert(
        "MagistrateConnectionsExhausted",
        WARNING,
        5,
        "sum by (instance) (magistrate_pool_waiting) > 0",
        "Reads and writes wait for a connection to PostgreSQL at every look.",
        "{{ $value }} reads and writes of {{ $labels.instance }} wait for a connection",
    ),
    Alert(
        "MagistrateConnectionsFail",
        WARNING,
        5,
        f"{_rate('magistrate_pool_failures_total')} > 0",
        "Connections to PostgreSQL cannot be made.",
        "{{ $labels.instance }} cannot connect to its database",
    ),
    Alert(
        "MagistrateCacheSmall",
        WARNING,
        30,
        _share(
            "magistrate_graph_misses_total",
            [f"magistrate_graph_{outcome}_total" for outcome in ("hits", "misses", "given_up")],
            "30m",
        )
        + " > 0.2 and on (instance) sum by (instance) (magistrate_cache_bytes) "
        "> 0.8 * sum by (instance) (magistrate_cache_max_bytes)",
        "More than a fifth of checks read from the database, and the caches are almost full.",
        "{{ $value | humanizePercentage }} of the checks of {{ $labels.instance }} are not cached",
    ),
    Alert(
        "MagistrateRecordsLost",
        CRITICAL,
        0,
        _any_increase(
            "magistrate_audit_dropped_total", "magistrate_decisions_dropped_total", "magistrate_log_lines_lost_total"
        ),
        "Records of the audit log, decisions or lines of the log were dropped.",
        "{{ $labels.instance }} has lost {{ $value | humanize }} records",
    ),
    Alert(
        "MagistrateSpansDropped",
        WARNING,
        10,
        f"{_rate('magistrate_spans_dropped_total')} > 0",
        "Spans of sampled requests are dropped.",
        '{{ $labels.instance }} drops {{ $value | printf "%.1f" }} spans a second',
    ),
    Alert(
        "MagistrateWebhookDead",
        WARNING,
        0,
        'max by (instance) (magistrate_webhooks{state="dead"}) > 0',
        "The last attempt to deliver to a webhook has failed, and nothing is sent to it any more.",
        "{{ $value }} webhooks get nothing any more",
    ),
    Alert(
        "MagistrateWebhooksBehind",
        WARNING,
        15,
        "max by (instance) (magistrate_webhook_lag_seconds) > 900",
        "A change waits for more than 15 minutes for a webhook to get it.",
        "A webhook is {{ $value | humanizeDuration }} behind",
    ),
    Alert(
        "MagistrateDescriptorsExhausted",
        WARNING,
        5,
        'max by (instance) (process_open_fds{job="magistrate"} / process_max_fds{job="magistrate"}) > 0.8',
        "A worker has more than 80 % of the file descriptors open that it may have.",
        "A worker of {{ $labels.instance }} uses {{ $value | humanizePercentage }} of its file descriptors",
    ),
    Alert(
        "MagistrateRestarting",
        WARNING,
        0,
        'changes(max by (instance) (process_start_time_seconds{job="magistrate"})[30m:1m]) > 3',
        "Workers were started more than three times within half an hour.",
        "Workers of {{ $labels.instance }} are started again and again",
    ),
    Alert(
        "MagistrateVersionsDiffer",
        WARNING,
        60,
        "count(count by (version) (magistrate_build_info)) > 1",
        "Services of several versions run for more than an hour.",
        "{{ $value }} versions run side by side",
    ),
)


def render_rules() -> str:
    """Returns the file of rules that Prometheus loads."""
    document = {"groups": [{"name": "magistrate", "rules": [*map(_render_rule, ALERTS)]}]}
    return _BEGINNING + yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=1_000)


_BEGINNING = "# `./run docs` writes this file. docs/monitoring.md says what to do about each alert.\n"


def _render_rule(alert: Alert) -> dict[str, Any]:
    return {
        "alert": alert.name,
        "expr": alert.expression,
        **({"for": f"{alert.minutes}m"} if alert.minutes else {}),
        "labels": {"severity": alert.severity},
        "annotations": {
            "summary": alert.summary,
            "description": alert.condition,
            "runbook_url": f"{PAGE}#{alert.name.lower()}",
        },
    }


def alerts_table() -> str:
    """Returns a table with one row an alert, which links to what to do."""
    return "\n".join(_list_lines())


def _list_lines() -> Iterator[str]:
    yield "| alert | severity | fires when, for how long |"
    yield "|---|---|---|"
    for alert in ALERTS:
        lasting = f" ({alert.minutes} min)" if alert.minutes else " (at once)"
        yield f"| [{alert.name}](#{alert.name.lower()}) | {alert.severity} | {alert.condition[:-1]}{lasting} |"
