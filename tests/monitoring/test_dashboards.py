"""The dashboards query what the service reports, in expressions that it understands."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from magistrate.api.http.metric_table import DASHBOARDS, METRIC_ROWS, MetricKind
from tests.generated_docs import ROOT
from tests.monitoring.promtool import run_promtool

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
FILES = (*sorted(ROOT.glob("deploy/grafana/*.json")), ROOT / "deploy/prometheus/alerts.yml")
IN_PROSE = re.compile(r"`((?:magistrate|process)_[a-z_]+)(?:\{[^`]*\})?`")
IN_EXPRESSIONS = re.compile(r"\b((?:magistrate|process)_[a-z_]+)\b")
NO_METRICS = re.compile(r"magistrate_(client|\.\.\.)")
VARIABLES = {"$instance": ".*", "$__rate_interval": "5m"}


def read_dashboard(name: str) -> dict[str, Any]:
    dashboard: dict[str, Any] = json.loads((ROOT / "deploy" / "grafana" / f"{name}.json").read_text())
    return dashboard


def list_expressions(name: str) -> list[str]:
    return [target["expr"] for panel in read_dashboard(name)["panels"] for target in panel["targets"]]


def find_metric(name: str) -> str:
    """The name in the table that a sample belongs to."""
    for ending in ("_bucket", "_sum", "_count"):
        whole = name.removesuffix(ending)
        if whole in METRIC_ROWS and METRIC_ROWS[whole].kind is MetricKind.HISTOGRAM:
            return whole
    return name


def test_there_is_a_file_for_each_dashboard() -> None:
    assert {path.stem for path in FILES if path.suffix == ".json"} == {*DASHBOARDS}


@pytest.mark.parametrize("name", DASHBOARDS)
def test_prometheus_understands_every_panel(name: str, tmp_path: Path) -> None:
    expressions = list_expressions(name)
    for variable, value in VARIABLES.items():
        expressions = [expression.replace(variable, value) for expression in expressions]
    rules = [{"record": f"panel:{number}", "expr": expression} for number, expression in enumerate(expressions)]
    path = tmp_path / "panels.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": name, "rules": rules}]}))

    assert not any("$" in expression for expression in expressions)
    assert f"{len(rules)} rules found" in run_promtool("check", "rules", path)


def test_each_metric_is_shown_by_a_panel_of_its_dashboard() -> None:
    for name, rows in DASHBOARDS.items():
        named = {find_metric(metric) for text in list_expressions(name) for metric in re.findall(r"\w+", text)}
        assert {row.name for row in rows} <= named


@pytest.mark.parametrize("name", DASHBOARDS)
def test_panels_do_not_overlap(name: str) -> None:
    panels = read_dashboard(name)["panels"]

    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}) == len(panels)
    assert len({panel["title"] for panel in panels}) == len(panels)
    assert all(panel["description"] for panel in panels)


@pytest.mark.parametrize("path", [*FILES, *DOCUMENTS], ids=lambda path: str(path.relative_to(ROOT)))
def test_every_metric_that_is_named_exists(path: Path) -> None:
    pattern = IN_PROSE if path.suffix == ".md" else IN_EXPRESSIONS
    named = {find_metric(name) for name in pattern.findall(path.read_text()) if not NO_METRICS.match(name)}

    assert named <= METRIC_ROWS.keys()
    assert named or path not in FILES
