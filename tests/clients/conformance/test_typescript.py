"""The client for TypeScript behaves as the corpus says."""

from pathlib import Path

from tests.clients.conformance.driver import conformance_service, run_conformance


def test_it_conforms(typescript_folder: Path, database_url: str, tmp_path: Path) -> None:
    runner = typescript_folder / "build" / "tests" / "run_conformance.js"

    with conformance_service(database_url) as service:
        results = run_conformance(service, ["node", runner], tmp_path)

    assert len(results) > 100
    assert [result for result in results if result.faults] == []
