"""Authorization models of OpenFGA's API (docs/openfga.md#models)."""

from typing import Any

import pytest

from tests.openfga.conversation import (
    MODEL,
    OpenFga,
    arrow,
    but_not,
    computed,
    define,
    intersection,
    model,
    this,
    union,
)

USER = define("user")


def test_models_are_kept_as_they_came_and_the_newest_is_first(openfga: OpenFga) -> None:
    first, second = openfga.write_model(), openfga.write_model()

    assert first < second
    kept = openfga.get(f"authorization-models/{first}").json()["authorization_model"]
    assert kept == {"id": first, **MODEL, "conditions": {}}
    listed = openfga.get("authorization-models").json()
    assert [row["id"] for row in listed["authorization_models"]] == [second, first]
    assert listed["continuation_token"] == ""
    page = openfga.get("authorization-models", page_size=1).json()
    assert [row["id"] for row in page["authorization_models"]] == [second]
    following = openfga.get("authorization-models", continuation_token=page["continuation_token"]).json()
    assert [row["id"] for row in following["authorization_models"]] == [first]


def test_a_model_belongs_to_its_store(openfga: OpenFga) -> None:
    model_id = OpenFga.create(openfga.client).write_model()
    for unknown in (model_id, "01ARZ3NDEKTSV4RRFFQ69G5FAV"):
        refused = openfga.get(f"authorization-models/{unknown}")
        assert (refused.status_code, refused.json()["code"]) == (400, "authorization_model_not_found")


def test_the_newest_model_is_that_of_the_store(openfga: OpenFga) -> None:
    openfga.write_model()

    stored = openfga.client.get(f"/stores/{openfga.store_id}/v2/model").json()

    types = {each["type"]: each for each in stored["objectTypes"]}
    assert types["file"]["relations"]["direct_viewer"] == {}
    assert types["file"]["allowedTypes"]["direct_viewer"] == ["user", "user:*", "team#member"]
    assert types["file"]["allowedTypes"]["viewer"] == []
    openfga.write_model(model(USER, define("team", member=(this(), ["user"]))))
    stored = openfga.client.get(f"/stores/{openfga.store_id}/v2/model").json()
    assert [each["type"] for each in stored["objectTypes"]] == ["team", "user"]


def test_both_forms_of_members_are_read(openfga: OpenFga) -> None:
    snake = {
        "tuple_to_userset": {"tupleset": {"relation": "folder"}, "computed_userset": {"relation": "viewer"}},
    }
    model_id = openfga.write_model(
        model(
            USER,
            define("folder", viewer=(this(), ["user"])),
            define("file", folder=(this(), ["folder"]), viewer=(union(this(), snake), ["user"])),
        )
    )
    kept = openfga.get(f"authorization-models/{model_id}").json()["authorization_model"]
    assert kept["type_definitions"][2]["relations"]["viewer"]["union"]["child"][1] == {
        "tupleToUserset": {"tupleset": {"relation": "folder"}, "computedUserset": {"relation": "viewer"}}
    }


def test_names_that_ours_cannot_have_are_accepted(openfga: OpenFga) -> None:
    openfga.write_model(
        model(
            define("Team", member=(this(), ["Team", "team"])),
            define("team", member=(this(), ["Team#member"]), **{"an.y/Öf": (computed("member"), [])}),
            define("日本", **{name: (this(), ["team"]) for name in ("direct_viewer", "viewer", "anyOf")}),
        )
    )


def alone(**relations: tuple[dict[str, Any], list[str]]) -> dict[str, Any]:
    return model(USER, define("team", member=(this(), ["user"])), define("file", **relations))


INVALID_MODELS = {
    "a type twice": model(USER, USER),
    "an undefined type": alone(viewer=(this(), ["robot"])),
    "an undefined relation": alone(viewer=(computed("owner"), [])),
    "an undefined userset": alone(viewer=(this(), ["team#owner"])),
    "no assignable types": alone(viewer=(this(), [])),
    "assignable types of a computed relation": alone(owner=(this(), ["user"]), viewer=(computed("owner"), ["user"])),
    "a union of one": alone(viewer=(union(this()), ["user"])),
    "an intersection of one": alone(viewer=(intersection(this()), ["user"])),
    "no rewrite": alone(viewer=({}, [])),
    "itself": alone(viewer=(computed("viewer"), [])),
    "a circle": alone(a=(computed("b"), []), b=(computed("a"), [])),
    "a circle of assignable relations": alone(
        a=(union(this(), computed("b")), ["user"]), b=(union(this(), computed("a")), ["user"])
    ),
    "no entry point": alone(folder=(this(), ["file"]), viewer=(arrow("viewer", "folder"), [])),
    "a circle of usersets": alone(viewer=(this(), ["file#viewer"])),
    "a computed tupleset": alone(
        folder=(this(), ["team"]), other=(computed("folder"), []), viewer=(arrow("member", "other"), [])
    ),
    "a tupleset with usersets": alone(folder=(this(), ["team#member"]), viewer=(arrow("member", "folder"), [])),
    "a tupleset with a wildcard": alone(folder=(this(), ["team:*"]), viewer=(arrow("member", "folder"), [])),
    "a relation that no linked type has": alone(folder=(this(), ["team"]), viewer=(arrow("viewer", "folder"), [])),
    "schema 1.0": MODEL | {"schema_version": "1.0"},
}


@pytest.mark.parametrize("body", INVALID_MODELS.values(), ids=INVALID_MODELS)
def test_models_without_a_meaning_are_refused(openfga: OpenFga, body: Any) -> None:
    refused = openfga.post("authorization-models", body)
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_authorization_model"), refused.text


NESTED: dict[str, Any] = this()
for _ in range(60):
    NESTED = union(this(), NESTED)
MALFORMED = {
    "nothing": ({}, "validation_error"),
    "no schema": ({"type_definitions": [USER]}, "validation_error"),
    "schema 1.3": (MODEL | {"schema_version": "1.3"}, "validation_error"),
    "no types": (model(), "type_definitions_too_few_items"),
    "types that are no array": (MODEL | {"type_definitions": {}}, "type_definitions_too_few_items"),
    "a type that is a text": (MODEL | {"type_definitions": ["user"]}, "validation_error"),
    "a type without a name": (MODEL | {"type_definitions": [{}]}, "validation_error"),
    "a name with a colon": (model(define("a:b")), "type_invalid_pattern"),
    "a reserved name": (model(define("self")), "type_invalid_pattern"),
    "a relation with a blank": (alone(**{"a b": (this(), ["user"])}), "relations_invalid_pattern"),
    "a reserved relation": (alone(this=(this(), ["user"])), "relations_invalid_pattern"),
    "a long relation": (alone(**{"w" * 51: (this(), ["user"])}), "relations_invalid_pattern"),
    "no base": (alone(viewer=({"difference": {"subtract": this()}}, ["user"])), "difference_base_missing_value"),
    "no subtract": (alone(viewer=({"difference": {"base": this()}}, ["user"])), "subtract_base_missing_value"),
    "rewrites that are numbers": (alone(viewer=({"union": {"child": [1, 2]}}, ["user"])), "validation_error"),
    "relations that are an array": (model({"type": "user", "relations": [1]}), "validation_error"),
    "101 types": (model(*[define(f"t{number}") for number in range(101)]), "exceeded_entity_limit"),
    "262,145 bytes": (model({"type": "user", "more": "x" * 262_145}), "exceeded_entity_limit"),
    "deep nesting": (alone(viewer=(NESTED, ["user"])), "validation_error"),
}


@pytest.mark.parametrize(("body", "code"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_models_are_refused(openfga: OpenFga, body: Any, code: str) -> None:
    refused = openfga.post("authorization-models", body)
    assert (refused.status_code, refused.json()["code"]) == (400, code), refused.text
    assert openfga.get("authorization-models").json()["authorization_models"] == []


def test_a_member_twice_is_refused(openfga: OpenFga) -> None:
    body = '{"schema_version": "1.1", "type_definitions": [{"type": "user", "type": "team"}]}'
    refused = openfga.client.post(f"/stores/{openfga.store_id}/authorization-models", content=body)
    assert (refused.status_code, refused.json()["code"]) == (400, "validation_error")


def test_a_number_out_of_range_is_refused(openfga: OpenFga) -> None:
    body = '{"schema_version": "1.1", "type_definitions": [{"type": "user", "more": 1e999}]}'
    refused = openfga.client.post(f"/stores/{openfga.store_id}/authorization-models", content=body)
    assert (refused.status_code, refused.json()["code"]) == (400, "validation_error")


def test_a_difference_may_have_direct_users(openfga: OpenFga) -> None:
    openfga.write_model(alone(blocked=(this(), ["user"]), viewer=(but_not(this(), computed("blocked")), ["user"])))
