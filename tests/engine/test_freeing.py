"""What an evaluation leaves behind is freed in steps of bounded size, whatever its structure."""

import gc
import weakref
from collections.abc import Sequence
from itertools import pairwise

from magistrate.engine.lists.language import read_query
from magistrate.engine.lists.query_search import begin_search
from magistrate.engine.work import ITEMS_AT_ONCE, Container, Linked, Work, free_containers, sort_in_steps
from tests.engine.group_graphs import TYPES
from tests.memory_source import PLENTY, model_of, rows_of
from tests.scenario_files import stored_warrant

MANY = 10 * ITEMS_AT_ONCE


class Item(Linked):
    __slots__ = ("__weakref__", "others")

    def __init__(self) -> None:
        self.others: list[Item] = []

    def unlink(self) -> Sequence[Container]:
        others, self.others = self.others, []
        return (others,)


def test_a_step_frees_a_bounded_number_of_items() -> None:
    items = [Item() for _ in range(MANY)]
    for number, item in enumerate(items):
        item.others += [items[number - 1], items[0]]
    alive = weakref.WeakSet(items)
    nested: Container = {"here": {"there": items}}
    del items, item
    gc.disable()
    left = [MANY]

    for _ in free_containers([nested]):
        left.append(len(alive))
    left.append(len(alive))

    gc.enable()
    freed = [before - after for before, after in pairwise(left)]
    assert sum(freed) == MANY
    assert max(freed) <= ITEMS_AT_ONCE
    assert not nested


def test_sorting_pauses_at_least_once_for_every_few_thousand_items() -> None:
    items = [(number * 7_919) % 30_011 for number in range(30_011)]
    pauses, steps = [], sort_in_steps([*items], lambda item: item)

    while True:
        try:
            pauses.append(next(steps))
        except StopIteration as stop:
            found = stop.value
            break

    assert found == sorted(items)
    assert max(pauses) <= 4_000
    assert sum(pauses) >= 2 * len(items)


def test_a_search_for_subjects_is_freed_when_it_is_released() -> None:
    written = [f"document:1#viewer@group:{number}#member" for number in range(3 * ITEMS_AT_ONCE)]
    warrants = [stored_warrant(one, number, 0) for number, one in enumerate(written, 1)]
    search = begin_search(
        model_of(TYPES, warrants), read_query("select viewer of type user for document:1"), {}, 0, Work(PLENTY)
    )
    while search.outcome() is None:
        reads = search.advance()
        if reads:
            search.take([rows_of(warrants, read) for read in reads])

    steps = list(search.release())

    assert max(steps) <= ITEMS_AT_ONCE
    assert sum(steps) >= 3 * len(warrants)  # a node, an edge and a warrant for each
    assert search.advance() == []


def test_a_search_for_objects_is_freed_when_it_is_released() -> None:
    written = [f"document:{number}#viewer@user:ann" for number in range(3 * ITEMS_AT_ONCE)]
    warrants = [stored_warrant(one, number, 0) for number, one in enumerate(written, 1)]
    search = begin_search(
        model_of(TYPES, warrants), read_query("select document where user:ann is *"), {}, 0, Work(PLENTY)
    )
    while search.outcome() is None:
        reads = search.advance()
        if reads:
            search.take([rows_of(warrants, read) for read in reads])
    kept = search.outcome()

    steps = list(search.release())

    assert max(steps) <= ITEMS_AT_ONCE
    assert sum(steps) > len(warrants)
    assert kept is not None
    assert [len([*one.ids(())]) for one in kept.relation_results or ()] == [len(warrants)]


def test_a_search_that_is_not_complete_can_be_released() -> None:
    work = Work(PLENTY)
    search = begin_search(model_of(TYPES, []), read_query("select viewer of type user for document:1"), {}, 0, work)
    search.advance()

    assert sum(search.release()) >= 1
