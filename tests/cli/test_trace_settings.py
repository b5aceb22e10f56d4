"""The settings of traces: what is refused when the service starts, and what doctor finds."""

import subprocess
import sys
from pathlib import Path

import pytest

from magistrate.config.settings import read_settings
from magistrate.config.trace_endpoint import TraceEndpoint, list_trace_secrets, read_trace_endpoint
from magistrate.errors import InvalidSetting
from magistrate.wiring.diagnosis import diagnose
from magistrate.wiring.traces import describe_database, find_ignored_endpoint, find_trace_endpoint
from tests.processes.service_process import ServiceProcess, read_failed_start
from tests.running import KEY

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("http://c:4318", "http://c:4318/v1/traces"),
        ("http://c:4318/", "http://c:4318/v1/traces"),
        ("https://c/otlp", "https://c/otlp/v1/traces"),
        ("https://c/otlp/v1/traces", "https://c/otlp/v1/traces"),
        ("http://[::1]:4318", "http://[::1]:4318/v1/traces"),
    ],
)
def test_the_url_of_a_receiver_may_have_the_path_of_traces(given: str, url: str) -> None:
    assert read_trace_endpoint(given, {}) == TraceEndpoint(url)
    assert read_trace_endpoint("", {ENDPOINT: given}) == TraceEndpoint(url, is_own=False)


@pytest.mark.parametrize(
    "given",
    [
        "collector:4317",
        "grpc://c:4317",
        "http://",
        "http://c:0",
        "http://c:99999",
        "http://u:sesame@c:4318",
        "http://c?key=sesame",
        "http://c#x",
    ],
)
def test_other_texts_are_refused_as_a_setting_and_ignored_as_a_variable(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidSetting, match=r"^trace_endpoint: ") as refused:
        read_settings({"trace_endpoint": given}, {})
    monkeypatch.setenv(ENDPOINT, given)
    settings = read_settings({}, {})

    assert "sesame" not in refused.value.message
    assert find_trace_endpoint(settings) is None
    reason = find_ignored_endpoint(settings)
    assert reason is not None
    assert reason.startswith(ENDPOINT)
    assert "sesame" not in reason


def test_the_setting_wins_over_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENDPOINT, "http://other")
    settings = read_settings({"trace_endpoint": "http://own"}, {})

    assert find_trace_endpoint(settings) == TraceEndpoint("http://own/v1/traces")
    assert find_ignored_endpoint(settings) is None


@pytest.mark.parametrize("given", ["", "http://own"])
def test_a_variable_switches_traces_off(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENDPOINT, "http://other")
    monkeypatch.setenv("OTEL_SDK_DISABLED", "True")
    settings = read_settings({"trace_endpoint": given or None}, {})

    assert find_trace_endpoint(settings) is None
    assert find_ignored_endpoint(settings) is None


def test_an_endpoint_for_another_protocol_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENDPOINT, "http://c:4317")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")

    [finding] = [finding for finding in diagnose(read_settings({}, {})) if finding.check == "traces"]

    assert (finding.level, "is grpc" in finding.message) == ("warning", True)


@pytest.mark.parametrize("text", ["0", "1", "0.01", ".5", "1.0", " 0.25 "])
def test_a_part_of_the_requests_is_a_number_from_0_to_1(text: str) -> None:
    assert read_settings({"trace_sample": text}, {}).trace_sample == float(text)


@pytest.mark.parametrize("text", ["-0.1", "1.1", "2", "nan", "inf", "1e-3", "a", "0,5", "0.0.1", "\u0660.\u0665"])
def test_other_parts_are_refused(text: str) -> None:
    with pytest.raises(InvalidSetting, match=r"^--trace-sample must be "):
        read_settings({"trace_sample": text}, {})


def test_the_values_of_headers_are_secrets() -> None:
    environment = {
        "OTEL_EXPORTER_OTLP_HEADERS": "x-key=very%20secret, empty=,authorization=Basic%20abc",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "x-key=other",
    }

    assert set(list_trace_secrets(environment)) == {"very%20secret", "very secret", "Basic%20abc", "Basic abc", "other"}


def test_doctor_warns_of_secrets_that_leave_without_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=very%20secret")
    findings = {
        url: [
            finding.message
            for finding in diagnose(read_settings({"trace_endpoint": url}, {}))
            if finding.check == "traces"
        ]
        for url in ("http://127.0.0.1:4318", "https://c.example", "http://c.example")
    }

    assert findings == {
        "http://127.0.0.1:4318": [],
        "https://c.example": [],
        "http://c.example": ["the values of OTEL_EXPORTER_OTLP_HEADERS are sent to c.example without TLS"],
    }


def test_statements_say_which_database_without_its_password() -> None:
    url = "postgresql://own:sesame@db.example:6432/authz?sslmode=require"

    assert describe_database(read_settings({"database_url": url}, {})) == {
        "db.system.name": "postgresql",
        "db.namespace": "authz",
        "server.address": "db.example",
        "server.port": 6432,
    }
    assert describe_database(read_settings({"database_url": "sqlite:////data/own.db"}, {})) == {
        "db.system.name": "sqlite",
        "db.namespace": "own.db",
    }


def test_a_service_without_traces_loads_nothing_for_them() -> None:
    program = (
        "import sys, magistrate.wiring.server; print(sorted({'psycopg', 'requests', 'opentelemetry'} & {*sys.modules}))"
    )

    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)

    assert ran.stdout == "[]\n"


WITHOUT_EXTRA = "import sys\nsys.modules['opentelemetry.sdk'] = None\n"


def test_without_the_extra_the_setting_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_EXTRA)
    service = ServiceProcess(tmp_path, "--trace-endpoint", "http://127.0.0.1:4318", api_key=KEY)

    reason = read_failed_start(service.errors())
    assert reason == "trace_endpoint: packages are missing that export spans; install magistrate[otel]"
    assert service.process.returncode == 1


def test_without_the_extra_the_variable_is_ignored_and_that_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_EXTRA)
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:4318")
    with ServiceProcess(tmp_path, api_key=KEY) as service:
        assert service.stop() == 0

        [line] = service.errors().splitlines()
    assert '"event": "spans are not exported"' in line
    assert "install magistrate[otel]" in line
