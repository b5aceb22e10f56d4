"""kill -9 in the middle of writes on PostgreSQL: a file of its own, so that both stores are tested at once."""

from pathlib import Path

import pytest

from tests.conftest import new_database_url
from tests.processes.crashing import ROUNDS, kill_in_the_middle_of_writes


@ROUNDS
def test_killed_again_and_again_it_keeps_whole_writes_and_every_acknowledged_one(
    rounds: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    kill_in_the_middle_of_writes(new_database_url("postgres", tmp_path, request), tmp_path, rounds)
