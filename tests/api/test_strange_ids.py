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


def in_path(object_id: str) -> str:
    return quote(object_id, safe="")


@pytest.mark.parametrize("object_id", STRANGE_IDS)
def test_a_warrant_is_written_checked_queried_and_deleted(defined: Client, object_id: str) -> None:
    warrant = {
        "objectType": "document",
        "objectId": object_id,
        "relation": "viewer",
        "subject": {"objectType": "user", "objectId": object_id},
    }
    defined.post("/v2/warrants", json=warrant).raise_for_status()

    checked = defined.post("/v2/check", json={"warrants": [warrant]})
    listed = defined.get("/v2/warrants", params={"objectId": object_id, "subjectId": object_id})
    objects = defined.get("/v2/query", params={"q": f'select document where user:"{object_id}" is viewer'})
    subjects = defined.get("/v2/query", params={"q": f'select viewer of type user for document:"{object_id}"'})
    deleted = defined.delete_json("/v2/warrants", warrant)

    assert checked.json()["result"] == "Authorized"
    assert [row["objectId"] for row in listed.json()["results"]] == [object_id]
    assert [row["objectId"] for row in objects.json()["results"]] == [object_id]
    assert [row["objectId"] for row in subjects.json()["results"]] == [object_id]
    assert deleted.status_code == 200
    assert defined.post("/v2/check", json={"warrants": [warrant]}).json()["result"] == "Not Authorized"


@pytest.mark.parametrize("object_id", STRANGE_IDS)
def test_a_resource_of_v1_is_assigned_and_read(defined: Client, object_id: str) -> None:
    user, role = f"/v1/users/{in_path(object_id)}", f"/v1/roles/{in_path(object_id)}"
    for path, member in (("/v1/users", "userId"), ("/v1/roles", "roleId")):
        assert defined.post(path, json={member: object_id}).json()[member] == object_id

    assigned = defined.post(f"{user}/roles/{in_path(object_id)}")

    assert assigned.json()["roleId"] == object_id
    assert [row["roleId"] for row in defined.get(f"{user}/roles").json()] == [object_id]
    assert defined.get(user).json()["userId"] == object_id
    assert defined.get("/v1/objects", params={"objectType": "user", "q": object_id}).status_code == 200
    for path in (f"{user}/roles/{in_path(object_id)}", user, role):
        assert defined.delete(path).status_code == 200
    assert defined.get(user).status_code == 404


@pytest.mark.parametrize("object_id", STRANGE_IDS)
def test_a_session_checks_its_own_user(defined: Client, object_id: str) -> None:
    check = {"objectType": "document", "objectId": object_id, "relation": "viewer"}
    defined.post(
        "/v2/warrants", json=check | {"subject": {"objectType": "user", "objectId": object_id}}
    ).raise_for_status()
    session = defined.post("/v2/sessions", json={"type": "sess", "userId": object_id, "tenantId": object_id})
    token = session.json()["token"]

    answer = defined.post("/v2/check", json={"warrants": [check]}, headers={"Authorization": f"Bearer {token}"})

    assert answer.json()["result"] == "Authorized"


@pytest.mark.parametrize("object_id", STRANGE_IDS)
def test_events_are_filtered_by_it(defined: Client, object_id: str) -> None:
    subject = {"objectType": "user", "objectId": object_id}
    warrant = {"objectType": "document", "objectId": "of-events", "relation": "viewer", "subject": subject}
    defined.post("/v2/warrants", json=warrant).raise_for_status()

    granted = defined.get("/v2/access-events", params={"objectId": "of-events", "subjectId": object_id})
    created = defined.get(
        "/v2/resource-events", params={"resourceType": "user", "resourceId": object_id, "type": "created"}
    )

    assert [row["subjectId"] for row in granted.json()["results"]] == [object_id]
    assert {row["resourceId"] for row in created.json()["results"]} == {object_id}
