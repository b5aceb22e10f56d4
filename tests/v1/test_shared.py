"""What v1 shares with v2: object types, objects, warrants and queries (docs/compatibility.md#v1,
docs/compatibility.md#lists-and-cursors and docs/compatibility.md#query)."""

from typing import Any

import pytest

from tests.running import Client

TYPES: dict[str, Any] = {"user": {}, "document": {"owner": {}, "viewer": {"inheritIf": "owner"}}}


@pytest.fixture(scope="module")
def filled(shared_client: Client) -> Client:
    shared_client.clear()
    shared_client.define(TYPES)
    for object_id in "cab":
        shared_client.grant(f"document:{object_id}#owner@user:ann")
    return shared_client


def refused(client: Client, path: str, **parameters: Any) -> dict[str, str]:
    answer = client.get(path, params=parameters)
    assert answer.status_code == 400, answer.text
    body: dict[str, str] = answer.json()
    return body


@pytest.mark.parametrize("path", ["object-types", "objects", "warrants"])
def test_lists_are_the_arrays_of_v2(filled: Client, path: str) -> None:
    rows = filled.get(f"/v2/{path}").json()["results"]

    assert len(rows) > 1
    assert filled.get(f"/v1/{path}").json() == rows
    assert filled.get(f"/v1/{path}", params={"limit": 1, "sortOrder": "DESC"}).json() == rows[-1:]
    assert refused(filled, f"/v1/{path}", limit=0)["parameter"] == "limit"
    assert filled.get(f"/v1/{path}").headers["warrant-token"]


def test_single_things_are_the_same_in_both(client: Client) -> None:
    definition = {"type": "report", "relations": {"reader": {}}}
    report = {"objectType": "report", "objectId": "q3", "meta": {"a": 1}}
    warrant = {
        "objectType": "report", "objectId": "q3", "relation": "reader",
        "subject": {"objectType": "user", "objectId": "ann"},
    }  # fmt: skip
    assert client.post("/v1/object-types", json=definition).json() == client.get("/v2/object-types/report").json()
    assert client.put("/v1/object-types/report", json=definition).json() == client.get("/v1/object-types/report").json()
    assert client.post("/v1/objects", json=[report]).json() == [client.get("/v2/objects/report/q3").json()]
    assert client.put("/v1/objects/report/q3", json={}).json() == client.get("/v1/objects/report/q3").json()
    assert client.post("/v1/warrants", json=warrant).json() == client.get("/v1/warrants").json()[0]

    for path, body in (("warrants", warrant), ("objects/report/q3", None), ("object-types/report", None)):
        deleted = client.delete_json(f"/v1/{path}", body)
        assert (deleted.status_code, deleted.content) == (200, b"")
        assert "warrant-token" in deleted.headers
    assert client.delete("/v1/object-types/report").json()["type"] == "ObjectType"


def test_checks_are_not_part_of_v1(shared_client: Client) -> None:
    for path in ("/v1/check", "/v1/authorize"):
        answer = shared_client.post(path, json={})
        assert (answer.status_code, answer.json()["key"]) == (404, path)


def test_objects_go_on_behind_an_id(filled: Client) -> None:
    def ids(**parameters: Any) -> list[str]:
        return [row["objectId"] for row in filled.get("/v1/objects", params=parameters).json()]

    for of_type in ("folder", "zoo"):
        filled.post("/v2/objects", json={"objectType": of_type, "objectId": "b"}).raise_for_status()
    assert ids() == ["a", "ann", "b", "b", "b", "c"]
    assert ids(afterId="b") == ["c"]
    assert ids(beforeId="b") == ["a", "ann"]
    assert ids(afterId="b", sortOrder="DESC") == ["ann", "a"]
    assert ids(beforeId="b", sortOrder="DESC") == ["c"]
    assert ids(afterId="b", objectType="document") == ["c"]
    assert ids(afterId="a", objectType="document") == ["b", "c"]
    assert ids(beforeId="b", objectType="document") == ["a"]
    assert ids(sortBy="objectType", afterId="b", afterValue="document") == ["c", "b", "ann", "b"]
    assert ids(sortBy="objectType", beforeId="b", beforeValue="folder", limit=1) == ["c"]
    assert len(ids(sortBy="createdAt", afterId="b", afterValue="2020-01-01T00:00:00Z")) == 6


def test_object_types_go_on_behind_a_name(filled: Client) -> None:
    def names(**parameters: Any) -> list[str]:
        return [row["type"] for row in filled.get("/v1/object-types", params=parameters).json()]

    assert names() == ["document", "user"]
    assert names(afterId="document") == ["user"]
    assert names(beforeId="user", sortOrder="ASC") == ["document"]
    assert names(afterId="user", sortBy="createdAt", afterValue="2020-01-01T00:00:00Z") == ["user", "document"]
    assert refused(filled, "/v1/object-types", afterId="Not A Type")["parameter"] == "afterId"


def test_warrants_have_no_id_to_go_on_from(filled: Client) -> None:
    assert refused(filled, "/v1/warrants", afterId="x")["parameter"] == "afterId"


def test_a_query_continues_after_its_last_id(filled: Client) -> None:
    q = "select document where user:ann is viewer"
    rows = filled.get("/v2/query", params={"q": q}).json()["results"]

    for name in ("afterId", "lastId"):
        found: list[Any] = []
        led_on: dict[str, str] = {}
        for _ in rows:
            answer = filled.get("/v1/query", params={"q": q, "limit": 1, **led_on}).json()
            found += answer["results"]
            led_on = {name: answer.pop("lastId", "")}
            assert list(answer) == ["results"]
        assert found == rows
        assert led_on == {name: ""}
        for text in ("nonsense", ""):
            assert refused(filled, "/v1/query", q=q, **{name: text}) == {
                "code": "invalid_parameter", "message": f"invalid {name}", "parameter": name,
            }  # fmt: skip
    assert refused(filled, "/v1/query", q="select")["parameter"] == "q"
