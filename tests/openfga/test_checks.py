"""Checks and writes of OpenFGA's API (docs/openfga.md#checks)."""

from typing import Any

import pytest

from tests.metrics import sum_metric
from tests.openfga.conversation import OpenFga, but_not, computed, define, model, this
from tests.openfga.requests import delete, key, write
from tests.openfga.team_files import TUPLES, TYPES
from tests.running import Client

HEADER = "openfga-authorization-model-id"


def check(openfga: OpenFga, text: str, *contextual: str, **others: Any) -> bool:
    body: dict[str, Any] = {"tuple_key": key(text), **others}
    if contextual:
        body["contextual_tuples"] = {"tuple_keys": [*map(key, contextual)]}
    answer = openfga.post("check", body)
    assert answer.status_code == 200, answer.text
    assert answer.json().keys() == {"allowed", "resolution"}
    assert answer.json()["resolution"] == ""
    return bool(answer.json()["allowed"])


@pytest.fixture(scope="module")
def filled(shared_client: Client) -> OpenFga:
    openfga = OpenFga.create(shared_client)
    openfga.write_model(TYPES)
    assert write(openfga, *TUPLES).json() == {}
    return openfga


CHECKS = {
    "file:a viewer user:ann": True,
    "file:a reader user:ann": False,
    "file:a viewer user:bob": True,
    "file:a reader user:bob": True,
    "file:a viewer user:zoe": False,
    "file:b viewer user:zoe": True,
    "file:b signer user:cleo": True,
    "file:b signer user:zoe": False,
    "file:a viewer Robot:Ü*": True,
    "file:a viewer Robot:Ü": False,
    "file:b viewer Robot:r": False,
    "file:nobody-wrote-it viewer user:nobody": False,
    "file:a blocked Robot:r": False,
    # usersets
    "file:a viewer team:all#member": True,
    "file:a viewer team:core#member": True,
    "file:a reader team:core#member": True,
    "file:a viewer team:other#member": False,
    "file:a viewer file:a#owner": True,
    "file:a owner file:a#viewer": False,
    "file:a viewer file:a#viewer": True,
    "file:z viewer file:z#owner": True,
    "file:a viewer folder:x#viewer": True,
    "team:core member team:core#member": True,
    "team:core member team:all#member": False,
    # wildcards
    "file:b viewer user:*": True,
    "file:a viewer user:*": False,
    "file:b viewer team:x": False,
}


@pytest.mark.parametrize("again", [False, True])
def test_checks_are_decided_as_by_openfga(filled: OpenFga, again: bool) -> None:
    assert {text: check(filled, text) for text in CHECKS} == CHECKS
    answer = filled.post("check", {"tuple_key": key("file:a viewer user:bob"), "unknown": 1, "consistency": 200})
    assert (answer.json()["allowed"], answer.headers[HEADER]) == (True, filled.model_id)
    assert answer.headers["x-request-id"] == answer.headers["warrant-request-id"]


def test_a_batch_has_an_answer_or_an_error_for_each_check(filled: OpenFga) -> None:
    checks = [{"tuple_key": key(text), "correlation_id": f"id-{n}"} for n, text in enumerate(CHECKS)]
    wrong = {"tuple_key": key("file:a nothing user:ann"), "correlation_id": "wrong"}
    tuples = {"tuple_keys": [key("file:a reader user:ann")]}
    contextual = {"tuple_key": key("file:a viewer user:ann"), "correlation_id": "c", "contextual_tuples": tuples}

    answer = filled.post("batch-check", {"checks": [*checks, wrong, contextual]})

    result = answer.json()["result"]
    assert [result[f"id-{n}"] for n in range(len(CHECKS))] == [{"allowed": value} for value in CHECKS.values()]
    assert result["wrong"]["error"]["input_error"] == "validation_error"
    assert result["c"]["error"]["input_error"] == "invalid_tuple"
    assert answer.headers[HEADER] == filled.model_id


@pytest.mark.parametrize(
    "checks",
    [
        [],
        [{"tuple_key": key("file:a viewer user:ann"), "correlation_id": f"i{n}"} for n in range(51)],
        [{"tuple_key": key("file:a viewer user:ann"), "correlation_id": "a"}] * 2,
        [{"tuple_key": key("file:a viewer user:ann"), "correlation_id": "a.b"}],
        [{"tuple_key": key("file:a viewer user:ann"), "correlation_id": text} for text in ("a", "b" * 37)],
        [{"tuple_key": key("file:a viewer user:ann"), "correlation_id": text} for text in ("a", "")],
        [{"tuple_key": key("file:a viewer user:ann")}],
        [{"tuple_key": {"user": "user:a b", "relation": "viewer", "object": "file:a"}, "correlation_id": "a"}],
        [{"correlation_id": "a"}],
    ],
)
def test_batches_that_are_malformed_are_refused(filled: OpenFga, checks: Any) -> None:
    refused = filled.post("batch-check", {"checks": checks})
    assert (refused.status_code, refused.json()["code"]) == (400, "validation_error")


MALFORMED = {
    "an undefined type": key("robot:a viewer user:ann"),
    "an undefined relation": key("file:a nothing user:ann"),
    "an undefined type of a user": key("file:a viewer robot:ann"),
    "an undefined relation of a userset": key("file:a viewer team:core#nothing"),
    "a user without a type": key("file:a viewer ann"),
    "a user with two colons": key("file:a viewer user:a:b"),
    "a star": key("file:a viewer *"),
    "a userset of a wildcard": key("file:a viewer team:*#member"),
    "an object without an id": key("file: viewer user:ann"),
    "all objects": key("file:* viewer user:ann"),
    "an object with two colons": key("file:a:b viewer user:ann"),
    "a long object": key(f"file:{'x' * 252} viewer user:ann"),
    "a long user": key(f"file:a viewer user:{'é' * 254}"),
    "a control character": {"user": "user:a\u0001", "relation": "viewer", "object": "file:a"},
    "no user": {"relation": "viewer", "object": "file:a"},
    "null": {"user": None, "relation": "viewer", "object": "file:a"},
    "a number": {"user": 7, "relation": "viewer", "object": "file:a"},
    "nothing": {},
}


@pytest.mark.parametrize("tuple_key", MALFORMED.values(), ids=MALFORMED)
def test_malformed_checks_and_writes_are_refused(filled: OpenFga, tuple_key: Any) -> None:
    checked = filled.post("check", {"tuple_key": tuple_key})
    written = filled.post("write", {"writes": {"tuple_keys": [tuple_key]}})
    for refused in (checked, written):
        assert (refused.status_code, refused.json()["code"]) == (400, "validation_error"), refused.text


def test_contextual_tuples_count_for_one_check(filled: OpenFga) -> None:
    assert check(filled, "file:c reader user:dan", "file:c viewer team:new#member", "team:new member user:dan")
    assert not check(filled, "file:c reader user:dan")
    assert not check(filled, "file:c reader user:dan", "file:c viewer user:dan", "file:c blocked user:dan")
    assert check(filled, "file:c viewer team:core#member", "file:c viewer team:all#member")
    assert check(filled, "file:c viewer user:ann", "file:c viewer user:ann", "file:c viewer user:ann")
    for text in ("file:c reader user:dan", "file:c viewer folder:x", "robot:c viewer user:dan"):
        refused = filled.post(
            "check",
            {"tuple_key": key("file:c viewer user:dan"), "contextual_tuples": {"tuple_keys": [key(text)]}},
        )
        assert (refused.status_code, refused.json()["code"]) == (400, "invalid_tuple"), text
    implicit = "team:core member team:core#member"
    assert check(filled, "team:core member user:ann", implicit)
    many = {"tuple_keys": [key(f"file:c viewer user:u{number}") for number in range(101)]}
    refused = filled.post("check", {"tuple_key": key("file:c viewer user:dan"), "contextual_tuples": many})
    assert (refused.status_code, refused.json()["code"]) == (400, "validation_error")


def test_an_older_model_decides_over_the_tuples_of_today(openfga: OpenFga) -> None:
    plain = model(define("user"), define("file", blocked=(this(), ["user"]), viewer=(this(), ["user"])))
    first = openfga.write_model(plain)
    write(openfga, "file:a viewer user:ann", "file:a blocked user:ann")
    assert check(openfga, "file:a viewer user:ann")
    second = openfga.write_model(
        model(
            define("user"),
            define("file", blocked=(this(), ["user"]), viewer=(but_not(this(), computed("blocked")), ["user"])),
        )
    )
    assert not check(openfga, "file:a viewer user:ann")
    assert not check(openfga, "file:a viewer user:ann", authorization_model_id=second)
    for _ in range(2):
        assert check(openfga, "file:a viewer user:ann", authorization_model_id=first)
    write(openfga, "file:b viewer user:ann")
    assert check(openfga, "file:b viewer user:ann", authorization_model_id=first)
    delete(openfga, "file:a viewer user:ann")
    assert not check(openfga, "file:a viewer user:ann", authorization_model_id=first)
    third = openfga.write_model(model(define("user"), define("file", owner=(this(), ["user"]))))
    assert check(openfga, "file:b viewer user:ann", authorization_model_id=second)
    assert openfga.post("check", {"tuple_key": key("file:b viewer user:ann")}).status_code == 400
    assert delete(openfga, "file:b viewer user:ann").headers[HEADER] == third


def test_the_model_is_that_of_the_last_write_also_if_it_is_the_same(openfga: OpenFga) -> None:
    for _ in range(3):
        model_id = openfga.write_model()
        answer = openfga.post("check", {"tuple_key": key("file:a viewer user:ann"), "authorization_model_id": ""})
        assert answer.headers[HEADER] == model_id


def test_a_model_that_was_written_otherwise_does_not_decide_here(openfga: OpenFga) -> None:
    openfga.write_model()
    write(openfga, "file:a viewer user:ann")
    assert check(openfga, "file:a viewer user:ann")
    path = f"/stores/{openfga.store_id}/v2"
    model_here = {"objectTypes": [{"type": "user", "relations": {}}], "policies": []}
    openfga.client.put(f"{path}/model?keepExisting=true", json=model_here).raise_for_status()
    assert check(openfga, "file:a viewer user:ann")


@pytest.mark.parametrize("path", ["check", "write", "batch-check"])
def test_a_store_without_a_model_answers_nothing(openfga: OpenFga, path: str) -> None:
    item = {"tuple_key": key("file:a viewer user:ann"), "correlation_id": "a"}
    body = {**item, "checks": [item], "deletes": {"tuple_keys": [item["tuple_key"]]}}
    refused = openfga.post(path, body)
    assert (refused.status_code, refused.json()["code"]) == (400, "latest_authorization_model_not_found")
    other = OpenFga.create(openfga.client).write_model()
    openfga.write_model()
    refused = openfga.post(path, {**body, "authorization_model_id": other})
    assert (refused.status_code, refused.json()["code"]) == (400, "authorization_model_not_found")


def test_what_is_there_is_an_error_or_ignored(openfga: OpenFga) -> None:
    openfga.write_model()
    first, second = "file:a viewer user:ann", "file:a viewer user:bob"
    assert write(openfga, first).json() == {}
    refused = write(openfga, second, first)
    assert (refused.status_code, refused.json()["code"]) == (400, "write_failed_due_to_invalid_input")
    assert not check(openfga, second)
    assert write(openfga, second, first, on_duplicate="ignore").status_code == 200
    assert check(openfga, second)
    assert delete(openfga, first).status_code == 200
    refused = delete(openfga, second, first)
    assert (refused.status_code, refused.json()["code"]) == (400, "write_failed_due_to_invalid_input")
    assert check(openfga, second)
    assert delete(openfga, second, first, on_missing="ignore").status_code == 200
    assert not check(openfga, second)
    assert delete(openfga, "gone:a viewer user:bob", on_missing="ignore").status_code == 200


REFUSED_WRITES = {
    "nothing": ({}, "invalid_write_input"),
    "an empty array": ({"writes": {"tuple_keys": []}}, "validation_error"),
    "one twice": (
        {"writes": {"tuple_keys": [key("file:a viewer user:ann")] * 2}},
        "cannot_allow_duplicate_tuples_in_one_request",
    ),
    "one in both": (
        {side: {"tuple_keys": [key("file:a viewer user:ann")]} for side in ("writes", "deletes")},
        "cannot_allow_duplicate_tuples_in_one_request",
    ),
    "101": ({"writes": {"tuple_keys": [key(f"file:a viewer user:{n}") for n in range(101)]}}, "exceeded_entity_limit"),
    "an unknown option": (
        {"writes": {"tuple_keys": [key("file:a viewer user:ann")], "on_duplicate": "maybe"}}, "validation_error",
    ),
    "a condition": (
        {"writes": {"tuple_keys": [key("file:a viewer user:ann") | {"condition": {"name": "below"}}]}},
        "validation_error",
    ),
    **{
        text: ({"writes": {"tuple_keys": [key(text)]}}, "validation_error")
        for text in (
            "file:a reader user:ann",
            "file:a owner user:*",
            "file:a owner team:core#member",
            "file:a viewer team:core",
            "file:a folder folder:x#viewer",
            "team:a member team:a#member",
        )
    },
}  # fmt: skip


@pytest.mark.parametrize(("body", "code"), REFUSED_WRITES.values(), ids=REFUSED_WRITES)
def test_writes_that_the_model_forbids_are_refused(filled: OpenFga, body: Any, code: str) -> None:
    refused = filled.post("write", body)
    assert (refused.status_code, refused.json()["code"]) == (400, code), refused.text


def test_both_doors_have_the_same_warrants(filled: OpenFga) -> None:
    path = f"/stores/{filled.store_id}/v2"
    user = {"objectType": "user", "objectId": "eve"}
    warrant = {"objectType": "file", "objectId": "d", "relation": "direct_viewer", "subject": user}
    filled.client.post(f"{path}/warrants", json=warrant).raise_for_status()
    assert check(filled, "file:d viewer user:eve")
    checked = {**warrant, "relation": "viewer"}
    assert filled.client.post(f"{path}/check", json={"warrants": [checked]}).json()["code"] == 200
    refused = filled.client.post(f"{path}/warrants", json=checked)
    assert (refused.status_code, refused.json()["code"]) == (400, "not_allowed")


def test_a_limited_key_may_check_and_not_write(filled: OpenFga) -> None:
    path = f"/stores/{filled.store_id}"
    made = filled.client.post(f"{path}/v2/keys", json={"name": "reader", "scopes": ["check"]}).json()
    headers = {"Authorization": f"Bearer {made['key']}"}
    body = {"tuple_key": key("file:a viewer user:bob")}
    for _ in range(2):
        assert filled.client.post(f"{path}/check", json=body, headers=headers).json()["allowed"]
    write_body = {"writes": {"tuple_keys": [body["tuple_key"]]}}
    refused = filled.client.post(f"{path}/write", json=write_body, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")


def test_the_checks_of_a_batch_are_decided_together(filled: OpenFga) -> None:
    texts = [f"file:a viewer user:{name}" for name in ("ann", "bob", "cleo")] * 5
    checks = [{"tuple_key": key(text), "correlation_id": f"i{number}"} for number, text in enumerate(texts)]
    filled.post("batch-check", {"checks": checks})
    before = sum_metric(filled.client, "magistrate_graph_hits_total")
    for _ in range(3):
        assert len(filled.post("batch-check", {"checks": checks}).json()["result"]) == len(texts)
    hits = sum_metric(filled.client, "magistrate_graph_hits_total") - before
    assert hits in (0, 3), "a batch counts as one request; without the graph cache there are no hits"


def test_a_batch_is_decided_by_the_model_that_it_names(openfga: OpenFga) -> None:
    first = openfga.write_model(TYPES)
    write(openfga, "file:a viewer user:ann", "file:a blocked user:ann")
    second = openfga.write_model(model(define("user"), define("file", viewer=(this(), ["user"]))))
    checks = [
        {"tuple_key": key(f"file:a {relation} user:ann"), "correlation_id": relation}
        for relation in ("viewer", "blocked")
    ]
    for _ in range(2):
        by_first = openfga.post("batch-check", {"checks": checks, "authorization_model_id": first})
        assert by_first.json()["result"] == {"viewer": {"allowed": True}, "blocked": {"allowed": True}}
        assert by_first.headers[HEADER] == first
        by_second = openfga.post("batch-check", {"authorization_model_id": second, "checks": checks})
        assert by_second.json()["result"]["viewer"] == {"allowed": True}
        assert by_second.json()["result"]["blocked"]["error"]["input_error"] == "validation_error"
        assert by_second.headers[HEADER] == second


def test_the_contexts_of_a_batch_are_those_of_its_checks(openfga: OpenFga) -> None:
    below = {"name": "below", "expression": "level < 3", "parameters": {"level": {"type_name": "TYPE_NAME_INT"}}}
    types = model(define("user"), define("file", viewer=(this(), ["user with below"])))
    openfga.write_model({**types, "conditions": {"below": below}})
    written = {**key("file:a viewer user:ann"), "condition": {"name": "below"}}
    assert openfga.post("write", {"writes": {"tuple_keys": [written]}}).status_code == 200
    contexts: list[Any] = [{"level": 2}, {"level": 3}, {}, None, {"level": "2"}]
    checks = [
        {"tuple_key": key("file:a viewer user:ann"), "correlation_id": f"i{number}", "context": context}
        for number, context in enumerate(contexts)
    ]
    for _ in range(2):
        result = openfga.post("batch-check", {"checks": checks}).json()["result"]
        assert [result[f"i{number}"].get("allowed") for number in range(5)] == [True, False, None, None, True]
        assert result["i2"]["error"]["input_error"] == "validation_error"


@pytest.mark.parametrize("path", ["check", "batch-check", "list-objects", "list-users", "expand"])
def test_consistency_is_a_name_or_a_number(filled: OpenFga, path: str) -> None:
    tuple_key = key("file:b viewer user:zoe")
    body = {
        "tuple_key": tuple_key,
        "checks": [{"tuple_key": tuple_key, "correlation_id": "a"}],
        "type": "file",
        "relation": "viewer",
        "user": "user:zoe",
        "user_filters": [{"type": "user"}],
    }
    if path == "list-users":
        body["object"] = {"type": "file", "id": "b"}
    for consistency in ("HIGHER_CONSISTENCY", 200, "MINIMIZE_LATENCY", 100, "UNSPECIFIED", 0, "SOON", None):
        assert filled.post(path, {**body, "consistency": consistency}).status_code == 200, consistency
    numbers: list[Any] = [7, -1, 0.5, True, [], {}]
    for wrong in numbers:
        refused = filled.post(path, {**body, "consistency": wrong})
        assert (refused.status_code, refused.json()["code"]) == (400, "validation_error"), wrong
