"""What `./run bench --only lists` says about lists of which nothing is cached."""

from pathlib import Path

import msgspec
import pytest

from benchmarks.counting import counting_store
from benchmarks.datasets import DATASETS
from benchmarks.first_lists import HEADER, measure_first_lists
from benchmarks.loading import load_for_queries
from magistrate import wiring
from magistrate.operations.object_types import create_object_types
from tests.memory_source import model_of
from tests.running import settings_for

pytestmark = pytest.mark.anyio


async def test_lists_of_which_nothing_is_cached_are_compared_in_both_directions(tmp_path: Path) -> None:
    url, dataset = f"sqlite:///{tmp_path}/m.db", DATASETS["tenants"](20_000, 1)
    load_for_queries(url, dataset)
    store, _ = await counting_store(url)
    ctx = wiring.context_of(store, settings_for(url))
    await create_object_types(ctx, list(model_of(msgspec.to_builtins(dataset.types)).types.values()), ctx.stamp("ann"))
    await store.close()

    rows = await measure_first_lists(url, dataset, "tenants", 20)

    assert [row[:2] for row in rows] == [("tenants", "objects")] * 2 + [("tenants", "users")] * 2
    assert all(float(value) > 0 for row in rows for value in row[3:8])
    assert {len(row) for row in rows} == {len(HEADER)}
