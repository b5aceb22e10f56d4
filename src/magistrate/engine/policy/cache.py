"""Caches what is compiled from the texts of policies, up to a capacity."""

from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

MOST_CHARACTERS = 500_000
"""Limits what a process caches, in characters of the texts that it was compiled from. A policy written to be as large
as possible takes up to two hundred times its length in memory: a hundred megabytes at worst. Usual ones take a kilobyte
or two."""


class TextCache(Generic[Key, Value]):
    """Evicts at random. With LRU eviction, requests that cycle through more policies than the capacity would never hit;
    at random, most of them do."""

    def __init__(self, most_characters: int) -> None:
        self.characters = 0
        self._most_characters = most_characters
        self._values: dict[Key, tuple[Value, int]] = {}
        self._keys: list[Key] = []
        self._random = 1

    def find(self, key: Key) -> Value | None:
        found = self._values.get(key)
        return None if found is None else found[0]

    def keep(self, key: Key, value: Value, characters: int) -> None:
        """Keeps the value of a key that is not cached."""
        self.characters += characters
        while self._keys and self.characters > self._most_characters:
            self._evict()
        self._values[key] = (value, characters)
        self._keys.append(key)

    def _evict(self) -> None:
        # Knuth's linear congruential generator; its upper bits are random enough for this choice.
        self._random = (self._random * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % 2**64
        place = (self._random >> 33) % len(self._keys)
        self._keys[place], self._keys[-1] = self._keys[-1], self._keys[place]
        _, characters = self._values.pop(self._keys.pop())
        self.characters -= characters
