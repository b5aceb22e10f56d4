"""Lists of users of OpenFGA's API (docs/openfga.md#lists)."""

from typing import Any

import pytest

from tests.openfga.conversation import (
    OpenFga,
    arrow,
    but_not,
    computed,
    define,
    form,
    intersection,
    model,
    this,
    union,
)
from tests.openfga.requests import key, write
from tests.running import Client

HEADER = "openfga-authorization-model-id"
ALL = ["user", "user:*", "team#member"]
TYPES = model(
    define("user"),
    define("Robot"),
    define("team", member=(this(), [*ALL, "Robot"])),
    define("folder", viewer=(this(), ALL), blocked=(this(), ["user"]), allowed=(computed("viewer"), [])),
    define(
        "file",
        folder=(this(), ["folder"]),
        owner=(this(), ["user"]),
        blocked=(this(), ALL),
        viewer=(union(this(), computed("owner"), arrow("allowed", "folder")), ALL),
        reader=(but_not(computed("viewer"), computed("blocked")), []),
        signer=(intersection(computed("owner"), computed("viewer")), []),
        either=(union(but_not(computed("owner"), computed("blocked")), computed("viewer")), []),
    ),
)
TUPLES = (
    "team:core member user:ann",
    "team:core member Robot:Ü|",
    "team:all member team:core#member",
    "team:all member user:*",
    "folder:x viewer team:core#member",
    "folder:x viewer user:dan",
    "file:a folder folder:x",
    "file:a owner user:bob",
    "file:a blocked user:dan",
    "file:b viewer user:*",
    "file:b owner user:cleo",
    "file:b owner user:eve",
    "file:b blocked user:eve",
    "file:c viewer team:all#member",
    "file:c blocked team:core#member",
    "file:d viewer user:ann",
    "file:d viewer user:*",
    "file:d blocked user:*",
)


@pytest.fixture(scope="module")
def filled(shared_client: Client) -> OpenFga:
    openfga = OpenFga.create(shared_client)
    openfga.write_model(TYPES)
    assert write(openfga, *TUPLES).json() == {}
    return openfga


def build_body(text: str, *contextual: str, **others: Any) -> dict[str, Any]:
    """Returns the body of `file:a viewer user`, or `file:a viewer team#member`."""
    of_object, relation, only = text.split(" ")
    of_type, _, object_id = of_object.partition(":")
    body: dict[str, Any] = {"object": {"type": of_type, "id": object_id}, "relation": relation, **others}
    body["user_filters"] = [form(only)]
    if contextual:
        body["contextual_tuples"] = [*map(key, contextual)]
    return body


def render(user: dict[str, Any]) -> str:
    [(kind, named)] = user.items()
    match kind:
        case "object":
            return f"{named['type']}:{named['id']}"
        case "userset":
            return f"{named['type']}:{named['id']}#{named['relation']}"
        case _:
            return f"{named['type']}:*"


def list_users(openfga: OpenFga, body: dict[str, Any]) -> list[str]:
    """Returns the users, for each of whom a check is allowed."""
    answer = openfga.post("list-users", body)
    assert answer.status_code == 200, answer.text
    assert answer.json().keys() == {"users"}
    users = [*map(render, answer.json()["users"])]
    assert len({*users}) == len(users)
    of_object = f"{body['object']['type']}:{body['object']['id']}"
    tuples = {"tuple_keys": body["contextual_tuples"]} if "contextual_tuples" in body else None
    for user in users:
        named = {"object": of_object, "relation": body["relation"], "user": user}
        checked = openfga.post("check", body | {"tuple_key": named, "contextual_tuples": tuples})
        assert checked.json().get("allowed"), (user, checked.text)
    return sorted(users)


LISTS = {
    "file:a viewer user": ["user:ann", "user:bob", "user:dan"],
    "file:a reader user": ["user:ann", "user:bob"],
    "file:a owner user": ["user:bob"],
    "file:a signer user": ["user:bob"],
    "file:a viewer Robot": ["Robot:Ü|"],
    "file:b owner Robot": [],
    "file:nobody viewer user": [],
    # wildcards: those who have access through one alone are not listed
    "file:b viewer user": ["user:*", "user:cleo", "user:eve"],
    "file:b reader user": ["user:*", "user:cleo"],
    "file:b signer user": ["user:cleo", "user:eve"],
    "file:b either user": ["user:*", "user:cleo", "user:eve"],
    "file:c viewer user": ["user:*", "user:ann"],
    "file:c reader user": ["user:*"],
    "file:d viewer user": ["user:*", "user:ann"],
    "file:d reader user": [],
    "team:all member user": ["user:*", "user:ann"],
    "team:all member Robot": ["Robot:Ü|"],
    # usersets
    "file:a viewer team#member": ["team:core#member"],
    "file:c viewer team#member": ["team:all#member", "team:core#member"],
    "file:c reader team#member": ["team:all#member"],
    "file:a viewer folder#viewer": ["folder:x#viewer"],
    "file:a viewer folder#allowed": ["folder:x#allowed"],
    "file:a viewer folder#blocked": [],
    "file:a viewer file#owner": ["file:a#owner"],
    "file:a owner file#owner": ["file:a#owner"],
    "file:a owner file#viewer": [],
    "file:a signer file#owner": ["file:a#owner"],
    "file:a reader file#blocked": [],
    "team:core member team#member": ["team:core#member"],
    "team:all member team#member": ["team:all#member", "team:core#member"],
    "team:nobody member team#member": ["team:nobody#member"],
}


@pytest.mark.parametrize("again", [False, True])
def test_users_are_listed_if_they_are_named(filled: OpenFga, again: bool) -> None:
    assert {text: list_users(filled, build_body(text)) for text in LISTS} == LISTS


def test_a_user_who_is_named_where_access_ends_is_not_listed(openfga: OpenFga) -> None:
    """Named in a child that does not hold, and allowed by a wildcard in the other."""
    openfga.write_model(
        model(
            define("user"),
            define(
                "file",
                owner=(this(), ["user"]),
                blocked=(this(), ["user"]),
                public=(this(), ["user:*"]),
                viewer=(union(but_not(computed("owner"), computed("blocked")), computed("public")), []),
                both=(intersection(computed("public"), computed("owner")), []),
                rest=(intersection(computed("public"), but_not(computed("public"), computed("blocked"))), []),
            ),
        )
    )
    write(openfga, "file:a owner user:ann", "file:a owner user:bob", "file:a blocked user:ann", "file:a public user:*")
    assert list_users(openfga, build_body("file:a viewer user")) == ["user:*", "user:bob"]
    assert list_users(openfga, build_body("file:a both user")) == ["user:ann", "user:bob"]
    assert list_users(openfga, build_body("file:a rest user")) == ["user:*"]


def test_contextual_tuples_are_an_array_and_count_for_one_list(filled: OpenFga) -> None:
    added = "file:n viewer team:new#member", "team:new member user:dan", "file:a blocked user:bob"
    assert list_users(filled, build_body("file:n reader user", *added)) == ["user:dan"]
    assert list_users(filled, build_body("file:n reader team#member", *added)) == ["team:new#member"]
    assert list_users(filled, build_body("file:a reader user", *added)) == ["user:ann"]
    assert list_users(filled, build_body("file:a reader user")) == ["user:ann", "user:bob"]
    assert list_users(filled, build_body("file:a viewer user", "file:a viewer user:*")) == [
        "user:*", "user:ann", "user:bob", "user:dan",
    ]  # fmt: skip
    refused = filled.post("list-users", build_body("file:a reader user", "file:a reader user:ann"))
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_tuple")


def test_the_model_of_the_request_decides(openfga: OpenFga) -> None:
    def build(viewer: Any, allowed: list[str]) -> Any:
        return model(define("user"), define("file", blocked=(this(), ["user"]), viewer=(viewer, allowed)))

    first = openfga.write_model(build(this(), ["user", "user:*"]))
    write(openfga, "file:a viewer user:ann", "file:a blocked user:ann", "file:a viewer user:*")
    assert list_users(openfga, build_body("file:a viewer user")) == ["user:*", "user:ann"]
    second = openfga.write_model(build(but_not(this(), computed("blocked")), ["user"]))
    assert list_users(openfga, build_body("file:a viewer user")) == []
    former = build_body("file:a viewer user", authorization_model_id=first)
    assert list_users(openfga, former) == ["user:*", "user:ann"]
    assert openfga.post("list-users", former).headers[HEADER] == first
    assert openfga.post("list-users", build_body("file:a viewer user")).headers[HEADER] == second


def test_all_users_are_listed(openfga: OpenFga) -> None:
    openfga.write_model(TYPES)
    names = [f"user:{number:04}" for number in range(1_200)]
    for start in range(0, len(names), 100):
        write(openfga, *[f"file:a viewer {name}" for name in names[start : start + 100]])
    write(openfga, "file:a viewer user:*")
    users = [*map(render, openfga.post("list-users", build_body("file:a reader user")).json()["users"])]
    assert sorted(users) == ["user:*", *names]


MALFORMED = {
    "nothing": ({}, "validation_error"),
    "an object as a text": (build_body("file:a viewer user") | {"object": "file:a"}, "validation_error"),
    "an object without an id": (build_body("file: viewer user"), "validation_error"),
    "all objects": (build_body("file:* viewer user"), "validation_error"),
    "no filter": (build_body("file:a viewer user") | {"user_filters": []}, "validation_error"),
    "two filters": (build_body("file:a viewer user") | {"user_filters": [form("user")] * 2}, "validation_error"),
    "a filter without a type": (build_body("file:a viewer user") | {"user_filters": [{}]}, "validation_error"),
    "a filter that is a text": (build_body("file:a viewer user") | {"user_filters": ["user"]}, "validation_error"),
    "tuples as an object": (build_body("file:a viewer user", contextual_tuples={"tuple_keys": []}), "validation_error"),
    "an undefined type": (build_body("robot:a viewer user"), "type_not_found"),
    "an undefined relation": (build_body("file:a nothing user"), "relation_not_found"),
    "an undefined type of a filter": (build_body("file:a viewer robot"), "type_not_found"),
    "an undefined relation of a filter": (build_body("file:a viewer team#nothing"), "relation_not_found"),
    "a context that is an array": (build_body("file:a viewer user", context=[]), "validation_error"),
    "an unknown model": (
        build_body("file:a viewer user", authorization_model_id="0" * 26),
        "authorization_model_not_found",
    ),
}


@pytest.mark.parametrize(("body", "code"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_requests_are_refused(filled: OpenFga, body: Any, code: str) -> None:
    refused = filled.post("list-users", body)
    assert (refused.status_code, refused.json()["code"]) == (400, code), refused.text


def test_a_store_without_a_model_lists_nobody(openfga: OpenFga) -> None:
    refused = openfga.post("list-users", build_body("file:a viewer user"))
    assert (refused.status_code, refused.json()["code"]) == (400, "latest_authorization_model_not_found")
