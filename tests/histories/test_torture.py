"""A history under faults, of some minutes: a short form of `./run torture --operations`."""

from pathlib import Path

import pytest

from tests.conftest import STORES
from tests.histories.torture import torture_history


@pytest.mark.nightly
@pytest.mark.parametrize("store", STORES)
def test_a_history_under_faults_is_explained(store: str, tmp_path: Path) -> None:
    report = torture_history(tmp_path, store, operations=50_000, seconds=180, seed=5)

    assert report.findings == []
    assert report.operations.total() > 500
