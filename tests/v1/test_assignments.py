"""Assignments of v1: resources given to others by `member` warrants (docs/compatibility.md#v1)."""

from typing import Any

import pytest

from tests.running import Client
from tests.v1.resources import RESOURCES

ASSIGNMENTS = [
    ("users", "roles"),
    ("users", "permissions"),
    ("users", "features"),
    ("users", "pricing-tiers"),
    ("roles", "permissions"),
    ("pricing-tiers", "features"),
    ("tenants", "features"),
    ("tenants", "pricing-tiers"),
]

each_assignment = pytest.mark.parametrize(("holders", "given"), ASSIGNMENTS)


def ids(client: Client, path: str, of: str, **parameters: Any) -> list[str]:
    answer = client.get(f"/v1/{path}", params=parameters)
    assert answer.status_code == 200, answer.text
    return [row[RESOURCES[of][1]] for row in answer.json()]


@each_assignment
def test_what_is_given_is_listed_checked_and_taken_away(client: Client, holders: str, given: str) -> None:
    holder_type, given_type = RESOURCES[holders][0], RESOURCES[given][0]
    path = f"{holders}/h/{given}"
    made = client.post(f"/v1/{given}", json={RESOURCES[given][1]: "g", "name": "G"}).json()
    written = f"{given_type}:g#member@{holder_type}:h"
    assert ids(client, path, given) == []

    answer = client.post(f"/v1/{path}/g")
    assert answer.status_code == 200, answer.text
    assert answer.json() == made
    assert "warrant-token" in answer.headers
    assert client.ask(written).json() == {"code": 200, "result": "Authorized", "isImplicit": False}
    assert client.get(f"/v1/{path}").json() == [made]
    assert client.post(f"/v1/{path}/g", json={}).json() == made
    [warrant] = client.get("/v1/warrants").json()
    assert (warrant["relation"], warrant["subject"]) == ("member", {"objectType": holder_type, "objectId": "h"})

    taken = client.delete(f"/v1/{path}/g")
    assert (taken.status_code, taken.content) == (200, b"")
    assert ids(client, path, given) == []
    assert client.get("/v1/warrants").json() == []
    again = client.delete(f"/v1/{path}/g")
    assert (again.status_code, again.json()["key"]) == (404, written)
    assert ids(client, given, given) == ["g"]


def test_what_is_not_there_yet_is_made(client: Client) -> None:
    answer = client.post("/v1/users/ann/roles/admin").json()

    assert {**answer, "createdAt": ""} == {"roleId": "admin", "name": None, "description": None, "createdAt": ""}
    assert client.get("/v1/users/ann").status_code == 200


def test_only_what_is_given_itself_is_listed(client: Client) -> None:
    client.post("/v1/users/ann/roles/admin").raise_for_status()
    client.post("/v1/roles/admin/permissions/edit").raise_for_status()

    assert ids(client, "users/ann/permissions", "permissions") == []
    assert client.ask("permission:edit#member@user:ann").json()["code"] == 200


def test_tenants_and_their_users_are_listed_whatever_they_are_there(client: Client) -> None:
    client.grant("tenant:acme#admin@user:ann", "tenant:acme#member@user:bob", "tenant:zoo#manager@user:ann")
    client.put("/v1/users/ann", json={"email": "ann@example.com"}).raise_for_status()

    users = client.get("/v1/tenants/acme/users").json()
    assert [(user["userId"], user["email"]) for user in users] == [("ann", "ann@example.com"), ("bob", None)]
    assert users[0] == client.get("/v1/users/ann").json()
    assert client.get("/v1/users/ann/tenants").json() == client.get("/v1/tenants").json()
    assert ids(client, "users/bob/tenants", "tenants") == ["acme"]


def test_a_wildcard_warrant_names_no_user(client: Client) -> None:
    client.grant("tenant:acme#member@user:*", "tenant:acme#member@user:ann")

    assert ids(client, "tenants/acme/users", "users") == ["ann"]


def test_a_wildcard_warrant_makes_no_page_shorter(client: Client) -> None:
    client.grant("tenant:acme#member@user:*", *(f"tenant:acme#member@user:{object_id}" for object_id in "abc"))

    for parameters, page in (
        ({}, "abc"),
        ({"limit": 1}, "a"),
        ({"limit": 2, "afterId": "a"}, "bc"),
        ({"limit": 1, "sortOrder": "DESC"}, "c"),
        ({"limit": 3, "sortOrder": "DESC"}, "cba"),
        ({"limit": 2, "beforeId": "c"}, "ab"),
    ):
        assert ids(client, "tenants/acme/users", "users", **parameters) == list(page)


def test_pages(shared_client: Client) -> None:
    for object_id in "dbeac":
        shared_client.post(f"/v1/users/pat/roles/{object_id}").raise_for_status()

    def roles(**parameters: Any) -> list[str]:
        return ids(shared_client, "users/pat/roles", "roles", **parameters)

    assert roles() == list("abcde")
    assert roles(limit=2) == ["a", "b"]
    assert roles(limit=2, page=2) == ["a", "b"]
    assert roles(limit=2, afterId="b") == ["c", "d"]
    assert roles(limit=2, beforeId="c") == ["a", "b"]
    assert roles(sortBy="roleId", sortOrder="DESC", afterId="b") == ["a"]
    assert shared_client.get("/v1/users/pat/roles?sortBy=name").json()["parameter"] == "sortBy"
    assert shared_client.get("/v1/users/pat/roles?limit=0").json()["parameter"] == "limit"


def test_what_cannot_be_is_not_found(shared_client: Client) -> None:
    for method, path, key in (
        ("GET", "/v1/users/a b/roles", "a b"),
        ("POST", "/v1/users/ann/roles/a b", "a b"),
        ("DELETE", "/v1/users/a b/roles/x", "a b"),
    ):
        answer = shared_client.request(method, path)
        assert (answer.status_code, answer.json()["key"]) == (404, key)
    assert shared_client.post("/v1/tenants/acme/users/ann").status_code == 404


def test_a_type_that_was_deleted_gives_nothing(client: Client) -> None:
    client.delete("/v2/object-types/role")

    given = client.post("/v1/users/ann/roles/admin")
    assert (given.status_code, given.json()["parameter"]) == (400, "objectType")
    assert client.get("/v1/users/ann/roles").json()["message"] == "ObjectType role not found"


def test_an_idempotency_key_counts_though_there_is_no_body(client: Client) -> None:
    headers = {"Idempotency-Key": "give-once"}
    first = client.post("/v1/users/ann/roles/admin", headers=headers)
    client.delete("/v1/users/ann/roles/admin").raise_for_status()

    again = client.post("/v1/users/ann/roles/admin", headers=headers)
    client.delete("/v1/roles/admin").raise_for_status()
    at_last = client.post("/v1/users/ann/roles/admin", headers=headers)
    other = client.post("/v1/users/ann/roles/other", headers=headers)

    assert [one.headers["warrant-token"] for one in (again, at_last)] == 2 * [first.headers["warrant-token"]]
    assert first.json() == again.json() == at_last.json()
    assert ids(client, "users/ann/roles", "roles") == []
    assert other.status_code == 422
