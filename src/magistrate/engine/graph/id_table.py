"""Numbers the ids of one type for bitmaps, and keeps them in order.

Numbers are assigned in order of arrival and never change, so that bitmaps stay valid for as long as the table exists.
The order is kept apart from them, in blocks (id_block.py): each has ids that follow one another, in order, and the
bitmap of their numbers. A new id changes one block only. A page of a set is found by skipping the blocks that have
nothing in common with the set, which takes a fraction of a microsecond for each.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Generator, Iterator, Sequence

from pyroaring import BitMap

from magistrate.engine.graph.id_block import IdBlock
from magistrate.engine.terms import WILDCARD, ObjectId
from magistrate.engine.work import Work

MOST_IN_A_BLOCK = 512
BLOCKS_FOR_A_NODE = 4
IDS_FOR_A_NODE = 50
IDS_PACKED_FOR_A_NODE = 4
IDS_READ_FOR_A_NODE = 5
"""Count the blocks that are skipped, and the ids that are tested, packed and read by number, in the time of one unit of
work."""
IDS_READ_AT_ONCE = 500
LEAST_PACKED_FOR_A_LOOSE = 10
"""Counts the blocks for each whose ids are loose: these take 4 or 5 bytes for each id of the table."""
BLOCKS_FOR_AN_ID = 4
"""Counts the blocks that are skipped in the time in which one id is read and sorted."""

WILDCARD_NUMBER = 0
"""Stands for `*`, which has its place in the order like an id."""


class IdTable:
    """Maps ids to numbers and back."""

    __slots__ = ("_blocks", "_blocks_by_serial", "_firsts", "_loose", "_serials")

    def __init__(self) -> None:
        self._loose: dict[IdBlock, None] = {}
        """Has the blocks whose ids are loose."""
        self._blocks = [IdBlock(0, [WILDCARD], array("I", [WILDCARD_NUMBER]), self._loose)]
        self._firsts: list[str] = [""]
        """Has for each block a text that is at most its least id, and greater than every id of the block before."""
        self._blocks_by_serial = self._blocks.copy()
        self._serials = array("I", [0])
        """Has for each number the serial number of the block that has it."""

    def __len__(self) -> int:
        return len(self._serials)

    def find(self, id: ObjectId) -> int | None:
        """Returns the number of an id, or None if it has none."""
        return self._blocks[bisect_right(self._firsts, id) - 1].find(id)

    def find_id(self, number: int) -> ObjectId:
        """Returns the id of a number. It takes about a microsecond."""
        return self._blocks_by_serial[self._serials[number]].read_id(number)

    def find_ids(self, numbers: Sequence[int], work: Work) -> Generator[None, object, tuple[ObjectId, ...]]:
        """Returns the ids of numbers, in their order. Yields None at the end of a time slice."""
        ids: list[ObjectId] = []
        for start in range(0, len(numbers), IDS_READ_AT_ONCE):
            some = numbers[start : start + IDS_READ_AT_ONCE]
            ids += map(self.find_id, some)
            work.hasten_checkpoint(1 + len(some) // IDS_READ_FOR_A_NODE)
            if work.needs_checkpoint:
                yield None
        return tuple(ids)

    def assign(self, id: ObjectId) -> int:
        """Returns the number of an id, a new one if it has none."""
        at = bisect_right(self._firsts, id) - 1
        block, serials = self._blocks[at], self._serials
        number = block.find_or_add(id, len(serials))
        if number == len(serials):
            serials.append(block.serial)
            if len(block) > MOST_IN_A_BLOCK:
                self._split(at)
        return number

    def _split(self, at: int) -> None:
        serial = len(self._blocks_by_serial)
        block = self._blocks[at]
        lower, upper, first = block.split(serial)
        del self._loose[block]
        self._blocks[at] = self._blocks_by_serial[lower.serial] = lower
        self._blocks.insert(at + 1, upper)
        self._firsts.insert(at + 1, first)
        self._blocks_by_serial.append(upper)
        for number in upper.bitmap:
            self._serials[number] = serial

    def pack_blocks(self, work: Work) -> Iterator[None]:
        """Packs the blocks whose ids have been loose for longest, because many had arrived, until few others have loose
        ids. Yields None at the end of a time slice."""
        while len(self._loose) * LEAST_PACKED_FOR_A_LOOSE > len(self._blocks):
            block = next(iter(self._loose))
            block.pack()
            work.hasten_checkpoint(1 + len(block) // IDS_PACKED_FOR_A_NODE)
            if work.needs_checkpoint:
                yield None

    def list_ids(
        self, numbers: BitMap, start: ObjectId | None, most: int, descending: bool, work: Work
    ) -> Iterator[tuple[ObjectId, int] | None]:
        """Yields up to `most` ids of a set with their numbers, in order, from `start` on, itself included; None at the
        end of a time slice."""
        if BLOCKS_FOR_AN_ID * len(numbers) <= len(self._blocks):
            each = self._sort_few(numbers, start, descending)
        else:
            each = self._scan_blocks(numbers, start, descending, work)
        left = most
        for found in each:
            yield found
            left -= found is not None
            if not left:
                return

    def _sort_few(
        self, numbers: BitMap, start: ObjectId | None, descending: bool
    ) -> Iterator[tuple[ObjectId, int] | None]:
        """Yields the ids of a set that is much smaller than the number of blocks."""
        found = sorted((self.find_id(number), number) for number in numbers)
        if start is not None and descending:
            found = found[: bisect_right(found, start, key=_first)]
        elif start is not None:
            found = found[bisect_left(found, start, key=_first) :]
        yield from reversed(found) if descending else found

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
                work.spend(1)
                if work.needs_checkpoint:
                    yield None
            if block.bitmap.intersect(numbers):
                work.spend(1 + len(block) // IDS_FOR_A_NODE)
                yield from block.select(numbers, start if number == 0 else None, descending)


def _first(found: tuple[ObjectId, int]) -> ObjectId:
    return found[0]
