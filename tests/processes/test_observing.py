"""What a running service reports about itself: metrics and the access log."""

import json
import os
import re
import select
import time
from pathlib import Path

import pytest

from magistrate.api.http.ledger import AccessLog
from magistrate.log import LineOutput
from tests.metrics import read_metrics
from tests.processes.service_process import ServiceProcess
from tests.running import KEY, Client

CLAIM = "folder:a#viewer@user:ann"


def reading(client: Client, name: str) -> float:
    """Of the only worker."""
    [found] = re.findall(rf"^magistrate_{name}(?:\{{[^}}]*\}})? (\S+)$", client.get("/metrics").text, re.MULTILINE)
    return float(found)


def test_the_graph_is_on_the_metrics(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path, api_key=KEY, graph_filling="off") as service, service.client() as client:
        client.define({"folder": {"viewer": {}}})
        client.grant(CLAIM)
        asked = [client.ask(CLAIM).json()["code"] for _ in range(5)]
        client.grant("folder:a#viewer@user:bob")
        asked.append(client.ask(CLAIM).json()["code"])
        token_revision = reading(client, "graph_revision")

        assert asked == [200] * 6
        assert reading(client, "graph_misses_total") == 1  # at first; the write then changed the cached folder
        assert reading(client, "graph_hits_total") == 5
        assert reading(client, "graph_fetches_total") == 1
        assert reading(client, "graph_given_up_total") == 0
        assert reading(client, "graph_changes_total") == 1
        assert reading(client, "graph_entries") >= 2
        assert reading(client, "graph_lag_seconds") == 0
        assert token_revision == 4  # the predefined types, the type, two warrants
        assert reading(client, "statements_total") > 10


def test_the_evaluators_of_lists_are_on_the_metrics(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path, api_key=KEY) as service, service.client() as client:
        client.define({"folder": {"viewer": {}}})
        client.grant(CLAIM)
        statuses = [
            client.get("/v2/query", params={"q": "select folder where user:ann is viewer"}).status_code
            for _ in range(3)
        ]

        assert statuses == [200] * 3
        text = client.get("/metrics").text
        assert 'magistrate_lists_total{evaluator="first_search"} 1.0' in text
        assert 'magistrate_lists_total{evaluator="kept"} 2.0' in text
        assert 'magistrate_lists_seconds_total{evaluator="first_search"} ' in text


def test_each_worker_reports_its_process_and_counters_are_of_all(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path, "--workers", "2", api_key=KEY) as service:
        with service.client() as client:
            client.define({"folder": {"viewer": {}}})
            client.grant(CLAIM)
        for _ in range(8):
            with service.client() as client:  # a new connection goes to the worker with the fewest
                client.ask(CLAIM).raise_for_status()
        with service.client() as client:
            time.sleep(1.5)  # workers publish once a second
            readings = read_metrics(client)

    workers = {reading.labels["worker"] for reading in readings if reading.name == "process_resident_memory_bytes"}
    assert len(workers) == 2
    for name in ("process_start_time_seconds", "process_cpu_seconds_total", "magistrate_follower_lag_seconds"):
        assert {reading.labels["worker"] for reading in readings if reading.name == name} == workers
    assert sum(reading.value for reading in readings if reading.name == "magistrate_checks_total") == 8
    assert [reading.value for reading in readings if reading.name == "magistrate_build_info"] == [1]


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.nightly)])
def test_each_request_is_a_line_of_json_if_that_is_wanted(tmp_path: Path, workers: str) -> None:
    with ServiceProcess(tmp_path, "--workers", workers, access_log="1", api_key=KEY) as service:
        with service.client() as client:
            client.define({"folder": {"viewer": {}}})
            answers = [client.ask(CLAIM) for _ in range(3)]  # at least one of them by the fast path
            answers += [client.get("/v2/objects/folder/missing?x=1"), client.get("/nowhere")]
        assert service.stop() == 0
        lines = [json.loads(line) for line in service.errors().splitlines()]

    by_request = {line["request"]: line for line in lines}
    told = [by_request[answer.headers["warrant-request-id"]] for answer in answers]
    assert [(line["method"], line["path"], line["status"]) for line in told] == [
        *[("POST", "/v2/check", 200)] * 3,
        ("GET", "/v2/objects/folder/missing", 404),
        ("GET", "/nowhere", 404),
    ]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"]) for line in told)
    assert all(0 < line["ms"] < 10_000 for line in told)


def test_requests_are_not_logged_otherwise(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path, api_key=KEY) as service:
        with service.client() as client:
            client.get("/v2/objects")
        service.stop()

        assert service.errors() == ""


def test_a_log_that_nobody_reads_harms_no_request(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path, access_log="1", api_key=KEY) as service, service.client() as client:
        assert service.process.stderr is not None
        service.process.stderr.close()

        answers = [client.ask(CLAIM).status_code for _ in range(1_200)]

        assert set(answers) == {404}  # there is no type of this name
        service.process.terminate()
        assert service.process.wait(timeout=60) == 0
        service.process.stderr = None


@pytest.mark.anyio
async def test_lines_of_the_log_stay_whole_when_several_workers_write_into_one_pipe() -> None:
    receiving, sending = os.pipe2(os.O_DIRECT)  # keeps apart what was written by different calls
    output = LineOutput(sending)
    log = AccessLog(output)
    for number in range(120):
        path, request_id = f"/v2/objects/document/{number:0100}", f"{number:036}"
        log.write("GET", "/v2/objects/{type}/{id}", 200, 0.001, path=path, request_id=request_id)
    log.flush()
    output.close()
    os.close(sending)

    written = []
    while packet := os.read(receiving, 65_536):
        written.append(packet)
    os.close(receiving)

    assert max(map(len, written)) <= select.PIPE_BUF
    assert [json.loads(line)["request"] for packet in written for line in packet.splitlines()] == [
        f"{number:036}" for number in range(120)
    ]
    assert all(packet.endswith(b"}\n") for packet in written)
