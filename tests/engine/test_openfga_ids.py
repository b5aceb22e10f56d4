"""Ids of OpenFGA as ids of ours, and back (docs/openfga.md)."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from magistrate.engine.id_characters import is_id
from magistrate.engine.openfga.ids import decode_id, encode_id


@given(st.text(min_size=1, max_size=100))
@example("%2A")
@example("%%2A*")
@example("%*")
@example("%2*")
@example("e\u0301")
@example("*%25")
@example("%0a*")
@example("..")
def test_what_was_written_is_read_back(text: str) -> None:
    encoded = encode_id(text)
    assert encoded is not None
    assert is_id(encoded)
    assert decode_id(encoded) == text


@pytest.mark.parametrize(
    ("text", "encoded"),
    [
        ("ann", "ann"),
        ("a/b@c+d=e~f|g", "a/b@c+d=e~f|g"),
        ("50%", "50%"),
        ("josé", "josé"),
        ("a*", "a%2A"),
        ("a%2A", "a%252A"),
        (".", "%2E"),
        ("..", "%2E."),
        ("😀", "%F0%9F%98%80"),
    ],
)
def test_only_what_no_id_has_is_escaped(text: str, encoded: str) -> None:
    assert encode_id(text) == encoded


@pytest.mark.parametrize("text", ["a%41", "%FF", "%2a", "%"])
def test_an_id_that_stands_for_no_other_is_itself(text: str) -> None:
    assert decode_id(text) == text


def test_an_id_that_would_be_too_long_has_none() -> None:
    assert encode_id("😀" * 86) is None
