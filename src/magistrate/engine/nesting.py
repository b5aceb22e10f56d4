"""Values of nested things without recursion: callers nest what they write as deep as they are let."""

from collections.abc import Callable, Sequence
from typing import TypeVar

N = TypeVar("N")
T = TypeVar("T")


def fold(root: N, parts: Callable[[N], Sequence[N]], value: Callable[[N, Sequence[T]], T]) -> T:
    """Returns the value of `root`, made by `value` from the thing itself and the values of its parts.

    `parts` is called once for each thing, in written order: for a thing before those within it and those behind it, so
    that the first fault in a text is the first that `parts` or `value` raises."""
    values: list[T] = []
    waiting: list[tuple[N, int | None]] = [(root, None)]
    while waiting:
        thing, count = waiting.pop()
        if count is None:
            inner = parts(thing)
            count = len(inner)
            if inner:
                waiting.append((thing, count))
                waiting += [(part, None) for part in reversed(inner)]
                continue
        first = len(values) - count
        values[first:] = [value(thing, values[first:])]
    return values[0]
