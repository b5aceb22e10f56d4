"""What a service writes to stderr: one line of JSON at a time, whoever writes it, without secrets and not too often."""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from select import PIPE_BUF
from typing import Any

import httpx
import pytest

from magistrate.log import EndedOutage, OutageSlots, OutageState
from tests.conftest import new_database_url
from tests.databases import PostgresServer
from tests.generated_docs import ROOT
from tests.processes.relay import relaying
from tests.processes.service_process import ServiceProcess
from tests.running import KEY, Client, wait_for_stopped_services
from tests.scenario_files import warrant_body
from tests.waiting import wait_until

SECRETS = ("sesame-of-the-relay", "sesame-open", KEY, "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.sig-of-a-token")
PAUSE_SECONDS = 0.005
"""Passes between the requests of a client of a load."""
GENERATED_KEY = "magistrate_" + "Vd3x_-" * 7 + "Z"


def read_lines(errors: str) -> list[dict[str, Any]]:
    """Every line, each of which must be whole and say when, how bad and what."""
    lines = [json.loads(line) for line in errors.splitlines()]
    for line in lines:
        assert {"time", "level", "event"} <= line.keys(), line
        assert line["time"].endswith("Z")
        assert line["level"] in ("debug", "info", "warning", "error", "critical")
    for secret in (*SECRETS, GENERATED_KEY):
        assert secret not in errors
    return lines


ALL_WRITERS = f"""
import asyncio, logging, sys, threading, warnings
import psycopg, structlog
from magistrate.config.settings import read_settings
from magistrate.wiring import server

settings = read_settings({{"api_key": "{KEY}", "database_url": "postgresql://me:sesame-open@db/x"}}, {{}})
server._begin_log(settings, None)
URL = "postgresql://me:sesame-open@db/x?password=sesame-open"

structlog.get_logger().error("our own", url=URL, nested=[{{"key": "{KEY}"}}], other=ValueError(URL))
for name in ("psycopg.pool", "psycopg", "asyncio", "uvicorn.error", "httpx", "some.library", ""):
    for number in range(100):
        logging.getLogger(name).warning("several\\nlines %s %d", URL, number)
logging.getLogger("broken").warning("too few %s %s", 1)
logging.getLogger("strange").log(35, "between the levels")
warnings.warn("a warning\\nof " + URL)

def fail():
    raise RuntimeError("Authorization: ApiKey {KEY} and Bearer {SECRETS[3]} and {GENERATED_KEY}\\n" + "x" * 20_000)

def fail_deeply(depth):
    if not depth:
        raise KeyError("deep down")
    fail_deeply(depth - 1) if depth % 2 else fail_deeply(depth // 1 - 1)

thread = threading.Thread(target=fail)
thread.start()
thread.join()

async def leave_behind():
    asyncio.get_running_loop().call_soon(fail)
    task = asyncio.create_task(asyncio.to_thread(fail))
    await asyncio.wait([task])
    del task

asyncio.run(leave_behind())
asyncio.iscoroutine(leave_behind())  # never awaited

class Sloppy:
    def __del__(self):
        fail()

Sloppy()
try:
    fail_deeply(500)
except KeyError:
    structlog.get_logger().exception("a long traceback")
    logging.getLogger("library").exception("a long traceback")
fail()
"""


def test_whoever_writes_to_stderr_writes_lines_of_json_without_secrets(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "default", "-c", ALL_WRITERS]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    lines = read_lines(ran.stderr)

    assert ran.returncode == 1
    assert max(map(len, ran.stderr.splitlines(keepends=True))) <= PIPE_BUF
    events = [line["event"] for line in lines]
    assert events.count("an error was not handled") == 3  # in a thread, by `del`, and at the end
    assert events.count("a long traceback") == 2
    assert {line.get("logger") for line in lines} >= {"psycopg.pool", "asyncio", "uvicorn.error", "py.warnings", "root"}
    for name in ("httpx", "some.library"):  # a hundred alike
        assert [line["times"] for line in lines if line.get("logger") == name] == [1]
    assert len([line for line in lines if line.get("outage") == "store"]) == 1
    assert all("deep down" in line["exception"] for line in lines if line["event"] == "a long traceback")
    assert "between the levels" in events


def check_until(stop: threading.Event, url: str, statuses: list[int]) -> None:
    with Client(url) as client:
        number = 0
        while not stop.is_set():
            number += 1
            stop.wait(PAUSE_SECONDS)
            try:
                statuses.append(client.ask(f"folder:a{number}#viewer@user:ann{number}").status_code)
            except httpx.TransportError:
                continue


@pytest.mark.parametrize("workers", [pytest.param("1", marks=pytest.mark.nightly), "2"])
def test_an_outage_of_postgresql_is_a_line_in_ten_seconds(
    tmp_path: Path, request: pytest.FixtureRequest, workers: str
) -> None:
    url = new_database_url("postgres", tmp_path, request)
    options = {"database_url": "", "access_log": "all", "decision_log": "1000", "store_timeout_ms": "1000"}
    statuses: list[int] = []
    with relaying(tmp_path, url) as relay:
        options["database_url"] = relay.url
        with ServiceProcess(tmp_path, "--workers", workers, api_key=KEY, **options) as service:
            with service.client() as client:
                client.define({"folder": {"viewer": {}}})
            assert service.process.stderr is not None
            written: list[str] = []
            reading = threading.Thread(target=written.extend, args=(service.process.stderr,))
            reading.start()  # a pipe that nobody reads is full soon
            stop = threading.Event()
            clients = [threading.Thread(target=check_until, args=(stop, service.url, statuses)) for _ in range(4)]
            for one in clients:
                one.start()
            time.sleep(1)
            cut_at = time.monotonic()
            relay.cut()
            time.sleep(4)
            relay.mend()
            wait_for_end(written)
            seconds = time.monotonic() - cut_at
            stop.set()
            for one in clients:
                one.join()
            service.stop()
            reading.join()

    lines = read_lines("".join(written))
    of_requests = [line for line in lines if line["event"] == "request"]
    others = [line for line in lines if line["event"] != "request"]
    assert len(of_requests) >= len(statuses)
    assert 503 in statuses
    require_outage(others, seconds)


def require_outage(lines: list[dict[str, Any]], seconds: float) -> None:
    """One line when it begins, one in ten seconds, and one when it has ended."""
    *during, ended = lines
    assert 1 <= len(during) <= 1 + seconds / 10, lines
    assert {line["outage"] for line in lines} == {"store"}
    assert "available again" not in [line["event"] for line in during]
    assert ended["event"] == "available again"
    assert 0 < ended["seconds"] <= seconds


def wait_for_end(lines: list[str]) -> None:
    """Until a line says that the outage has ended."""
    wait_until(lambda: any("available again" in line for line in lines), ENDED_WITHIN_SECONDS)


ENDED_WITHIN_SECONDS = 40.0
AWAY_SECONDS = 12.0


def write_until(stop: threading.Event, url: str, statuses: list[int]) -> None:
    with Client(url) as client:
        number = 0
        while not stop.is_set():
            number += 1
            body = [warrant_body(f"folder:w{number}#viewer@user:ann")]
            stop.wait(PAUSE_SECONDS)
            try:
                statuses.append(client.post("/v2/warrants", json=body).status_code)
            except httpx.TransportError:
                continue


@pytest.mark.nightly
def test_a_restart_of_the_server_under_load_is_a_few_lines_of_json(
    tmp_path: Path, postgres: PostgresServer, request: pytest.FixtureRequest
) -> None:
    wait_for_stopped_services()
    url = new_database_url("postgres", tmp_path, request)
    options = {"decision_log": "1000", "store_timeout_ms": "1000"}
    checked: list[int] = []
    written: list[int] = []
    errors: list[str] = []
    stop = threading.Event()
    with ServiceProcess(tmp_path, "--workers", "2", api_key=KEY, database_url=url, **options) as service:
        with service.client() as client:
            client.define({"folder": {"viewer": {}}})
        assert service.process.stderr is not None
        reading = threading.Thread(target=errors.extend, args=(service.process.stderr,))
        loads = [threading.Thread(target=check_until, args=(stop, service.url, checked)) for _ in range(3)]
        loads += [threading.Thread(target=write_until, args=(stop, service.url, written)) for _ in range(2)]
        for thread in (reading, *loads):
            thread.start()
        time.sleep(1)
        stopped_at = time.monotonic()
        with postgres.stopped():
            time.sleep(AWAY_SECONDS)
        wait_for_end(errors)
        seconds = time.monotonic() - stopped_at
        stop.set()
        for thread in loads:
            thread.join()
        service.stop()
        reading.join()

    lines = read_lines("".join(errors))
    assert {*checked} == {*written} == {200, 503}
    assert checked[-1] == written[-1] == 200
    require_outage(lines, seconds)
    assert sum(line["times"] for line in lines) > 100


SECOND = 1_000_000_000


def test_an_outage_ends_once_and_only_if_it_was_reported() -> None:
    state = OutageState()
    assert not state.has_ended(100 * SECOND)  # there was none

    state, times = state.add_line(100 * SECOND)
    assert times == 1
    state, times = state.add_line(105 * SECOND)
    assert times == 0  # left out
    assert not state.has_ended(106 * SECOND)  # one process may succeed while others fail
    assert state.has_ended(107 * SECOND)

    ended = OutageState(state.next_at)
    again, times = ended.add_line(108 * SECOND)
    assert times == 0  # too soon after the first line
    assert not again.has_ended(200 * SECOND)
    again, times = again.add_line(201 * SECOND)
    assert times == 2
    assert again.has_ended(204 * SECOND)


def test_the_end_of_an_outage_is_said_by_one_of_all_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [time.monotonic_ns()]
    monkeypatch.setattr(time, "monotonic_ns", lambda: now[0])
    workers = [OutageSlots(tmp_path) for _ in range(2)]

    assert [worker.end("store") for worker in workers] == [None, None]
    assert [worker.count("store") for worker in workers] == [1, 0]
    now[0] += 3 * SECOND
    assert [worker.end("store") for worker in workers] == [EndedOutage("store", 1, 0.0), None]


def test_health_and_metrics_are_in_the_access_log_only_if_that_is_wanted(tmp_path: Path) -> None:
    told = {}
    for wanted in ("true", "all"):
        folder = tmp_path / wanted
        folder.mkdir()
        with ServiceProcess(folder, access_log=wanted, api_key=KEY, admin_port="0") as service:
            with service.client() as client:
                paths = ("/healthz", "/readyz", "/metrics", "/v2/objects", "/openapi.json", "/healthz/x")
                for path in paths:
                    client.get(path)
            service.stop()
        told[wanted] = [line["path"] for line in read_lines(service.errors())]

    assert told["all"] == ["/readyz", *paths]  # one was requested when it started
    assert told["true"] == ["/v2/objects", "/openapi.json", "/healthz/x"]


def test_lines_of_requests_stay_whole_whatever_their_path(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path, "--workers", "2", access_log="1", api_key=KEY) as service:
        with service.client() as client:
            for _ in range(15):
                client.get("/v2/objects/document/" + "%E6%97%A5" * 5_000)
            client.get("/v2/objects/document/%1B%5B31m%C2%9B%E2%80%AE%7F%C3%A9")
        service.stop()
        errors = service.errors()

    assert len(read_lines(errors)) == 16
    assert max(len(line.encode()) for line in errors.splitlines()) < PIPE_BUF
    assert all(line.isprintable() for line in errors.split("\n"))
    assert any(line["path"].endswith("/\x1b[31m\x9b\u202e\x7fé") for line in read_lines(errors))


def test_a_ticket_of_a_stream_is_in_no_log(tmp_path: Path) -> None:
    options = {"api_key": KEY, "access_log": "true", "audit_log": "audit.log", "decision_log": "1000"}
    with ServiceProcess(tmp_path, **options) as service, Client(service.url) as client:
        ticket = client.post("/v2/watch/tickets").json()["ticket"]
        for query in (f"ticket={ticket}", f"x=y&ticket={ticket}"):
            client.head(f"/v2/watch?{query}").raise_for_status()
        statuses = [
            client.get(f"{path}?ticket={ticket}&since=x").status_code
            for path in ("/v2/watch", "/v2/watch", "/v2/objects", "/v2/unknown")
        ]
        service.stop()
        errors, audited = service.errors(), (tmp_path / "audit.log").read_text()

    assert statuses == [400, 401, 200, 404]
    lines = [line for line in read_lines(errors) if line["event"] == "request"]
    assert {line["path"] for line in lines} == {"/v2/watch", "/v2/watch/tickets", "/v2/objects", "/v2/unknown"}
    assert [json.loads(line)["path"] for line in audited.splitlines()] == ["/v2/watch/tickets", "/v2/watch"]
    for part in (ticket, ticket.rpartition("_")[2][:20]):
        assert part not in errors + audited
