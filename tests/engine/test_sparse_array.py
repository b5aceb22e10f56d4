"""An array of many pages, dense and sparse, behaves like a dict, and takes memory in proportion to what it holds."""

import sys
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from magistrate.engine.cache.object_entries import MIN_VALUES_IN_ARRAY, PAGE_SIZE, SparseArray

GREATEST = (1 << 32) - 2

values = st.integers(0, GREATEST)
places = st.one_of(st.integers(0, 4 * MIN_VALUES_IN_ARRAY), st.integers(PAGE_SIZE - 2, PAGE_SIZE + 300))
runs = st.builds(range, places, places, st.integers(1, 80))
steps = st.one_of(
    st.tuples(st.just("set"), places, values),
    st.tuples(st.just("set each"), runs, values),
    st.tuples(st.just("delete each"), runs),
    st.tuples(st.just("delete"), places),
)


@given(st.lists(steps, max_size=12))
def test_it_behaves_like_a_dict(taken: list[tuple[object, ...]]) -> None:
    packed, expected = SparseArray(), dict[int, int]()
    for step in taken:
        match step:
            case ("set", int(number), int(value)) if number not in expected:
                packed.set(number, value)
                expected[number] = value
            case ("set each", range() as numbers, int(value)) if fresh := [n for n in numbers if n not in expected]:
                packed.set_each(array("I", fresh), [(value + number) % GREATEST for number in fresh])
                expected |= {number: (value + number) % GREATEST for number in fresh}
            case ("delete each", range() as numbers):
                for number in numbers:
                    if expected.pop(number, None) is not None:
                        packed.delete(number)
            case ("delete", int(number)) if number in expected:
                packed.delete(number)
                del expected[number]

        held = sorted(expected)
        assert [*map(packed.read, held)] == [expected[number] for number in held]
        assert not held or [*packed.read_each(BitMap(held))] == [expected[number] for number in held]


@pytest.mark.parametrize(
    ("numbers", "max_bytes"),
    [
        (range(1_000), 5_000),  # an array
        (range(0, PAGE_SIZE, 1_000), 10_000),  # a dict
        ([*range(100), PAGE_SIZE - 1], 20_000),  # an array that has become a dict
    ],
)
def test_its_size_is_in_proportion_to_the_number_of_values(numbers: list[int] | range, max_bytes: int) -> None:
    packed = SparseArray()

    for number in numbers:
        packed.set(number, number)

    assert sum(sys.getsizeof(page.values) for page in packed._pages.values()) < max_bytes


def test_a_page_of_which_most_was_deleted_takes_little_memory() -> None:
    packed = SparseArray()
    packed.set_each(array("I", range(PAGE_SIZE)), range(PAGE_SIZE))

    for number in range(PAGE_SIZE - 20):
        packed.delete(number)
    packed.set(0, 7)

    assert packed.read(0) == 7
    packed.delete(0)
    assert packed.read(PAGE_SIZE - 1) == PAGE_SIZE - 1
    assert sum(sys.getsizeof(page.values) for page in packed._pages.values()) < PAGE_SIZE
    for number in range(PAGE_SIZE - 20, PAGE_SIZE):
        packed.delete(number)
    assert not packed._pages
