"""A short history of the service on each database: everything that it answered is explained."""

from pathlib import Path

import pytest

from history_check.checker import check_history
from tests.conftest import STORES, new_database_url
from tests.histories.recording import record_in_threads
from tests.processes.forked_service import ForkedService
from tests.running import KEY

OPERATIONS = 400


@pytest.mark.parametrize("store", STORES)
def test_a_history_of_a_service_is_explained(store: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = new_database_url(store, tmp_path, request)
    with ForkedService(tmp_path, database_url=url, api_key=KEY) as service:
        path = record_in_threads(tmp_path, [service.url], store, OPERATIONS, seed=3)

    report = check_history(path)

    assert report.findings == []
    assert report.operations.total() > OPERATIONS
    assert report.revisions == report.writes["acknowledged"] > 50
    assert min(report.operations.values()) > 10
