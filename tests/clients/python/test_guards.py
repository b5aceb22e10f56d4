"""What guards of web applications read: templates of objects, ids, and subjects."""

import sys
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magistrate.engine import id_characters
from magistrate_client import Client, InvalidUse, ObjectRef, SubjectRef
from magistrate_client.guards import Guard, ObjectTemplate, Rejection, read_object, read_subject, translate_errors
from magistrate_client.ids import MAX_ID_BYTES, is_id
from tests import running

NEAR_IDS = st.text(st.one_of(st.characters(), st.sampled_from("ab/:.é*#[ \u0301\u200b")), max_size=8) | st.sampled_from(
    ["é" * 512, "é" * 513, "x" * 1_024, "x" * 1_025, ".", "..", "..."]
)


@given(NEAR_IDS)
def test_an_id_is_one_for_the_client_as_for_the_service(text: str) -> None:
    if sys.version_info < (3, 12):  # which has the Unicode of the service
        assert is_id(text) == id_characters.is_id(text)
    assert is_id(text) or not id_characters.is_id(text)
    assert id_characters.MAX_ID_LENGTH == MAX_ID_BYTES


@pytest.mark.parametrize(
    ("template", "parameters", "named"),
    [
        ("document:{id}", {"id": "plan"}, "document:plan"),
        ("document:{id}", {"id": "a:b/c"}, "document:a:b/c"),
        ("document:{id}", {"id": 7, "other": "x"}, "document:7"),
        ("document:{id}", {"id": UUID(int=1)}, "document:00000000-0000-0000-0000-000000000001"),
        ("file:{tenant}/{id}.txt", {"tenant": "acme", "id": "plan"}, "file:acme/plan.txt"),
        ("settings:all", {}, "settings:all"),
    ],
)
def test_a_template_names_an_object(template: str, parameters: dict[str, Any], named: str) -> None:
    assert str(ObjectTemplate(template).name_object(parameters)) == named


@pytest.mark.parametrize("value", ["", "*", "a#b", "a b", "\0", ".", "..", "a\n", "e\u0301", "x" * 1_025, "\ud800"])
def test_a_value_that_makes_no_id_is_not_found(value: str) -> None:
    with pytest.raises(Rejection) as rejected:
        ObjectTemplate("document:{id}").name_object({"id": value})

    assert rejected.value.status == 404


@given(st.lists(st.text("ab/-", max_size=4), min_size=4, max_size=4))
def test_different_values_never_name_the_same_object(values: list[str]) -> None:
    template = ObjectTemplate("file:{first}/-{second}")
    pairs = [{"first": values[0], "second": values[1]}, {"first": values[2], "second": values[3]}]
    named = []
    for pair in pairs:
        try:
            named.append((template.name_object(pair), pair))
        except Rejection:
            continue

    assert len(named) < 2 or (named[0][0] == named[1][0]) == (named[0][1] == named[1][1])


@pytest.mark.parametrize(
    "text",
    ["", "document", "{kind}:{id}", "document:", "document:{}", "document:{a}{b}", "document:{id}#viewer", "a:{b"],
)
def test_a_template_that_could_name_anything_else_is_refused_at_once(text: str) -> None:
    with pytest.raises(InvalidUse):
        Guard("viewer", text)


@pytest.mark.parametrize("parameters", [{}, {"id": None}, {"id": True}, {"id": 1.0}, {"id": ["plan"]}])
def test_a_route_without_the_parameter_is_a_fault_of_the_application(parameters: dict[str, Any]) -> None:
    with pytest.raises(InvalidUse):
        ObjectTemplate("document:{id}").name_object(parameters)


def test_a_relation_has_the_name_of_one() -> None:
    with pytest.raises(InvalidUse):
        Guard("viewer of", "document:{id}")


@pytest.mark.parametrize(
    ("subject", "found"),
    [
        ("user:ann", SubjectRef("user", "ann")),
        ("user:a:b", SubjectRef("user", "a:b")),
        (ObjectRef("user", "ann"), SubjectRef("user", "ann")),
        (SubjectRef("group", "eng", "member"), SubjectRef("group", "eng", "member")),
    ],
)
def test_a_subject_is_one(subject: Any, found: SubjectRef) -> None:
    assert read_subject(subject) == found


@pytest.mark.parametrize("subject", ["user:*", "user:ann#member", SubjectRef("user", "*"), "user: ann", "user:.."])
def test_a_subject_with_the_id_of_none_is_forbidden(subject: Any) -> None:
    with pytest.raises(Rejection) as rejected:
        read_subject(subject)

    assert rejected.value.status == 403


@pytest.mark.parametrize("text", ["ann", "user:", ":ann", ""])
def test_a_text_that_names_none_is_a_fault_of_the_application(text: str) -> None:
    with pytest.raises(InvalidUse):
        read_subject(text)
    with pytest.raises(InvalidUse):
        read_object(text)


def test_an_object_with_the_id_of_none_is_not_found() -> None:
    with pytest.raises(Rejection):
        read_object("document:*")


def test_an_id_that_only_the_service_refuses_is_not_found(shared_client: running.Client) -> None:
    unassigned = "\u0378"  # as a letter is to the service that is newer than its Unicode

    with (
        Client(str(shared_client.base_url), running.KEY) as client,
        pytest.raises(Rejection) as rejected,
        translate_errors(),
    ):
        client.check("user:ann", "viewer", ObjectRef("document", unassigned))

    assert rejected.value.status == 404
