"""Traces of a running service, received by a receiver of OpenTelemetry's protocol."""

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest

from magistrate.wiring.trace_export import FLUSH_SECONDS
from tests.generated_docs import ROOT
from tests.processes.forked_service import ForkedService
from tests.processes.service_process import ServiceProcess
from tests.running import KEY, Client
from tests.scenario_files import warrant_body
from tests.trace_receiver import ReceivedSpan, TraceReceiver, answer_slowly, receiving_traces

CLAIM = "folder:a#viewer@user:ann"
OTHER = "folder:a#viewer@user:eve"
TRACE_ID, SPAN_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED, UNSAMPLED = f"00-{TRACE_ID}-{SPAN_ID}-01", f"00-{TRACE_ID}-{SPAN_ID}-00"
STOPPED_WITHIN_SECONDS = 4.0
"""What a service without requests takes to stop, and what a loaded machine adds."""


def tracing_flags(receiver: TraceReceiver, flags: Sequence[str]) -> Sequence[str]:
    """Each request is sampled unless the flags say otherwise."""
    sample = () if "--trace-sample" in flags else ("--trace-sample", "1")
    return ("--trace-endpoint", receiver.url, *sample, *flags)


@contextmanager
def traced_service(folder: Path, *flags: str, **settings: str) -> Iterator[tuple[TraceReceiver, ForkedService, Client]]:
    """A service with its receiver and a client. All spans have come once it has stopped."""
    with (
        receiving_traces() as receiver,
        ForkedService(folder, *tracing_flags(receiver, flags), api_key=KEY, **settings) as service,
        service.client() as client,
    ):
        yield receiver, service, client


@contextmanager
def traced_process(folder: Path, *flags: str) -> Iterator[tuple[TraceReceiver, ServiceProcess, Client]]:
    """The same in a process that reads variables, and code of the test, when it starts."""
    with (
        receiving_traces() as receiver,
        ServiceProcess(folder, *tracing_flags(receiver, flags), api_key=KEY) as service,
        service.client() as client,
    ):
        yield receiver, service, client


def prepare(client: Client) -> None:
    client.define({"folder": {"viewer": {}}})
    client.grant(CLAIM)


def of_route(receiver: TraceReceiver, route: str, **attributes: Any) -> list[ReceivedSpan]:
    """The first spans of the requests to a route, with these attributes of ours."""
    return [
        span
        for span in receiver.spans
        if span.attributes.get("http.route") == route
        and all(span.attributes.get(f"magistrate.{name}") == value for name, value in attributes.items())
    ]


def own_attributes(span: ReceivedSpan) -> Mapping[str, Any]:
    return {
        name.removeprefix("magistrate."): value
        for name, value in span.attributes.items()
        if name.startswith("magistrate.") and name != "magistrate.request_id"
    }


@pytest.mark.parametrize("fast_path", ["true", "false"])
def test_a_request_is_a_span_with_the_attributes_of_http_and_ours(
    database_url: str, tmp_path: Path, fast_path: str
) -> None:
    with traced_service(tmp_path, database_url=database_url, fast_path=fast_path) as (receiver, service, client):
        prepare(client)
        checked = [client.ask(CLAIM) for _ in range(3)] + [client.ask(OTHER)]
        both = client.post("/v2/check", json={"op": "batch", "warrants": [*warrants(CLAIM), *warrants(OTHER)]})
        client.get("/v2/objects/folder/missing")
        client.get("/nowhere")
        client.request("PROPFIND", "/v2/check")
        service.stop()

    assert [answer.status_code for answer in (*checked, both)] == [200] * 5
    spans = of_route(receiver, "/v2/check")
    *checks, batch = spans
    assert {span.name for span in spans} == {"POST /v2/check"}
    assert {(span.kind, span.status, span.parent_id) for span in spans} == {("SERVER", "UNSET", "")}
    assert {
        "http.request.method": "POST",
        "http.route": "/v2/check",
        "http.response.status_code": 200,
        "url.path": "/v2/check",
        "url.scheme": "http",
        "magistrate.request_id": checked[1].headers["warrant-request-id"],
    }.items() <= checks[1].attributes.items()
    common = {"store": "default", "revision": 3, "checks": 1}
    assert own_attributes(checks[0]).items() >= {**common, "cache": "partial", "result": "authorized"}.items()
    assert checks[0].attributes["magistrate.statements"] > 0
    for check in checks[1:3]:
        assert own_attributes(check).items() >= {**common, "cache": "hit", "result": "authorized"}.items()
    assert checks[3].attributes["magistrate.result"] == "denied"
    assert own_attributes(batch).items() >= {"checks": 2, "result": "mixed"}.items()
    [missing] = of_route(receiver, "/v2/objects/{objectType}/{objectId}")
    assert missing.attributes["url.path"] == "/v2/objects/folder/missing"
    assert (missing.attributes["http.response.status_code"], missing.status) == (404, "UNSET")
    assert [span.attributes["url.path"] for span in receiver.named("GET")] == ["/nowhere"]
    [unknown] = receiver.named("HTTP")
    assert unknown.attributes["http.request.method"] == "_OTHER"
    assert len({span.trace_id for span in receiver.spans if not span.parent_id}) == 10


def warrants(*written: str) -> list[dict[str, Any]]:
    return [warrant_body(text) for text in written]


def test_a_span_says_whether_caches_were_used(database_url: str, tmp_path: Path) -> None:
    q = {"q": "select folder where user:ann is viewer"}
    with traced_service(tmp_path, database_url=database_url) as (receiver, service, client):
        prepare(client)
        for _ in range(2):
            client.ask(CLAIM)
        client.ask(CLAIM, debug=True)
        for _ in range(2):
            client.get("/v2/query", params=q)
        service.stop()

    assert [span.attributes["magistrate.cache"] for span in of_route(receiver, "/v2/check")] == [
        "partial",
        "hit",
        "miss",
    ]
    assert [span.attributes["magistrate.cache"] for span in of_route(receiver, "/v2/query")] == ["miss", "hit"]


def test_statements_are_spans_without_values(database_url: str, tmp_path: Path) -> None:
    with traced_service(tmp_path, database_url=database_url) as (receiver, service, client):
        prepare(client)
        client.ask(CLAIM)
        client.get("/v2/query", params={"q": "select folder where user:ann is viewer"})
        service.stop()

    [check], [query] = of_route(receiver, "/v2/check"), of_route(receiver, "/v2/query")
    below = [span for request in (check, query) for span in receiver.below(request)]
    statements = [span for span in below if span.kind == "CLIENT"]
    assert (
        len([span for span in receiver.below(check) if span.kind == "CLIENT"])
        == check.attributes["magistrate.statements"]
    )
    kind = "postgresql" if database_url.startswith("postgresql") else "sqlite"
    for span in statements:
        assert span.attributes["db.system.name"] == kind
        assert span.attributes["db.operation.name"] == "SELECT"
        assert span.name == span.attributes["db.query.summary"]
        assert span.attributes["db.query.text"].startswith("SELECT ")
        assert check.began_ns <= span.began_ns <= span.ended_ns
    assert any("warrant" in span.name for span in statements)
    texts = " ".join(span.attributes["db.query.text"] for span in statements)
    assert ("$1" if kind == "postgresql" else "?1") in texts
    assert "folder" not in texts
    assert "ann" not in texts.replace("'", " ").split()


def test_a_group_of_writes_is_linked_to_its_requests(database_url: str, tmp_path: Path) -> None:
    with traced_service(tmp_path, database_url=database_url) as (receiver, service, client):
        prepare(client)
        with ThreadPoolExecutor(16) as threads:

            def write(number: int) -> None:
                with service.client() as own:
                    for turn in range(5):
                        own.grant(f"folder:f{number}#viewer@user:u{turn}")

            list(threads.map(write, range(16)))
        service.stop()

    requests = {(span.trace_id, span.span_id): span for span in of_route(receiver, "/v2/warrants", store="default")}
    groups = receiver.named("write group")
    waits = {(span.trace_id, span.parent_id): span for span in receiver.named("wait for write")}
    assert len(requests) == 81
    assert waits.keys() >= requests.keys()
    links = [link for group in groups for link in group.links if link in requests]
    assert sorted(links) == sorted(requests)
    assert any(len(group.links) > 1 for group in groups)
    for group in groups:
        first = group.links[0]
        assert (group.trace_id, group.parent_id) == (first[0], waits[first].span_id) if first in waits else True
        assert group.attributes["magistrate.writes"] == len(group.links)
        for link in group.links:
            if link in waits:
                assert (group.trace_id, group.span_id) in waits[link].links
                assert waits[link].ended_ns >= group.ended_ns
        statements = receiver.children(group)
        texts = "; ".join(span.attributes["db.query.text"] for span in statements)
        assert "BEGIN" in texts
        assert texts.endswith(("COMMIT", "..."))  # a long text is cut
        assert all(group.began_ns <= span.began_ns <= span.ended_ns <= group.ended_ns for span in statements)
    sizes = [span.attributes["db.operation.batch.size"] for span in receiver.spans if span.name.startswith("INSERT")]
    assert all(size > 1 for size in sizes)


def test_waiting_for_changes_is_a_span(database_url: str, tmp_path: Path) -> None:
    with traced_service(tmp_path, database_url=database_url) as (receiver, service, client):
        prepare(client)
        latest = {"Warrant-Token": "latest"}
        client.post("/v2/check", json={"warrants": warrants(CLAIM)}, headers=latest).raise_for_status()
        service.stop()

    [check] = of_route(receiver, "/v2/check")
    wait = receiver.children(check)[0]
    assert (wait.name, wait.kind) == ("follow changes", "INTERNAL")
    assert [span.kind for span in receiver.children(wait)].count("CLIENT") >= 1


def test_the_caller_decides_if_it_is_trusted(tmp_path: Path) -> None:
    headers = [
        {"traceparent": SAMPLED, "tracestate": "vendor=a, other=b"},
        {"traceparent": UNSAMPLED},
        {"traceparent": SAMPLED.replace(TRACE_ID, "0" * 32)},
        {"Traceparent": SAMPLED.replace(SPAN_ID, "c" * 16)},
        {},
    ]
    with traced_service(tmp_path, "--trace-trust-parent", "--trace-sample", "0") as (receiver, service, client):
        prepare(client)
        for _ in range(3):  # by the framework, by the fast path, and by a head that is known
            for each in headers:
                client.post("/v2/check", json={"warrants": warrants(CLAIM)}, headers=each).raise_for_status()
                client.get("/v2/objects").raise_for_status()  # on the same connection, and not sampled
        service.stop()

    spans = of_route(receiver, "/v2/check")
    assert not [span for span in receiver.spans if span.name == "SELECT head object"]
    assert [(span.trace_id, span.parent_id) for span in spans] == [
        (TRACE_ID, SPAN_ID),
        (TRACE_ID, "c" * 16),
    ] * 3
    assert [span.state for span in spans] == ["vendor=a,other=b", ""] * 3


def test_the_header_of_a_caller_is_ignored_otherwise(tmp_path: Path) -> None:
    with traced_service(tmp_path) as (receiver, service, client):
        prepare(client)
        for flags in ("00", "01") * 3:
            headers = {"traceparent": f"{SAMPLED[:-2]}{flags}"}
            client.post("/v2/check", json={"warrants": warrants(CLAIM)}, headers=headers).raise_for_status()
        service.stop()

    spans = of_route(receiver, "/v2/check")
    assert len(spans) == 6
    assert all(span.trace_id != TRACE_ID and not span.parent_id for span in spans)


def test_what_the_variables_of_opentelemetry_say_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving_traces() as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"{receiver.url}/prefix/")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=of%20ours, x-other=2")
        monkeypatch.setenv("OTEL_SERVICE_NAME", "authz")
        monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=prod,service.name=hidden")
        with ServiceProcess(tmp_path, "--trace-sample", "1", api_key=KEY) as service, service.client() as client:
            prepare(client)
            service.stop()

    assert {request.path for request in receiver.requests} == {"/prefix/v1/traces"}
    headers = receiver.requests[0].headers
    assert headers["content-type"] == "application/x-protobuf"
    assert (headers["x-key"], headers["x-other"]) == ("of ours", "2")
    resource = receiver.spans[0].resource
    assert (resource["service.name"], resource["deployment.environment.name"]) == ("authz", "prod")
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", resource["service.version"])


def test_all_workers_export_their_spans(tmp_path: Path) -> None:
    with traced_process(tmp_path, "--workers", "2") as (receiver, service, client):
        prepare(client)
        deadline = time.monotonic() + 30
        while len(set(re.findall(r'graph_entries\{worker="(\d+)"\}', client.get("/metrics").text))) < 2:
            assert time.monotonic() < deadline
        with ExitStack() as stack:  # connections are shared out among the workers
            for own in [stack.enter_context(service.client()) for _ in range(6)]:
                own.ask(CLAIM)
        assert service.stop() == 0

    spans = of_route(receiver, "/v2/check")
    assert len(spans) == 6
    assert len({span.resource["service.instance.id"] for span in spans}) == 2


def test_a_receiver_that_fails_harms_nobody_and_is_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=sesame%20street")
    with traced_process(tmp_path) as (receiver, service, client):
        receiver.answer, receiver.reason = lambda: 401, "no key is sesame street"
        prepare(client)
        for _ in range(700):  # more than are exported at once
            client.ask(CLAIM)
        deadline = time.monotonic() + 15
        while (dropped := reading(client, "spans_dropped_total")) < 512:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        for _ in range(600):
            client.ask(CLAIM)
        assert service.stop() == 0
        lines = [json.loads(line) for line in service.errors().splitlines()]

    assert dropped >= 512
    assert len(receiver.requests) >= 2
    [line] = lines
    assert (line["level"], line["event"]) == ("warning", "spans were dropped")
    assert line["error"] == "Failed to export spans batch code: 401, reason: no key is ..."


def reading(client: Client, name: str) -> float:
    [value] = re.findall(rf"^magistrate_{name} (\S+)$", client.get("/metrics").text, re.MULTILINE)
    return float(value)


def test_spans_that_wait_are_exported_when_the_service_stops(tmp_path: Path) -> None:
    with traced_service(tmp_path) as (receiver, service, client):
        prepare(client)
        for _ in range(100):
            client.ask(CLAIM)
        assert not of_route(receiver, "/v2/check")
        assert service.stop() == 0

    assert len(of_route(receiver, "/v2/check")) == 100


def test_a_slow_receiver_delays_no_request_and_the_stop_by_two_seconds(tmp_path: Path) -> None:
    with traced_service(tmp_path) as (receiver, service, client):
        receiver.answer = answer_slowly(8)
        prepare(client)
        took = []
        for _ in range(1_200):
            began = time.monotonic()
            client.ask(CLAIM)
            took.append(time.monotonic() - began)
        began = time.monotonic()
        assert service.stop() == 0
        stopped = time.monotonic() - began

    assert sorted(took)[1_150] < 0.05
    assert stopped < FLUSH_SECONDS + STOPPED_WITHIN_SECONDS


def test_spans_beyond_the_bytes_that_may_wait_are_dropped_and_reported(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "from magistrate.wiring import traces\ntraces.MAX_QUEUE_BYTES = 20_000\n"
    )
    with traced_process(tmp_path) as (receiver, service, client):
        prepare(client)
        for _ in range(100):
            client.ask(CLAIM)
        assert service.stop() == 0
        [line] = [json.loads(line) for line in service.errors().splitlines()]

    exported = len(receiver.spans)
    assert 5 < exported < 100
    assert (line["event"], line["error"]) == ("spans were dropped", "the receiver is slower than spans come")
    assert line["spans"] + exported > 100


def test_a_span_names_the_store_of_its_request(tmp_path: Path) -> None:
    with traced_service(tmp_path) as (receiver, service, client):
        client.post("/v2/stores", json={"name": "other"}).raise_for_status()
        client.get("/stores/other/v2/objects").raise_for_status()
        client.get("/v2/objects").raise_for_status()
        service.stop()

    spans = of_route(receiver, "/v2/objects")
    assert [(span.attributes["magistrate.store"], span.attributes["url.path"]) for span in spans] == [
        ("other", "/stores/other/v2/objects"),
        ("default", "/v2/objects"),
    ]


def test_lines_of_the_log_name_the_trace_if_that_is_wanted(tmp_path: Path) -> None:
    flags = ("--trace-trust-parent", "--trace-ids", "--trace-sample", "0")
    with traced_service(tmp_path, *flags, access_log="1") as (receiver, service, client):
        prepare(client)
        for header in (SAMPLED, UNSAMPLED):
            for _ in range(3):
                headers = {"traceparent": header}
                client.post("/v2/check", json={"warrants": warrants(CLAIM)}, headers=headers).raise_for_status()
        service.stop()
        lines = [json.loads(line) for line in service.errors().splitlines()]

    checks = [line for line in lines if line["path"] == "/v2/check"]
    assert [line["trace_id"] for line in checks] == [TRACE_ID] * 6
    spans = of_route(receiver, "/v2/check")
    assert [line["span_id"] for line in checks[:3]] == [span.span_id for span in spans]
    assert all("trace_id" not in line for line in lines if line["path"] != "/v2/check")


def test_a_request_that_fails_has_the_status_error_and_its_line_names_the_trace(tmp_path: Path) -> None:
    with traced_service(tmp_path, "--trace-ids") as (receiver, service, client):
        prepare(client)
        (tmp_path / "magistrate.db").rename(tmp_path / "elsewhere.db")
        answer = client.post("/v2/warrants", json=warrants(OTHER))
        service.stop()
        lines = [json.loads(line) for line in service.errors().splitlines()]

    [line] = [line for line in lines if line["event"] == "unavailable"]
    [failed] = [span for span in of_route(receiver, "/v2/warrants") if span.status == "ERROR"]
    [wait] = receiver.children(failed)
    [group] = receiver.children(wait)
    assert answer.status_code == failed.attributes["http.response.status_code"] == 503
    assert failed.attributes["error.type"] == "503"
    assert [span.attributes["error.type"] for span in (wait, group)] == ["StoreUnavailable"] * 2
    assert (line["event"], line["trace_id"], line["span_id"]) == ("unavailable", failed.trace_id, failed.span_id)


def test_nothing_that_is_exported_has_a_secret(database_url: str, tmp_path: Path) -> None:
    with traced_service(tmp_path, "--trace-trust-parent", database_url=database_url) as (receiver, service, client):
        prepare(client)
        created = client.post("/v2/keys", json={"name": "other", "scopes": ["check"]}).json()
        client.get("/v2/objects", params={"key": "secret-in-a-query"})
        ticket = client.post("/v2/watch/tickets").json()["ticket"]
        client.head(f"/v2/watch?ticket={ticket}").raise_for_status()
        client.get(f"/v2/watch?ticket={ticket}&since=x")
        client.get("/v2/objects", headers={"Authorization": "Bearer eyJhbGciOiJub25lIn0.e30.secret"})
        service.stop()
    bodies = b"".join(request.body for request in receiver.requests)

    assert of_route(receiver, "/v2/keys")
    assert of_route(receiver, "/v2/watch")
    secrets = (KEY, created["key"], ticket, "secret-in-a-query", "eyJhbGci", "Authorization")
    assert not [secret for secret in secrets if secret.encode() in bodies]


def test_probes_are_not_traced(tmp_path: Path) -> None:
    with traced_service(tmp_path) as (receiver, service, client):
        assert [client.get(path).status_code for path in ("/healthz", "/readyz", "/metrics")] == [200] * 3
        service.stop()

    assert not receiver.requests


def test_the_commands_of_the_document_export_spans(tmp_path: Path) -> None:
    document = (ROOT / "docs/tracing.md").read_text()
    install, serve = re.findall(r"^\$ (.*)$", document, re.MULTILINE)
    program, command, *flags = serve.split()

    with receiving_traces() as receiver:
        flags = [flag.replace("http://127.0.0.1:4318", receiver.url) for flag in flags]
        with ServiceProcess(tmp_path, *flags, api_key=KEY) as service, service.client() as client:
            prepare(client)
            for _ in range(1_500):  # one in a hundred is sampled
                client.ask(CLAIM)
            service.stop()

    assert install == "pip install 'magistrate[otel]'"
    assert {"opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"} == {
        re.split("[>=<]", required)[0]
        for required in requires("magistrate") or ()
        if required.endswith("extra == 'otel'")
    }
    assert (program, command) == ("magistrate", "serve")
    assert 0 < len(of_route(receiver, "/v2/check")) < 100


def test_the_document_lists_all_spans_and_attributes(tmp_path: Path) -> None:
    document = (ROOT / "docs/tracing.md").read_text()
    with traced_service(tmp_path, "--max-running-requests", "1") as (receiver, service, client):
        prepare(client)
        client.ask(CLAIM)
        service.stop()

    names = {span.name for span in receiver.spans if span.kind == "INTERNAL"}
    attributes = {name for span in receiver.spans for name in span.attributes}
    assert not [name for name in {*names, *attributes} if f"`{name}`" not in document]
