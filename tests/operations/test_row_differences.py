"""Differences between the rows of two sides, however many there are."""

import random
from collections.abc import Iterator
from contextlib import closing

import apsw
import pytest

from magistrate.errors import StoreUnavailable
from magistrate.operations.importing import row_differences
from magistrate.operations.importing.row_differences import HERE, SOURCE, ComparedRow, DifferingRows, RowDifferences


@pytest.fixture
def differences() -> Iterator[RowDifferences]:
    with closing(RowDifferences()) as opened:
        yield opened


def row(name: str, content: str | None = "") -> ComparedRow:
    return ComparedRow((name,), content, name)


def test_rows_are_compared_whatever_their_order(differences: RowDifferences) -> None:
    names = [f"object-{number}" for number in range(20_000)]
    there, here = names[3:], names[:-2]
    for side, listed in ((SOURCE, there), (HERE, here)):
        random.Random(7).shuffle(listed)
        differences.add(side, "object", map(row, listed))

    differences.compare()

    assert differences.list_differing("object", 2) == [
        DifferingRows("missing", 2, names[-2:]),
        DifferingRows("extra", 3, names[:2]),
    ]
    assert differences.list_differing("warrant", 2) == []


def test_equal_names_of_two_kinds_are_different_rows(differences: RowDifferences) -> None:
    differences.add(SOURCE, "object", [row("a"), row("b")])
    differences.add(HERE, "warrant", [row("a")])
    differences.add(HERE, "object", [row("b")])

    differences.compare()

    assert differences.list_differing("object", 9) == [DifferingRows("missing", 1, ["a"])]
    assert differences.list_differing("warrant", 9) == [DifferingRows("extra", 1, ["a"])]


def test_other_content_is_a_difference_and_content_that_is_not_stated_is_none(differences: RowDifferences) -> None:
    differences.add(SOURCE, "object", [row("a", "1"), row("b", None), row("c", "1")])
    differences.add(HERE, "object", [row("a", "2"), row("b", "1"), row("c", "1")])

    differences.compare()

    assert differences.list_differing("object", 9) == [DifferingRows("other", 1, ["a"])]


def test_a_row_that_is_listed_twice_counts_once(differences: RowDifferences) -> None:
    differences.add(SOURCE, "object", [row("a"), row("b"), row("a"), row("b")])
    differences.add(HERE, "object", [row("a")])

    differences.compare()

    assert differences.list_differing("object", 9) == [DifferingRows("missing", 1, ["b"])]


def test_only_the_beginning_of_a_long_row_is_kept(differences: RowDifferences, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_differences, "MAX_WRITTEN_CHARACTERS", 5)
    differences.add(SOURCE, "object", [row("long-1"), row("long-2")])
    differences.add(HERE, "object", [row("long-1")])

    differences.compare()

    assert differences.list_differing("object", 9) == [DifferingRows("missing", 1, ["long-"])]


def test_a_full_disk_is_reported(differences: RowDifferences, monkeypatch: pytest.MonkeyPatch) -> None:
    def rows() -> Iterator[ComparedRow]:
        yield row("a")
        raise apsw.FullError("database or disk is full")

    with pytest.raises(StoreUnavailable, match="no space for temporary files; set TMPDIR"):
        differences.add(SOURCE, "object", rows())
