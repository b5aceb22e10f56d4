"""A service that has more writes than it answers at once."""

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from tests.running import Client, running_service, settings_for

LONG_MS = 60_000
OBJECT = {"objectType": "d", "objectId": "x"}


@contextmanager
def overloaded(folder: Path, **given: str | int) -> Iterator[Client]:
    """Yields a client of a service that refuses every write, because one runs and one waits for a lock on the database.
    Behind it, both and a further one have been answered."""
    settings = settings_for(
        f"sqlite:///{folder}/m.db",
        max_running_requests=1,
        max_waiting_requests=1,
        wait_timeout_ms=LONG_MS,
        store_timeout_ms=LONG_MS,
        request_timeout_ms=LONG_MS,
        **given,
    )
    with running_service(settings) as url, Client(url) as client, ThreadPoolExecutor(2) as threads:
        with closing(apsw.Connection(f"{folder}/m.db")) as other:
            other.execute("BEGIN IMMEDIATE")
            held = [threads.submit(_create, url, f"held-{number}") for number in range(2)]
            _wait_until_queued(client)
            yield client
            other.execute("ROLLBACK")
        assert [one.result() for one in held] == [200, 200]
        assert client.post("/v2/objects", json=OBJECT).status_code == 200


def _create(url: str, name: str) -> int:
    with Client(url) as client:
        client.timeout = 60
        return client.post("/v2/objects", json={**OBJECT, "objectId": name}).status_code


def _wait_until_queued(client: Client) -> None:
    """Returns when one write runs and one waits."""
    deadline = time.monotonic() + 30
    while True:
        metrics = client.get("/metrics").text
        if re.search(r"^magistrate_requests_waiting\{.*\} 1\.0$", metrics, re.MULTILINE):
            return
        assert time.monotonic() < deadline, metrics
        time.sleep(0.02)
