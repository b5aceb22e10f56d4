"""Databases with a data set of the benchmarks, for their tests."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from benchmarks.datasets.dataset import Dataset
from magistrate.operations.models.object_types import put_object_types
from magistrate.wiring.contexts import open_context
from tests.memory_source import model_of
from tests.running import settings_for


async def load_with_types(folder: Path, dataset: Dataset, load: Callable[[str, Dataset], object]) -> str:
    """Loads a data set and its object types into a new SQLite database, and returns its URL."""
    url = f"sqlite:///{folder}/m.db"
    load(url, dataset)
    types = [*model_of(msgspec.to_builtins(dataset.types)).types.values()]
    async with open_context(settings_for(url)) as ctx:
        await put_object_types(ctx, types, ctx.stamp("ann"))
    return url
