"""Warrants in written form are taken apart where no name and no id can go on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magistrate.engine.warrants.notation import read_written
from magistrate.engine.warrants.warrant import warrant_names
from magistrate.errors import InvalidRequest
from tests.ids import ids


@pytest.mark.parametrize(
    ("text", "names", "policy"),
    [
        ("document:plan#viewer@user:ann", ("document", "plan", "viewer", "user", "ann", ""), ""),
        (
            "document:plan#viewer@team:eng#member",
            ("document", "plan", "viewer", "team", "eng", "member"),
            "",
        ),
        ("document:*#viewer@user:*", ("document", "*", "viewer", "user", "*", ""), ""),
        ("d:a@b:c|d#r@u:x@y.z:1", ("d", "a@b:c|d", "r", "u", "x@y.z:1", ""), ""),
        ("d:x#r@u:y[a < 1]", ("d", "x", "r", "u", "y", ""), "a < 1"),
        (
            "d:x#r@u:y#m[a[0] == ']' and\n#b@c:d]",
            ("d", "x", "r", "u", "y", "m"),
            "a[0] == ']' and\n#b@c:d",
        ),
    ],
)
def test_the_parts_of_a_written_warrant(text: str, names: tuple[str, ...], policy: str) -> None:
    assert read_written(text) == (names, policy)


NAMES = st.from_regex(r"[a-z0-9_-]{1,64}", fullmatch=True)


@given(st.tuples(NAMES, ids, NAMES, NAMES, ids, NAMES | st.just("")))
def test_every_id_is_read_as_it_was_written(parts: tuple[str, str, str, str, str, str]) -> None:
    object_type, object_id, relation, subject_type, subject_id, group = parts
    quoted = f'{object_type}:"{object_id}"#{relation}@{subject_type}:"{subject_id}"' + (f"#{group}" if group else "")

    assert read_written(warrant_names(*parts).render()) == read_written(quoted) == (parts, "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "document",
        "document:plan",
        "document:plan#viewer",
        "document:plan#viewer@user",
        "document:plan#viewer@user:",
        "document:plan#viewer@user:ann#",
        "document:plan#viewer@user:ann[]",
        "document:plan#viewer@user:ann[a",
        "document:plan#viewer@user:ann[a] ",
        "document:plan#viewer@user:ann#a#b",
        "document#viewer@user:ann",
        "document:#viewer@user:ann",
        "document:plan@user:ann",
        ":plan#viewer@user:ann",
    ],
)
def test_what_is_no_warrant_is_refused_and_shown(text: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_written(text)

    assert repr(text) in caught.value.message
