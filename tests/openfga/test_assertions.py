"""Assertions of OpenFGA's API (docs/openfga.md#assertions)."""

from typing import Any

import pytest

from tests.openfga.conversation import OpenFga, define, model
from tests.openfga.requests import key

HEADER = "openfga-authorization-model-id"
FULL = {
    "tuple_key": key("file:a viewer user:ann"),
    "expectation": True,
    "contextual_tuples": [key("file:a viewer team:core#member") | {"condition": None}],
    "context": {"a": [1, {"b": None}]},
}
PLAIN = {"tuple_key": key("file:b owner user:bob"), "expectation": False}


def test_assertions_are_replaced_and_come_back_in_order(openfga: OpenFga) -> None:
    model_id = openfga.write_model()
    assert openfga.get(f"assertions/{model_id}").json() == {"authorization_model_id": model_id, "assertions": []}

    written = openfga.put(f"assertions/{model_id}", {"assertions": [PLAIN, FULL]})

    assert (written.status_code, written.content, written.headers[HEADER]) == (204, b"", model_id)
    openfga.write_model()
    kept = openfga.get(f"assertions/{model_id}")
    assert kept.json()["assertions"] == [PLAIN | {"contextual_tuples": [], "context": None}, FULL]
    assert kept.headers[HEADER] == model_id
    assert openfga.put(f"assertions/{model_id}", {"assertions": [FULL] * 100}).status_code == 204
    assert len(openfga.get(f"assertions/{model_id}").json()["assertions"]) == 100
    empty: list[dict[str, Any]] = [{"assertions": []}, {}, {"assertions": None}]
    for nothing in empty:
        assert openfga.put(f"assertions/{model_id}", nothing).status_code == 204
        assert openfga.get(f"assertions/{model_id}").json()["assertions"] == []


def test_an_assertion_without_an_expectation_expects_no_access(openfga: OpenFga) -> None:
    model_id = openfga.write_model()
    openfga.put(f"assertions/{model_id}", {"assertions": [{"tuple_key": PLAIN["tuple_key"], "unknown": 1}]})
    [kept] = openfga.get(f"assertions/{model_id}").json()["assertions"]
    assert kept["expectation"] is False


REFUSED = {
    "101": ({"assertions": [PLAIN] * 101}, "assertions_too_many_items"),
    "no key": ({"assertions": [{"expectation": True}]}, "validation_error"),
    "an undefined type": ({"assertions": [{"tuple_key": key("robot:b owner user:bob")}]}, "validation_error"),
    "an undefined relation": ({"assertions": [{"tuple_key": key("file:b nothing user:bob")}]}, "validation_error"),
    "an undefined user": ({"assertions": [{"tuple_key": key("file:b owner robot:bob")}]}, "validation_error"),
    "a user without a type": ({"assertions": [{"tuple_key": key("file:b owner bob")}]}, "validation_error"),
    "21 tuples": (
        {"assertions": [PLAIN | {"contextual_tuples": [key(f"file:b owner user:u{n}") for n in range(21)]}]},
        "validation_error",
    ),
    "a tuple that cannot be written": (
        {"assertions": [PLAIN | {"contextual_tuples": [key("file:b reader user:ann")]}]}, "validation_error",
    ),
    "tuples as an object": ({"assertions": [PLAIN | {"contextual_tuples": {"tuple_keys": []}}]}, "validation_error"),
    "a text": ({"assertions": "all"}, "validation_error"),
    "an expectation that is a number": ({"assertions": [PLAIN | {"expectation": 1}]}, "validation_error"),
    "a context that is an array": ({"assertions": [PLAIN | {"context": [1]}]}, "validation_error"),
    "more than 256 KiB": (
        {"assertions": [PLAIN | {"context": {"a": "x" * 30_000}}] * 9}, "exceeded_entity_limit",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "code"), REFUSED.values(), ids=REFUSED)
def test_assertions_that_are_none_are_refused(openfga: OpenFga, body: Any, code: str) -> None:
    model_id = openfga.write_model()
    openfga.put(f"assertions/{model_id}", {"assertions": [PLAIN]})
    refused = openfga.put(f"assertions/{model_id}", body)
    assert (refused.status_code, refused.json()["code"]) == (400, code), refused.text
    assert len(openfga.get(f"assertions/{model_id}").json()["assertions"]) == 1


def test_assertions_belong_to_a_model_of_the_store(openfga: OpenFga) -> None:
    other = OpenFga.create(openfga.client).write_model()
    openfga.write_model(model(define("user")))
    for unknown in (other, "01ARZ3NDEKTSV4RRFFQ69G5FAV"):
        for answer in (
            openfga.get(f"assertions/{unknown}"),
            openfga.put(f"assertions/{unknown}", {"assertions": []}),
        ):
            assert (answer.status_code, answer.json()["code"]) == (400, "authorization_model_not_found")
    for malformed in ("nothing", other.lower()):
        for answer in (openfga.get(f"assertions/{malformed}"), openfga.put(f"assertions/{malformed}", {})):
            assert (answer.status_code, answer.json()["code"]) == (400, "validation_error")
