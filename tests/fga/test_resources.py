"""/fga/v1/resources (docs/fga-v1.md#resources)."""

from typing import Any

import pytest

from tests.fga.requests import check, write
from tests.running import Client

PLAN = {"resource_type": "document", "resource_id": "r-plan"}


def test_a_resource_is_created_read_changed_and_deleted(fga: Client) -> None:
    created = fga.post("/fga/v1/resources", json={**PLAN, "meta": {"title": "Plan"}}).json()
    read = fga.get("/fga/v1/resources/document/r-plan").json()
    changed = fga.put("/fga/v1/resources/document/r-plan", json={"meta": {"title": "Plans"}}).json()
    write(fga, "document:r-plan#owner@user:ann")
    deleted = fga.delete("/fga/v1/resources/document/r-plan")

    assert created == {**PLAN, "meta": {"title": "Plan"}, "created_at": created["created_at"]} == read
    assert changed == {**created, "meta": {"title": "Plans"}}
    assert (deleted.status_code, deleted.content, deleted.headers.get("content-type")) == (200, b"", None)
    assert check(fga, "document:r-plan#owner@user:ann")["result"] == "not_authorized"
    assert fga.get("/fga/v1/resources/document/r-plan").status_code == 404


def test_a_resource_without_an_id_gets_one(fga: Client) -> None:
    assert fga.post("/fga/v1/resources", json={"resource_type": "document"}).json()["resource_id"]


def test_resources_are_written_in_batches(fga: Client) -> None:
    refs = [{"resource_type": "folder", "resource_id": f"r-{name}"} for name in "ab"]

    created = fga.post("/fga/v1/resources/batch", json={"op": "create", "resources": refs}).json()
    deleted = fga.post("/fga/v1/resources/batch", json={"op": "delete", "resources": refs})
    again = fga.post("/fga/v1/resources/batch", json={"op": "delete", "resources": refs})

    assert [one["resource_id"] for one in created["data"]] == ["r-a", "r-b"]
    assert deleted.json()["data"] == refs
    assert again.status_code == 404
    assert again.json().keys() == {"code", "message", "type", "key"}


def test_resources_are_listed_by_type_and_text(fga: Client) -> None:
    for name in "ab":
        body = {"resource_type": "folder", "resource_id": f"r-list-{name}"}
        fga.post("/fga/v1/resources", json=body).raise_for_status()

    for parameters in ({"resource_type": "folder", "search": "r-list"}, {"search": "R-LIST"}):
        listed = fga.get("/fga/v1/resources", params=parameters).json()
        assert [row["resource_id"] for row in listed["data"]] == ["r-list-b", "r-list-a"]
    assert fga.get("/fga/v1/resources", params={"resource_type": "planet"}).json() == {
        "object": "list",
        "data": [],
        "list_metadata": {"before": None, "after": None},
    }


@pytest.mark.parametrize(
    ("path", "body", "parameter"),
    [
        ("", {}, "resource_type"),
        ("", {"resource_type": "Upper"}, "resource_type"),
        ("", {**PLAN, "resource_id": "a b"}, "resource_id"),
        ("", {**PLAN, "meta": 1}, "meta"),
        ("/batch", {"resources": [PLAN]}, "op"),
        ("/batch", {"op": "create", "resources": [PLAN, {"resource_type": "Upper"}]}, "[1].resource_type"),
        ("/batch", {"op": "delete", "resources": [{"resource_type": "document"}]}, "[0].resource_id"),
        ("/batch", {"op": "create", "resources": []}, None),
        ("/batch", {"op": "delete"}, None),
    ],
)
def test_a_mistake_is_reported_by_the_name_that_it_has_here(
    fga: Client, path: str, body: Any, parameter: str | None
) -> None:
    answer = fga.post(f"/fga/v1/resources{path}", json=body)

    assert (answer.status_code, answer.json().get("parameter")) == (400, parameter), answer.text
