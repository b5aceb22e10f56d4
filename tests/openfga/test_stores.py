"""Stores of OpenFGA's API (docs/openfga.md#stores)."""

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import new_database_url
from tests.openfga.conversation import OpenFga
from tests.running import Client, running_service, settings_for

ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")


def test_a_store_is_created_listed_and_deleted(client: Client) -> None:
    made = client.post("/stores", json={"name": "My store/@ 1"})
    other = client.post("/stores", json={"name": "My store/@ 1", "unknown": 1}).json()

    stored = made.json()
    assert made.status_code == 201
    assert stored == {
        "id": stored["id"], "name": "My store/@ 1", "created_at": stored["created_at"],
        "updated_at": stored["created_at"],
    }  # fmt: skip
    assert ULID.fullmatch(stored["id"])
    assert stored["id"] < other["id"]
    assert client.get(f"/stores/{stored['id']}").json() == {**stored, "deleted_at": None}
    listed = client.get("/stores").json()
    assert [row["name"] for row in listed["stores"]] == ["default", "My store/@ 1", "My store/@ 1"]
    assert listed["continuation_token"] == ""

    for _ in range(2):
        deleted = client.delete(f"/stores/{stored['id']}")
        assert (deleted.status_code, deleted.content) == (204, b"")
    missing = client.get(f"/stores/{stored['id']}")
    assert (missing.status_code, missing.json()["code"]) == (404, "store_id_not_found")
    assert [row["id"] for row in client.get("/stores", params={"name": "My store/@ 1"}).json()["stores"]] == [
        other["id"]
    ]


def test_pages_of_stores_lose_and_repeat_none(client: Client) -> None:
    ids = [OpenFga.create(client, f"store {number}").store_id for number in range(5)]
    seen: list[str] = []
    token = ""
    while True:
        page = client.get("/stores", params={"page_size": 2, "continuation_token": token}).json()
        seen += [row["id"] for row in page["stores"]]
        token = page["continuation_token"]
        if not token:
            break
    assert seen[1:] == ids
    assert ids == sorted(ids)
    with_name = client.get("/stores", params={"name": "store 3"}).json()
    assert [row["id"] for row in with_name["stores"]] == [ids[3]]


@pytest.mark.parametrize("name", ["ab", "a!b", "x" * 65, "", None, 7, "a\nbc"])
def test_other_names_are_refused(shared_client: Client, name: Any) -> None:
    refused = shared_client.post("/stores", json={"name": name})
    assert (refused.status_code, refused.json()["code"]) == (400, "validation_error")
    assert refused.headers["x-request-id"] == refused.headers["warrant-request-id"]


def test_a_store_of_this_door_is_one_of_the_other(shared_client: Client) -> None:
    openfga = OpenFga.create(shared_client, "Two Doors")

    stored = shared_client.get(f"/v2/stores/{openfga.store_id}").json()

    assert stored["name"] == f"openfga-{openfga.store_id.lower()}"
    assert shared_client.get(f"/stores/{openfga.store_id}/v2/model").json() == {"objectTypes": [], "policies": []}


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"page_size": 0}, "page_size_invalid"),
        ({"page_size": 101}, "page_size_invalid"),
        ({"page_size": "x"}, "validation_error"),
        ({"continuation_token": "bm9ib2R5"}, "invalid_continuation_token"),
        ({"continuation_token": "a b"}, "invalid_continuation_token"),
    ],
)
def test_pages_that_nobody_can_have_are_refused(shared_client: Client, parameters: Any, code: str) -> None:
    refused = shared_client.get("/stores", params=parameters)
    assert (refused.status_code, refused.json()["code"]) == (400, code)


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/stores/01ARZ3NDEKTSV4RRFFQ69G5FAV", 404, "store_id_not_found"),
        ("GET", "/stores/01arz3ndektsv4rrffq69g5fav", 400, "validation_error"),
        ("GET", "/stores/default/authorization-models", 400, "validation_error"),
        ("GET", "/stores/01ARZ3NDEKTSV4RRFFQ69G5FAV/authorization-models", 404, "store_id_not_found"),
        ("GET", "/stores/01ARZ3NDEKTSV4RRFFQ69G5FAV/nothing", 404, "undefined_endpoint"),
        ("PATCH", "/stores/01ARZ3NDEKTSV4RRFFQ69G5FAV", 404, "undefined_endpoint"),
        ("POST", "/stores", 400, "validation_error"),
    ],
)
def test_what_is_not_there_has_the_codes_of_openfga(
    shared_client: Client, method: str, path: str, status: int, code: str
) -> None:
    answer = shared_client.request(method, path)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.json().keys() == {"code", "message"}


def test_keys_are_bearers(shared_client: Client) -> None:
    openfga = OpenFga.create(shared_client)
    path = f"/stores/{openfga.store_id}/authorization-models"
    for header, code in ((None, "bearer_token_missing"), ("Bearer wrong", "unauthenticated")):
        headers = {} if header is None else {"Authorization": header}
        refused = httpx.get(f"{shared_client.base_url}{path}", headers=headers, trust_env=False)
        assert (refused.status_code, refused.json()["code"]) == (401, code)


def test_a_key_sees_its_own_store_alone(shared_client: Client) -> None:
    openfga, other = OpenFga.create(shared_client), OpenFga.create(shared_client)
    made = shared_client.post(f"/stores/{openfga.store_id}/v2/keys", json={"name": "own", "scopes": ["admin"]}).json()
    headers = {"Authorization": f"Bearer {made['key']}"}

    def status(method: str, path: str) -> int:
        return shared_client.request(method, path, headers=headers).status_code

    assert status("GET", f"/stores/{openfga.store_id}") == 200
    assert status("GET", f"/stores/{openfga.store_id}/authorization-models") == 200
    assert status("GET", f"/stores/{other.store_id}") == 404
    assert status("GET", f"/stores/{other.store_id}/authorization-models") == 404
    assert status("GET", "/stores") == 403
    assert status("DELETE", f"/stores/{openfga.store_id}") == 403


def test_the_api_can_be_left_out(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    settings = settings_for(new_database_url("sqlite", tmp_path, request), openfga=False)
    with running_service(settings) as url, Client(url) as client:
        refused = client.get("/stores")
        assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
        assert client.get("/stores/default/v2/model").status_code == 200
