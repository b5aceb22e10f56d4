"""`expand` of OpenFGA's API (docs/openfga.md#expand)."""

from typing import Any

import pytest

from tests.openfga.conversation import (
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
from tests.openfga.requests import key, write

HEADER = "openfga-authorization-model-id"
USERS = ["user", "user:*", "Team#can.join"]
TYPES = model(
    define("user"),
    define("Team", **{"can.join": (this(), ["user"])}),
    define("folder", viewer=(this(), ["user"])),
    define(
        "file",
        folder=(this(), ["folder"]),
        owner=(this(), ["user"]),
        viewer=(
            union(intersection(this(), computed("owner")), but_not(this(), arrow("viewer", "folder"))),
            USERS,
        ),
        reader=(computed("viewer"), []),
    ),
)
TUPLES = (
    "file:a viewer user:b",
    "file:a viewer user:*",
    "file:a viewer Team:Ü|#can.join",
    "file:a viewer user:ann",
    "file:b viewer user:bob",
    "file:a owner user:bob",
    "file:a folder folder:y",
    "file:a folder folder:x",
)


@pytest.fixture
def filled(openfga: OpenFga) -> OpenFga:
    openfga.write_model(TYPES)
    assert write(openfga, *TUPLES).json() == {}
    return openfga


def expand(openfga: OpenFga, text: str, **others: Any) -> dict[str, Any]:
    of_object, relation = text.split("#")
    answer = openfga.post("expand", {"tuple_key": {"object": of_object, "relation": relation}, **others})
    assert answer.status_code == 200, answer.text
    root: dict[str, Any] = answer.json()["tree"]["root"]
    return root


def leaf(name: str, **content: Any) -> dict[str, Any]:
    return {"name": name, "leaf": content}


def users(name: str, *listed: str) -> dict[str, Any]:
    return leaf(name, users={"users": [*listed]})


def contextual(*texts: str) -> dict[str, Any]:
    return {"contextual_tuples": {"tuple_keys": [*map(key, texts)]}}


def test_rules_are_shown_in_the_order_of_the_model_and_not_followed(filled: OpenFga) -> None:
    name = "file:a#viewer"
    given = users(name, "Team:Ü|#can.join", "user:*", "user:ann", "user:b")
    links = [{"userset": "folder:x#viewer"}, {"userset": "folder:y#viewer"}]
    linked = leaf(name, tupleToUserset={"tupleset": "file:a#folder", "computed": links})
    owners = leaf(name, computed={"userset": "file:a#owner"})
    assert expand(filled, name) == {
        "name": name,
        "union": {
            "nodes": [
                {"name": name, "intersection": {"nodes": [given, owners]}},
                {"name": name, "difference": {"base": given, "subtract": linked}},
            ]
        },
    }
    assert expand(filled, "file:a#reader") == leaf("file:a#reader", computed={"userset": "file:a#viewer"})
    assert expand(filled, "file:a#owner") == users("file:a#owner", "user:bob")


def test_nobody_is_an_empty_list(filled: OpenFga) -> None:
    assert expand(filled, "file:z#owner") == users("file:z#owner")
    difference = expand(filled, "file:z#viewer")["union"]["nodes"][1]["difference"]
    assert difference["subtract"]["leaf"]["tupleToUserset"]["computed"] == []


def test_contextual_tuples_are_shown_once(filled: OpenFga) -> None:
    added = contextual("file:a owner user:bob", "file:a owner user:Ä", "file:b owner user:cleo")
    assert expand(filled, "file:a#owner", **added) == users("file:a#owner", "user:bob", "user:Ä")
    refused = filled.post("expand", {"tuple_key": key("file:a owner user:bob"), **contextual("file:a reader user:b")})
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_tuple")


def test_the_model_of_the_request_shows_what_it_allows(filled: OpenFga) -> None:
    first = filled.model_id
    second = filled.write_model(model(define("user"), define("file", viewer=(this(), ["user"]))))
    assert expand(filled, "file:a#viewer") == users("file:a#viewer", "user:ann", "user:b")
    assert "union" in expand(filled, "file:a#viewer", authorization_model_id=first, consistency="HIGHER_CONSISTENCY")
    body = {"tuple_key": {"object": "file:a", "relation": "viewer"}}
    assert filled.post("expand", body).headers[HEADER] == second
    assert filled.post("expand", body | {"authorization_model_id": first}).headers[HEADER] == first


def test_all_users_are_shown(openfga: OpenFga) -> None:
    openfga.write_model(TYPES)
    names = [f"user:{number:04}" for number in range(1_100)]
    for start in range(0, len(names), 100):
        write(openfga, *[f"file:a owner {name}" for name in reversed(names[start : start + 100])])
    assert expand(openfga, "file:a#owner") == users("file:a#owner", *names)


MALFORMED = {
    "nothing": ({}, "validation_error"),
    "an undefined type": ({"tuple_key": {"object": "robot:a", "relation": "viewer"}}, "validation_error"),
    "an undefined relation": ({"tuple_key": {"object": "file:a", "relation": "nothing"}}, "validation_error"),
    "no relation": ({"tuple_key": {"object": "file:a"}}, "validation_error"),
    "no object": ({"tuple_key": {"relation": "viewer"}}, "validation_error"),
    "all objects": ({"tuple_key": {"object": "file:*", "relation": "viewer"}}, "validation_error"),
    "an array": ({"tuple_key": []}, "validation_error"),
    "an unknown model": (
        {"tuple_key": {"object": "file:a", "relation": "viewer"}, "authorization_model_id": "0" * 26},
        "authorization_model_not_found",
    ),
    "no id of a model": (
        {"tuple_key": {"object": "file:a", "relation": "viewer"}, "authorization_model_id": "newest"},
        "validation_error",
    ),
}


@pytest.mark.parametrize(("body", "code"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_requests_are_refused(filled: OpenFga, body: Any, code: str) -> None:
    refused = filled.post("expand", body)
    assert (refused.status_code, refused.json()["code"]) == (400, code), refused.text


def test_a_store_without_a_model_expands_nothing(openfga: OpenFga) -> None:
    refused = openfga.post("expand", {"tuple_key": {"object": "file:a", "relation": "viewer"}})
    assert (refused.status_code, refused.json()["code"]) == (400, "latest_authorization_model_not_found")
