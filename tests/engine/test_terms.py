"""Names and ids: what is allowed, and how the rest is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magistrate.engine.terms import ObjectRef, are_object_ids, object_id, object_ref, relation_name, type_name
from magistrate.errors import InvalidParameter, MissingParameter


@pytest.mark.parametrize("text", ["a", "z-9_", "0", "x" * 64])
def test_type_names_that_are_allowed(text: str) -> None:
    assert str(type_name(text, "type")) == str(relation_name(text, "relation")) == text


@pytest.mark.parametrize("text", ["A", "a b", "a\n", "é", "x" * 65, "a.b", "*"])
def test_type_names_that_are_not(text: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        type_name(text, "objectType")

    assert caught.value.parameter == "objectType"


@pytest.mark.parametrize("text", ["anyOf", "allOf", "noneOf"])
def test_keywords_are_no_relations(text: str) -> None:
    with pytest.raises(InvalidParameter, match="keyword"):
        relation_name(text, "relation")


@pytest.mark.parametrize("text", [None, ""])
def test_what_is_absent_is_missing(text: str | None) -> None:
    for read in (type_name, relation_name, object_id):
        with pytest.raises(MissingParameter, match="Missing required parameter x"):
            read(text, "x")


def test_references_sort_by_type_then_id() -> None:
    refs = [object_ref("b", "a"), object_ref("a", "b"), object_ref("a", "B")]

    assert sorted(refs) == [object_ref("a", "B"), object_ref("a", "b"), object_ref("b", "a")]
    assert isinstance(refs[0], ObjectRef)


SAMPLES = [
    *(
        None,
        "",
        ".",
        "..",
        "*",
        "a",
        "a/b",
        "a b",
        "é",
        "e\u0301",
        "€",
        "x" * 1_024,
        "x" * 1_025,
        "x" * 1_000 + "\u65e5" * 9,
    ),
    *("\u0301", "e", "日" * 341, "\ud800"),
]


@given(st.sets(st.sampled_from(SAMPLES), max_size=3))
def test_ids_that_are_looked_at_together_are_valid_if_each_of_them_is(texts: set[str | None]) -> None:
    def is_valid(text: str | None) -> bool:
        try:
            return object_id(text, "objectId") == text
        except InvalidParameter:
            return False

    assert are_object_ids(texts) is all(map(is_valid, texts))
