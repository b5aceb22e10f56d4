"""Keeps values by their keys within a number of bytes."""

from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedCache(OrderedDict[K, V]):
    """Holds values by their keys, and evicts the least recently used ones, one at a time, once they take more than
    `max_bytes`. Callers call `move_to_end` for a value that they use, and `keep` for one that they add.

    `measure` returns an estimate of the bytes that a key and its value take, always the same one."""

    def __init__(self, max_bytes: int, measure: Callable[[K, V], int]) -> None:
        super().__init__()
        self.bytes = 0
        self._max_bytes = max_bytes
        self._measure = measure

    def keep(self, key: K, value: V) -> None:
        """Caches a value in place of the one that has this key, unless it alone would take too much."""
        former = self.pop(key, None)
        if former is not None:
            self.bytes -= self._measure(key, former)
        size = self._measure(key, value)
        if size > self._max_bytes:
            return
        self[key] = value
        self.bytes += size
        while self.bytes > self._max_bytes:
            self.bytes -= self._measure(*self.popitem(last=False))
