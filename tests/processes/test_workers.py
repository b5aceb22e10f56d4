"""Several worker processes on one store: every answer is true, whichever worker gives it."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import STORES, new_database_url
from tests.databases import dump
from tests.processes.service_process import ServiceProcess
from tests.running import KEY

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
