"""The alerts fire when they should and not before, and each has a section on what to do."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.generated_docs import ROOT
from tests.monitoring.alerts import ALERTS, PAGE, Alert
from tests.monitoring.promtool import run_promtool

RULES = ROOT / "deploy" / "prometheus" / "alerts.yml"
A = {"instance": "a"}


class Case(NamedTuple):
    """Series of which each value is a minute after the one before, as promtool writes them; a minute at which the alert
    does not fire, and one at which it does, with these labels and what its summary says of the value."""

    series: dict[str, str]
    quiet_at: int
    fires_at: int
    summary: str
    labels: dict[str, str] = A


def counted(name: str, values: str, **labels: str) -> dict[str, str]:
    written = ",".join(f'{label}="{value}"' for label, value in {**A, **labels}.items())
    return {f"{name}{{{written}}}": values}


def timed(name: str, below: str, above: str, **labels: str) -> dict[str, str]:
    """A histogram: sixty a minute, all of them between two bounds."""
    return {
        **counted(f"{name}_bucket", "0x60", le=below, **labels),
        **counted(f"{name}_bucket", "0+60x60", le=above, **labels),
        **counted(f"{name}_bucket", "0+60x60", le="+Inf", **labels),
    }


def dropped(names: str, of: str) -> dict[str, str]:
    """Several counters, of which one is increased by 2 after the fifth minute."""
    return {
        series: values
        for name in names.split()
        for series, values in counted(f"magistrate_{name}_total", "0x5 2x30" if name == of else "0x35").items()
    }


CASES = {
    "MagistrateDown": Case(
        counted("up", "1x5 0x10", job="magistrate"), 7, 9, "No metrics of a", {**A, "job": "magistrate"}
    ),
    "MagistrateAbsent": Case(counted("magistrate_build_info", "1x3 stale"), 3, 10, "No service reports metrics", {}),
    "MagistrateErrors": Case(
        {
            **counted("magistrate_requests_total", "0+60x30", status="200"),
            **counted("magistrate_requests_total", "0x10 10+10x20", status="503"),
        },
        10,
        20,
        "14.29% of the requests to a fail",
    ),
    "MagistrateChecksFail": Case(
        {
            **counted("magistrate_checks_total", "0+60x30", result="denied"),
            **counted("magistrate_checks_total", "0x10 10+10x20", result="failed"),
        },
        19,
        25,
        "14.29% of the checks of a get no decision",
    ),
    "MagistrateSlowChecks": Case(
        timed("magistrate_request_seconds", "0.1", "0.25", route="/v2/check"),
        5,
        15,
        "The p99 of checks of a is 248.5ms",
    ),
    "MagistrateOverloaded": Case(
        counted("magistrate_requests_shed_total", "0x5 60+60x20"), 9, 15, "1.0 requests a second to a are refused"
    ),
    "MagistrateMemoryBound": Case(
        dropped("bodies_refused received_dropped unsent_dropped unsent_refused", of="unsent_refused"),
        5,
        8,
        "a refuses requests or drops connections to bound its memory",
    ),
    "MagistrateUnauthenticated": Case(
        counted("magistrate_unauthenticated_limited_total", "0+120x40"),
        10,
        20,
        "a gets many requests without a valid key",
    ),
    "MagistrateBehind": Case(
        {
            **counted("magistrate_follower_lag_seconds", "0.2x3 8x10", worker="1", follower="stores"),
            **counted("magistrate_follower_lag_seconds", "0x20", worker="2", follower="changes"),
        },
        4,
        6,
        "a is 8s behind its database",
    ),
    "MagistrateWritersWait": Case(
        timed("magistrate_head_lock_seconds", "1.0", "2.5", phase="wait"),
        5,
        15,
        "Writes of a wait 2.485s for their turn",
    ),
    "MagistrateConnectionsExhausted": Case(
        counted("magistrate_pool_waiting", "0x3 4x20", worker="1"),
        8,
        10,
        "4 reads and writes of a wait for a connection",
    ),
    "MagistrateConnectionsFail": Case(
        counted("magistrate_pool_failures_total", "0x3 10+10x20"), 8, 10, "a cannot connect to its database"
    ),
    "MagistrateCacheSmall": Case(
        {
            **counted("magistrate_graph_misses_total", "0+30x80"),
            **counted("magistrate_graph_hits_total", "0+60x80"),
            **counted("magistrate_graph_given_up_total", "0x80"),
            **counted("magistrate_cache_bytes", "90x80", cache="entries", worker="1"),
            **counted("magistrate_cache_max_bytes", "100x80", cache="entries", worker="1"),
        },
        20,
        35,
        "33.33% of the checks of a are not cached",
    ),
    "MagistrateRecordsLost": Case(
        dropped("audit_dropped decisions_dropped log_lines_lost", of="audit_dropped"), 5, 16, "a has lost 2 records"
    ),
    "MagistrateSpansDropped": Case(
        counted("magistrate_spans_dropped_total", "0x5 30+30x30"), 14, 20, "a drops 0.5 spans a second"
    ),
    "MagistrateWebhookDead": Case(
        counted("magistrate_webhooks", "0x5 1x10", state="dead", worker="0"), 4, 8, "1 webhooks get nothing any more"
    ),
    "MagistrateWebhooksBehind": Case(
        counted("magistrate_webhook_lag_seconds", "0+60x60", worker="0"), 20, 40, "A webhook is 40m 0s behind"
    ),
    "MagistrateDescriptorsExhausted": Case(
        {
            **counted("process_open_fds", "10x3 90x20", job="magistrate", worker="1"),
            **counted("process_max_fds", "100x20", job="magistrate", worker="1"),
        },
        7,
        10,
        "A worker of a uses 90% of its file descriptors",
    ),
    "MagistrateRestarting": Case(
        counted("process_start_time_seconds", "100x3 200x3 300x3 400x3 500x30", job="magistrate", worker="1"),
        8,
        20,
        "Workers of a are started again and again",
    ),
    "MagistrateVersionsDiffer": Case(
        {
            **counted("magistrate_build_info", "1x80", version="1.0.0"),
            'magistrate_build_info{instance="b",version="0.2.0"}': "1x80",
        },
        30,
        65,
        "2 versions run side by side",
        {},
    ),
}


def test_there_is_a_case_for_each_alert() -> None:
    assert {alert.name for alert in ALERTS} == CASES.keys()


def test_prometheus_understands_the_rules() -> None:
    assert f"{len(ALERTS)} rules found" in run_promtool("check", "rules", RULES)


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_an_alert_fires_when_it_should_and_not_before(alert: Alert, tmp_path: Path) -> None:
    case = CASES[alert.name]
    document = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": series, "values": values} for series, values in case.series.items()],
                "alert_rule_test": [
                    {"eval_time": f"{case.quiet_at}m", "alertname": alert.name, "exp_alerts": []},
                    {"eval_time": f"{case.fires_at}m", "alertname": alert.name, "exp_alerts": [expected(alert, case)]},
                ],
            }
        ],
    }
    path = tmp_path / "test.yml"
    path.write_text(yaml.safe_dump(document))

    assert "SUCCESS" in run_promtool("test", "rules", path)


def expected(alert: Alert, case: Case) -> dict[str, Any]:
    return {
        "exp_labels": {**case.labels, "severity": alert.severity},
        "exp_annotations": {
            "summary": case.summary,
            "description": alert.condition,
            "runbook_url": f"{PAGE}#{alert.name.lower()}",
        },
    }


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_the_page_says_what_to_do_about_an_alert(alert: Alert) -> None:
    section = (ROOT / PAGE).read_text().partition(f"\n### {alert.name}\n")[2].partition("\n### ")[0]

    assert len(section.split()) >= 20
