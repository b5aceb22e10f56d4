"""What `./run bench --only lists` says about the memory of the list index."""

from pathlib import Path

import msgspec
import pytest

from benchmarks.counting import counting_store
from benchmarks.datasets import DATASETS
from benchmarks.list_memory import HEADER, find_meter, measure_list_memory
from benchmarks.loading import load
from magistrate import wiring
from magistrate.operations.object_types import create_object_types
from tests.memory_source import model_of
from tests.running import settings_for

pytestmark = pytest.mark.anyio


@pytest.mark.skipif(find_meter() is None, reason="the C library does not count what is allocated")
async def test_a_warrant_of_the_list_index_takes_some_bytes(tmp_path: Path) -> None:
    url, dataset = f"sqlite:///{tmp_path}/m.db", DATASETS["drive"](20_000, 1)
    load(url, dataset)
    store, _ = await counting_store(url)
    ctx = wiring.context_of(store, settings_for(url))
    await create_object_types(ctx, list(model_of(msgspec.to_builtins(dataset.types)).types.values()), ctx.stamp("ann"))
    await store.close()

    row = await measure_list_memory(url, dataset, "drive", 100)

    by_header = dict(zip(HEADER, row, strict=True))
    assert int(by_header["warrants held"].replace(",", "")) > 1_000
    assert 10 < int(by_header["bytes a warrant"]) < 100
