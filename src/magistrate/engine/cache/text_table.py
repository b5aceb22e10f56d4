"""Holds texts by key in a few long strings, in hardly more bytes than the keys and the texts have.

A million keys and texts as Python objects take hundreds of megabytes. Here, ten or so of them are one string, a bucket,
which is searched for a key. Buckets are split one after another while the table grows (W. Litwin, "Linear hashing: a
new tool for file and table addressing", VLDB 1980), so no change waits for all of them.
"""

from sys import getsizeof

from magistrate.engine.byte_sizes import POINTER_BYTES
from magistrate.engine.work import Container

BUCKET_CHARACTERS = 800
"""Sets how long buckets are on average. Shorter ones take more memory, longer ones more time to search."""

_SEPARATOR = "\n"
_EMPTY = _SEPARATOR


class TextTable:
    """Maps keys to texts, each of which begins with a blank. Neither may have a line break, and no key a blank.

    `bytes` says what they take in memory.
    """

    __slots__ = ("_bits", "_buckets", "_characters", "_split", "bytes")

    def __init__(self) -> None:
        self._buckets = [_EMPTY]
        self._bits = 0
        """Masks the hash that numbers a bucket; those before `_split` are numbered by one bit more."""
        self._split = 0
        self._characters = 0
        self.bytes = getsizeof(_EMPTY) + POINTER_BYTES

    def find(self, key: str) -> str | None:
        """Returns the text of a key, or None if there is none."""
        bucket = self._buckets[self._place(key)]
        start = bucket.find(f"\n{key} ")
        if start < 0:
            return None
        start += len(key) + 1
        return bucket[start : bucket.find(_SEPARATOR, start)]

    def add(self, key: str, text: str) -> None:
        """Adds a key that is not there."""
        place = self._place(key)
        self._replace(place, f"{self._buckets[place]}{key}{text}\n")
        self._split_if_full()

    def put(self, key: str, text: str) -> None:
        """Adds a key or replaces its text. With an empty text, it removes the key."""
        place = self._place(key)
        bucket = self._buckets[place]
        start = bucket.find(f"\n{key} ")
        if start >= 0:
            end = bucket.index(_SEPARATOR, start + 1)
            line = f"\n{key}{text}" if text else ""
            self._replace(place, f"{bucket[:start]}{line}{bucket[end:]}")
            self._split_if_full()
        elif text:
            self.add(key, text)

    @property
    def container(self) -> Container:
        """Returns what may take long to free."""
        return self._buckets

    def _place(self, key: str) -> int:
        code = hash(key)
        place = code & self._bits
        return place if place >= self._split else code & (2 * self._bits + 1)

    def _replace(self, place: int, bucket: str) -> None:
        former = self._buckets[place]
        self.bytes += getsizeof(bucket) - getsizeof(former)
        self._characters += len(bucket) - len(former)
        self._buckets[place] = bucket

    def _split_if_full(self) -> None:
        """Divides the next bucket between its place and a new one if all are too long on average."""
        if self._characters <= BUCKET_CHARACTERS * len(self._buckets):
            return
        place, bit = self._split, self._bits + 1
        kept, moved = [""], [""]
        for line in self._buckets[place].split(_SEPARATOR)[1:-1]:
            (moved if hash(line[: line.index(" ")]) & bit else kept).append(line)
        self._buckets.append(_EMPTY)
        self.bytes += getsizeof(_EMPTY) + POINTER_BYTES
        self._characters += len(_EMPTY)
        for at, lines in ((place, kept), (len(self._buckets) - 1, moved)):
            self._replace(at, _SEPARATOR.join([*lines, ""]))
        self._split += 1
        if self._split == bit:
            self._bits, self._split = 2 * self._bits + 1, 0
