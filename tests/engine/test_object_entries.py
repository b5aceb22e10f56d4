"""The entries of an index are packed, and behave as if each were held by itself."""

import sys
from array import array
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from magistrate.engine.cache.adjacent_objects import AdjacentObjects, EntryBatch, ReachedObjects, measure_objects
from magistrate.engine.cache.object_entries import BATCHES_AT_ONCE, PAGE_SIZE, EntrySegment, ReadEntries
from magistrate.engine.cache.segments import MAX_ITEMS_FREED_AT_ONCE, Capacity
from magistrate.engine.work import Container

subjects = st.sampled_from([0, 1, 2, 3, PAGE_SIZE - 1, PAGE_SIZE, PAGE_SIZE + 7])
objects = st.lists(st.integers(0, 200_000), max_size=4, unique=True)
batches = st.dictionaries(subjects, objects, max_size=5)
steps = st.one_of(
    st.tuples(st.just("keep"), subjects, objects),
    st.tuples(st.just("keep each"), batches),
    st.tuples(st.just("find"), subjects),
    st.tuples(st.just("evict"), subjects),
    st.tuples(st.just("age")),
    st.tuples(st.just("clear")),
)
ENOUGH = 10_000_000


def entry_of(numbers: list[int]) -> AdjacentObjects:
    if len(numbers) == 1:
        return numbers[0]
    return BitMap(numbers) if len(numbers) == 4 else array("I", numbers).tobytes()


def batch_of(entries: Mapping[int, list[int]]) -> EntryBatch:
    batch = EntryBatch()
    for subject in sorted(entries):
        batch.add(subject, entry_of(entries[subject]))
    return batch


def collected(segment: EntrySegment, wanted: BitMap) -> tuple[set[int], set[int]]:
    """The objects of these subjects, and the subjects that have no entry."""
    reached = ReachedObjects()
    missing = segment.collect(wanted, reached)
    return {*reached.unite()}, {*missing}


@given(st.lists(steps, max_size=20), st.sets(subjects, min_size=1))
def test_entries_are_found_until_they_are_evicted(taken: list[tuple[object, ...]], wanted: set[int]) -> None:
    capacity = Capacity(ENOUGH)
    segment = EntrySegment(capacity)
    young, old = dict[int, list[int]](), dict[int, list[int]]()
    for step in taken:
        match step:
            case ("keep", int(subject), list(numbers)):
                segment.keep(subject, entry_of(numbers))
                old.pop(subject, None)
                young[subject] = numbers
            case ("keep each", dict(entries)):
                segment.keep_each(batch_of(entries))
                for subject in entries:
                    old.pop(subject, None)
                young |= entries
            case ("find", int(subject)):
                if subject in old:
                    young[subject] = old.pop(subject)
                expected = entry_of(young[subject]) if subject in young else None
                assert segment.find(subject) == expected
            case ("evict", int(subject)):
                had = [one.pop(subject, None) for one in (young, old)]
                assert segment.evict(subject) == (had != [None, None])
            case ("age",):
                capacity.age()
                empty = {subject: numbers for subject, numbers in (young | old).items() if not numbers}
                old, young = {subject: numbers for subject, numbers in young.items() if numbers}, empty
            case ("clear",):
                capacity.clear()
                young, old = {}, {}

        held = young | old
        assert capacity.bytes == sum(measure_objects(entry_of(numbers)) for numbers in held.values() if numbers)
        assert all(segment.has(subject) == (subject in held) for subject in wanted)

    held = young | old
    found = {number for subject in wanted for number in held.get(subject, ())}
    assert collected(segment, BitMap(wanted)) == (found, wanted - held.keys())
    assert capacity.bytes == sum(measure_objects(entry_of(numbers)) for numbers in held.values() if numbers)


@given(st.lists(batches, max_size=4), st.sets(subjects, min_size=1))
def test_what_was_read_is_found_whatever_is_cached(read: list[Mapping[int, list[int]]], wanted: set[int]) -> None:
    entries, expected = ReadEntries(), dict[int, list[int]]()
    for batch in read:
        fresh = {subject: numbers for subject, numbers in batch.items() if subject not in expected}
        entries.add(batch_of(fresh))
        expected |= fresh

    reached = ReachedObjects()
    missing = entries.collect(BitMap(wanted), reached)

    assert {*missing} == wanted - expected.keys()
    assert {*reached.unite()} == {number for subject in wanted for number in expected.get(subject, ())}


@given(batches, st.sets(subjects))
def test_a_batch_without_some_subjects_has_all_others(entries: Mapping[int, list[int]], excluded: set[int]) -> None:
    remaining = batch_of(entries).exclude(excluded)

    expected = {subject: entry_of(numbers) for subject, numbers in entries.items() if subject not in excluded}
    assert dict(remaining.list_each()) == expected
    assert remaining.weight == sum(measure_objects(entry) for entry in expected.values() if entry != b"")


def test_what_a_search_has_read_is_looked_into_in_small_portions() -> None:
    entries = ReadEntries()

    for number in range(3 * BATCHES_AT_ONCE):
        entries.add(batch_of({number: [number]}))
        assert len(entries._waiting) < BATCHES_AT_ONCE

    assert not entries.collect(BitMap(range(3 * BATCHES_AT_ONCE)), ReachedObjects())


def test_the_places_of_evicted_entries_are_used_again() -> None:
    segment = EntrySegment(Capacity(ENOUGH))

    for _ in range(100):
        segment.keep_each(batch_of({1: [1, 2], 2: [3, 4]}))
        segment.evict(1)
        segment.evict(2)

    assert len(segment._young._entries) == 2


def test_many_entries_that_are_evicted_together_are_passed_on() -> None:
    evicted: list[Container] = []
    segment = EntrySegment(Capacity(ENOUGH, evicted.append))
    segment.keep_each(batch_of({subject: [subject, 200_000] for subject in range(2 * MAX_ITEMS_FREED_AT_ONCE)}))

    segment.clear()

    assert [len(container) for container in evicted] == [2 * MAX_ITEMS_FREED_AT_ONCE]


def test_an_entry_of_one_warrant_takes_a_few_bytes() -> None:
    segment, many = EntrySegment(Capacity(ENOUGH)), 20_000
    before = sys.getallocatedblocks()

    segment.keep_each(batch_of({subject: [subject + 1] for subject in range(many)}))

    assert sys.getallocatedblocks() - before < many // 100  # Python objects
    assert sum(sys.getsizeof(page.values) for page in segment._young._values._pages.values()) < 5 * many
