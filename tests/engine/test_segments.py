"""The capacity counts what all segments hold, and what is evicted together is passed on, to be freed in steps."""

import sqlite3
from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magistrate.engine.cache.segments import (
    MAX_ITEMS_FREED_AT_ONCE,
    CacheSegment,
    Capacity,
    Key,
    SparseSegment,
    measure_key,
)
from magistrate.engine.work import Container
from tests.working import counted_lines

MANY = 2 * MAX_ITEMS_FREED_AT_ONCE
KEY_BYTES = measure_key(0)

keys = st.integers(0, 9)
NOTHING = 1
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
def test_the_bytes_are_those_of_all_entries(taken: list[tuple[int, tuple[object, ...]]], most: int) -> None:
    absent = Capacity(most * KEY_BYTES)
    capacity = Capacity(most * KEY_BYTES, absent=absent)
    sparse = SparseSegment(capacity, weigh, NOTHING)
    segments = [CacheSegment(capacity, weigh), sparse]
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

        assert capacity.bytes <= max(capacity.max_bytes, KEY_BYTES + 4)  # a single entry may exceed it
        kept = [entry for one in segments for entries in (one.young, one._old) for entry in entries.items()]
        assert capacity.bytes == sum(measure_key(key) + weight for key, weight in kept)
        assert absent.bytes == KEY_BYTES * len(sparse.absent)
        assert NOTHING not in sparse.young.values()


def test_keys_that_have_nothing_do_not_evict_entries() -> None:
    capacity = Capacity(10 * (KEY_BYTES + 1), absent=Capacity(10 * KEY_BYTES))
    segment = SparseSegment(capacity, weigh, NOTHING)
    segment.keep(-1, 3)

    for key in range(1_000):
        segment.keep(key, NOTHING)
        assert segment.find(key) == NOTHING

    assert segment.young == {-1: 3}
    assert 5 <= len(segment.absent) <= 10
    assert segment.find(0) is None


def test_what_is_used_stays_when_what_is_not_used_goes() -> None:
    segment = SparseSegment(Capacity(10 * (KEY_BYTES + 1), absent=Capacity(10 * KEY_BYTES)), weigh, NOTHING)
    segment.keep(-1, 1)
    segment.keep(-2, NOTHING)

    for key in range(100):
        segment.keep(key, 1 if key % 2 else NOTHING)
        assert -1 in segment.young or segment.find(-1)
        assert segment.find(-2) == NOTHING


def test_a_text_counts_the_same_whatever_has_read_it() -> None:
    capacity, object_id = Capacity(1_000_000), "".join(["jos", "é" * 100])
    absent = SparseSegment(capacity, weigh, NOTHING)
    absent.keep(object_id, NOTHING)
    before = capacity.bytes

    sqlite3.connect(":memory:").execute("select ?", (object_id,))  # which leaves its UTF-8 beside it
    absent.evict(object_id)

    assert before > len(object_id.encode())
    assert capacity.bytes == 0


def test_many_entries_that_are_evicted_together_are_passed_on() -> None:
    evicted: list[Container] = []
    each = KEY_BYTES + 1
    capacity = Capacity(4 * MANY * each, evicted.append)
    segment = CacheSegment(capacity, weigh)

    def keep(start: int) -> Mapping[Key, int]:
        segment.keep_each(dict.fromkeys(range(start, start + MANY), 1))
        return segment.young

    first = keep(0)
    keep(MANY)
    segment.keep(-1, 1)
    assert (evicted, capacity.bytes) == ([], (2 * MANY + 1) * each)
    assert segment.young == {-1: 1}  # what came before is the old generation now

    second = segment.young
    keep(2 * MANY)
    segment.keep_each(dict.fromkeys(range(3 * MANY, 4 * MANY), 1))
    assert Counter(map(len, evicted)) == {2 * MANY: 1}
    assert evicted[0] is first
    assert capacity.bytes <= capacity.max_bytes

    segment.evict_all()
    assert len(evicted) == 2
    assert evicted[1] is second
    assert capacity.bytes == 0


def test_a_few_entries_are_freed_at_once() -> None:
    evicted: list[Container] = []
    segment = CacheSegment(Capacity(10 * MAX_ITEMS_FREED_AT_ONCE * KEY_BYTES, evicted.append), weigh)

    segment.keep_each(dict.fromkeys(range(MAX_ITEMS_FREED_AT_ONCE), 1))
    segment.evict_all()

    assert evicted == []


@pytest.mark.parametrize("others", [1, 1_000])
def test_a_segment_is_removed_without_looking_at_others(others: int) -> None:
    capacity = Capacity(MANY * KEY_BYTES)
    segments = [CacheSegment(capacity, weigh) for _ in range(1 + others)]

    with counted_lines() as lines:
        capacity.remove(segments[0])

    assert lines.count < 20
    segments[0].keep(1, 1)
    segments[1].keep(2, 1)
    capacity.clear()
    assert (segments[0].young, segments[1].young) == ({1: 1}, {})
