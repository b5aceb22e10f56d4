"""The six resources of v1 (docs/compatibility.md#v1 and docs/compatibility.md#lists-and-cursors), which are views over
objects."""

from typing import Any

import pytest

from tests.ids import id_message
from tests.running import Client
from tests.v1.resources import RESOURCES

NUMEROUS = ("users", "tenants")

each_resource = pytest.mark.parametrize("path", RESOURCES)


def body_of(path: str, resource_id: str = "x", text: str = "some text") -> dict[str, Any]:
    _, id_member, members = RESOURCES[path]
    return {id_member: resource_id, **dict.fromkeys(members, text)}


def listed(client: Client, path: str, **parameters: Any) -> list[str]:
    """The ids of a list, which is a bare array."""
    answer = client.get(f"/v1/{path}", params=parameters)
    assert answer.status_code == 200, answer.text
    return [row[RESOURCES[path][1]] for row in answer.json()]


def refused(client: Client, path: str, **parameters: Any) -> dict[str, str]:
    answer = client.get(path, params=parameters)
    assert answer.status_code == 400, answer.text
    body: dict[str, str] = answer.json()
    return body


@each_resource
def test_one_is_created_read_replaced_and_deleted(client: Client, path: str) -> None:
    of_type, id_member, members = RESOURCES[path]

    created = client.post(f"/v1/{path}", json=body_of(path))
    assert created.status_code == 200, created.text
    assert created.json() == {**body_of(path), "createdAt": created.json()["createdAt"]}
    assert list(created.json()) == [id_member, *members, "createdAt"]
    assert created.headers["warrant-token"] == created.headers["service-token"]
    assert client.get(f"/v1/{path}/x").json() == created.json()

    for method, text in (("PUT", "other"), ("POST", "another")):
        new = {id_member: "ignored", **dict.fromkeys(members, text)}
        replaced = client.request(method, f"/v1/{path}/x", json=new)
        assert replaced.json() == {**created.json(), **dict.fromkeys(members, text)}

    unset = client.put(f"/v1/{path}/x", json={id_member: 7})
    assert unset.json() == {**created.json(), **dict.fromkeys(members)}

    deleted = client.delete(f"/v1/{path}/x")
    assert (deleted.status_code, deleted.content) == (200, b"")
    assert deleted.headers.get("content-type") == ("application/json" if path in NUMEROUS else None)
    assert "warrant-token" in deleted.headers
    for answer in (
        client.get(f"/v1/{path}/x"),
        client.delete(f"/v1/{path}/x"),
        client.put(f"/v1/{path}/x", json={}),
        client.get(f"/v1/{path}/a b"),
    ):
        resource_id = "a b" if "%20" in str(answer.url) else "x"
        assert answer.status_code == 404
        assert answer.json() == {
            "code": "not_found", "message": f"{of_type} {resource_id} not found", "type": of_type, "key": resource_id,
        }  # fmt: skip


@each_resource
def test_it_is_a_view_over_objects(client: Client, path: str) -> None:
    of_type, _, members = RESOURCES[path]
    client.post(f"/v1/{path}", json=body_of(path))
    assert client.get(f"/v2/objects/{of_type}/x").json()["meta"] == dict.fromkeys(members, "some text")

    meta = {members[0]: "seen", "other": {"kept": 1}}
    client.post("/v2/objects", json={"objectType": of_type, "objectId": "y", "meta": meta})
    assert client.get(f"/v1/{path}/y").json()[members[0]] == "seen"
    assert listed(client, path) == ["x", "y"]

    client.put(f"/v1/{path}/y", json={})
    assert "meta" not in client.get(f"/v2/objects/{of_type}/y").json()


@each_resource
def test_a_member_of_meta_that_is_no_text_is_null(client: Client, path: str) -> None:
    of_type, _, members = RESOURCES[path]
    meta = dict.fromkeys(members, 7)
    client.post("/v2/objects", json={"objectType": of_type, "objectId": "x", "meta": meta})

    answer = client.get(f"/v1/{path}/x")

    assert answer.status_code == 200
    assert [answer.json()[member] for member in members] == [None] * len(members)


@each_resource
def test_creating_again_replaces_and_keeps_the_time(shared_client: Client, path: str) -> None:
    _, id_member, members = RESOURCES[path]
    first = shared_client.post(f"/v1/{path}", json=body_of(path, "again")).json()

    second = shared_client.post(f"/v1/{path}", json={id_member: "again", members[0]: ""}).json()

    assert second == {**first, **dict.fromkeys(members), members[0]: ""}


@each_resource
def test_an_id_is_made_for_users_and_tenants_only(shared_client: Client, path: str) -> None:
    _, id_member, _ = RESOURCES[path]
    for body in ({}, {id_member: None}, {id_member: ""}):
        answer = shared_client.post(f"/v1/{path}", json=body)

        if path in NUMEROUS:
            assert answer.status_code == 200
            assert answer.json()[id_member] < "z"
        else:
            assert answer.status_code == 400
            assert answer.json() == {
                "code": "missing_required_parameter",
                "message": f"Missing required parameter {id_member}",
                "parameter": id_member,
            }


@each_resource
def test_a_bad_body_is_refused_and_nothing_written(shared_client: Client, path: str) -> None:
    _, id_member, members = RESOURCES[path]
    before = listed(shared_client, path, limit=1000)
    for body, parameter, message in (
        ({id_member: "a b"}, id_member, id_message(" ", 2)),
        ({id_member: "*"}, id_member, id_message("*", 1)),
        ({id_member: 7}, id_member, "must be a string"),
        ({id_member: "ok", members[-1]: 7}, members[-1], "must be a string"),
        ({id_member: "ok", members[-1]: "a\0"}, members[-1], "must not contain the character NUL"),
        ({id_member: "ok", members[-1]: "x" * 60_000}, members[-1], "must be at most 51200 bytes of JSON"),
    ):
        answer = shared_client.post(f"/v1/{path}", json=body)
        assert answer.status_code == 400, answer.text
        assert answer.json() == {"code": "invalid_parameter", "message": message, "parameter": parameter}
    assert listed(shared_client, path, limit=1000) == before


def test_names_the_source_server_took_are_taken(shared_client: Client) -> None:
    assert shared_client.post("/v1/users", json={"userId": "test_-.|@User123"}).status_code == 200
    assert shared_client.get("/v1/users/test_-.|@User123").json()["userId"] == "test_-.|@User123"
    assert shared_client.post("/v1/users", json={"userId": "u", "email": "no address"}).json()["email"] == "no address"


@pytest.mark.parametrize("path", NUMEROUS)
def test_arrays_are_written_and_deleted_all_or_none(client: Client, path: str) -> None:
    _, id_member, [member] = RESOURCES[path]
    created = client.post(f"/v1/{path}", json=[{id_member: "b", member: "B"}, {id_member: "a"}, {}])
    assert created.status_code == 200
    assert [(row[id_member], row[member]) for row in created.json()[:2]] == [("b", "B"), ("a", None)]
    assert len(listed(client, path)) == 3

    bad = client.post(f"/v1/{path}", json=[{id_member: "c"}, {id_member: "a b"}])
    assert (bad.status_code, bad.json()["parameter"]) == (400, f"[1].{id_member}")
    missing = client.delete_json(f"/v1/{path}", [{id_member: "a"}, {id_member: "nobody"}])
    assert (missing.status_code, missing.json()["key"]) == (404, "nobody")
    assert client.delete_json(f"/v1/{path}", []).json()["code"] == "invalid_request"
    assert client.post(f"/v1/{path}", json=[{}] * 101).status_code == 400
    assert len(listed(client, path)) == 3

    deleted = client.delete_json(f"/v1/{path}", [{id_member: "a"}, {id_member: "b"}])
    assert (deleted.status_code, deleted.content) == (200, b"")
    assert len(listed(client, path)) == 1


@pytest.mark.parametrize("path", [path for path in RESOURCES if path not in NUMEROUS])
def test_the_others_take_no_arrays(shared_client: Client, path: str) -> None:
    assert shared_client.post(f"/v1/{path}", json=[body_of(path)]).status_code == 400
    assert shared_client.delete_json(f"/v1/{path}", []).json()["message"].startswith(f"Endpoint /v1/{path} not found")


def test_deleting_takes_the_warrants_along(client: Client) -> None:
    client.post("/v1/users", json={"userId": "ann"})
    client.grant("role:admin#member@user:ann")

    client.delete("/v1/users/ann")

    assert client.get("/v1/warrants").json() == []


NAMES: dict[str, str | None] = {"f1": None, "f2": "", "f3": None, "f4": "b", "f5": "", "f6": "a", "f7": "B"}
ASCENDING = ["f1", "f3", "f2", "f5", "f7", "f6", "f4"]


@pytest.fixture(scope="module")
def named(shared_client: Client) -> Client:
    """Features with the names above, created in the order of their ids."""
    shared_client.clear()
    for resource_id, name in NAMES.items():
        shared_client.post("/v1/features", json={"featureId": resource_id, "name": name}).raise_for_status()
    shared_client.post("/v2/objects", json={"objectType": "role", "objectId": "f0", "meta": {"name": "a"}})
    return shared_client


def test_lists_are_sorted_by_what_can_be_sorted_by(named: Client) -> None:
    assert listed(named, "features") == sorted(NAMES)
    assert listed(named, "features", sortBy="featureId", sortOrder="DESC") == sorted(NAMES, reverse=True)
    assert listed(named, "features", sortBy="createdAt") == list(NAMES)
    assert listed(named, "features", sortBy="name") == ASCENDING
    assert listed(named, "features", sortBy="name", sortOrder="DESC") == ASCENDING[::-1]
    assert listed(named, "features", q="F4") == ["f4"]
    for other in ("description", "objectId", "email"):
        assert refused(named, "/v1/features", sortBy=other)["parameter"] == "sortBy"


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ({"afterId": "f3"}, ["f4", "f5", "f6", "f7"]),
        ({"afterId": "f33"}, ["f4", "f5", "f6", "f7"]),
        ({"beforeId": "f3", "sortBy": "featureId"}, ["f1", "f2"]),
        ({"beforeId": "f5", "limit": 2}, ["f3", "f4"]),
        ({"afterId": "f5", "sortOrder": "DESC", "limit": 2}, ["f4", "f3"]),
        ({"beforeId": "f5", "sortOrder": "DESC"}, ["f7", "f6"]),
        ({"sortBy": "name", "sortOrder": "ASC", "afterId": "f3"}, ["f2", "f5", "f7", "f6", "f4"]),
        ({"sortBy": "name", "sortOrder": "ASC", "afterId": "f2", "afterValue": ""}, ["f5", "f7", "f6", "f4"]),
        ({"sortBy": "name", "sortOrder": "DESC", "afterId": "f5", "afterValue": ""}, ["f2", "f3", "f1"]),
        ({"sortBy": "name", "sortOrder": "ASC", "beforeId": "f5", "beforeValue": "", "limit": 2}, ["f3", "f2"]),
        ({"sortBy": "name", "afterId": "f6", "afterValue": "a"}, ["f4"]),
        ({"sortBy": "name", "beforeId": "f1"}, []),
        ({"sortBy": "name", "afterId": "f4", "afterValue": "b", "page": "3"}, []),
    ],
)
def test_legacy_cursors_go_on_from_a_row(named: Client, parameters: dict[str, Any], found: list[str]) -> None:
    assert listed(named, "features", **parameters) == found


def test_legacy_cursors_go_on_by_the_time_of_creation(named: Client) -> None:
    times = {row["featureId"]: row["createdAt"] for row in named.get("/v1/features").json()}

    def by_creation(**parameters: str) -> list[str]:
        return listed(named, "features", sortBy="createdAt", **parameters)

    assert by_creation(afterId="f5", afterValue=times["f5"]) == ["f6", "f7"]
    assert by_creation(beforeId="f3", beforeValue=times["f3"].replace("Z", "+00:00")) == ["f1", "f2"]
    assert by_creation(afterId="f5") == list(NAMES)
    assert by_creation(sortOrder="DESC", afterId="f5") == []


TIME_MESSAGE = "must be a valid time in the format 2006-01-02T15:04:05Z07:00"


@pytest.mark.parametrize(
    ("parameters", "code", "parameter", "message"),
    [
        ({"afterValue": "a"}, "missing_required_parameter", "afterId", "Missing required parameter afterId"),
        ({"beforeValue": "a"}, "missing_required_parameter", "beforeId", "Missing required parameter beforeId"),
        ({"afterId": ""}, "missing_required_parameter", "afterId", "Missing required parameter afterId"),
        ({"afterId": "a b"}, "invalid_parameter", "afterId", id_message(" ", 2)),
        ({"afterId": "f1", "beforeId": "f2"}, "invalid_request", None, "cannot pass both after and before"),
        ({"afterId": "f1", "nextCursor": "x"}, "invalid_request", None, "cannot pass after parameters and a cursor"),
        (
            {"afterId": "f1", "afterValue": "a", "sortBy": "featureId"},
            "invalid_request",
            None,
            "cannot pass afterValue or beforeValue when sorting by featureId",
        ),
        (
            {"sortBy": "createdAt", "afterId": "f1", "afterValue": "soon"},
            "invalid_parameter", "afterValue", TIME_MESSAGE,
        ),
        (
            {"sortBy": "createdAt", "afterId": "f1", "afterValue": "2026-01-01T00:00:00"},
            "invalid_parameter", "afterValue", TIME_MESSAGE,
        ),
        (
            {"sortBy": "name", "beforeId": "f1", "beforeValue": "a\0"},
            "invalid_parameter", "beforeValue", "must not contain the character NUL",
        ),
        ({"limit": "0", "afterValue": "a"}, "invalid_parameter", "limit", "must be an integer greater than 0"),
    ],
)  # fmt: skip
def test_legacy_cursors_that_make_no_sense_are_refused(
    named: Client, parameters: dict[str, str], code: str, parameter: str | None, message: str
) -> None:
    answer = refused(named, "/v1/features", **parameters)

    assert (answer["code"], answer.get("parameter")) == (code, parameter)
    assert answer["message"].startswith(message)


def test_a_value_to_go_on_from_must_be_an_address_where_users_are_sorted_by_it(shared_client: Client) -> None:
    shared_client.post("/v1/users", json={"userId": "u9", "email": "u9@example.com"}).raise_for_status()
    by_email = {"sortBy": "email", "afterId": "u1"}

    assert refused(shared_client, "/v1/users", **by_email, afterValue="b") == {
        "code": "invalid_parameter", "message": "must be a valid email", "parameter": "afterValue",
    }  # fmt: skip
    assert "u9" in listed(shared_client, "users", **by_email, afterValue="")
    assert "u9" not in listed(shared_client, "users", **by_email, afterValue="u9@example.net")


def test_pages_by_legacy_cursors_are_the_whole_list(named: Client) -> None:
    for limit in (1, 2, 3):
        found: list[str] = []
        last: dict[str, str] = {}
        while page := named.get("/v1/features", params={"sortBy": "name", "limit": limit, **last}).json():
            found += [row["featureId"] for row in page]
            last = {"afterId": page[-1]["featureId"]}
            if page[-1]["name"] is not None:
                last["afterValue"] = page[-1]["name"]
        assert found == ASCENDING


def test_what_is_shown_serves_as_a_cursor_whatever_else_is_in_the_meta(client: Client) -> None:
    metas = {"a": {"name": "zoe", "other": "\0"}, "b": {"name": "a\0"}, "c": {"name": r"x\u0000"}, "d": {"name": "ann"}}
    for resource_id, meta in metas.items():
        client.post(
            "/v2/objects", json={"objectType": "feature", "objectId": resource_id, "meta": meta}
        ).raise_for_status()

    rows = client.get("/v1/features?sortBy=name").json()

    assert [(row["featureId"], row["name"]) for row in rows] == [
        ("a", None), ("b", None), ("d", "ann"), ("c", r"x\u0000"),
    ]  # fmt: skip
    for place, row in enumerate(rows):
        value = {} if row["name"] is None else {"afterValue": row["name"]}
        after = client.get("/v1/features", params={"sortBy": "name", "afterId": row["featureId"], **value}).json()
        assert after == rows[place + 1 :]


def test_an_idempotency_key_counts_here_too(shared_client: Client) -> None:
    headers = {"Idempotency-Key": "once-for-a-user"}

    first, again = (shared_client.post("/v1/users", json={}, headers=headers) for _ in range(2))
    other = shared_client.post("/v1/users", json={"email": "a"}, headers=headers)

    assert first.json() == again.json()
    assert other.status_code == 422
