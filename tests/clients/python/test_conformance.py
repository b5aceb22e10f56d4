"""The Python client, for threads and for asyncio, does what the corpus of clients/conformance says."""

import sys
from pathlib import Path

import pytest

from tests.clients.conformance.driver import conformance_service, run_conformance

RUNNER = Path(__file__).with_name("runner.py")


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_the_client_conforms(kind: str, database_url: str, tmp_path: Path) -> None:
    with conformance_service(database_url) as service:
        results = run_conformance(service, [sys.executable, RUNNER, kind], tmp_path)

    assert [(result.place, result.faults) for result in results if result.faults] == []
