"""Estimates how many bytes values take in memory: quickly, the same each time, and rather too much than too little.

`sys.getsizeof` is of no use for this: the size of a text grows when a database has read it, so that what is added to a
sum would not be what is subtracted again.
"""

from collections.abc import Collection
from typing import NamedTuple

from pyroaring import BitMap

from magistrate.engine.warrants.warrant import Warrant


class CacheBytes(NamedTuple):
    """Holds how many bytes a cache takes, and the limit on them."""

    cache: str
    bytes: int
    max_bytes: int


SLOT_BYTES = 48
"""Counts a place in a dict or a set: it takes 24 to 60 bytes, because many places are empty after a dict has grown."""
TEXT_BYTES = 52
BYTES_OF_OTHER_CHARACTERS = 6
"""Counts each character of a text that is not ASCII as a whole: two bytes, or four for a few scripts, and the UTF-8
that Python keeps beside the text when a database has read it."""
SEQUENCE_BYTES = 56
POINTER_BYTES = 8
NUMBER_BYTES = 32
OBJECT_BYTES = 120
"""Counts a small object, without what it refers to."""
WARRANT_BYTES = 600
"""Counts a warrant without its ids and its policy: the object, four names and the times."""
BITMAP_BYTES = 200
DICT_BYTES = 240
"""Counts a small dict without its values and its texts."""


def measure_text(text: str) -> int:
    return TEXT_BYTES + (len(text) if text.isascii() else BYTES_OF_OTHER_CHARACTERS * len(text))


def measure_texts(texts: Collection[str], bytes_of_a_place: int = SLOT_BYTES) -> int:
    """Returns the bytes of texts and of the places that they take in a container, without a call for each."""
    if all(map(str.isascii, texts)):
        return (TEXT_BYTES + bytes_of_a_place) * len(texts) + sum(map(len, texts))
    return bytes_of_a_place * len(texts) + sum(map(measure_text, texts))


def measure_warrant(warrant: Warrant) -> int:
    """Returns the bytes of a warrant and of its place in a container."""
    ids = measure_text(warrant.object_id) + measure_text(warrant.subject_id)
    return WARRANT_BYTES + ids + (measure_text(warrant.policy) if warrant.policy else 0)


def measure_bitmap(numbers: BitMap) -> int:
    return BITMAP_BYTES + 4 * len(numbers)
