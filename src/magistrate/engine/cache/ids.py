"""Numbers the ids of one type for bitmaps, and keeps them in order.

Numbers are assigned in order of arrival and never change, so that bitmaps stay valid for as long as the table exists.
The order is kept apart from them, in blocks (`IdBlock`): each has ids that follow one another, in order, and the
bitmap of their numbers. A page of a set is found by skipping the blocks that have nothing in common with the set, which
takes a fraction of a microsecond for each.

Ids that arrived recently are in no block yet: most lists meet far more ids than they show in order, and putting many
into the blocks together takes a fraction of the time.
"""

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from heapq import merge
from itertools import accumulate, chain, count, repeat
from operator import itemgetter
from typing import cast

from pyroaring import BitMap

from magistrate.engine.byte_sizes import NUMBER_BYTES, POINTER_BYTES, SLOT_BYTES, measure_text, measure_texts
from magistrate.engine.names import WILDCARD, ObjectId
from magistrate.engine.work import Work

MAX_LOOSE_IDS = 16
SHARE_LOOSE = 8
"""While ids are packed, at most MAX_LOOSE_IDS and an eighth of their number are loose beside them."""

BLOCK_BYTES = 800
"""Counts a block without its ids."""
PACKED_BYTES = 12
"""Counts an id that is packed, without its characters: its number, place and hash, and its bit in the bitmap."""
LOOSE_BYTES = PACKED_BYTES + 2 * POINTER_BYTES

_END = "\n"
"""Ends each packed id. It is less than all characters of ids, so it does not change their order."""
_HASH_BITS = 255
_MAX_PLACES_OF_TWO_BYTES = 65_535


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

    def find(self, object_id: ObjectId) -> int | None:
        """Returns the number of an id, or None if it has none."""
        loose = self._loose_ids
        if loose and (place := bisect_left(loose, object_id)) < len(loose) and loose[place] == object_id:
            return self._loose_numbers[place]
        return self._find_packed(object_id) if self._hashes else None

    def add(self, object_id: ObjectId, number: int) -> None:
        """Adds an id that the block does not have."""
        loose = self._loose_ids
        place = bisect_left(loose, object_id)
        loose.insert(place, object_id)
        self._loose_numbers.insert(place, number)
        self._loose_bytes += LOOSE_BYTES + measure_text(object_id)
        self.bitmap.add(number)
        if self._hashes and len(loose) > MAX_LOOSE_IDS + len(self._numbers) // SHARE_LOOSE:
            self._unpack()

    def _find_packed(self, object_id: ObjectId) -> int | None:
        # Few other ids have the same byte as hash, and looking for a byte is faster than looking for the id in order.
        hashed = hash(object_id) & _HASH_BITS
        place = self._hashes.find(hashed)
        if place < 0 or not object_id.startswith(self._prefix):
            return None
        encoded = (object_id[len(self._prefix) :] + _END).encode()
        while place >= 0:
            if self._text.startswith(encoded, self._begins[place] + place):
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
        numbers_by_id = {object_id: number for number, object_id in self.read_all()}
        numbers_by_id.update(zip(ids, numbers, strict=True))
        ordered = sorted(numbers_by_id)
        return ordered, array("I", map(numbers_by_id.__getitem__, ordered))

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
            for at, object_id in enumerate(self._loose_ids):
                place = bisect_left(ids, object_id, place)
                ids.insert(place, object_id)
                numbers.insert(place, loose[at])
            self._loosen(ids, numbers)

    def pack(self) -> None:
        """Packs all ids. They must be loose."""
        del self._loose_blocks[self]
        ids, numbers = self._loose_ids, self._loose_numbers
        prefix = _find_common_prefix(ids[0], ids[-1])
        suffixes = [object_id.removeprefix(prefix) for object_id in ids] if prefix else ids
        joined = _END.join(suffixes) + _END
        self._prefix, self._text = prefix, joined.encode()
        kind = "H" if len(self._text) <= _MAX_PLACES_OF_TWO_BYTES else "I"
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
    packed, pattern = numbers.tobytes(), number.to_bytes(4, sys.byteorder)
    at = packed.find(pattern)
    while at > 0 and at % 4:
        at = packed.find(pattern, at + 1)
    return at // 4


def _find_common_prefix(first: str, second: str) -> str:
    length = 0
    for mine, another in zip(first, second, strict=False):
        if mine != another:
            break
        length += 1
    return first[:length]


MAX_IN_A_BLOCK = 512
MAX_RECENT = 2_000
"""Limits the ids that are in no block when a search has ended."""
IDS_SORTED_AT_ONCE = 8_000
IDS_PLACED_AT_ONCE = 2_000
"""Limit the ids that are sorted, and put into blocks, before the time slice may end; a few milliseconds."""
IDS_SORTED_FOR_A_NODE = 40
IDS_PLACED_FOR_A_NODE = 10
"""Count the ids that are sorted, and put into blocks, in the time of one unit of work."""
SHARE_ADDED_SINGLY = 8
"""While at most an eighth as many ids as a block has are put into it, each is inserted; otherwise the block is made
anew."""
MAX_SORTED_IDS = 64
"""Limits the ids that are sorted each time rather than found through the blocks, if some are in no block."""
SHARE_READ_SINGLY = 16
"""While at most a sixteenth of all ids are read by number, each is looked up; otherwise their blocks are read."""
BLOCKS_FOR_A_NODE = 4
IDS_FOR_A_NODE = 50
IDS_PACKED_FOR_A_NODE = 4
IDS_READ_FOR_A_NODE = 5
"""Count the blocks that are skipped, and the ids that are tested, packed and read by number, in the time of one unit of
work."""
IDS_READ_AT_ONCE = 500
MAX_LOOSE_BLOCKS = 8
PACKED_FOR_A_LOOSE_BLOCK = 10
"""Counts the blocks for each whose ids are loose, if there are more than a few: these take 4 or 5 bytes for each id of
the table."""
BLOCKS_FOR_AN_ID = 4
"""Counts the blocks that are skipped in the time in which one id is read and sorted."""

_IN_NO_BLOCK = (1 << 32) - 1

WILDCARD_NUMBER = 0
"""Stands for `*`, which has its place in the order like an id."""


class IdTable:
    """Maps ids to numbers and back."""

    __slots__ = ("_blocks", "_blocks_by_serial", "_firsts", "_loose", "_recent", "_recent_ids", "_serials", "bytes")

    def __init__(self) -> None:
        self._loose: dict[IdBlock, None] = {}
        """Has the blocks whose ids are loose."""
        self._blocks = [IdBlock(0, [WILDCARD], array("I", [WILDCARD_NUMBER]), self._loose)]
        self._firsts: list[str] = [""]
        """Has for each block a text that is at most its least id, and greater than every id of the block before."""
        self._blocks_by_serial = self._blocks.copy()
        self._serials = array("I", [0])
        """Has for each number the serial number of the block that has it, or _IN_NO_BLOCK."""
        self._recent: dict[ObjectId, int] = {}
        """Has the ids that are in no block."""
        self._recent_ids: list[ObjectId] = []
        """Has the ids of all numbers from some number on, none of which less is recent."""
        self.bytes = 0
        """Says what the ids take in memory."""

    def __len__(self) -> int:
        return len(self._serials)

    def find(self, object_id: ObjectId) -> int | None:
        """Returns the number of an id, or None if it has none."""
        number = self._recent.get(object_id)
        return self._blocks[bisect_right(self._firsts, object_id) - 1].find(object_id) if number is None else number

    def find_id(self, number: int) -> ObjectId:
        """Returns the id of a number. It takes about a microsecond."""
        serial = self._serials[number]
        if serial == _IN_NO_BLOCK:
            return self._recent_ids[number - len(self._serials)]  # counted from the end
        return self._blocks_by_serial[serial].read_id(number)

    def find_ids(self, numbers: Sequence[int], work: Work) -> Generator[None, object, tuple[ObjectId, ...]]:
        """Returns the ids of numbers, in their order. Yields None at the end of a time slice."""
        placed: Mapping[int, ObjectId] = {}
        if len(numbers) * SHARE_READ_SINGLY > len(self) and len(numbers) > MAX_SORTED_IDS:
            placed = yield from self._read_blocks(numbers, work)
        ids: list[ObjectId] = []
        for start in range(0, len(numbers), IDS_READ_AT_ONCE):
            some = numbers[start : start + IDS_READ_AT_ONCE]
            serials, recent, end = self._serials, self._recent_ids, len(self)
            read_ids = [
                recent[number - end] if serials[number] == _IN_NO_BLOCK else placed.get(number) for number in some
            ]
            for place, object_id in enumerate(read_ids) if None in read_ids else ():
                if object_id is None:
                    read_ids[place] = self.find_id(some[place])
            ids += cast(list[ObjectId], read_ids)
            yield from work.checkpoint(1 + len(some) // IDS_READ_FOR_A_NODE)
        return tuple(ids)

    def _read_blocks(self, numbers: Sequence[int], work: Work) -> Generator[None, object, Mapping[int, ObjectId]]:
        """Returns the ids of all numbers in the blocks that have some of these. Yields None at the end of a time
        slice."""
        bitmap, ids = BitMap(numbers), dict[int, ObjectId]()
        for block in [*self._blocks]:
            if block.bitmap.intersect(bitmap):
                ids.update(block.read_all())
                yield from work.checkpoint(1 + len(block) // IDS_FOR_A_NODE)
        return ids

    def assign(self, object_id: ObjectId) -> int:
        """Returns the number of an id, a new one if it has none."""
        number = self._recent.get(object_id)
        return self.assign_each((object_id,))[0] if number is None else number

    def assign_each(self, ids: Sequence[ObjectId]) -> Sequence[int]:
        """Returns the numbers of ids, in their order."""
        recent = self._recent
        numbers = [*map(recent.get, ids)]
        if None not in numbers:
            return cast(Sequence[int], numbers)
        fresh = dict.fromkeys(object_id for object_id, number in zip(ids, numbers, strict=True) if number is None)
        placed = self._find_placed(fresh)
        added = [object_id for object_id in fresh if object_id not in placed] if placed else fresh
        recent.update(zip(added, count(len(self)), strict=False))
        self.bytes += _measure_recent(added)
        self._recent_ids += added
        self._serials.extend(repeat(_IN_NO_BLOCK, len(added)))
        if not placed:
            return [*map(recent.__getitem__, ids)]
        return [placed[object_id] if object_id in placed else recent[object_id] for object_id in ids]

    def _find_placed(self, ids: Mapping[ObjectId, None]) -> Mapping[ObjectId, int]:
        """Returns the numbers of those of the ids that are in blocks."""
        if len(self) == 1 + len(self._recent):  # as long as lists find little, all but the wildcard are recent
            return {WILDCARD: WILDCARD_NUMBER} if WILDCARD in ids else {}
        blocks, firsts, placed = self._blocks, self._firsts, dict[ObjectId, int]()
        for object_id in ids:
            number = blocks[bisect_right(firsts, object_id) - 1].find(object_id)
            if number is not None:
                placed[object_id] = number
        return placed

    def _place_recent(self, work: Work) -> Iterator[None]:
        """Puts the ids that are in no block now into blocks. Yields None at the end of a time slice."""
        waiting = [*self._recent]
        for place in range(0, len(waiting), IDS_SORTED_AT_ONCE):
            ordered = sorted(waiting[place : place + IDS_SORTED_AT_ONCE])
            work.hasten_checkpoint(len(ordered) // IDS_SORTED_FOR_A_NODE)
            for start in range(0, len(ordered), IDS_PLACED_AT_ONCE):
                yield from work.checkpoint()
                some = [
                    object_id for object_id in ordered[start : start + IDS_PLACED_AT_ONCE] if object_id in self._recent
                ]
                self._place_each(some, array("I", map(self._recent.pop, some)))
                self.bytes -= _measure_recent(some)
                work.hasten_checkpoint(1 + len(some) // IDS_PLACED_FOR_A_NODE)
        if not self._recent:
            self._recent, self._recent_ids = {}, []  # a dict that is emptied keeps its size

    def _place_each(self, ids: list[ObjectId], numbers: "array[int]") -> None:
        start = 0
        while start < len(ids):
            at = bisect_right(self._firsts, ids[start]) - 1
            is_last = at + 1 == len(self._firsts)
            end = len(ids) if is_last else bisect_left(ids, self._firsts[at + 1], start)
            self._place(at, ids[start:end], numbers[start:end])
            start = end

    def _place(self, at: int, ids: list[ObjectId], numbers: "array[int]") -> None:
        """Puts these ids, which are in order, into a block, which may become several."""
        block = self._blocks[at]
        former_bytes = block.bytes
        if len(ids) * SHARE_ADDED_SINGLY <= len(block) and len(block) + len(ids) <= MAX_IN_A_BLOCK:
            for object_id, number in zip(ids, numbers, strict=True):
                block.add(object_id, number)
                self._serials[number] = block.serial
            self.bytes += block.bytes - former_bytes
            return
        serials = range(len(self._blocks_by_serial), len(self._blocks_by_serial) + len(block) + len(ids))
        made = block.divide(ids, numbers, MAX_IN_A_BLOCK, serials)
        self.bytes += sum([block.bytes for block in made]) - former_bytes
        self._loose.pop(block, None)
        self._blocks[at : at + 1] = made
        self._firsts[at + 1 : at + 1] = [block.read_first() for block in made[1:]]
        self._blocks_by_serial[block.serial] = made[0]
        self._blocks_by_serial += made[1:]
        for block in made:
            for number in block.bitmap:
                self._serials[number] = block.serial

    def pack_blocks(self, work: Work) -> Iterator[None]:
        """Packs the blocks whose ids have been loose for longest, because many had arrived, until few others have loose
        ids. Yields None at the end of a time slice."""
        if len(self._recent) > MAX_RECENT:
            yield from self._place_recent(work)
        most = max(MAX_LOOSE_BLOCKS, len(self._blocks) // PACKED_FOR_A_LOOSE_BLOCK)
        while len(self._loose) > most:
            block = next(iter(self._loose))
            former_bytes = block.bytes
            block.pack()
            self.bytes += block.bytes - former_bytes
            yield from work.checkpoint(1 + len(block) // IDS_PACKED_FOR_A_NODE)

    def list_ids(
        self, numbers: BitMap, start: ObjectId | None, most: int, descending: bool, work: Work
    ) -> Iterator[tuple[ObjectId, int] | None]:
        """Yields up to `most` ids of a set with their numbers, in order, from `start` on, itself included; None at the
        end of a time slice."""
        few = max(len(self._blocks) // BLOCKS_FOR_AN_ID, MAX_SORTED_IDS if self._recent else 0)
        if len(numbers) > few and self._recent:
            yield from self._place_recent(work)
        if len(numbers) <= few:
            each = self._sort_few(numbers, start, descending)
        else:
            each = self._scan_blocks(numbers, start, descending, work)
        remaining = most
        for object_id in each:
            yield object_id
            remaining -= object_id is not None
            if not remaining:
                return

    def _sort_few(
        self, numbers: BitMap, start: ObjectId | None, descending: bool
    ) -> Iterator[tuple[ObjectId, int] | None]:
        """Yields the ids of a set that is small, or much smaller than the number of blocks."""
        ordered = sorted((self.find_id(number), number) for number in numbers)
        if start is not None and descending:
            ordered = ordered[: bisect_right(ordered, start, key=itemgetter(0))]
        elif start is not None:
            ordered = ordered[bisect_left(ordered, start, key=itemgetter(0)) :]
        yield from reversed(ordered) if descending else ordered

    def _scan_blocks(
        self, numbers: BitMap, start: ObjectId | None, descending: bool, work: Work
    ) -> Iterator[tuple[ObjectId, int] | None]:
        at = len(self._blocks) - 1 if descending else 0
        if start is not None:
            at = bisect_right(self._firsts, start) - 1
        places = range(at, -1, -1) if descending else range(at, len(self._blocks))
        # Ids may be added while the caller has yielded; then a block may be split, and a set has none of the new ids.
        blocks = [self._blocks[place] for place in places]
        for number, block in enumerate(blocks):
            if not number % BLOCKS_FOR_A_NODE:
                yield from work.charge(1)
            if block.bitmap.intersect(numbers):
                work.spend(1 + len(block) // IDS_FOR_A_NODE)
                yield from block.select(numbers, start if number == 0 else None, descending)


def _measure_recent(ids: Collection[ObjectId]) -> int:
    """Returns the bytes of ids that are in no block."""
    return (SLOT_BYTES + NUMBER_BYTES) * len(ids) + measure_loose(ids)
