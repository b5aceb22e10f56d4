"""Readers, nodes and databases that are killed at random: a short form of `./run torture`."""

from pathlib import Path

import pytest

from tests.conftest import STORES
from tests.processes.torture import Torture, open_database


@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("store", STORES)
def test_readers_get_each_revision_once_and_in_order_whatever_is_killed(
    store: str, rounds: int, tmp_path: Path
) -> None:
    with open_database(store, tmp_path) as (url, crash):
        report = Torture(tmp_path, url, crash, seed=4).run(revisions=100_000, seconds=600, rounds=rounds)

    assert report.kills == {"node": 3 * rounds, "reader": 3 * rounds, "database": rounds * (store == "postgres")}
    assert report.revisions > 20
