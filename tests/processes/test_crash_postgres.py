"""kill -9 in the middle of writes on PostgreSQL: a file of its own, so that both stores are tested at once."""

from pathlib import Path

import pytest

from tests.conftest import new_database_url
from tests.processes.crashing import kill_in_the_middle_of_writes


def test_killed_50_times_it_keeps_whole_writes_and_every_acknowledged_one(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    kill_in_the_middle_of_writes(new_database_url("postgres", tmp_path, request), tmp_path)
