"""Ids beyond ASCII through the doors that scenarios do not go through, and in the order of their code points."""

from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fga.requests import fga_warrant
from tests.ids import STRANGE_IDS, id_message, ids
from tests.running import Client
from tests.scenario_files import warrant_body

BY_CODE_POINT = ["'", "?", "Z", "a", "o'brien", "q\u0301a", "z", "é", "é!", "日本", "\uff9c", "\uffdc", "\U00010000"]
BY_CODE_POINT += ["\U0001d400", "\U00020000", "\U00020000a"]
"""Sorted: behind U+FFDC comes U+10000, whose UTF-16 begins with a smaller unit."""


@pytest.fixture(scope="module")
def defined(shared_client: Client) -> Client:
    shared_client.define({"user": {}, "page": {"viewer": {}}, "listed": {}})
    return shared_client


def warrant(object_id: str, subject_id: str) -> dict[str, Any]:
    subject = {"objectType": "user", "objectId": subject_id}
    return {"objectType": "page", "objectId": object_id, "relation": "viewer", "subject": subject}


@pytest.mark.parametrize("written_id", STRANGE_IDS)
def test_the_other_doors_decide_the_same(defined: Client, written_id: str) -> None:
    defined.write([warrant(written_id, written_id)])
    entities = {"subject": {"type": "user", "id": written_id}, "resource": {"type": "page", "id": written_id}}
    action = {"action": {"name": "viewer"}}

    evaluated = defined.post("/access/v1/evaluation", json=entities | action).json()
    together = defined.post("/access/v1/evaluations", json={**action, "evaluations": [entities]}).json()
    resources = {**action, "subject": entities["subject"], "resource": {"type": "page"}}
    found = defined.post("/access/v1/search/resource", json=resources).json()
    of_fga = defined.post(
        "/fga/v1/check", json={"checks": [fga_warrant(f"page:{written_id}#viewer@user:{written_id}")]}
    ).json()
    explained = defined.post("/v2/explain", json=warrant(written_id, written_id)).json()
    added = {"warrants": [warrant(written_id, "x")], "contextualWarrants": [warrant(written_id, "x")]}
    with_added = defined.post("/v2/check", json=added)
    clauses = {"select": "warrants", "for": f'subject=user:"{written_id}"', "where": "object=page:*"}
    implied = defined.get("/v1/query", params=clauses)

    assert evaluated["decision"] is True
    assert [one["decision"] for one in together["evaluations"]] == [True]
    assert [one["id"] for one in found["results"]] == [written_id]
    assert of_fga["result"] == "authorized"
    assert explained["decision"] == "allowed"
    assert with_added.json()["result"] == "Authorized"
    assert [row["objectId"] for row in implied.json()] == [written_id]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ids)
def test_every_id_is_read_as_it_was_written(defined: Client, written_id: str) -> None:
    path = f"/v2/objects/user/{quote(written_id, safe='')}"
    defined.post("/v2/objects", json={"objectType": "user", "objectId": written_id}).raise_for_status()
    defined.write([warrant(written_id, written_id)])

    found = defined.get("/v2/query", params={"q": f'select page where user:"{written_id}" is viewer'}).json()["results"]
    users = defined.get("/v2/objects", params={"objectType": "user", "q": written_id, "limit": 1000}).json()["results"]

    assert defined.get(path).json()["objectId"] == written_id
    assert defined.ask(f"page:{written_id}#viewer@user:{written_id}").json()["result"] == "Authorized"
    assert [row["objectId"] for row in found] == [written_id]
    assert written_id in [row["objectId"] for row in users]
    assert warrant_body(f"page:{written_id}#viewer@user:{written_id}") == warrant(written_id, written_id)


@pytest.mark.parametrize("order", ["ASC", "DESC"])
@pytest.mark.parametrize("limit", [1, 3, 1000])
def test_lists_are_in_the_order_of_code_points(defined: Client, order: str, limit: int) -> None:
    objects = [{"objectType": "listed", "objectId": written_id} for written_id in reversed(BY_CODE_POINT)]
    defined.post("/v2/objects", json=objects).raise_for_status()
    defined.write([warrant(written_id, "reader-of-all") for written_id in BY_CODE_POINT])
    defined.write([warrant("page-of-all", written_id) for written_id in BY_CODE_POINT])
    wanted = BY_CODE_POINT if order == "ASC" else BY_CODE_POINT[::-1]

    def listed(path: str, **parameters: Any) -> list[str]:
        pages = defined.pages(path, limit=limit, sortOrder=order, **parameters)
        return [row["objectId"] for page in pages for row in page]

    assert listed("/v2/objects", objectType="listed") == wanted
    assert listed("/v2/query", q="select page where user:reader-of-all is viewer") == wanted
    assert listed("/v2/query", q="select viewer of type user for page:page-of-all") == wanted


@pytest.mark.parametrize(("text", "found"), [("é", ["é", "é!"]), ("É", []), ("本", ["日本"]), ("'", ["'", "o'brien"])])
def test_a_search_finds_what_contains_a_text(defined: Client, text: str, found: list[str]) -> None:
    objects = [{"objectType": "listed", "objectId": written_id} for written_id in BY_CODE_POINT]
    defined.post("/v2/objects", json=objects).raise_for_status()

    rows = defined.get("/v2/objects", params={"objectType": "listed", "q": text}).json()["results"]

    assert [row["objectId"] for row in rows] == found


@pytest.mark.parametrize("path", ["/v2/objects/user/%ff", "/v2/objects/user/a%2Fb%C3", "/v1/users/%ED%A0%80", "/%ff"])
def test_a_path_that_is_not_utf8_is_refused(defined: Client, path: str) -> None:
    for method in ("GET", "PUT", "DELETE"):
        refused = defined.request(method, path, json={})

        assert refused.status_code == 400
        assert refused.json() == {"code": "invalid_request", "message": "Path must be UTF-8, percent-encoded"}


@pytest.mark.parametrize("encoded", ["%ff", "a%C3", "%ED%A0%80", "%EF%BF%BD"])
@pytest.mark.parametrize("path", ["/v2/query?q=select+page+where+user:", "/v1/users?afterId="])
def test_an_id_in_a_query_string_that_is_not_utf8_is_refused(defined: Client, path: str, encoded: str) -> None:
    refused = defined.get(f"{path}{encoded}+is+viewer")

    assert refused.status_code == 400
    assert "it has U+FFFD" in refused.json()["message"]


@pytest.mark.parametrize(
    ("written_id", "message"),
    [
        ("日本\u200b", id_message("\u200b", 3)),
        ("\U00020000\u202e", id_message("\u202e", 2)),
        ("jose\u0301", "must be in the normal form NFC of Unicode, which has U+00E9 at position 4, not U+0065"),
        ("日" * 342, "must be at most 1024 bytes long in UTF-8; it has 1026"),
    ],
)
def test_what_is_no_id_is_described_alike_at_every_door(defined: Client, written_id: str, message: str) -> None:
    body = warrant(written_id, "ann")
    for path, sent in {
        "/v2/objects": {"objectType": "user", "objectId": written_id},
        "/v2/warrants": body,
        "/v2/check": {"warrants": [body]},
        "/v2/explain": body,
        "/v2/writes": {"create": {"warrants": [body]}},
        "/v2/sessions": {"type": "sess", "userId": written_id},
        "/v1/users": {"userId": written_id},
        "/fga/v1/check": {"checks": [fga_warrant(f"page:{written_id}#viewer@user:ann")]},
    }.items():
        refused = defined.post(path, json=sent)

        assert (path, refused.status_code) == (path, 400)
        assert message in refused.text, path
    for path, parameters in {
        "/v2/query": {"q": f'select page where user:"{written_id}" is viewer'},
    }.items():
        refused = defined.get(path, params=parameters)

        assert refused.status_code == 400
        assert message in refused.json()["message"], path
