"""The table of memory in docs/security.md names settings and metrics that exist, and each purpose has one setting."""

import re
from pathlib import Path

from magistrate.api.http.metric_table import METRIC_ROWS, MetricKind
from magistrate.config.settings_table import SETTINGS

SECURITY = Path(__file__).parents[1] / "docs" / "security.md"
OURS = {
    "magistrate_request_body_bytes",
    "magistrate_received_bytes",
    "magistrate_unsent_bytes",
    "magistrate_unwritten_audit_bytes",
    "magistrate_unwritten_decision_bytes",
    "magistrate_unwritten_log_bytes",
    "magistrate_request_cache_bytes",
}


def read_section() -> str:
    return SECURITY.read_text().partition("### Memory\n")[2].partition("\n### ")[0]


def test_the_table_names_settings_and_metrics_that_exist() -> None:
    section = read_section()
    flags, metrics = re.findall(r"`(--[a-z-]+)`", section), re.findall(r"`(magistrate_[a-z_]+)`", section)

    assert {*flags} <= {setting.flag for setting in SETTINGS}
    assert {*metrics} <= METRIC_ROWS.keys()
    assert {name for name in metrics if METRIC_ROWS[name].kind is MetricKind.GAUGE} >= OURS


def test_each_row_has_the_same_columns() -> None:
    tables = re.findall(r"(?:^\|.*\n)+", read_section(), re.MULTILINE)
    assert [{line.count("|") for line in table.splitlines()} for table in tables] == [{5}, {4}]
