"""Several workers on PostgreSQL poll it as often as one: one of them follows the heads for all, and another does so as
soon as that one has gone, or stands still."""

import os
import re
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from magistrate.store.leadership import LOCK_NAME
from tests.conftest import new_database_url
from tests.metrics import sum_metric
from tests.processes.service_process import ServiceProcess
from tests.running import KEY, Client, running_service, settings_for
from tests.scenario_files import warrant_body
from tests.waiting import wait_until

TYPES: dict[str, Any] = {"user": {}, "document": {"viewer": {}}}
NEW = "document:new#viewer@user:ann"
CONNECTIONS = 12
"""Are spread over all workers."""
MOST_STATEMENTS = 60
"""Limits the statements of polling a second, whatever the number of workers (docs/scaling.md)."""
SECONDS = 2.0
WINDOWS, MOST_WINDOWS = 3, 12
"""Bound how often statements are counted: what a start sets off may still run, on a busy machine for long."""
MORE_WHEN_IDLE = 10
"""Bounds how many statements a second more than one worker several of them make while nobody uses the service."""


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return new_database_url("postgres", tmp_path, request)


@contextmanager
def service_of(url: str, folder: Path, workers: int) -> Iterator[ServiceProcess]:
    folder.mkdir()
    with ServiceProcess(folder, "--workers", str(workers), database_url=url, api_key=KEY) as service:
        with service.client() as client:
            client.define(TYPES)
            client.grant("document:plan#viewer@user:ann")
        yield service


def count_in_windows(client: Client, load: int, clients: list[Client], limit: float) -> float:
    """The fewest statements a second of some windows: of WINDOWS, and of more until there are fewer than the limit."""
    counts = [count_statements(client, load, clients) for _ in range(WINDOWS)]
    while min(counts) >= limit and len(counts) < MOST_WINDOWS:
        counts.append(count_statements(client, load, clients))
    return min(counts)


def count_statements(client: Client, load: int, clients: list[Client]) -> float:
    """The statements a second of all workers, while each of the clients makes this many checks a second."""
    before, began_at = sum_metric(client, "magistrate_statements_total"), time.monotonic()
    while time.monotonic() - began_at < SECONDS:
        for each in clients if load else ():
            assert each.ask("document:plan#viewer@user:ann").json()["result"] == "Authorized"
        time.sleep(1 / max(load, 10))
    return (sum_metric(client, "magistrate_statements_total") - before) / (time.monotonic() - began_at)


@pytest.mark.nightly
@pytest.mark.parametrize("load", [0, 20])
def test_many_workers_poll_as_often_as_one(url: str, tmp_path: Path, load: int) -> None:
    counts: dict[int, float] = {}
    for workers in (1, 4):
        with service_of(url, tmp_path / str(workers), workers) as service, ExitStack() as stack:
            clients = [stack.enter_context(service.client()) for _ in range(CONNECTIONS)]
            for each in clients:
                each.ask("document:plan#viewer@user:ann").raise_for_status()
            limit = MOST_STATEMENTS if load or not counts else counts[1] + MORE_WHEN_IDLE
            counts[workers] = count_in_windows(clients[0], load, clients, limit)

    print(f"statements a second with {load} checks a second on each of {CONNECTIONS} connections: {counts}")
    assert counts[4] < MOST_STATEMENTS
    if not load:
        assert counts[4] < counts[1] + MORE_WHEN_IDLE


def find_leader(folder: Path) -> int | None:
    """The process that holds the lock, if one does."""
    [lock] = folder.rglob(LOCK_NAME)
    inode = lock.stat().st_ino
    holder = re.search(rf"FLOCK +ADVISORY +WRITE (\d+) \w+:\w+:{inode} ", Path("/proc/locks").read_text())
    return None if holder is None else int(holder[1])


def require_leader(folder: Path) -> int:
    leader = find_leader(folder)
    assert leader is not None
    return leader


def expect_seen(clients: list[Client], warrant: str, token: str) -> None:
    """A write of another service is seen at once with its token, and soon without."""
    body, headers = {"warrants": [warrant_body(warrant)]}, {"Warrant-Token": token}
    with ThreadPoolExecutor(len(clients)) as pool:
        answers = pool.map(lambda client: client.post("/v2/check", json=body, headers=headers).json(), clients)
        assert {answer["result"] for answer in answers} == {"Authorized"}
    for client in clients:
        wait_until(lambda client=client: client.ask(warrant).json()["result"] == "Authorized", 10)  # type: ignore[misc]


@pytest.mark.nightly
def test_after_the_leader_was_killed_others_are_as_fresh_as_before(url: str, tmp_path: Path) -> None:
    with (
        service_of(url, tmp_path / "node", 3) as service,
        running_service(settings_for(url)) as other_url,
        Client(other_url, KEY) as other,
        ExitStack() as stack,
    ):
        for number in range(3):
            clients = [stack.enter_context(service.client()) for _ in range(CONNECTIONS)]
            for client in clients:
                client.ask("document:plan#viewer@user:ann").raise_for_status()
            warrant = f"document:d{number}#viewer@user:ann"
            for client in clients:
                assert client.ask(warrant).json()["result"] == "Not Authorized"
            token = other.post("/v2/warrants", json=warrant_body(warrant)).headers["Warrant-Token"]
            expect_seen(clients, warrant, token)
            leader = require_leader(tmp_path / "node")
            os.kill(leader, signal.SIGKILL)
            wait_until(lambda leader=leader: find_leader(tmp_path / "node") not in (leader, None))  # type: ignore[misc]


@pytest.mark.nightly
def test_a_leader_that_stands_still_keeps_nobody_from_fresh_answers(url: str, tmp_path: Path) -> None:
    with (
        service_of(url, tmp_path / "node", 3) as service,
        running_service(settings_for(url)) as other_url,
        Client(other_url, KEY) as other,
        ExitStack() as stack,
    ):
        clients = [stack.enter_context(service.client()) for _ in range(CONNECTIONS)]
        for client in clients:
            client.timeout = httpx.Timeout(5)
            client.ask("document:plan#viewer@user:ann").raise_for_status()
        leader = require_leader(tmp_path / "node")
        os.kill(leader, signal.SIGSTOP)
        try:
            moving = [client for client in clients if is_answered(client)]
            assert 0 < len(moving) < len(clients)
            token = other.post("/v2/warrants", json=warrant_body(NEW)).headers["Warrant-Token"]
            expect_seen(moving, NEW, token)
        finally:
            os.kill(leader, signal.SIGCONT)


def is_answered(client: Client) -> bool:
    try:
        return client.ask("document:plan#viewer@user:ann").is_success
    except httpx.TimeoutException:
        return False
