"""What `./run bench --only lists` says about lists of which nothing is cached."""

from pathlib import Path

import pytest

from benchmarks.datasets import DATASETS
from benchmarks.first_lists import HEADER, measure_first_lists
from benchmarks.loading import load_for_queries
from tests.loaded_datasets import load_with_types

pytestmark = pytest.mark.anyio


async def test_lists_of_which_nothing_is_cached_are_compared_in_both_directions(tmp_path: Path) -> None:
    dataset = DATASETS["tenants"](20_000, 1)
    url = await load_with_types(tmp_path, dataset, load_for_queries)

    rows = await measure_first_lists(url, dataset, "tenants", 20)

    assert [row[:2] for row in rows] == [("tenants", "objects")] * 2 + [("tenants", "users")] * 2
    assert all(float(value) > 0 for row in rows for value in row[3:8])
    assert {len(row) for row in rows} == {len(HEADER)}
