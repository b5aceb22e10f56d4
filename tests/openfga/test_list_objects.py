"""Lists of objects of OpenFGA's API (docs/openfga.md#lists)."""

import json
from typing import Any

import pytest

from tests.openfga.conversation import OpenFga, but_not, computed, define, model, this
from tests.openfga.requests import delete, key, write
from tests.openfga.team_files import TUPLES, TYPES
from tests.running import Client

HEADER = "openfga-authorization-model-id"


@pytest.fixture(scope="module")
def filled(shared_client: Client) -> OpenFga:
    openfga = OpenFga.create(shared_client)
    openfga.write_model(TYPES)
    assert write(openfga, *TUPLES, "file:Ü|* viewer user:cleo").json() == {}
    return openfga


def build_body(text: str, *contextual: str, **others: Any) -> dict[str, Any]:
    """Returns the body of `file viewer user:ann`."""
    of_type, relation, user = text.split(" ")
    body: dict[str, Any] = {"type": of_type, "relation": relation, "user": user, **others}
    if contextual:
        body["contextual_tuples"] = {"tuple_keys": [*map(key, contextual)]}
    return body


def list_objects(openfga: OpenFga, body: dict[str, Any]) -> list[str]:
    """Returns the objects, which are the same at once and as a stream, and on which checks are allowed."""
    answer, streamed = openfga.post("list-objects", body), openfga.post("streamed-list-objects", body)
    assert answer.status_code == 200, answer.text
    assert answer.json().keys() == {"objects"}
    objects: list[str] = answer.json()["objects"]
    assert streamed.status_code == 200, streamed.text
    assert [json.loads(line)["result"]["object"] for line in streamed.text.splitlines()] == objects
    assert answer.headers[HEADER] == streamed.headers[HEADER]
    assert len({*objects}) == len(objects)
    for each in objects:
        checked = {**body, "tuple_key": {"object": each, "relation": body["relation"], "user": body["user"]}}
        assert openfga.post("check", checked).json()["allowed"]
    return sorted(objects)


LISTS = {
    "file viewer user:ann": ["file:a", "file:b"],
    "file reader user:ann": ["file:b"],
    "file viewer user:cleo": ["file:b", "file:Ü|*"],
    "file viewer user:zoe": ["file:b"],
    "file signer user:zoe": [],
    "file signer user:cleo": ["file:b"],
    "file viewer Robot:Ü*": ["file:a"],
    "file viewer Robot:r": [],
    "file folder folder:x": ["file:a"],
    "file folder user:ann": [],
    "team member user:ann": ["team:all", "team:core"],
    "file viewer team:core#member": ["file:a"],
    "file viewer team:other#member": [],
    "file reader team:core#member": ["file:a"],
    "file viewer file:a#owner": ["file:a"],
    "file owner file:a#owner": ["file:a"],
    "file owner file:a#viewer": [],
    "file viewer file:new#owner": ["file:new"],
    "team member team:core#member": ["team:all", "team:core"],
    "file viewer user:*": ["file:b"],
    "file reader user:*": ["file:b"],
    "team member user:*": [],
}


@pytest.mark.parametrize("again", [False, True])
def test_the_objects_of_a_user_are_listed(filled: OpenFga, again: bool) -> None:
    assert {text: list_objects(filled, build_body(text)) for text in LISTS} == LISTS


def test_contextual_tuples_count_for_one_list(filled: OpenFga) -> None:
    added = "file:n viewer team:new#member", "team:new member user:dan", "file:b blocked user:dan"
    assert list_objects(filled, build_body("file reader user:dan", *added)) == ["file:n"]
    assert list_objects(filled, build_body("file viewer team:new#member", *added)) == ["file:n"]
    assert list_objects(filled, build_body("file reader user:dan")) == ["file:b"]
    body = build_body("file viewer user:dan", "file:n reader user:dan")
    for path in ("list-objects", "streamed-list-objects"):
        refused = filled.post(path, body)
        assert (refused.status_code, refused.json()["code"]) == (400, "invalid_tuple")


def test_the_model_of_the_request_decides(openfga: OpenFga) -> None:
    def build(viewer: Any) -> Any:
        return model(define("user"), define("file", blocked=(this(), ["user"]), viewer=(viewer, ["user"])))

    first = openfga.write_model(build(this()))
    write(openfga, "file:a viewer user:ann", "file:a blocked user:ann", "file:b viewer user:ann")
    assert list_objects(openfga, build_body("file viewer user:ann")) == ["file:a", "file:b"]
    second = openfga.write_model(build(but_not(this(), computed("blocked"))))
    assert list_objects(openfga, build_body("file viewer user:ann")) == ["file:b"]
    for _ in range(2):
        former = build_body("file viewer user:ann", authorization_model_id=first)
        assert list_objects(openfga, former) == ["file:a", "file:b"]
        assert openfga.post("list-objects", former).headers[HEADER] == first
    openfga.write_model(model(define("user")))
    delete(openfga, "file:b viewer user:ann")
    assert list_objects(openfga, build_body("file viewer user:ann", authorization_model_id=second)) == []
    assert list_objects(openfga, build_body("file viewer user:ann", authorization_model_id=first)) == ["file:a"]


@pytest.mark.parametrize("contextual", [(), ("file:x owner user:bob",)])
def test_lists_of_more_than_a_page_are_complete(openfga: OpenFga, contextual: tuple[str, ...]) -> None:
    openfga.write_model(TYPES)
    names = [f"file:f{number:04}" for number in range(2_100)]
    for start in range(0, len(names), 100):
        write(openfga, *[f"{name} viewer user:*" for name in names[start : start + 100]])
    body = build_body("file viewer user:ann", *contextual)
    assert openfga.post("list-objects", body).json()["objects"] == names
    lines = openfga.post("streamed-list-objects", body).text.splitlines()
    assert [json.loads(line)["result"]["object"] for line in lines] == names


MALFORMED = {
    "an undefined type": (build_body("robot viewer user:ann"), "type_not_found"),
    "an undefined relation": (build_body("file nothing user:ann"), "relation_not_found"),
    "an undefined type of a user": (build_body("file viewer robot:ann"), "validation_error"),
    "an undefined userset": (build_body("file viewer team:core#nothing"), "validation_error"),
    "a user without a type": (build_body("file viewer ann"), "validation_error"),
    "a type with a colon": (build_body("file:a viewer user:ann"), "validation_error"),
    "a long relation": (build_body(f"file {'x' * 51} user:ann"), "validation_error"),
    "nothing": ({}, "validation_error"),
    "numbers": ({"type": 1, "relation": 2, "user": 3}, "validation_error"),
    "a context that is an array": (build_body("file viewer user:ann", context=[]), "validation_error"),
    "tuples as an array": (build_body("file viewer user:ann", contextual_tuples=[]), "validation_error"),
    "101 tuples": (
        build_body("file viewer user:ann", *[f"file:c viewer user:u{number}" for number in range(101)]),
        "validation_error",
    ),
    "an unknown model": (
        build_body("file viewer user:ann", authorization_model_id="0" * 26),
        "authorization_model_not_found",
    ),
}


@pytest.mark.parametrize(("body", "code"), MALFORMED.values(), ids=MALFORMED)
@pytest.mark.parametrize("path", ["list-objects", "streamed-list-objects"])
def test_malformed_requests_are_refused(filled: OpenFga, path: str, body: Any, code: str) -> None:
    refused = filled.post(path, body)
    assert (refused.status_code, refused.json()["code"]) == (400, code), refused.text


@pytest.mark.parametrize("path", ["list-objects", "streamed-list-objects"])
def test_a_store_without_a_model_lists_nothing(openfga: OpenFga, path: str) -> None:
    refused = openfga.post(path, build_body("file viewer user:ann"))
    assert (refused.status_code, refused.json()["code"]) == (400, "latest_authorization_model_not_found")


def test_a_stream_without_objects_is_empty(filled: OpenFga) -> None:
    answer = filled.post("streamed-list-objects", build_body("file signer user:zoe"))
    assert (answer.status_code, answer.content) == (200, b"")
