"""How much memory a warrant takes that is held for lists: the difference that releasing the list index makes."""

import ctypes
import gc
import os
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from random import Random

from benchmarks.counting import counting_store
from benchmarks.datasets.dataset import Dataset
from magistrate.config.settings import read_settings
from magistrate.engine.lists.language import read_query
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.lists.evaluators import QueryRequest
from magistrate.operations.lists.listings import Listings
from magistrate.operations.lists.query import QUERY_LIST, list_page
from magistrate.operations.paging import read_page_request
from magistrate.operations.runs import finish_releases
from magistrate.wiring.contexts import context_of

LISTS = {
    "tenants": ("select permission where user:user-{} is member", 25_000),
    "drive": ("select document where user:user-{} is viewer", 2_000),
    "code-hosting": ("select repo where user:user-{} is reader", 2_000),
}
"""Has the query for each data set, and how many users list what they may see."""
SEED = 5
CACHE_BYTES = 4_000_000_000
NOT_MEASURED = "n/a"
TARGET_BYTES = 60

HEADER = ("", "users", "warrants held", "ids", "bytes a warrant", "target")

_SMALL_BLOCKS = re.compile(rb"# bytes in allocated blocks\s*=\s*([\d,]+)")


class _Mallinfo(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    ]


def find_meter() -> Callable[[], int] | None:
    """Returns what counts the bytes that are allocated now, by the C library (bitmaps) and by the allocator of CPython;
    None where the C library is not glibc 2.33 or newer."""
    read = getattr(ctypes.CDLL(None), "mallinfo2", None) if sys.platform == "linux" else None
    if read is None:
        return None
    read.restype = _Mallinfo

    def count_bytes() -> int:
        gc.collect()
        large = read()
        return int(large.uordblks + large.hblkhd) + _count_small_bytes()

    return count_bytes


def _count_small_bytes() -> int:
    """Reads what CPython only prints, on the standard error output."""
    sys.stderr.flush()
    with tempfile.TemporaryFile() as printed:
        stderr = os.dup(2)
        os.dup2(printed.fileno(), 2)
        try:
            sys._debugmallocstats()
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
        printed.seek(0)
        match = _SMALL_BLOCKS.search(printed.read())
    return int(match[1].replace(b",", b"")) if match else 0


async def measure_list_memory(url: str, dataset: Dataset, name: str, users: int | None = None) -> tuple[str, ...]:
    """Returns a row of the table, after these many users of a loaded data set have listed what they may see."""
    query, usual = LISTS[dataset.name]
    count, meter = users or usual, find_meter()
    if meter is None:
        return name, f"{count:,}", NOT_MEASURED, NOT_MEASURED, NOT_MEASURED, f"≤ {TARGET_BYTES}"
    store, _ = await counting_store(url)
    context = context_of(store, read_settings({"cache_bytes": str(CACHE_BYTES)}, {}))
    context = replace(context, caches=replace(context.caches, listings=Listings(0)))
    wanted = read_page_request(QUERY_LIST, {"limit": "25"}, store.identity)
    for user in Random(SEED).sample(range(dataset.size // 10), count):
        for _ in range(2):  # the second time, what the list depends on is cached
            await list_page(context, QueryRequest(read_query(query.format(user)), {}), wanted, NO_DEMAND)
    graph = context.caches.graph.current_graph(NO_DEMAND)
    assert graph is not None
    warrants, ids = sum(index.entries.count_warrants() for index in graph.adjacency), graph.adjacency.count_ids()
    before = meter()
    graph.replace_adjacency()
    await finish_releases()
    each = (before - meter()) / warrants
    await store.close()
    return name, f"{count:,}", f"{warrants:,}", f"{ids:,}", f"{each:.0f}", f"≤ {TARGET_BYTES}"
