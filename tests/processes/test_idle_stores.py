"""A service polls the database as often with many stores that nobody uses any more as with one."""

import re
import time
from pathlib import Path

import pytest

from tests.conftest import STORES, new_database_url
from tests.processes.forked_service import ForkedService
from tests.running import KEY, Client
from tests.waiting import wait_until

USED_STORES = 60
IDLE_SECONDS, WITHIN_SECONDS = 3.0, 90.0
"""Set how long statements are counted, and how long the caches of all stores may take to be filled before."""
ROUNDING = 3
"""Allows for a period of each poll that begins or ends at the border of the time."""


def read_statements(client: Client) -> int:
    [count] = re.findall(r"^magistrate_statements_total ([\d.e+]+)$", client.get("/metrics").text, re.MULTILINE)
    return int(float(count))


def count_statements(client: Client) -> int:
    """Counts the statements that run for a while without any request."""
    before = read_statements(client)
    time.sleep(IDLE_SECONDS)
    return read_statements(client) - before


def use_stores(client: Client, stores: int) -> None:
    for number in range(stores):
        client.post("/v2/stores", json={"name": f"store-{number}"}).raise_for_status()
        client.get(f"/stores/store-{number}/v2/objects").raise_for_status()


@pytest.mark.nightly
@pytest.mark.parametrize("kind", STORES)
def test_idle_stores_take_no_statements(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = new_database_url(kind, tmp_path, request)
    with ForkedService(tmp_path, database_url=url, api_key=KEY) as service, service.client() as client:
        count_statements(client)  # while the cache of the only store is filled
        with_one = count_statements(client)
        use_stores(client, USED_STORES)

        assert with_one > 0
        wait_until(lambda: count_statements(client) <= with_one + ROUNDING, WITHIN_SECONDS)
