"""Garbage collections: what they scan, and that cycles among what they do not scan are freed in the end."""

import gc
import sys
from collections.abc import Iterator
from weakref import ref

import pytest

from magistrate.wiring.garbage import COUNTED_EVERY, COUNTS_OF_A_PERIOD, SurvivorFreezer

SURVIVORS = 50_000


class Cycle:
    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def freezer() -> Iterator[SurvivorFreezer]:
    thresholds = gc.get_threshold()
    freezer = SurvivorFreezer(few_blocks=1_000)
    freezer.install()
    yield freezer
    gc.callbacks.remove(freezer.follow)
    gc.set_threshold(*thresholds)
    gc.unfreeze()


def test_what_survived_a_collection_is_not_scanned_again(freezer: SurvivorFreezer) -> None:
    before = gc.get_freeze_count()
    lists: list[list[object]] = [[number, []] for number in range(SURVIVORS)]
    gc.collect(1)

    assert gc.get_freeze_count() >= before + 2 * SURVIVORS
    assert len(gc.get_objects()) < SURVIVORS / 10

    del lists

    assert gc.get_freeze_count() < before + SURVIVORS


def test_cycles_that_survived_are_freed_once_the_survivors_stay_many(freezer: SurvivorFreezer) -> None:
    cycle = Cycle()
    gc.collect()
    found = ref(cycle)
    del cycle
    gc.collect()
    assert found() is not None  # frozen

    for _ in range(COUNTED_EVERY * COUNTS_OF_A_PERIOD + 1):
        gc.collect()

    assert found() is None


def test_survivors_that_are_many_for_a_while_are_not_scanned_again(freezer: SurvivorFreezer) -> None:
    for _ in range(COUNTED_EVERY * COUNTS_OF_A_PERIOD + 1):
        gc.collect()  # from here on, twice as many as there are now are tolerated
    for _ in range(2):
        lists = [[number] for number in range(2 * sys.getallocatedblocks() + SURVIVORS)]
        for _ in range(COUNTED_EVERY * COUNTS_OF_A_PERIOD // 2):
            gc.collect()
            assert len(gc.get_objects()) < SURVIVORS / 10
        del lists
        for _ in range(COUNTED_EVERY):
            gc.collect()
