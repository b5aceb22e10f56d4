"""Holds some hundred ids that follow one another in order, in a third of the memory that texts of their own take.

Most ids are packed: they are joined in UTF-8, without the prefix that all of them have. Packing takes time for each
id of the block. An id that arrives is therefore loose at first, held as a text of its own; once many are, all ids of
the block are, until it is packed again.
"""

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from heapq import merge
from itertools import accumulate, chain
from typing import cast

from pyroaring import BitMap

from magistrate.engine.byte_sizes import POINTER_BYTES, measure_text, measure_texts
from magistrate.engine.terms import ObjectId

FEW_LOOSE = 16
SHARE_LOOSE = 8
"""While ids are packed, at most FEW_LOOSE and an eighth of their number are loose beside them."""

BLOCK_BYTES = 800
"""Counts a block without its ids."""
PACKED_BYTES = 12
"""Counts an id that is packed, without its characters: its number, place and hash, and its bit in the bitmap."""
LOOSE_BYTES = PACKED_BYTES + 2 * POINTER_BYTES

_END = "\n"
"""Ends each packed id. It is less than all characters of ids, so it does not change their order."""
_HASH_BITS = 255
_MOST_PLACES_OF_TWO_BYTES = 65_535


class IdBlock:
    """Holds ids in order with their numbers. `bitmap` has all numbers, `serial` is the number of the block."""

    __slots__ = (
        "_begins",
        "_hashes",
        "_loose_blocks",
        "_loose_bytes",
        "_loose_ids",
        "_loose_numbers",
        "_numbers",
        "_prefix",
        "_text",
        "bitmap",
        "serial",
    )

    def __init__(self, serial: int, ids: list[ObjectId], numbers: "array[int]", loose: "dict[IdBlock, None]") -> None:
        """Takes ids in order, which are loose. `loose` gets the block for as long as all its ids are."""
        self.serial = serial
        self._loose_blocks = loose
        self.bitmap = BitMap(numbers)
        self._loosen(ids, numbers)

    def _loosen(self, ids: list[ObjectId], numbers: "array[int]") -> None:
        self._loose_blocks[self] = None
        self._loose_ids, self._loose_numbers = ids, numbers
        self._loose_bytes = measure_loose(ids)
        self._prefix, self._text = "", b""
        self._hashes = b""
        self._numbers = array("I")
        self._begins = array("H")

    def __len__(self) -> int:
        return len(self._numbers) + len(self._loose_ids)

    @property
    def bytes(self) -> int:
        """Returns what the ids take in memory."""
        return BLOCK_BYTES + PACKED_BYTES * len(self._numbers) + len(self._text) + self._loose_bytes

    def find(self, id: ObjectId) -> int | None:
        """Returns the number of an id, or None if it has none."""
        loose = self._loose_ids
        if loose and (place := bisect_left(loose, id)) < len(loose) and loose[place] == id:
            return self._loose_numbers[place]
        return self._find_packed(id) if self._hashes else None

    def add(self, id: ObjectId, number: int) -> None:
        """Adds an id that the block does not have."""
        loose = self._loose_ids
        place = bisect_left(loose, id)
        loose.insert(place, id)
        self._loose_numbers.insert(place, number)
        self._loose_bytes += LOOSE_BYTES + measure_text(id)
        self.bitmap.add(number)
        if self._hashes and len(loose) > FEW_LOOSE + len(self._numbers) // SHARE_LOOSE:
            self._unpack()

    def _find_packed(self, id: ObjectId) -> int | None:
        # Few other ids have the same byte as hash, and looking for a byte is faster than looking for the id in order.
        hashed = hash(id) & _HASH_BITS
        place = self._hashes.find(hashed)
        if place < 0 or not id.startswith(self._prefix):
            return None
        wanted = (id[len(self._prefix) :] + _END).encode()
        while place >= 0:
            if self._text.startswith(wanted, self._begins[place] + place):
                return self._numbers[place]
            place = self._hashes.find(hashed, place + 1)
        return None

    def read_id(self, number: int) -> ObjectId:
        """Returns the id of a number that the block has."""
        place = _find_place(self._numbers, number)
        return self._loose_ids[_find_place(self._loose_numbers, number)] if place < 0 else self._read_place(place)

    def select(self, numbers: BitMap, start: ObjectId | None, descending: bool) -> Iterator[tuple[ObjectId, int]]:
        """Yields those of these numbers that the block has with their ids, in order, from `start` on. No id may be
        added meanwhile."""
        packed = self._select(self._numbers, self._read_place, numbers, start, descending)
        if not self._loose_ids:
            return packed
        loose = self._select(self._loose_numbers, self._loose_ids.__getitem__, numbers, start, descending)
        return merge(packed, loose, reverse=descending)

    def _select(
        self,
        members: "array[int]",
        read_place: Callable[[int], ObjectId],
        numbers: BitMap,
        start: ObjectId | None,
        descending: bool,
    ) -> Iterator[tuple[ObjectId, int]]:
        places = range(len(members))
        if start is not None and descending:
            places = places[: bisect_right(places, start, key=read_place)]
        elif start is not None:
            places = places[bisect_left(places, start, key=read_place) :]
        for place in reversed(places) if descending else places:
            if members[place] in numbers:
                yield read_place(place), members[place]

    def read_all(self) -> "Iterator[tuple[int, ObjectId]]":
        """Returns all numbers with their ids, in any order."""
        packed = zip(self._numbers, self._read_packed(), strict=True)
        return chain(packed, zip(self._loose_numbers, self._loose_ids, strict=True))

    def read_first(self) -> ObjectId:
        """Returns the first id; all ids must be loose."""
        return self._loose_ids[0]

    def divide(self, ids: list[ObjectId], numbers: "array[int]", most: int, serials: Sequence[int]) -> "list[IdBlock]":
        """Returns blocks of the ids of this one and of others, with at most three quarters of `most` ids each; the
        first has the serial number of this one, the next ones those given. This block stays as it is."""
        ordered, in_order = self._merge(ids, numbers)
        length = -(-len(ordered) // -(-len(ordered) * 4 // (most * 3)))
        blocks: list[IdBlock] = []
        for start in range(0, len(ordered), length):
            serial = serials[len(blocks) - 1] if blocks else self.serial
            some, its_numbers = ordered[start : start + length], in_order[start : start + length]
            blocks.append(IdBlock(serial, some, its_numbers, self._loose_blocks))
        return blocks

    def _merge(self, ids: list[ObjectId], numbers: "array[int]") -> "tuple[list[ObjectId], array[int]]":
        """Returns all ids of the block and these, in order, with their numbers."""
        if not self._numbers and self._loose_ids[-1] < ids[0]:
            return self._loose_ids + ids, self._loose_numbers + numbers
        known = {id: number for number, id in self.read_all()}
        known.update(zip(ids, numbers, strict=True))
        ordered = sorted(known)
        return ordered, array("I", map(known.__getitem__, ordered))

    def _read_packed(self) -> list[ObjectId]:
        return cast(
            list[ObjectId], [*map(self._prefix.__add__, self._text[:-1].decode().split(_END))] if self._numbers else []
        )

    def _read_place(self, place: int) -> ObjectId:
        begins = self._begins
        return ObjectId(self._prefix + self._text[begins[place] + place : begins[place + 1] + place].decode())

    def _unpack(self) -> None:
        """Loosens all ids."""
        if self._numbers:
            loose, numbers, ids = self._loose_numbers, self._numbers, self._read_packed()
            place = 0
            for at, id in enumerate(self._loose_ids):
                place = bisect_left(ids, id, place)
                ids.insert(place, id)
                numbers.insert(place, loose[at])
            self._loosen(ids, numbers)

    def pack(self) -> None:
        """Packs all ids. They must be loose."""
        del self._loose_blocks[self]
        ids, numbers = self._loose_ids, self._loose_numbers
        prefix = _find_common_prefix(ids[0], ids[-1])
        suffixes = [id.removeprefix(prefix) for id in ids] if prefix else ids
        joined = _END.join(suffixes) + _END
        self._prefix, self._text = prefix, joined.encode()
        kind = "H" if len(self._text) <= _MOST_PLACES_OF_TWO_BYTES else "I"
        lengths = map(len, suffixes) if joined.isascii() else map(len, map(str.encode, suffixes))
        self._begins = array(kind, [*accumulate(lengths, initial=0)])
        self._hashes = bytes(map(_HASH_BITS.__and__, map(hash, ids)))
        self._numbers = array("I", numbers)  # of exactly the length that it needs
        self._loose_ids, self._loose_numbers, self._loose_bytes = [], array("I"), 0
        self.bitmap.shrink_to_fit()


def measure_loose(ids: Collection[ObjectId]) -> int:
    """Returns the bytes of ids that are texts of their own."""
    return measure_texts(ids, LOOSE_BYTES)


def _find_place(numbers: "array[int]", number: int) -> int:
    """Returns the place of a number, in a fraction of the time of `numbers.index`, or -1 if it is not there."""
    packed, wanted = numbers.tobytes(), number.to_bytes(4, sys.byteorder)
    at = packed.find(wanted)
    while at > 0 and at % 4:
        at = packed.find(wanted, at + 1)
    return at // 4


def _find_common_prefix(one: str, other: str) -> str:
    length = 0
    for mine, another in zip(one, other, strict=False):
        if mine != another:
            break
        length += 1
    return one[:length]
