"""Numbers the ids of one type for bitmaps, and keeps them in order.

Numbers are assigned in order of arrival and never change, so that bitmaps stay valid for as long as the table exists.
The order is kept apart from them, in blocks: each has ids that follow one another, in order, and the bitmap of their
numbers. A new id changes one block only. A page of a set is found by skipping the blocks that have nothing in common
with the set, which takes a fraction of a microsecond for each.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from pyroaring import BitMap

from magistrate.engine.terms import WILDCARD, ObjectId
from magistrate.engine.work import Work

MOST_IN_A_BLOCK = 1_024
BLOCKS_FOR_A_NODE = 4
IDS_FOR_A_NODE = 50
"""Count the blocks that are skipped, and the ids that are tested, in the time of one unit of work."""

WILDCARD_NUMBER = 0
"""Stands for `*`, which has its place in the order like an id."""


class _Block:
    """Holds ids in order, their numbers, and these as a bitmap."""

    __slots__ = ("bitmap", "ids", "numbers")

    def __init__(self, ids: list[ObjectId], numbers: "array[int]") -> None:
        self.ids = ids
        self.numbers = numbers
        self.bitmap = BitMap(numbers)


class IdTable:
    """Maps ids to numbers and back. `ids` has the id of each number."""

    __slots__ = ("_blocks", "_firsts", "ids")

    def __init__(self) -> None:
        self.ids: list[ObjectId] = [WILDCARD]
        self._blocks = [_Block([WILDCARD], array("I", [WILDCARD_NUMBER]))]
        self._firsts: list[str] = [""]
        """Has for each block a text that is at most its least id, and greater than every id of the block before."""

    def __len__(self) -> int:
        return len(self.ids)

    def find(self, id: ObjectId) -> int | None:
        """Returns the number of an id, or None if it has none."""
        if id == WILDCARD:
            return WILDCARD_NUMBER
        block = self._blocks[bisect_right(self._firsts, id) - 1]
        place = bisect_left(block.ids, id)
        return block.numbers[place] if place < len(block.ids) and block.ids[place] == id else None

    def assign(self, id: ObjectId) -> int:
        """Returns the number of an id, a new one if it has none."""
        if id == WILDCARD:
            return WILDCARD_NUMBER
        at = bisect_right(self._firsts, id) - 1
        block = self._blocks[at]
        place = bisect_left(block.ids, id)
        if place < len(block.ids) and block.ids[place] == id:
            return block.numbers[place]
        number = len(self.ids)
        self.ids.append(id)
        block.ids.insert(place, id)
        block.numbers.insert(place, number)
        block.bitmap.add(number)
        if len(block.ids) > MOST_IN_A_BLOCK:
            self._split(at)
        return number

    def _split(self, at: int) -> None:
        block, middle = self._blocks[at], MOST_IN_A_BLOCK // 2
        upper = _Block(block.ids[middle:], block.numbers[middle:])
        self._blocks[at] = _Block(block.ids[:middle], block.numbers[:middle])
        self._blocks.insert(at + 1, upper)
        self._firsts.insert(at + 1, upper.ids[0])

    def list_ids(
        self, numbers: BitMap, start: ObjectId | None, most: int, descending: bool, work: Work
    ) -> Iterator[tuple[ObjectId, int] | None]:
        """Yields up to `most` ids of a set with their numbers, in order, from `start` on, itself included; None at the
        end of a time slice."""
        if len(numbers) <= len(self._blocks):
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
        """Yields the ids of a set that is smaller than the number of blocks."""
        found = sorted((self.ids[number], number) for number in numbers)
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
                work.spend(1 + len(block.ids) // IDS_FOR_A_NODE)
                yield from _select(block, numbers, start if number == 0 else None, descending)


def _select(block: _Block, numbers: BitMap, start: ObjectId | None, descending: bool) -> Iterator[tuple[ObjectId, int]]:
    ids, places = block.ids, range(len(block.ids))
    if start is not None:
        places = range(bisect_right(ids, start)) if descending else range(bisect_left(ids, start), len(ids))
    of_block = block.numbers
    for place in reversed(places) if descending else places:
        if of_block[place] in numbers:
            yield ids[place], of_block[place]


def _first(found: tuple[ObjectId, int]) -> ObjectId:
    return found[0]
