"""Sorts long lists in steps, because other requests wait for a step."""

from collections.abc import Callable, Generator, Iterable
from heapq import merge
from itertools import islice
from typing import Any, TypeVar

T = TypeVar("T")

ITEMS_SORTED_AT_ONCE = 2_000
"""Limits the items that are sorted at once, which takes a few milliseconds; more are sorted in parts that are then
merged."""
ITEMS_MERGED_AT_ONCE = 500
MERGING = 2
"""Counts the items that are processed otherwise in the time in which one is merged."""


def sort_in_steps(items: Iterable[T], key: Callable[[T], Any]) -> Generator[int, None, list[T]]:
    """Returns the items in order; equal ones keep theirs. It makes no long list at once, which the next garbage
    collections would traverse.

    Yields how many items it has processed since it yielded last; merged ones count MERGING times.
    """
    branches = []
    left = iter(items)
    while branch := sorted(islice(left, ITEMS_SORTED_AT_ONCE), key=key):
        branches.append(branch)
        if len(branch) > ITEMS_MERGED_AT_ONCE:
            yield len(branch)
    if len(branches) <= 1:
        return branches[0] if branches else []
    merged: list[T] = []
    for item in merge(*branches, key=key):
        merged.append(item)
        if not len(merged) % ITEMS_MERGED_AT_ONCE:
            yield MERGING * ITEMS_MERGED_AT_ONCE
    return merged
