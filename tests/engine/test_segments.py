"""The capacity counts what all segments hold, and what is evicted together is passed on, to be freed in steps."""

from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magistrate.engine.dismantling import Container
from magistrate.engine.graph.segments import FEW_ITEMS, CacheSegment, Capacity, Key
from tests.working import counted_lines

MANY = 2 * FEW_ITEMS

keys = st.integers(0, 9)
weights = st.integers(1, 4)
kept: st.SearchStrategy[Mapping[int, int]] = st.dictionaries(keys, weights, max_size=4)
steps = st.one_of(
    st.tuples(st.just("keep"), keys, weights),
    st.tuples(st.just("find"), keys, weights),
    st.tuples(st.just("evict"), keys, weights),
    st.tuples(st.just("keep each"), kept),
    st.tuples(st.just("evict all")),
    st.tuples(st.just("clear")),
)


def weigh(weight: int) -> int:
    return weight


@given(st.lists(st.tuples(st.integers(0, 1), steps), max_size=30), st.integers(1, 30))
def test_the_size_is_the_weight_of_all_entries(taken: list[tuple[int, tuple[object, ...]]], most: int) -> None:
    capacity = Capacity(most)
    segments = [CacheSegment(capacity, weigh) for _ in range(2)]
    for number, step in taken:
        segment = segments[number]
        match step:
            case ("keep", int(key), int(weight)):
                segment.keep(key, weight)
            case ("find", int(key), _):
                segment.find(key)
            case ("evict", int(key), _):
                segment.evict(key)
            case ("keep each", dict(entries)):
                segment.keep_each(entries)
            case ("evict all",):
                segment.evict_all()
            case ("clear",):
                capacity.clear()

        assert capacity.size == sum(sum(one.young.values()) + sum(one._old.values()) for one in segments)


def test_many_entries_that_are_evicted_together_are_passed_on() -> None:
    evicted: list[Container] = []
    capacity = Capacity(4 * MANY, evicted.append)
    segment = CacheSegment(capacity, weigh)

    def keep(start: int) -> Mapping[Key, int]:
        segment.keep_each(dict.fromkeys(range(start, start + MANY), 1))
        return segment.young

    first = keep(0)
    keep(MANY)
    segment.keep(-1, 1)
    assert (evicted, capacity.size) == ([], 2 * MANY + 1)
    assert not segment.young  # it is the old generation now

    second = keep(2 * MANY)
    keep(3 * MANY)
    segment.keep(-2, 1)
    assert Counter(map(len, evicted)) == {2 * MANY + 1: 1}
    assert evicted[0] is first

    segment.evict_all()
    assert Counter(map(len, evicted)) == {2 * MANY + 1: 2}
    assert evicted[1] is second
    assert capacity.size == 0


def test_a_few_entries_are_freed_at_once() -> None:
    evicted: list[Container] = []
    segment = CacheSegment(Capacity(10 * FEW_ITEMS, evicted.append), weigh)

    segment.keep_each(dict.fromkeys(range(FEW_ITEMS), 1))
    segment.evict_all()

    assert evicted == []


@pytest.mark.parametrize("others", [1, 1_000])
def test_a_segment_is_removed_without_looking_at_others(others: int) -> None:
    capacity = Capacity(MANY)
    segments = [CacheSegment(capacity, weigh) for _ in range(1 + others)]

    with counted_lines() as lines:
        capacity.remove(segments[0])

    assert lines.count < 20
    segments[0].keep(1, 1)
    segments[1].keep(2, 1)
    capacity.clear()
    assert (segments[0].young, segments[1].young) == ({1: 1}, {})
