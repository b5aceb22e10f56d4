"""Caches what is compiled from the texts of policies, up to a capacity."""

from collections.abc import Hashable
from typing import Generic, TypeVar

from magistrate.engine.segments import CacheBytes

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

MOST_BYTES = 16_777_216
"""Limits the bytes of each cache (16 MiB). Usual policies take one or two kilobytes."""


class TextCache(Generic[Key, Value]):
    """Evicts at random. With LRU eviction, requests that cycle through more policies than the capacity would never hit;
    at random, most of them do."""

    def __init__(self, most_bytes: int) -> None:
        self.bytes = 0
        self._most_bytes = most_bytes
        self._values: dict[Key, tuple[Value, int]] = {}
        self._keys: list[Key] = []
        self._random = 1

    def find(self, key: Key) -> Value | None:
        found = self._values.get(key)
        return None if found is None else found[0]

    def measure(self, cache: str) -> CacheBytes:
        return CacheBytes(cache, self.bytes, self._most_bytes)

    def keep(self, key: Key, value: Value, bytes: int) -> None:
        """Keeps the value of a key that is not cached, which takes these bytes."""
        self.bytes += bytes
        while self._keys and self.bytes > self._most_bytes:
            self._evict()
        self._values[key] = (value, bytes)
        self._keys.append(key)

    def _evict(self) -> None:
        # Knuth's linear congruential generator; its upper bits are random enough for this choice.
        self._random = (self._random * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % 2**64
        place = (self._random >> 33) % len(self._keys)
        self._keys[place], self._keys[-1] = self._keys[-1], self._keys[place]
        _, bytes = self._values.pop(self._keys.pop())
        self.bytes -= bytes
