"""Ids with slashes, commas, braces and percent signs mean the same in every request."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.ids import STRANGE_IDS
from tests.running import Client

MODEL: dict[str, Any] = {"document": {"viewer": {}}}


@pytest.fixture
def defined(shared_client: Client) -> Client:
    shared_client.define(MODEL)
    return shared_client


def in_path(id: str) -> str:
    return quote(id, safe="")


@pytest.mark.parametrize("id", STRANGE_IDS)
def test_a_warrant_is_written_checked_queried_and_deleted(defined: Client, id: str) -> None:
    warrant = {
        "objectType": "document",
        "objectId": id,
        "relation": "viewer",
        "subject": {"objectType": "user", "objectId": id},
    }
    defined.post("/v2/warrants", json=warrant).raise_for_status()

    checked = defined.post("/v2/check", json={"warrants": [warrant]})
    listed = defined.get("/v2/warrants", params={"objectId": id, "subjectId": id})
    objects = defined.get("/v2/query", params={"q": f'select document where user:"{id}" is viewer'})
    subjects = defined.get("/v2/query", params={"q": f'select viewer of type user for document:"{id}"'})
    deleted = defined.delete_json("/v2/warrants", warrant)

    assert checked.json()["result"] == "Authorized"
    assert [row["objectId"] for row in listed.json()["results"]] == [id]
    assert [row["objectId"] for row in objects.json()["results"]] == [id]
    assert [row["objectId"] for row in subjects.json()["results"]] == [id]
    assert deleted.status_code == 200
    assert defined.post("/v2/check", json={"warrants": [warrant]}).json()["result"] == "Not Authorized"


@pytest.mark.parametrize("id", STRANGE_IDS)
def test_a_resource_of_v1_is_assigned_and_read(defined: Client, id: str) -> None:
    user, role = f"/v1/users/{in_path(id)}", f"/v1/roles/{in_path(id)}"
    for path, member in (("/v1/users", "userId"), ("/v1/roles", "roleId")):
        assert defined.post(path, json={member: id}).json()[member] == id

    assigned = defined.post(f"{user}/roles/{in_path(id)}")

    assert assigned.json()["roleId"] == id
    assert [row["roleId"] for row in defined.get(f"{user}/roles").json()] == [id]
    assert defined.get(user).json()["userId"] == id
    assert defined.get("/v1/objects", params={"objectType": "user", "q": id}).status_code == 200
    for path in (f"{user}/roles/{in_path(id)}", user, role):
        assert defined.delete(path).status_code == 200
    assert defined.get(user).status_code == 404


@pytest.mark.parametrize("id", STRANGE_IDS)
def test_a_session_checks_its_own_user(defined: Client, id: str) -> None:
    check = {"objectType": "document", "objectId": id, "relation": "viewer"}
    defined.post("/v2/warrants", json=check | {"subject": {"objectType": "user", "objectId": id}}).raise_for_status()
    session = defined.post("/v2/sessions", json={"type": "sess", "userId": id, "tenantId": id})
    token = session.json()["token"]

    answer = defined.post("/v2/check", json={"warrants": [check]}, headers={"Authorization": f"Bearer {token}"})

    assert answer.json()["result"] == "Authorized"


@pytest.mark.parametrize("id", STRANGE_IDS)
def test_events_are_filtered_by_it(defined: Client, id: str) -> None:
    subject = {"objectType": "user", "objectId": id}
    warrant = {"objectType": "document", "objectId": "of-events", "relation": "viewer", "subject": subject}
    defined.post("/v2/warrants", json=warrant).raise_for_status()

    granted = defined.get("/v2/access-events", params={"objectId": "of-events", "subjectId": id})
    created = defined.get("/v2/resource-events", params={"resourceType": "user", "resourceId": id, "type": "created"})

    assert [row["subjectId"] for row in granted.json()["results"]] == [id]
    assert {row["resourceId"] for row in created.json()["results"]} == {id}
