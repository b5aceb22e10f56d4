"""Makes the dashboards of deploy/grafana from the table of metrics: a panel for each title in it, and those that set
metrics in relation to each other."""

import json
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any, NamedTuple

from magistrate.api.http.metric_table import DASHBOARDS, METRIC_ROWS, MetricKind, MetricRow

SELECTED = 'instance=~"$instance"'
RATE_INTERVAL = "$__rate_interval"
QUANTILES = (0.5, 0.99)
WIDTH, HEIGHT, COLUMNS = 12, 8, 2
SCHEMA_VERSION = 39
BUSIEST = 10

SHOWN_LABELS: Mapping[str, tuple[str, ...]] = {
    "magistrate_requests_total": ("status",),
    "magistrate_request_seconds": ("route",),
}
"""Has the labels by which a panel tells series apart, where that is not all of them."""
MOST_ONLY = ("magistrate_store_requests_total", "magistrate_request_seconds")
"""Names the metrics that may have too many series for a panel."""

TIMES = ("process_start_time_seconds",)
"""Names the metrics that are times, of which a panel shows how long ago they were."""


class Query(NamedTuple):
    expression: str
    legend: str


class Panel(NamedTuple):
    """Describes a panel. `unit` is one of Grafana's."""

    title: str
    unit: str
    meaning: str
    queries: Sequence[Query]


def _rate(name: str, more: str = "") -> str:
    return f"rate({name}{{{SELECTED}{more}}}[{RATE_INTERVAL}])"


def _share(part: str, whole: str, by: str = "") -> str:
    return f"sum{by} ({part}) / sum{by} ({whole})"


RATIOS: Mapping[str, Sequence[Panel]] = {
    "service": (
        Panel(
            "Share of requests that failed",
            "percentunit",
            "Requests that were answered with a status of 500 or more.",
            (
                Query(
                    _share(
                        _rate("magistrate_requests_total", ', status=~"5.."'),
                        _rate("magistrate_requests_total"),
                        by=" by (instance)",
                    ),
                    "{{instance}}",
                ),
            ),
        ),
        Panel(
            "Time per list",
            "s",
            "Mean time until all rows of a list were known, by what answered it.",
            (
                Query(
                    _share(
                        _rate("magistrate_lists_seconds_total"),
                        _rate("magistrate_lists_total"),
                        by=" by (evaluator)",
                    ),
                    "{{evaluator}}",
                ),
            ),
        ),
    ),
    "store": (
        Panel(
            "Share of checks that the graph cache answered alone",
            "percentunit",
            "Check requests that needed no statement.",
            (
                Query(
                    _share(
                        _rate("magistrate_graph_hits_total"),
                        " + ".join(
                            _rate(f"magistrate_graph_{outcome}_total") for outcome in ("hits", "misses", "given_up")
                        ),
                        by=" by (instance)",
                    ),
                    "{{instance}}",
                ),
            ),
        ),
        Panel(
            "Wait for a connection",
            "s",
            "Mean time of the reads and writes that had to wait for a connection to PostgreSQL.",
            (
                Query(
                    _share(
                        _rate("magistrate_pool_wait_seconds_total"),
                        _rate("magistrate_pool_waits_total"),
                        by=" by (instance)",
                    ),
                    "{{instance}}",
                ),
            ),
        ),
    ),
    "feed": (),
}
"""Has further panels of each dashboard, which come first."""


def list_panels(dashboard: str) -> list[Panel]:
    """Returns the panels of a dashboard, in their order."""
    by_title: dict[str, list[MetricRow]] = {}
    for row in DASHBOARDS[dashboard]:
        by_title.setdefault(row.panel, []).append(row)
    return [*RATIOS[dashboard], *(_build_panel(title, rows) for title, rows in by_title.items())]


def _build_panel(title: str, rows: Sequence[MetricRow]) -> Panel:
    queries = [query for row in rows for query in _list_queries(row, is_alone=len(rows) == 1)]
    meanings = [row.meaning if len(rows) == 1 else f"{_name_series(row)}: {row.meaning}" for row in rows]
    [unit] = {_choose_unit(row) for row in rows}
    return Panel(title, unit, "\n\n".join(meanings), queries)


def _choose_unit(row: MetricRow) -> str:
    if row.name == "magistrate_requests_total":
        return "reqps"
    return {"bytes": "bytes", "seconds": "s"}.get(row.unit, "short")


def _list_queries(row: MetricRow, is_alone: bool) -> list[Query]:
    labels = SHOWN_LABELS.get(row.name, row.labels)
    legend = " ".join(f"{{{{{label}}}}}" for label in labels)
    if row.kind is MetricKind.HISTOGRAM:
        grouped = f"sum by ({', '.join(('le', *labels))}) ({_rate(f'{row.name}_bucket')})"
        return [
            Query(_limit(row, f"histogram_quantile({quantile}, {grouped})"), f"{legend} p{quantile * 100:g}")
            for quantile in QUANTILES
        ]
    measured = _rate(row.name) if row.kind is MetricKind.COUNTER else f"{row.name}{{{SELECTED}}}"
    aggregated = "max" if row.shows_most else "sum"
    by = f" by ({', '.join(labels)})" if labels else " by (instance)"
    series = legend or ("{{instance}}" if is_alone else f"{_name_series(row)} {{{{instance}}}}")
    shown = f"{aggregated}{by} ({measured})"
    if row.name in TIMES:
        shown = f"time() - {shown}"
    return [Query(_limit(row, shown), series)]


def _name_series(row: MetricRow) -> str:
    return row.key.removesuffix("_bytes").replace("_", " ")


def _limit(row: MetricRow, expression: str) -> str:
    return f"topk({BUSIEST}, {expression})" if row.name in MOST_ONLY else expression


_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_VARIABLES = [
    {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"},
    {
        "name": "instance",
        "type": "query",
        "label": "Instance",
        "datasource": _SOURCE,
        "query": {"query": "label_values(magistrate_build_info, instance)", "refId": "instance"},
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    },
]


def render_dashboard(dashboard: str) -> str:
    """Returns a dashboard as Grafana imports it."""
    panels = [_render_panel(place, panel) for place, panel in enumerate(list_panels(dashboard))]
    document = {
        "uid": f"magistrate-{dashboard}",
        "title": f"Magistrate: {dashboard}",
        "tags": ["magistrate"],
        "editable": True,
        "schemaVersion": SCHEMA_VERSION,
        "time": {"from": "now-6h", "to": "now"},
        "refresh": "30s",
        "templating": {"list": _VARIABLES},
        "panels": panels,
    }
    return json.dumps(document, indent=2) + "\n"


def _render_panel(place: int, panel: Panel) -> dict[str, Any]:
    return {
        "id": place + 1,
        "type": "timeseries",
        "title": panel.title,
        "description": panel.meaning,
        "datasource": _SOURCE,
        "gridPos": {"x": place % COLUMNS * WIDTH, "y": place // COLUMNS * HEIGHT, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull", "max"]}},
        "targets": [
            {"refId": letter, "datasource": _SOURCE, "expr": query.expression, "legendFormat": query.legend}
            for letter, query in zip(ascii_uppercase, panel.queries, strict=False)
        ],
    }


def find_panel(row: MetricRow) -> str:
    """Returns where a metric is shown, as a document says it."""
    [dashboard] = [name for name, rows in DASHBOARDS.items() if row in rows]
    assert METRIC_ROWS[row.name] is row
    return f"{dashboard}: {row.panel}"
