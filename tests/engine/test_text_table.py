"""A table of texts is a dict of texts, in fewer bytes."""

from sys import getsizeof
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magistrate.engine.byte_sizes import POINTER_BYTES
from magistrate.engine.cache import text_table
from magistrate.engine.cache.text_table import TextTable

KEYS = st.sampled_from([*"abcdefgh", "aa", "ab", "ba", "ü", "字", "a:b", "?1"])
TEXTS = st.sampled_from([" ", " 0:a ", " 0:a 1:b ", " 0:aa ", " ?0:ü ", " 12:字 "])
CHANGES = st.lists(st.tuples(KEYS, st.none() | TEXTS), max_size=60)


def count_bytes(table: TextTable) -> int:
    return sum(getsizeof(bucket) + POINTER_BYTES for bucket in cast(list[str], table.container))


@given(changes=CHANGES)
def test_it_has_what_was_put_last(changes: list[tuple[str, str | None]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_table, "BUCKET_CHARACTERS", 8)  # so that there are many buckets
        table, expected = TextTable(), dict[str, str]()
        for key, text in changes:
            table.put(key, text or "")
            expected.pop(key, None)
            if text is not None:
                expected[key] = text
            assert table.find(key) == text
            assert table.bytes == count_bytes(table)
        assert {key: table.find(key) for key in expected} == expected
        assert sum(map(len, table.container)) <= 8 * len(table.container) + max(map(len, table.container))


@pytest.mark.parametrize("count", [1, 2, 3, 1_000, 20_000])
def test_all_keys_are_found_however_many_there_are(count: int) -> None:
    table = TextTable()
    for number in range(count):
        table.add(f"d{number}", f" 0:u{number} ")

    assert all(table.find(f"d{number}") == f" 0:u{number} " for number in range(count))
    assert not any(table.find(f"d{number}") for number in range(count, 2 * count))


def test_it_takes_hardly_more_than_the_keys_and_texts_have() -> None:
    table, characters = TextTable(), 0
    for number in range(20_000):
        key, text = f"document-{number:06}", f" 0:user-{number:06} "
        table.add(key, text)
        characters += len(key) + len(text)

    assert count_bytes(table) < 1.3 * characters


def test_a_bucket_is_split_without_the_others() -> None:
    """A change that had to move all keys of a large table would hold the event loop."""
    table, changed = TextTable(), list[int]()
    for number in range(5_000):
        before = [*table.container]
        table.add(f"d{number}", f" 0:u{number} ")
        same = sum(one is other for one, other in zip(before, table.container, strict=False))
        changed.append(len(table.container) - same)

    assert len(table.container) > 50
    assert max(changed) <= 3  # the bucket of the key, and the two that one is divided into


def test_texts_that_grow_do_not_stay_in_few_buckets() -> None:
    table = TextTable()
    for number in range(300):
        table.add(f"d{number}", " 0:a ")
    for number in range(300):
        table.put(f"d{number}", " 0:a " + "1:b " * 400)
    for number in range(300):  # one bucket is split for each change
        table.put(f"d{number}", " 0:a " + "1:b " * 401)

    assert max(map(len, table.container)) < 20 * text_table.BUCKET_CHARACTERS
