"""A service polls the database as often with many stores that nobody uses any more as with one."""

import re
import time
from pathlib import Path

import pytest

from tests.conftest import STORES, new_database_url
from tests.processes.forked_service import ForkedService
from tests.running import KEY, Client

USED_STORES = 60
SETTLING_SECONDS, IDLE_SECONDS = 4.0, 3.0
"""Set how long the caches of all stores may take to be filled, and how long statements are counted afterwards."""
ROUNDING = 3
"""Allows for a period of each poll that begins or ends at the border of the time."""


def read_statements(client: Client) -> int:
    [count] = re.findall(r"^magistrate_statements_total ([\d.e+]+)$", client.get("/metrics").text, re.MULTILINE)
    return int(float(count))


def count_idle_statements(service: ForkedService, stores: int) -> int:
    """Counts the statements that run without any request, after each of these stores has been used."""
    with service.client() as client:
        for number in range(stores):
            client.post("/v2/stores", json={"name": f"store-{number}"}).raise_for_status()
            client.get(f"/stores/store-{number}/v2/objects").raise_for_status()
        time.sleep(SETTLING_SECONDS)
        before = read_statements(client)
        time.sleep(IDLE_SECONDS)
        return read_statements(client) - before


@pytest.mark.parametrize("kind", STORES)
def test_idle_stores_take_no_statements(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    counts = []
    for stores in (0, USED_STORES):
        folder = tmp_path / str(stores)
        folder.mkdir()
        url = new_database_url(kind, folder, request)
        with ForkedService(folder, database_url=url, api_key=KEY) as service:
            counts.append(count_idle_statements(service, stores))

    with_one, with_many = counts
    assert with_one > 0
    assert with_many <= with_one + ROUNDING, counts
