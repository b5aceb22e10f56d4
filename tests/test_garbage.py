"""Garbage collections: what they scan, and that cycles among what they do not scan are freed in the end."""

import gc
import sys
from collections.abc import Iterator, Mapping
from weakref import ref

import pytest

from magistrate.engine.lists.language import read_query
from magistrate.engine.lists.query_search import begin_search
from magistrate.engine.work import Work
from magistrate.wiring.garbage_collection import COUNTED_EVERY, COUNTS_OF_A_PERIOD, SurvivorFreezer
from tests.conftest import list_by_day
from tests.memory_source import PLENTY, model_of, rows_of
from tests.scenario_files import stored_warrant

SURVIVORS = 50_000


class Cycle:
    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def freezer() -> Iterator[SurvivorFreezer]:
    thresholds = gc.get_threshold()
    freezer = SurvivorFreezer(min_blocks=1_000)
    freezer.install()
    yield freezer
    gc.callbacks.remove(freezer.follow)
    gc.set_threshold(*thresholds)
    gc.unfreeze()


def test_what_survived_a_collection_is_not_scanned_again(freezer: SurvivorFreezer) -> None:
    before = gc.get_freeze_count()
    lists: list[list[object]] = [[number, []] for number in range(SURVIVORS)]
    gc.collect(1)

    assert gc.get_freeze_count() > before + SURVIVORS  # two each, less what of others is freed
    assert len(gc.get_objects()) < SURVIVORS / 10

    del lists

    assert gc.get_freeze_count() < before + SURVIVORS


@pytest.mark.nightly
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


@pytest.mark.nightly
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


GROUP_COUNT = 20_000


@pytest.mark.parametrize("member", list_by_day(["user:*", "user:ann"], 1))
def test_no_collection_scans_all_groups_of_an_object_whose_subjects_are_listed(
    freezer: SurvivorFreezer, member: str
) -> None:
    """Containers that are made while as many others are freed do not count: all of them are scanned by the next."""
    written = [f"paper:p#viewer@group:g{number}#member" for number in range(GROUP_COUNT)]
    warrants = [stored_warrant(text, number, 0) for number, text in enumerate([*written, f"group:g7#member@{member}"])]
    by_type = {"paper": warrants[:-1], "group": warrants[-1:]}
    model = model_of({"user": {}, "group": {"member": {}}, "paper": {"viewer": {}}}, warrants)
    search = begin_search(model, read_query("select viewer of type user for paper:p"), {}, 0, Work(PLENTY))
    scanned: list[int] = []

    def count_young(phase: str, info: Mapping[str, int]) -> None:
        if phase == "start":
            scanned.append(sum(len(gc.get_objects(generation)) for generation in range(info["generation"] + 1)))

    gc.collect()
    gc.callbacks.append(count_young)
    try:
        while (findings := search.outcome()) is None:
            if reads := search.advance():
                search.take([rows_of(by_type[read.request.type], read) for read in reads])
        for _ in search.release():
            pass
    finally:
        gc.callbacks.remove(count_young)

    assert findings.relation_results is not None
    assert len(scanned) > GROUP_COUNT / 1_000
    assert max(scanned) < GROUP_COUNT / 2
