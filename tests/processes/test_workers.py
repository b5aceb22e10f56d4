"""Several worker processes on one store: every answer is true, whichever worker gives it."""

import os
import re
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.conftest import STORES, new_database_url
from tests.databases import dump
from tests.processes.service_process import ServiceProcess
from tests.running import KEY
from tests.waiting import wait_until

WRITERS = 4
READERS = 3
BATCHES = 12
BATCH = 20


def write_batches(service: ServiceProcess, of_type: str, tokens: list[str], faults: list[str]) -> None:
    for batch in range(BATCHES):
        body = [{"objectType": of_type, "objectId": f"{batch:02}-{element:02}"} for element in range(BATCH)]
        with service.client() as client:  # a new connection each time: any worker may get it
            written = client.post("/v2/objects", json=body)
        if written.status_code != 200:
            faults.append(written.text)
            continue
        token = written.headers["service-token"]
        tokens.append(token)
        with service.client() as client:
            read = client.get(f"/v2/objects/{of_type}/{batch:02}-00", headers={"Service-Token": token})
        if read.status_code != 200:
            faults.append(f"written, then {read.text}")


def read_pages(service: ServiceProcess, of_type: str, done: threading.Event, faults: list[str]) -> None:
    while not done.is_set():
        with service.client() as client:
            page = client.get("/v2/objects", params={"objectType": of_type, "limit": 1000})
        if page.status_code != 200 or len(page.json()["results"]) % BATCH:
            faults.append(f"half a batch: {page.text[:200]}")


@pytest.mark.parametrize("kind", STORES)
def test_concurrent_writers_and_readers_over_several_workers(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = new_database_url(kind, tmp_path, request)
    faults: list[str] = []
    tokens: list[str] = []
    done = threading.Event()

    with ServiceProcess(tmp_path, "--workers", "3", database_url=url, api_key=KEY) as service:
        with ThreadPoolExecutor(WRITERS + READERS) as threads:
            for number in range(READERS):
                threads.submit(read_pages, service, f"w{number}", done, faults)
            writing = [
                threads.submit(write_batches, service, f"w{number}", tokens, faults) for number in range(WRITERS)
            ]
            for writer in writing:
                writer.result()
            done.set()
        with service.client() as client:
            assert sum(len(rows) for rows in client.pages("/v2/objects", limit=1000)) == WRITERS * BATCHES * BATCH
        assert service.stop() == 0

    assert faults == []
    assert len(set(tokens)) == WRITERS * BATCHES
    assert len(dump(url)["revision"]) == WRITERS * BATCHES + 1


def worker_ids(service: ServiceProcess) -> set[str]:
    """Of the workers that the one that answers knows of."""
    with service.client() as client:
        return set(re.findall(r'magistrate_graph_entries\{worker="(\d+)"\}', client.get("/metrics").text))


@pytest.mark.nightly
def test_there_is_a_worker_for_each_core_unless_said_otherwise(tmp_path: Path) -> None:
    expected = min(len(os.sched_getaffinity(0)), 4)

    with ServiceProcess(tmp_path, "--workers", "0", api_key=KEY) as service:
        wait_until(lambda: len(worker_ids(service)) == expected)


def test_a_token_is_good_for_every_worker(tmp_path: Path) -> None:
    asked = {"warrants": [{"objectType": "user", "objectId": "ann", "relation": "parent"}]}

    with ServiceProcess(tmp_path, "--workers", "2", api_key=KEY) as service:
        wait_until(lambda: len(worker_ids(service)) == 2)
        answers = []
        for _ in range(20):
            with service.client() as client:
                begun = client.post("/v2/sessions", json={"type": "sess", "userId": "ann"})
            with service.client() as client:
                headers = {"Authorization": f"Bearer {begun.json()['token']}"}
                answers.append(client.post("/v2/check", json=asked, headers=headers).status_code)

    assert answers == [200] * 20
    assert len(dump(f"sqlite:///{tmp_path}/magistrate.db")["session_key"]) == 1


@pytest.mark.nightly
def test_a_reload_replaces_every_worker_and_loses_no_request(tmp_path: Path) -> None:
    faults: list[str] = []
    done = threading.Event()

    def call(service: ServiceProcess) -> None:
        while not done.is_set():
            try:
                with service.client() as client:
                    answer = client.get("/v2/object-types")
                if answer.status_code != 200:
                    faults.append(answer.text)
            except httpx.HTTPError as error:
                faults.append(repr(error))

    with ServiceProcess(tmp_path, "--workers", "2", api_key=KEY) as service:
        wait_until(lambda: len(worker_ids(service)) == 2)
        before = worker_ids(service)
        with ThreadPoolExecutor(3) as threads:
            for _ in range(3):
                threads.submit(call, service)
            try:
                service.process.send_signal(signal.SIGHUP)
                wait_until(lambda: len(now := worker_ids(service)) == 2 and not now & before)
            finally:
                done.set()
        assert service.stop() == 0

    assert faults == []


@pytest.mark.nightly
@pytest.mark.parametrize("kind", STORES)
def test_the_decisions_of_all_workers_are_in_one_log(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = new_database_url(kind, tmp_path, request)
    asked = 60

    with ServiceProcess(tmp_path, "--workers", "2", database_url=url, api_key=KEY, decision_log="1000") as service:
        wait_until(lambda: len(worker_ids(service)) == 2)
        with service.client() as client:
            client.define({"folder": {"viewer": {}}})
        for number in range(asked):
            with service.client() as client:  # a new connection each time: any worker may get it
                client.ask(f"folder:{number}#viewer@user:ann").raise_for_status()
        with service.client() as client:
            wait_until(lambda: bool(client.get("/v2/access-events").json()["results"]))
        assert service.stop() == 0

    rows = dump(url)["decision"]
    assert sorted(int(str(number)) for number, *_ in rows) == list(range(1, asked + 1))
    assert len({str(row[5]) for row in rows}) == asked, "the sixth column is the key"
