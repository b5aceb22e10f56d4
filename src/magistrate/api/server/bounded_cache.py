"""Caches what is likely to be requested again, up to a number of bytes."""

from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedCache(OrderedDict[K, V]):
    """Holds values by their keys, and evicts the least recently used ones, one at a time, once they take more than
    `most_bytes`. Whoever uses a value calls `move_to_end`, and whoever adds one calls `keep`.

    `measure` returns an estimate of the bytes that a key and its value take, always the same one."""

    def __init__(self, most_bytes: int, measure: Callable[[K, V], int]) -> None:
        super().__init__()
        self.bytes = 0
        self._most_bytes = most_bytes
        self._measure = measure

    def keep(self, key: K, value: V) -> None:
        """Caches a value in place of the one that has this key, unless it alone would take too much."""
        former = self.pop(key, None)
        if former is not None:
            self.bytes -= self._measure(key, former)
        size = self._measure(key, value)
        if size > self._most_bytes:
            return
        self[key] = value
        self.bytes += size
        while self.bytes > self._most_bytes:
            self.bytes -= self._measure(*self.popitem(last=False))
