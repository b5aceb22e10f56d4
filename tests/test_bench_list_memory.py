"""What `./run bench --only lists` says about the memory of the list index."""

from pathlib import Path

import pytest

from benchmarks.datasets import DATASETS
from benchmarks.list_memory import HEADER, find_meter, measure_list_memory
from benchmarks.loading import load
from tests.loaded_datasets import load_with_types

pytestmark = pytest.mark.anyio


@pytest.mark.skipif(find_meter() is None, reason="the C library does not count what is allocated")
async def test_a_warrant_of_the_list_index_takes_some_bytes(tmp_path: Path) -> None:
    dataset = DATASETS["drive"](20_000, 1)
    url = await load_with_types(tmp_path, dataset, load)

    row = await measure_list_memory(url, dataset, "drive", 100)

    by_header = dict(zip(HEADER, row, strict=True))
    assert int(by_header["warrants held"].replace(",", "")) > 1_000
    assert 10 < int(by_header["bytes a warrant"]) < 100
