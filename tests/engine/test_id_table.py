"""The ids of lists: what they take in memory, and that they stay the same however they are held."""

import random
import tracemalloc
from collections.abc import Sequence
from itertools import islice

import pytest
from pyroaring import BitMap

from magistrate.engine.cache.ids import MAX_IN_A_BLOCK, MAX_LOOSE_IDS, IdTable
from magistrate.engine.id_characters import MAX_ID_LENGTH
from magistrate.engine.names import WILDCARD, ObjectId
from magistrate.engine.work import Work
from tests.memory_source import PLENTY

MANY = 20 * MAX_IN_A_BLOCK
MAX_BYTES_AN_ID = 35
"""Without what bitmaps take, which is allocated elsewhere. An id as a text of its own takes 64 bytes and a pointer."""


def names_in_any_order(count: int) -> list[ObjectId]:
    names = [ObjectId(f"document-{number}") for number in range(count)]
    random.Random(5).shuffle(names)
    return names


def filled_table(names: Sequence[ObjectId], at_once: int) -> IdTable:
    """Adds the names as searches do that find so many new ones each."""
    table, waiting = IdTable(), iter(names)
    while some := [*islice(waiting, at_once)]:
        for name in some:
            table.assign(ObjectId(str(name)))
        pack(table)
    return table


def pack(table: IdTable) -> None:
    for _ in table.pack_blocks(Work(PLENTY)):
        pass


def listed(table: IdTable, numbers: BitMap, start: str | None = None, descending: bool = False) -> list[str]:
    work, first = Work(PLENTY), None if start is None else ObjectId(start)
    return [found[0] for found in table.list_ids(numbers, first, PLENTY, descending, work) if found]


@pytest.mark.parametrize("at_once", [20, 500, MANY])
def test_an_id_takes_a_third_of_the_memory_of_a_text(at_once: int) -> None:
    def copies() -> list[ObjectId]:
        return [ObjectId(bytes(name, "ascii").decode()) for name in names_in_any_order(MANY)]

    filled_table(copies(), at_once)
    tracemalloc.start()
    empty, _ = tracemalloc.get_traced_memory()
    table = filled_table(copies(), at_once)
    full, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(table) == MANY + 1
    assert (full - empty) / MANY <= MAX_BYTES_AN_ID


@pytest.mark.parametrize("at_once", [1, 20, 500, MANY])
def test_ids_are_found_and_listed_in_order_whether_packed_or_loose(at_once: int) -> None:
    names = names_in_any_order(MANY)
    table = filled_table(names, at_once)
    numbers = {name: table.find(name) for name in names}
    every = BitMap(number for number in numbers.values() if number is not None)

    assert [*numbers.values()] == [*range(1, MANY + 1)]
    assert [table.assign(name) for name in names] == [*numbers.values()]
    assert [table.find_id(number) for number in range(1, MANY + 1)] == names
    assert table.find(ObjectId("document-")) is None
    assert table.find(ObjectId("document-1x")) is None
    assert table.find(WILDCARD) == 0
    for descending in (False, True):
        ordered = sorted(names, reverse=descending)
        assert listed(table, every, None, descending) == ordered
        place = ordered.index(ObjectId("document-777"))
        assert listed(table, every, "document-777", descending) == ordered[place:]


def test_an_id_that_begins_otherwise_joins_a_packed_block() -> None:
    table = IdTable()
    names = [ObjectId(f"document-{number:03}") for number in range(MAX_LOOSE_IDS)]
    for name in (*names, ObjectId("a"), ObjectId("z"), ObjectId("document-")):
        table.assign(name)
        pack(table)

    assert listed(table, BitMap(range(1, len(table)))) == ["a", "document-", *names, "z"]


def test_long_ids_of_which_two_bytes_cannot_name_the_places() -> None:
    names = [ObjectId(f"{number}".rjust(MAX_ID_LENGTH, "-")) for number in range(100, 100 + 3 * MAX_IN_A_BLOCK)]
    table = filled_table(names, len(names))

    assert [table.find(name) for name in names] == [*range(1, len(names) + 1)]
    assert listed(table, BitMap(range(1, len(table)))) == sorted(names)


def test_ids_that_come_while_a_page_is_listed_change_nothing_of_it() -> None:
    names = [ObjectId(f"id-{number:05}") for number in range(0, 8 * MAX_IN_A_BLOCK, 2)]
    table = filled_table(names, len(names))
    page = table.list_ids(BitMap(range(1, len(table))), None, PLENTY, False, Work(PLENTY))
    found = [next(page)]
    for number in range(1, 8 * MAX_IN_A_BLOCK, 2):
        if number > MAX_IN_A_BLOCK:  # in the blocks behind the one that is being listed, each of which is split
            table.assign(ObjectId(f"id-{number:05}"))
    pack(table)
    found += page

    assert [one[0] for one in found if one] == names
