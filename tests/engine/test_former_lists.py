"""Lists that have come before are known again, in a few bytes each."""

import weakref

import pytest

from magistrate.engine.cache import adjacency as former_lists
from magistrate.engine.cache.adjacency import FormerLists
from magistrate.engine.cache.segments import Capacity


class Name:
    """A name that shows whether it is held."""


def test_a_list_is_known_once_it_has_come() -> None:
    lists = FormerLists(Capacity(10))

    assert [lists.note(1), lists.note(2), lists.note(1), lists.note(2)] == [False, False, True, True]


def test_a_list_is_known_for_two_generations() -> None:
    lists = FormerLists(Capacity(10))
    lists.note(1)

    lists.age()
    assert lists.note(1)
    lists.age()
    assert lists.note(1)
    lists.age()
    lists.age()
    assert not lists.note(1)


def test_lists_age_with_the_entries_of_their_capacity() -> None:
    capacity = Capacity(2)
    lists = FormerLists(capacity)
    lists.note(1)

    capacity.clear()

    assert not lists.note(1)


def test_a_generation_ends_when_it_has_many_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(former_lists, "MAX_YOUNG", 10)
    lists = FormerLists(Capacity(10))

    for number in range(30):
        lists.note(number)

    assert [lists.note(number) for number in (25, 15, 5)] == [True, True, False]


def test_nothing_of_a_list_is_held() -> None:
    name = Name()
    held = weakref.ref(name)
    lists = FormerLists(Capacity(10))
    lists.note(name)

    del name

    assert held() is None
    assert not lists.note(None)
