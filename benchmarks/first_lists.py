"""What a list takes of which nothing is cached yet, in processor time, beside the same list without the graph cache."""

import gc
import statistics
import time
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.counting import counting_store
from benchmarks.datasets.dataset import Dataset
from magistrate.config.settings import read_settings
from magistrate.engine.lists.language import ObjectsQuery, read_query
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.context import Context
from magistrate.operations.lists.evaluators import QueryRequest
from magistrate.operations.lists.listings import Listings
from magistrate.operations.lists.query import QUERY_LIST, list_page
from magistrate.operations.paging import read_page_request
from magistrate.operations.runs import finish_releases
from magistrate.wiring.contexts import context_of

ROUNDS = 9
TARGET = 1.0
HEADER = ("", "of", "rows", "without the graph cache, ms", "nothing cached", "second time", "cached", "ratio", "target")
"""The ratio is that of the fourth column to the third, the median of all rounds."""


async def measure_first_lists(url: str, dataset: Dataset, name: str, max_rows: int) -> list[tuple[str, ...]]:
    """Returns a row for each query of a loaded data set that has about this many rows at most. The two ways take turns
    in each round, in changing order; the model is known."""
    store, _ = await counting_store(url)
    graph, without = (context_of(store, read_settings({"cache_bytes": most}, {})) for most in ("4000000000", "0"))
    without = replace(without, caches=replace(without.caches, models=graph.caches.models))
    texts = [query.text for query in dataset.queries() if query.about <= max_rows]
    for text in texts:
        for context in (graph, without):
            await _time_page(context, text)
    gc.collect()
    rows = []
    for text in texts:
        rounds = [await _time_round(graph, without, text, number) for number in range(ROUNDS)]
        rows.append(_row(name, text, (await _time_page(without, text))[1], rounds))
    await store.close()
    return rows


async def _time_round(graph: Context, without: Context, text: str, number: int) -> tuple[float, float, float, float]:
    """Milliseconds without the graph cache, and the first, second and third time with it. Raises RuntimeError if the
    numbers of rows differ."""
    former = await _time_page(without, text) if number % 2 else None
    newest = await graph.caches.graph.follow_to(NO_DEMAND)
    newest.replace_adjacency()
    await finish_releases()
    first, second, third = [await _time_page(graph, text) for _ in range(3)]
    former = former or await _time_page(without, text)
    if {former[1]} != {one[1] for one in (first, second, third)}:
        raise RuntimeError(f"{text} has other rows with the graph cache")
    return former[0], first[0], second[0], third[0]


async def _time_page(context: Context, text: str) -> tuple[float, int]:
    """Milliseconds of processor time for the first page, no listing being kept, and the number of rows."""
    context = replace(context, caches=replace(context.caches, listings=Listings(100_000_000)))
    wanted = read_page_request(QUERY_LIST, {}, context.store.identity)
    started = time.process_time()
    page = (await list_page(context, QueryRequest(read_query(text), {}), wanted, NO_DEMAND)).value
    return (time.process_time() - started) * 1_000, page.total or 0


def _row(name: str, text: str, count: int, rounds: Sequence[tuple[float, float, float, float]]) -> tuple[str, ...]:
    of = "objects" if isinstance(read_query(text), ObjectsQuery) else "users"
    times = [f"{min(each):.1f}" for each in zip(*rounds, strict=True)]
    ratio = statistics.median(first / former for former, first, _, _ in rounds)
    return name, of, f"{count:,}", *times, f"{ratio:.2f}", f"≤ {TARGET}"
