"""Checks that are read together are those that are read one by one (docs/openfga.md#checks)."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magistrate.api.openfga.tuples import TupleKeyBody
from magistrate.engine.openfga.documents import OpenFgaDocument, read_document
from magistrate.engine.openfga.plain_checks import MAX_CHARACTERS, read_plain_checks
from magistrate.engine.openfga.tuples import MAX_USER_BYTES, read_tuple_key
from magistrate.errors import OpenFgaRefusal
from magistrate.operations.openfga.checks import build_check
from tests.openfga.team_files import TYPES

SIGNS = ["a", "Ü", "%2A", "%", "*", "#", "#member", ":", "/", "|", "\u0301", "\u200b", " ", "\x00", ".", "😀", "x" * 60]
ids = st.lists(st.sampled_from(SIGNS), max_size=4).map("".join)
names = st.sampled_from(["user", "Robot", "team", "file", "", "robot", "file:a"])
relations = st.sampled_from(["viewer", "owner", "folder", "nothing", "", None])


@pytest.fixture(scope="module")
def document() -> OpenFgaDocument:
    return read_document(TYPES["schema_version"], TYPES["type_definitions"], None)


written = st.builds(
    TupleKeyBody,
    st.none() | st.builds("{}:{}".format, names, ids) | ids,
    relations,
    st.none() | st.builds("{}:{}".format, names, ids) | ids,
)


@given(st.lists(written, min_size=1, max_size=3))
def test_checks_that_are_read_together_are_those_that_are_read_one_by_one(
    document: OpenFgaDocument, keys: Sequence[TupleKeyBody]
) -> None:
    together = read_plain_checks(document, keys)

    if together is not None:
        assert together == [build_check(document, key.read(), {}) for key in keys]


@pytest.mark.parametrize("user_id", ["ann", "Ü", "a.b@c", "a" * (MAX_CHARACTERS - len("user:"))])
def test_ids_that_need_no_escape_are_read_together(document: OpenFgaDocument, user_id: str) -> None:
    keys = [TupleKeyBody(f"user:{user_id}", relation, "file:plan") for relation in ("viewer", "owner")]

    assert read_plain_checks(document, keys) == [build_check(document, key.read(), {}) for key in keys]


def test_a_name_that_is_too_long_is_never_read_together(document: OpenFgaDocument) -> None:
    user = f"user:{'😀' * MAX_USER_BYTES}"
    with pytest.raises(OpenFgaRefusal):
        read_tuple_key(user, "viewer", "file:plan")

    assert read_plain_checks(document, [TupleKeyBody(user, "viewer", "file:plan")]) is None
