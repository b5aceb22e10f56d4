"""/v2/objects: one object (docs/compatibility.md#objects) and arrays of them (docs/compatibility.md#batches)."""

import re
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest

from tests.ids import STRANGE_IDS, id_message
from tests.running import Client

TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,8}[1-9])?Z")
NAME_MESSAGE = "can only contain lower-case alphanumeric characters and/or '-' and '_'"


def object_ids(client: Client) -> list[str]:
    return [row["objectId"] for page in client.pages("/v2/objects", limit=1000) for row in page]


def revision_token(client: Client) -> str:
    """The token of the newest revision: the same as before if nothing was written."""
    token: str = client.get("/v2/objects").headers["service-token"]
    return token


def test_a_created_object_is_answered_and_read_as_stored(client: Client) -> None:
    body = {
        "objectType": "document",
        "objectId": "plan",
        "meta": {"title": "Plän", "pages": 3, "tags": ["a", None, 1.5]},
    }

    created = client.post("/v2/objects", json=body)

    assert created.status_code == 200
    assert created.json() == {**body, "createdAt": created.json()["createdAt"]}
    assert TIMESTAMP.fullmatch(created.json()["createdAt"])
    assert client.get("/v2/objects/document/plan").json() == created.json()


def test_members_come_in_a_fixed_order(client: Client) -> None:
    created = client.post("/v2/objects", json={"meta": {"b": 1, "a": 2}, "objectId": "x", "objectType": "document"})

    assert list(created.json()) == ["objectType", "objectId", "meta", "createdAt"]
    assert list(created.json()["meta"]) == ["b", "a"]


@pytest.mark.parametrize("meta", [None, {}, ...])
def test_meta_is_left_out_when_empty(client: Client, meta: Any) -> None:
    body = {"objectType": "document", "objectId": "x"} | ({} if meta is ... else {"meta": meta})

    assert "meta" not in client.post("/v2/objects", json=body).json()
    assert "meta" not in client.get("/v2/objects/document/x").json()


@pytest.mark.parametrize("object_id", [..., None, ""])
def test_an_object_without_id_gets_a_uuid_of_version_7(client: Client, object_id: Any) -> None:
    body = {"objectType": "document"} | ({} if object_id is ... else {"objectId": object_id})

    first, second = (client.post("/v2/objects", json=body).json()["objectId"] for _ in range(2))

    assert UUID(first).version == UUID(second).version == 7
    assert first < second < "z"


@pytest.mark.parametrize("object_id", ["a", "A-b_c.d@e|f:g", "x" * 1024, "test_-.|@User123", "0", "...", *STRANGE_IDS])
def test_every_allowed_id_can_be_stored_read_and_deleted(shared_client: Client, object_id: str) -> None:
    assert shared_client.post("/v2/objects", json={"objectType": "user", "objectId": object_id}).status_code == 200
    path = f"/v2/objects/user/{quote(object_id, safe='')}"

    assert shared_client.get(path).json()["objectId"] == object_id
    assert shared_client.delete(path).status_code == 200
    assert shared_client.get(path).status_code == 404


@pytest.mark.parametrize(
    "object_id",
    [
        "*",
        "a b",
        "a\n",
        "a\0",
        "a#b",
        "x" * 1025,
        "<b>",
        "' OR 1=1",
        "日本\u200b",
        "é\u202e",
        "€",
        "\u0378",
        *(f"a{character}" for character in '*#[]"`\\<>^'),
    ],
)
def test_an_id_that_is_not_allowed_is_refused_and_nothing_written(shared_client: Client, object_id: str) -> None:
    before = revision_token(shared_client)
    refused = shared_client.post("/v2/objects", json={"objectType": "user", "objectId": object_id})

    refused_signs = (place for place, sign in enumerate(object_id, 1) if not sign.isalnum() and sign != "'")
    place = next(refused_signs, 0)
    message = id_message(object_id[place - 1], place) if place else "must be at most 1024 characters long"
    assert refused.status_code == 400
    assert refused.json() == {"code": "invalid_parameter", "message": message, "parameter": "objectId"}
    assert revision_token(shared_client) == before


@pytest.mark.parametrize("name", ["Document", "a b", "ä", "a.b", "a\n", "x" * 65])
def test_a_type_that_is_not_allowed_is_refused(shared_client: Client, name: str) -> None:
    refused = shared_client.post("/v2/objects", json={"objectType": name})

    message = "must be at most 64 characters long" if len(name) > 64 else NAME_MESSAGE
    assert refused.status_code == 400
    assert refused.json() == {"code": "invalid_parameter", "message": message, "parameter": "objectType"}


@pytest.mark.parametrize("body", [{}, {"objectType": None}, {"objectType": ""}, {"objectId": "*"}])
def test_the_type_is_required(shared_client: Client, body: Any) -> None:
    refused = shared_client.post("/v2/objects", json=body)

    assert refused.status_code == 400
    assert refused.json() == {
        "code": "missing_required_parameter",
        "message": "Missing required parameter objectType",
        "parameter": "objectType",
    }


def test_the_type_need_not_be_defined(client: Client) -> None:
    assert client.post("/v2/objects", json={"objectType": "never-defined"}).status_code == 200


def test_creating_again_replaces_meta_and_keeps_the_creation_time(client: Client) -> None:
    first = client.post("/v2/objects", json={"objectType": "d", "objectId": "x", "meta": {"a": 1}}).json()

    second = client.post("/v2/objects", json={"objectType": "d", "objectId": "x", "meta": {"b": 2}}).json()
    third = client.post("/v2/objects", json={"objectType": "d", "objectId": "x"}).json()

    assert second == first | {"meta": {"b": 2}}
    assert third == {key: value for key, value in first.items() if key != "meta"}


@pytest.mark.parametrize("method", ["PUT", "POST"])
def test_an_update_replaces_the_whole_meta(client: Client, method: str) -> None:
    created = client.post("/v2/objects", json={"objectType": "d", "objectId": "x", "meta": {"a": 1, "b": 2}}).json()

    updated = client.request(method, "/v2/objects/d/x", json={"meta": {"c": 3}})

    assert updated.status_code == 200
    assert updated.json() == created | {"meta": {"c": 3}}
    assert client.get("/v2/objects/d/x").json() == updated.json()


@pytest.mark.parametrize("body", [{}, {"meta": None}, {"meta": {}}])
def test_an_update_without_meta_clears_it(client: Client, body: Any) -> None:
    client.post("/v2/objects", json={"objectType": "d", "objectId": "x", "meta": {"a": 1}})

    assert "meta" not in client.put("/v2/objects/d/x", json=body).json()


@pytest.mark.parametrize("method", ["GET", "PUT", "POST", "DELETE"])
@pytest.mark.parametrize(
    ("of_type", "object_id"), [("d", "missing"), ("D", "x"), ("d", "%00"), ("d", "a%0Ab"), ("d", "*")]
)
def test_what_is_not_there_or_cannot_be_is_not_found(
    shared_client: Client, method: str, of_type: str, object_id: str
) -> None:
    body = None if method in ("GET", "DELETE") else b"{}"

    missing = shared_client.request(method, f"/v2/objects/{of_type}/{object_id}", content=body)

    decoded = {"%00": "\0", "a%0Ab": "a\nb"}.get(object_id, object_id)
    assert missing.status_code == 404
    assert missing.json() == {
        "code": "not_found",
        "message": f"{of_type} {decoded} not found",
        "type": of_type,
        "key": decoded,
    }


def test_a_deleted_object_is_gone(client: Client) -> None:
    client.post("/v2/objects", json={"objectType": "d", "objectId": "x"})

    deleted = client.delete("/v2/objects/d/x")

    assert (deleted.status_code, deleted.content) == (200, b"")
    assert deleted.headers["content-type"] == "application/json"
    assert client.delete("/v2/objects/d/x").status_code == 404


def test_a_body_on_get_or_delete_of_one_object_is_ignored(client: Client) -> None:
    client.post("/v2/objects", json={"objectType": "d", "objectId": "x"})

    assert client.request("GET", "/v2/objects/d/x", content=b"{not json").status_code == 200
    assert client.request("DELETE", "/v2/objects/d/x", content=b"[1,2").status_code == 200


def test_unknown_members_and_the_content_type_of_a_request_are_ignored(client: Client) -> None:
    body = b'{"objectType":"d","objectId":"x","later":{"deep":[1]},"createdAt":5}'

    assert client.post("/v2/objects", content=body, headers={"Content-Type": "text/plain"}).status_code == 200


@pytest.mark.parametrize("size", [1, 2, 99, 100])
def test_an_array_creates_every_element_in_request_order(client: Client, size: int) -> None:
    batch = [{"objectType": "d", "objectId": f"n-{size - n}"} if n % 2 else {"objectType": "e"} for n in range(size)]

    created = client.post("/v2/objects", json=batch)

    assert created.status_code == 200
    answers = created.json()
    assert [row["objectType"] for row in answers] == [row["objectType"] for row in batch]
    assert [row["objectId"] for row in answers if row["objectType"] == "d"] == [
        row["objectId"] for row in batch if "objectId" in row
    ]
    generated = [row["objectId"] for row in answers if row["objectType"] == "e"]
    assert all(UUID(object_id).version == 7 for object_id in generated)
    assert len(set(object_ids(client))) == size


@pytest.mark.parametrize("size", [0, 101, 1000])
@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_an_array_of_none_or_more_than_100_is_refused_as_a_whole(shared_client: Client, size: int, method: str) -> None:
    batch = [{"objectType": "d", "objectId": f"n-{n}"} for n in range(size)]

    before = revision_token(shared_client)
    refused = shared_client.request(method, "/v2/objects", json=batch)

    assert refused.status_code == 400
    assert refused.json() == {
        "code": "invalid_request",
        "message": f"an array must have 1 to 100 elements, not {size}",
    }
    assert revision_token(shared_client) == before


@pytest.mark.parametrize("position", [0, 3, 99])
@pytest.mark.parametrize(
    ("fault", "parameter"),
    [
        ({"objectType": "UPPER"}, "objectType"),
        ({}, "objectType"),
        ({"objectType": "d", "objectId": "*"}, "objectId"),
        ({"objectType": "d", "meta": {"x": "y" * 51_200}}, "meta"),
        ({"objectType": "d", "meta": [1]}, "meta"),
        ({"objectType": 5}, "objectType"),
    ],
)
def test_one_bad_element_fails_the_array_and_is_named(
    shared_client: Client, position: int, fault: dict[str, Any], parameter: str
) -> None:
    batch: list[dict[str, Any]] = [{"objectType": "d", "objectId": f"n-{n}"} for n in range(100)]
    batch[position] = fault

    before = revision_token(shared_client)
    refused = shared_client.post("/v2/objects", json=batch)

    assert refused.status_code == 400
    assert refused.json()["parameter"] == f"[{position}].{parameter}"
    assert revision_token(shared_client) == before
    assert shared_client.post("/v2/objects", json=batch[position + 1 :] or batch[:-1]).status_code == 200


def test_in_an_array_the_last_of_the_same_object_wins(client: Client) -> None:
    batch = [{"objectType": "d", "objectId": "x", "meta": {"n": n}} for n in range(3)]

    created = client.post("/v2/objects", json=batch).json()

    assert [row["meta"] for row in created] == [{"n": 2}] * 3
    assert client.get("/v2/objects/d/x").json() == created[2]


def test_an_array_deletes_all_or_none(client: Client) -> None:
    client.post("/v2/objects", json=[{"objectType": "d", "objectId": object_id} for object_id in "abc"])
    rows = [{"objectType": "d", "objectId": object_id, "meta": "ignored"} for object_id in "abc"]

    missing = client.delete_json("/v2/objects", [*rows, {"objectType": "d", "objectId": "zzz"}])
    twice = client.delete_json("/v2/objects", [*rows, rows[0]])
    assert (missing.status_code, missing.json()["key"]) == (404, "zzz")
    assert (twice.status_code, twice.json()["key"]) == (404, "a")
    assert object_ids(client) == ["a", "b", "c"]

    deleted = client.delete_json("/v2/objects", rows)
    assert (deleted.status_code, deleted.content) == (200, b"")
    assert object_ids(client) == []


def test_deleting_needs_an_array_of_references(client: Client) -> None:
    no_id = client.delete_json("/v2/objects", [{"objectType": "d", "objectId": "a"}, {"objectType": "d"}])
    no_array = client.delete_json("/v2/objects", {"objectType": "d", "objectId": "a"})

    assert no_id.json()["parameter"] == "[1].objectId"
    assert no_id.json()["code"] == "missing_required_parameter"
    assert no_array.json() == {"code": "invalid_parameter", "message": "must be an array", "parameter": ""}


def test_numbers_in_meta_are_kept_as_they_are(client: Client) -> None:
    numbers = b'{"big":12345678901234567890123456789,"negative":-9223372036854775809,"small":1e-7,"plain":0.1}'

    client.post("/v2/objects", content=b'{"objectType":"d","objectId":"x","meta":' + numbers + b"}")

    meta = client.get("/v2/objects/d/x").json()["meta"]
    assert meta == {"big": 12345678901234567890123456789, "negative": -9223372036854775809, "small": 1e-7, "plain": 0.1}
