"""Client libraries that no registry offers, by the requests they send (docs/warrant-sdks.md#other-libraries):
warrant-node 6, warrant-go 6 with the command line that is built on it, warrant-java 4 and warrant-js."""

import json
from base64 import urlsafe_b64decode as b64decode
from typing import Any

import httpx
import pytest

from tests.running import Client

LISTS = ("/v2/object-types", "/v2/objects", "/v2/warrants", "/v2/query?q=select role where user:x is *")


def member_of(role: str, user: str) -> dict[str, Any]:
    subject = {"objectType": "user", "objectId": user}
    return {"objectType": "role", "objectId": role, "relation": "member", "subject": subject}


def refusal(answer: httpx.Response, status: int) -> tuple[str, str | None]:
    """The code and the parameter of an error in the form that every library reads: `code` and `message`."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    assert body["message"]
    return (body["code"], body.get("parameter"))


def test_a_batch_check_answers_an_array_in_the_order_of_the_request(shared_client: Client) -> None:
    shared_client.post("/v2/warrants", json=[member_of("rs-b", "ann"), member_of("rs-a", "bob")]).raise_for_status()
    asked = [member_of("rs-a", "ann"), member_of("rs-b", "ann"), member_of("rs-a", "bob")]

    answers = shared_client.post("/v2/check", json={"op": "batch", "warrants": asked, "debug": False}).json()

    assert [(one["code"], one["result"]) for one in answers] == [
        (403, "Not Authorized"),
        (200, "Authorized"),
        (200, "Authorized"),
    ]


def test_object_types_are_kept_as_the_go_client_does(shared_client: Client) -> None:
    created = shared_client.post("/v2/object-types", json={"type": "rs-doc", "relations": {"owner": {}}})
    shared_client.post("/v2/object-types", json={"type": "rs-dir", "relations": {}})
    changed = shared_client.put(
        "/v2/object-types",
        json=[{"type": "rs-dir", "relations": {"owner": {}}}, {"type": "rs-doc", "relations": {"reader": {}}}],
    )

    assert created.json()["relations"] == {"owner": {}}
    assert [(row["type"], row["relations"]) for row in changed.json()] == [
        ("rs-dir", {"owner": {}}),
        ("rs-doc", {"reader": {}}),
    ]
    assert changed.headers["warrant-token"] != created.headers["warrant-token"]
    assert shared_client.get("/v2/object-types/rs-doc").json() == changed.json()[1]
    assert shared_client.put("/v2/object-types/rs-doc", json={"type": "rs-doc", "relations": {}}).status_code == 200
    listed = shared_client.get("/v2/object-types", params={"limit": 1000, "q": "rs-do"}).json()["results"]
    assert [(row["type"], row["relations"]) for row in listed] == [("rs-doc", {})]
    assert shared_client.delete("/v2/object-types/rs-doc").content == b""
    assert refusal(shared_client.get("/v2/object-types/rs-doc"), 404) == ("not_found", None)


def test_warrants_are_listed_by_their_subject(shared_client: Client) -> None:
    shared_client.post("/v2/warrants", json=member_of("rs-list", "rs-cleo")).raise_for_status()

    for filters in ({"subjectId": "rs-cleo"}, {"subjectType": "user", "subjectId": "rs-cleo", "limit": "5"}):
        listed = shared_client.get("/v2/warrants", params=filters).json()

        assert [row.items() >= member_of("rs-list", "rs-cleo").items() for row in listed["results"]] == [True]
        assert "nextCursor" not in listed


def test_the_context_of_a_query_is_the_text_of_an_object(shared_client: Client) -> None:
    granted = member_of("rs-desk", "rs-dora") | {"policy": "hour < 17 && place.city == 'Bonn'"}
    shared_client.post("/v2/warrants", json=granted).raise_for_status()
    asked = {"q": "select explicit role where user:rs-dora is *"}

    for hour, found in ((9, ["rs-desk"]), (18, [])):
        context = json.dumps({"hour": hour, "place": {"city": "Bonn"}})
        rows = shared_client.get("/v2/query", params={**asked, "context": context}).json()["results"]
        assert [row["objectId"] for row in rows] == found


def test_a_request_that_is_sent_again_answers_the_same(shared_client: Client) -> None:
    bodies: dict[str, Any] = {
        "/v2/objects": [{"objectType": "role", "objectId": "rs-again", "meta": {"n": 1}}],
        "/v2/warrants": [member_of("rs-again", "ann")],
        "/v2/object-types": {"type": "rs-again", "relations": {"owner": {}}},
    }

    for path, body in bodies.items():
        first, again = (shared_client.post(path, json=body) for _ in range(2))
        assert first.status_code == 200
        assert again.json() == first.json()


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v2/objects", {"objectType": None}),
        ("POST", "/v2/objects", {"objectType": "role", "objectId": {"id": 1}}),
        ("POST", "/v2/objects", [None]),
        ("POST", "/v2/objects", []),
        ("DELETE", "/v2/objects", [{"objectType": "role"}]),
        ("PUT", "/v2/objects/role/undefined", {"meta": "none"}),
        ("GET", "/v2/objects/[object Object]/null", None),
        ("POST", "/v2/warrants", {"objectType": "role", "objectId": "x", "relation": "member", "subject": {}}),
        ("POST", "/v2/warrants", member_of("x", "y") | {"subject": "user:y"}),
        ("POST", "/v2/warrants", member_of("x", "y") | {"policy": "a.b.c ="}),
        ("DELETE", "/v2/warrants", member_of("never", "given")),
        ("POST", "/v2/check", {"op": "someOf", "warrants": [member_of("x", "y")]}),
        ("POST", "/v2/check", {"op": "batch", "warrants": []}),
        ("POST", "/v2/check", {"warrants": [member_of("x", "y") | {"context": [1]}]}),
        ("GET", "/v2/query?q=select", None),
        ("GET", "/v2/query?q=select role where user:x is *&context={", None),
    ],
)
def test_a_mistake_is_never_answered_by_what_is_tried_again(
    method: str, path: str, body: Any, shared_client: Client
) -> None:
    answer = shared_client.request(method, path, json=body)

    assert answer.status_code in (400, 404)
    assert refusal(answer, answer.status_code)[0] in {
        "invalid_parameter",
        "invalid_request",
        "missing_required_parameter",
        "not_found",
    }


@pytest.mark.parametrize("path", LISTS)
def test_list_options_left_undefined_are_refused_by_name(path: str, shared_client: Client) -> None:
    for name in ("limit", "sortBy", "sortOrder", "nextCursor", "prevCursor"):
        joint = "&" if "?" in path else "?"
        assert refusal(shared_client.get(f"{path}{joint}{name}=undefined"), 400) == ("invalid_parameter", name)


def test_filters_left_undefined_find_nothing(shared_client: Client) -> None:
    for path in ("/v2/objects?objectType=undefined", "/v2/objects?q=undefined", "/v2/warrants?subjectId=undefined"):
        assert shared_client.get(path).json() == {"results": []}
    for name in ("q", "context"):
        asked = {"q": "select role where user:x is *"} | {name: "undefined"}
        assert refusal(shared_client.get("/v2/query", params=asked), 400) == ("invalid_parameter", name)


def test_every_answer_has_the_token_that_becomes_warrant_token(shared_client: Client) -> None:
    written = shared_client.post("/v2/warrants", json=member_of("rs-token", "ann"))
    token = written.headers["warrant-token"]

    for method, path, body in [
        ("POST", "/v2/check", {"warrants": [member_of("rs-token", "ann")]}),
        ("GET", "/v2/query?q=select role where user:ann is member", None),
        ("GET", "/v2/warrants", None),
        ("GET", "/v2/objects/role/rs-token", None),
    ]:
        for sent in (token, "latest"):
            answer = shared_client.request(method, path, json=body, headers={"Warrant-Token": sent})
            assert (answer.status_code, answer.headers["warrant-token"]) == (200, token)
    deleted = shared_client.delete_json("/v2/warrants", member_of("rs-token", "ann"))
    assert deleted.headers["warrant-token"] not in ("", token)


def test_a_browser_checks_with_the_token_of_a_session(shared_client: Client) -> None:
    shared_client.post("/v2/warrants", json=member_of("rs-browser", "rs-eve")).raise_for_status()
    session = {"type": "sess", "userId": "rs-eve", "ttl": 60, "context": {"region": "eu"}}
    token = shared_client.post("/v2/sessions", json=session).json()["token"]
    asked = member_of("rs-browser", "rs-eve")
    del asked["subject"]

    for role, code in (("rs-browser", 200), ("rs-other", 403)):
        body = {"op": "anyOf", "warrants": [asked | {"objectId": role}], "consistentRead": False, "debug": False}
        headers = {"Authorization": f"Bearer {token}", "Warrant-Client-Key": "client-key"}
        assert shared_client.post("/v2/authorize", json=body, headers=headers).json()["code"] == code
    damaged = {"Authorization": f"Bearer {token}x"}
    assert refusal(shared_client.post("/v2/authorize", json=body, headers=damaged), 401) == ("unauthorized", None)
    elsewhere = shared_client.get("/v2/objects", headers={"Authorization": f"Bearer {token}"})
    assert refusal(elsewhere, 401) == ("unauthorized", None)


@pytest.mark.parametrize("unset", ["", None])
def test_a_session_is_created_as_the_go_client_does(shared_client: Client, unset: str | None) -> None:
    """It sends every member, also those that are not set."""
    session = {"type": "sess", "userId": "rs-go", "tenantId": unset, "ttl": 0, "context": None}

    begun = shared_client.post("/v2/sessions", json=session)

    assert begun.status_code == 200
    claims = json.loads(b64decode(begun.json()["token"].split(".")[1] + "=="))
    assert claims["exp"] - claims["iat"] in (86_400, 86_401)  # rounded up


def test_object_types_are_applied_as_the_command_line_does(shared_client: Client) -> None:
    types: list[dict[str, Any]] = [
        {"type": f"rs-apply-{name}", "source": None, "relations": {"owner": {}}} for name in "ab"
    ]

    applied = shared_client.put("/v2/object-types", json=types)

    assert [row["type"] for row in applied.json()] == ["rs-apply-a", "rs-apply-b"]
    assert shared_client.put("/v2/object-types", json=types).json() == applied.json()


def test_absent_members_are_null_as_the_java_client_sends_them(shared_client: Client) -> None:
    created = shared_client.post("/v2/objects", json={"objectType": "role", "objectId": "rs-java", "meta": None})
    warrant = member_of("rs-java", "rs-j") | {"policy": None, "context": None}
    warrant["subject"] = {**warrant["subject"], "relation": None}
    shared_client.post("/v2/warrants", json=warrant).raise_for_status()
    check = {"op": None, "debug": None, "context": None, "consistentRead": None, "warrants": [warrant]}

    assert created.json()["objectId"] == "rs-java"
    assert shared_client.post("/v2/check", json=check).json()["code"] == 200
