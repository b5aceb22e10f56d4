"""kill -9 in the middle of a stream of batch writes leaves whole batches or none, and all that were acknowledged."""

import random
import threading
import time
from collections import Counter
from pathlib import Path

import httpx
import pytest

from tests.conftest import STORES, new_database_url
from tests.databases import dump
from tests.processes.service_process import ServiceProcess
from tests.running import KEY

ROUNDS = 50
BATCH = 25
WRITERS = 2


def write_until_killed(service: ServiceProcess, name: str, acknowledged: list[str]) -> None:
    with service.client() as client:
        for number in range(1_000):
            batch = f"{name}-{number}"
            body = [
                {"objectType": "d", "objectId": f"{batch}.{element}", "meta": {"b": batch}} for element in range(BATCH)
            ]
            try:
                answer = client.post("/v2/objects", json=body)
            except httpx.TransportError:
                return
            assert answer.status_code == 200
            acknowledged.append(batch)


@pytest.mark.parametrize("kind", STORES)
def test_killed_50_times_it_keeps_whole_batches_and_every_acknowledged_one(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = new_database_url(kind, tmp_path, request)
    chance = random.Random(20_251_115)
    acknowledged: list[str] = []

    for round_number in range(ROUNDS):
        with ServiceProcess(tmp_path, database_url=url, api_key=KEY) as service:
            threads = [
                threading.Thread(target=write_until_killed, args=(service, f"{round_number}-{writer}", acknowledged))
                for writer in range(WRITERS)
            ]
            for thread in threads:
                thread.start()
            enough = len(acknowledged) + chance.randrange(2, 10)
            while len(acknowledged) < enough and any(thread.is_alive() for thread in threads):
                time.sleep(0.001)
            time.sleep(chance.uniform(0, 0.01))  # anywhere within a write
            service.kill()
            for thread in threads:
                thread.join()

    tables = dump(url)
    elements = Counter(str(row[1]).partition(".")[0] for row in tables["object"])
    assert set(elements.values()) == {BATCH}
    assert set(acknowledged) <= set(elements)
    assert len(acknowledged) > ROUNDS
    # Half-written means more than objects: each batch has its revision, and each object its row in the log.
    [(_, _, _, revision, *_)] = tables["head"]
    assert revision == len(tables["revision"]) == len(elements) + 1
    assert Counter(row[0] for row in tables["change"] if row[3] == "object") == dict.fromkeys(
        range(2, revision + 1), BATCH
    )
