"""Resource types, policies and schemas of /fga/v1 (docs/fga-v1.md#resource-types)."""

from typing import Any

import pytest

from tests.fga.conftest import POLICY, TYPES
from tests.fga.requests import check, write
from tests.running import Client

TEXT = """version 0.3

type user

type team
    relation member [user]
    relation lead [user]

type report
    relation reader [user, team]
    relation editor [team#lead]

    inherit reader if
        any_of
            relation editor
            policy in_office

policy in_office(network string) {
    network == "office"
}
"""


def test_resource_types_are_read_as_they_were_written(client: Client) -> None:
    client.post("/fga/v1/policies", json=POLICY).raise_for_status()
    applied = client.put("/fga/v1/resource-types", json=TYPES).json()
    listed = client.get("/fga/v1/resource-types", params={"order": "asc", "limit": 100}).json()["data"]

    expected = {one["type"]: dict(one.get("relations", {})) for one in TYPES}
    expected["folder"] = {"viewer": {"allowed_types": ["user", "team", "team#member"]}}
    expected["document"]["parent"] = {"allowed_types": ["folder", "folder#viewer"]}
    assert {one["type"]: one["relations"] for one in applied} == expected
    assert sorted(listed, key=lambda one: str(one["type"])) == sorted(applied, key=lambda one: str(one["type"]))
    assert client.get("/fga/v1/resource-types/document").json()["relations"] == expected["document"]


def test_what_is_written_here_decides_checks(client: Client) -> None:
    client.put("/fga/v1/resource-types", json=TYPES).raise_for_status()
    write(client, "folder:a#viewer@team:t#member", "document:d#parent@folder:a", "team:t#member@user:ann")

    assert check(client, "document:d#can_read@user:ann")["result"] == "authorized"
    assert client.get("/v2/object-types/document").json()["allowedTypes"]["can_read"] == []


def test_one_resource_type_is_created_changed_and_deleted(client: Client) -> None:
    client.put("/fga/v1/resource-types", json=TYPES).raise_for_status()
    room = {"type": "room", "relations": {"guest": {"allowed_types": ["team"]}}}

    created = client.post("/fga/v1/resource-types", json=room).json()
    changed = client.put(
        "/fga/v1/resource-types/room", json={"relations": {"guest": {"inherit_if": "host"}, "host": {}}}
    )
    deleted = client.delete("/fga/v1/resource-types/room")

    assert created["relations"] == {"guest": {"allowed_types": ["team", "team#member"]}}
    assert changed.json() == {**created, "relations": {"guest": {"inherit_if": "host"}, "host": {}}}
    assert (deleted.status_code, deleted.content) == (200, b"")
    assert client.get("/fga/v1/resource-types/room").status_code == 404
    assert client.put("/fga/v1/resource-types/room", json=room).status_code == 404


def test_applied_resource_types_are_all_there_are(client: Client) -> None:
    client.put("/fga/v1/resource-types", json=[{"type": "user"}]).raise_for_status()

    assert [one["type"] for one in client.get("/fga/v1/resource-types").json()["data"]] == ["user"]


def test_policies_are_kept(client: Client) -> None:
    created = client.post("/fga/v1/policies", json=POLICY).json()
    changed = client.put("/fga/v1/policies/in_office", json=POLICY | {"name": None, "expression": "network == 'here'"})
    listed = client.get("/fga/v1/policies").json()["data"]
    searched = client.get("/fga/v1/policies", params={"search": "in"})
    deleted = client.delete("/fga/v1/policies/in_office")

    assert created == {**POLICY, "created_at": created["created_at"]}
    assert changed.json() == {**created, "expression": "network == 'here'"} == listed[0]
    assert (searched.status_code, searched.json()["parameter"]) == (400, "search")
    assert (deleted.status_code, deleted.content) == (200, b"")
    assert client.get("/fga/v1/policies/in_office").status_code == 404


def test_the_schema_is_the_whole_model(client: Client) -> None:
    client.post("/fga/v1/policies", json=POLICY).raise_for_status()
    applied = client.put("/fga/v1/resource-types", json=TYPES).json()

    schema = client.get("/fga/v1/schema").json()

    assert schema["version"] == "1.0"
    assert schema["policies"] == {"in_office": POLICY}
    types = sorted(applied, key=lambda one: str(one["type"]))
    assert schema["resource_types"] == [{name: one[name] for name in ("type", "relations")} for one in types]


def test_an_applied_schema_is_all_there_is(client: Client) -> None:
    client.put("/fga/v1/resource-types", json=TYPES).raise_for_status()

    from_text = client.post("/fga/v1/schema", content=TEXT).json()
    fetched = client.get("/fga/v1/schema").json()
    wrong = {"in_office": POLICY | {"expression": "network =="}}
    refused = client.post("/fga/v1/schema", json={"resource_types": TYPES, "policies": wrong})
    from_json = client.post("/fga/v1/schema", json={"resource_types": TYPES, "policies": [POLICY]}).json()

    assert [one["type"] for one in from_text["resource_types"]] == ["report", "team", "user"]
    assert fetched == from_text
    assert (refused.status_code, refused.json()["parameter"]) == (400, "policies[0].expression")
    assert {one["type"] for one in from_json["resource_types"]} == {str(one["type"]) for one in TYPES}
    assert from_json["policies"] == {"in_office": POLICY}


def test_a_fetched_schema_is_applied_without_a_change(client: Client) -> None:
    fetched = client.post("/fga/v1/schema", content=TEXT).json()

    assert client.post("/fga/v1/schema", json=fetched).json() == fetched


def test_relations_that_are_named_like_groups_are_read_as_they_are_written(client: Client) -> None:
    """Such as the other API may have."""
    through = {"inheritIf": "none_of", "ofType": "doc", "withRelation": "all_of"}
    rules = [{"inheritIf": "any_of"}, through]
    relations = {"any_of": {}, "all_of": {}, "none_of": {}, "a": {"inheritIf": "anyOf", "rules": rules}}
    client.post("/v2/object-types", json={"type": "doc", "relations": relations}).raise_for_status()
    before = client.get("/v2/model").json()
    schema = client.get("/fga/v1/schema").json()

    assert client.post("/fga/v1/schema", json=schema).json() == schema
    assert client.get("/v2/model").json() == before
    lacking = {"resource_types": [{"type": "d", "relations": {"a": {"inherit_if": "any_of"}}}]}
    refused = client.post("/fga/v1/schema", json=lacking).json()
    assert refused["message"] == "Missing required parameter resource_types[0].relations.a.rules"


def test_an_applied_schema_warns_of_names_that_it_does_not_define(client: Client) -> None:
    applied = client.post("/fga/v1/schema", content="version 0.3\ntype doc\n    relation a [user]\n")

    assert applied.status_code == 200
    assert "user" in applied.headers["Warning"]


def test_a_schema_is_converted_there_and_back(client: Client) -> None:
    json = client.post("/fga/v1/schema/convert", content=TEXT).json()
    text = client.post("/fga/v1/schema/convert", json=json).json()
    again = client.post("/fga/v1/schema/convert", content=text["schema"]).json()

    report = {one["type"]: one["relations"] for one in json["resource_types"]}["report"]
    assert report == {
        "reader": {
            "inherit_if": "any_of",
            "rules": [{"inherit_if": "editor"}, {"policy": "in_office"}],
            "allowed_types": ["user", "team", "team#member", "team#lead"],
        },
        "editor": {"allowed_types": ["team#lead"]},
    }
    assert json["policies"]["in_office"]["parameters"] == [{"name": "network", "type": "string"}]
    assert text["schema"].startswith("version 1.0\n")
    assert again == json


def test_a_schema_may_have_its_types_and_policies_by_name(client: Client) -> None:
    types = {one["type"]: {"relations": one.get("relations")} for one in TYPES}
    by_name = {"version": "0.3", "resource_types": types, "policies": {"in_office": POLICY | {"name": None}}}

    texts = [
        client.post("/fga/v1/schema/convert", json=body).json()["schema"]
        for body in (by_name, {"resource_types": TYPES, "policies": [POLICY]})
    ]

    assert texts[0] == texts[1]


def with_relation(rule: dict[str, Any]) -> dict[str, Any]:
    return {"resource_types": [{"type": "a", "relations": {"b": rule}}]}


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        ({}, "resource_types"),
        ({"schema": 5}, "resource_types"),
        ({"version": "9.9"}, "version"),
        ({"resource_types": [{"type": "Upper"}]}, "resource_types[0].type"),
        (with_relation({"inherit_if": "any_of"}), "resource_types[0].relations.b.rules"),
        (with_relation({"of_type": "c"}), "resource_types[0].relations.b.inherit_if"),
        (with_relation({"inheritIf": "c"}), "resource_types.relations.inheritIf"),
        ({"resource_types": [], "policies": [{"name": "p"}]}, "policies[0].expression"),
        (
            {"resource_types": [], "policies": {"p": {"language": "rego", "expression": "true"}}},
            "policies.p.language",
        ),
    ],
)  # fmt: skip
def test_a_mistake_in_a_schema_is_reported_with_its_path(client: Client, body: Any, parameter: str) -> None:
    answer = client.post("/fga/v1/schema/convert", json=body)

    assert (answer.status_code, answer.json().get("parameter")) == (400, parameter), answer.text


def test_a_mistake_in_the_text_of_a_schema_is_reported_with_its_line(client: Client) -> None:
    answer = client.post("/fga/v1/schema/convert", content=TEXT.replace("relation reader", "relatoin reader"))

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_model")
    assert answer.json()["errors"][0]["line"] == 10


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        ([], None),
        ([{"type": "user"}, {"type": "user"}], "[1].type"),
        ([{}], "[0].type"),
        ([{"type": "user", "relations": {"a": {"allowed_types": ["*"]}}}], "[0].allowed_types.a"),
    ],
)
def test_a_mistake_in_resource_types_is_refused(client: Client, body: Any, parameter: str | None) -> None:
    answer = client.put("/fga/v1/resource-types", json=body)

    assert (answer.status_code, answer.json().get("parameter")) == (400, parameter), answer.text


def test_types_that_strand_warrants_are_refused(client: Client) -> None:
    client.put("/fga/v1/resource-types", json=TYPES).raise_for_status()
    write(client, "team:t#member@user:ann")
    stricter = [
        one | ({"relations": {"member": {"allowed_types": []}}} if one["type"] == "team" else {}) for one in TYPES
    ]

    refused = client.put("/fga/v1/resource-types", json=stricter)

    assert (refused.status_code, refused.json()["code"]) == (400, "stranded_warrants")
    assert refused.json()["parameter"] == "allowed_types"
