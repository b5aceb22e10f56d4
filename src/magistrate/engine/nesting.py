"""Computes values of nested structures without recursion, because callers control how deep they nest."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

N = TypeVar("N")
T = TypeVar("T")


def fold(root: N, children: Callable[[N], Sequence[N]], value: Callable[[N, Sequence[T]], T]) -> T:
    """Returns the value of `root`, which `value` computes from each item and the values of its parts.

    `children` is called once for each item, in written order: for an item before those nested in it and those after it,
    so that the first fault in a text is the first that `children` or `value` raises.
    """
    values: list[T] = []
    waiting: list[tuple[N, int | None]] = [(root, None)]
    while waiting:
        thing, count = waiting.pop()
        if count is None:
            inner = children(thing)
            count = len(inner)
            if inner:
                waiting.append((thing, count))
                waiting += [(child, None) for child in reversed(inner)]
                continue
        first = len(values) - count
        values[first:] = [value(thing, values[first:])]
    return values[0]


def walk(root: N, children: Callable[[N], Sequence[N]]) -> Iterator[N]:
    """Yields `root` and all that is nested in it, each before its parts, in written order."""
    waiting = [root]
    while waiting:
        thing = waiting.pop()
        yield thing
        waiting += reversed(children(thing))
