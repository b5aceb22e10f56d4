"""/v2/object-types (docs/compatibility.md#object-types and docs/compatibility.md#rules)."""

import json
from typing import Any

import pytest

from tests.running import Client, running_service, settings_for


def member_of(of_type: str) -> dict[str, str]:
    return {"inheritIf": "member", "ofType": of_type, "withRelation": "member"}


PREDEFINED = {
    "feature": {
        "member": {"inheritIf": "anyOf", "rules": [member_of(t) for t in ("feature", "pricing-tier", "tenant")]}
    },
    "permission": {"member": {"inheritIf": "anyOf", "rules": [member_of(t) for t in ("permission", "role")]}},
    "pricing-tier": {"member": {"inheritIf": "anyOf", "rules": [member_of(t) for t in ("pricing-tier", "tenant")]}},
    "role": {"member": member_of("role")},
    "tenant": {"admin": {}, "manager": {"inheritIf": "admin"}, "member": {"inheritIf": "manager"}},
    "user": {"parent": {"inheritIf": "parent", "ofType": "user", "withRelation": "parent"}},
}


def test_a_fresh_store_holds_the_six_predefined_types(client: Client) -> None:
    listed = client.get("/v2/object-types").json()

    assert [(row["type"], row["relations"]) for row in listed["results"]] == list(PREDEFINED.items())
    assert set(listed) == {"results"}


def test_predefined_types_sort_by_name_when_sorted_by_creation(client: Client) -> None:
    ascending = client.get("/v2/object-types", params={"sortBy": "createdAt"}).json()["results"]
    descending = client.get("/v2/object-types", params={"sortBy": "createdAt", "sortOrder": "DESC"}).json()["results"]

    assert [row["type"] for row in ascending] == list(PREDEFINED)
    assert [row["type"] for row in descending] == list(reversed(PREDEFINED))


def test_a_created_type_is_answered_with_a_token_and_read_as_stored(client: Client) -> None:
    body = {
        "type": "document",
        "source": {
            "dbType": "postgres",
            "dbName": "app",
            "table": "documents",
            "primaryKey": ["id"],
            "foreignKeys": [{"column": "owner_id", "relation": "owner", "type": "user", "subject": "owner_id"}],
        },
        "relations": {
            "owner": {},
            "editor": {"inheritIf": "owner"},
            "viewer": {
                "inheritIf": "anyOf",
                "rules": [
                    {"inheritIf": "editor"},
                    {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"},
                    {"inheritIf": "allOf", "rules": [{"inheritIf": "member"}, {"inheritIf": "noneOf", "rules": [{}]}]},
                ],
            },
        },
    }

    created = client.post("/v2/object-types", json=body)

    assert created.status_code == 200
    assert created.headers["service-token"] == created.headers["warrant-token"]
    assert created.json() == {**body, "createdAt": created.json()["createdAt"]}
    assert list(created.json()) == ["type", "source", "relations", "createdAt"]
    assert client.get("/v2/object-types/document").json() == created.json()


def test_creating_again_replaces_the_definition_and_keeps_the_creation_time(client: Client) -> None:
    first = client.post("/v2/object-types", json={"type": "t", "relations": {"a": {}}}).json()

    second = client.post("/v2/object-types", json={"type": "t", "relations": {"b": {}}}).json()

    assert second == first | {"relations": {"b": {}}}


def test_a_recreated_type_has_a_new_creation_time(client: Client) -> None:
    first = client.post("/v2/object-types", json={"type": "t", "relations": {}}).json()
    assert client.delete("/v2/object-types/t").status_code == 200

    second = client.post("/v2/object-types", json={"type": "t", "relations": {}}).json()

    assert second["createdAt"] > first["createdAt"]


@pytest.mark.parametrize("method", ["PUT", "POST"])
def test_in_an_update_the_path_names_the_type(client: Client, method: str) -> None:
    client.post("/v2/object-types", json={"type": "report", "relations": {"a": {}}})

    updated = client.request(method, "/v2/object-types/report", json={"type": "A", "relations": {"b": {}}})
    wrong = client.request(method, "/v2/object-types/report", json={"type": 5, "relations": {}})

    assert updated.json()["type"] == "report"
    assert updated.json()["relations"] == {"b": {}}
    assert client.get("/v2/object-types/A").status_code == 404
    assert wrong.json() == {"code": "invalid_parameter", "message": "must be a string", "parameter": "type"}


@pytest.mark.parametrize("method", ["GET", "PUT", "POST", "DELETE"])
@pytest.mark.parametrize("name", ["nonexistent-object-type", "UPPER", "a%00b"])
def test_an_unknown_type_is_not_found(shared_client: Client, method: str, name: str) -> None:
    body = b'{"relations":{}}' if method in ("PUT", "POST") else None

    missing = shared_client.request(method, f"/v2/object-types/{name}", content=body)

    key = name.replace("%00", "\0")
    assert missing.status_code == 404
    assert missing.json() == {
        "code": "not_found",
        "message": f"ObjectType {key} not found",
        "type": "ObjectType",
        "key": key,
    }


def test_a_deleted_type_is_gone_and_its_objects_stay(client: Client) -> None:
    client.post("/v2/objects", json={"objectType": "tenant", "objectId": "acme"})

    deleted = client.delete("/v2/object-types/tenant")

    assert (deleted.status_code, deleted.content) == (200, b"")
    assert client.delete("/v2/object-types/tenant").status_code == 404
    assert client.get("/v2/objects/tenant/acme").status_code == 200


def test_an_array_updates_all_named_types_and_leaves_others(client: Client) -> None:
    batch = [{"type": "role", "relations": {"x": {}}}, {"type": "user", "relations": {}}]

    updated = client.put("/v2/object-types", json=batch)

    assert [(row["type"], row["relations"]) for row in updated.json()] == [("role", {"x": {}}), ("user", {})]
    assert updated.headers["service-token"]
    assert len(client.get("/v2/object-types").json()["results"]) == 6


def test_an_array_creates_the_types_that_do_not_exist(client: Client) -> None:
    batch = [{"type": "role", "relations": {"x": {}}}, {"type": "new", "relations": {"owner": {}}}]

    applied = client.put("/v2/object-types", json=batch)

    assert (applied.status_code, [row["type"] for row in applied.json()]) == (200, ["role", "new"])
    assert client.get("/v2/object-types/new").json() == applied.json()[1]
    assert len(client.get("/v2/object-types").json()["results"]) == 7


def test_an_array_that_is_the_whole_model_deletes_all_other_types(client: Client) -> None:
    client.post("/v2/objects", json={"objectType": "tenant", "objectId": "acme"})
    batch = [{"type": "user", "relations": {}}, {"type": "new", "relations": {"owner": {}}}]

    applied = client.put("/v2/object-types?replace=true", json=batch)

    assert applied.status_code == 200
    assert client.get("/v2/object-types").json()["results"] == applied.json()[::-1]
    assert client.get("/v2/objects/tenant/acme").status_code == 200
    again = client.put("/v2/object-types?replace=true", json=batch)
    assert (again.status_code, again.json()) == (200, applied.json())


def test_a_whole_model_with_a_negation_loop_deletes_nothing(client: Client) -> None:
    loop = {"a": {"inheritIf": "noneOf", "rules": [{"inheritIf": "a"}]}}

    refused = client.put("/v2/object-types?replace=true", json=[{"type": "new", "relations": loop}])

    assert (refused.status_code, refused.json()["parameter"]) == (400, "relations")
    assert len(client.get("/v2/object-types").json()["results"]) == 6


@pytest.mark.parametrize(
    ("rule", "warning"),
    [
        ({"inheritIf": "ownr"}, "note#reader: relation ownr is not defined on note; did you mean owner?"),
        (
            {"inheritIf": "viewer", "ofType": "foldr", "withRelation": "parent"},
            "note#reader: object type foldr is not defined; did you mean folder?",
        ),
        (
            {"inheritIf": "xyz", "ofType": "folder", "withRelation": "parent"},
            "note#reader: relation xyz is not defined on folder",
        ),
        (
            {
                "inheritIf": "allOf",
                "rules": [{}, {"inheritIf": "viewer", "ofType": "folder", "withRelation": "Paret"}],
            },
            "note#reader: relation Paret is not defined on note; did you mean parent?",
        ),
    ],
)
def test_a_rule_that_names_what_is_not_defined_is_accepted_with_a_warning(
    shared_client: Client, rule: dict[str, Any], warning: str
) -> None:
    shared_client.define({"folder": {"viewer": {}}})
    note = {"type": "note", "relations": {"owner": {}, "parent": {}, "reader": rule}}

    answers = [
        shared_client.post("/v2/object-types", json=note),
        shared_client.put("/v2/object-types/note", json=note),
        shared_client.put("/v2/object-types", json=[note]),
    ]

    assert [answer.status_code for answer in answers] == [200] * 3
    assert [answer.headers["warning"] for answer in answers] == [f'299 - "{warning}"'] * 3


def test_types_that_define_each_other_in_one_array_get_no_warning(client: Client) -> None:
    loop = {"inheritIf": "viewer", "ofType": "b", "withRelation": "parent"}
    batch = [{"type": "a", "relations": {"parent": {}, "viewer": loop}}, {"type": "b", "relations": {"viewer": {}}}]

    applied = client.put("/v2/object-types", json=batch)

    assert applied.status_code == 200
    assert "warning" not in applied.headers


def test_warnings_are_limited(client: Client) -> None:
    relations = {f"r{number}": {"inheritIf": f"x{number}"} for number in range(50)}

    created = client.post("/v2/object-types", json={"type": "note", "relations": relations})

    assert created.headers["warning"].count("299 - ") == 10


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"inheritif": "owner"}, "has a rule with the unknown member inheritif; did you mean inheritIf?"),
        ({"inheritIf": "owner", "x": 1}, "has a rule with the unknown member x"),
        (
            {"inheritIf": "allOf", "rules": [{"withrelation": "a"}]},
            "has a rule with the unknown member withrelation; did you mean withRelation?",
        ),
    ],
)
def test_a_rule_with_an_unknown_member_is_refused(shared_client: Client, rule: dict[str, Any], message: str) -> None:
    refused = shared_client.post("/v2/object-types", json={"type": "note", "relations": {"owner": {}, "reader": rule}})

    assert refused.status_code == 400
    assert refused.json()["code"] == "invalid_parameter"
    assert refused.json()["message"] == message
    assert refused.json()["parameter"].startswith("relations")


def test_replace_is_true_or_false(client: Client) -> None:
    refused = client.put("/v2/object-types?replace=1", json=[{"type": "new", "relations": {}}])

    assert (refused.status_code, refused.json()["parameter"]) == (400, "replace")
    assert refused.json()["message"] == "must be true or false"


def test_an_array_with_a_bad_type_updates_none(client: Client) -> None:
    good = {"type": "role", "relations": {"x": {}}}

    bad = client.put("/v2/object-types", json=[good, {"type": "user"}])
    empty = client.put("/v2/object-types", json=[])
    many = client.put("/v2/object-types", json=[good] * 101)

    assert bad.json() == {
        "code": "missing_required_parameter",
        "message": "Missing required parameter relations",
        "parameter": "[1].relations",
    }
    assert empty.status_code == many.status_code == 400
    assert client.get("/v2/object-types/role").json()["relations"] == PREDEFINED["role"]


@pytest.mark.parametrize("name", ["", None, "A", "a b", "a.b", "ä", "x" * 65, "*"])
def test_a_type_needs_a_name_of_lower_case_letters_digits_and_dashes(shared_client: Client, name: Any) -> None:
    refused = shared_client.post("/v2/object-types", json={"type": name, "relations": {}})

    assert refused.status_code == 400
    assert refused.json()["parameter"] == "type"
    assert refused.json()["code"] == ("invalid_parameter" if name else "missing_required_parameter")


@pytest.mark.parametrize("body", [{"type": "t"}, {"type": "t", "relations": None}])
def test_relations_are_required(shared_client: Client, body: Any) -> None:
    refused = shared_client.post("/v2/object-types", json=body)

    assert refused.status_code == 400
    assert refused.json() == {
        "code": "missing_required_parameter",
        "message": "Missing required parameter relations",
        "parameter": "relations",
    }


@pytest.mark.parametrize(
    ("source", "parameter"),
    [
        ({}, "dbType"),
        ({"dbType": "x", "dbName": "x", "table": "x", "primaryKey": []}, "primaryKey"),
        ({"dbType": "x", "dbName": "x", "table": "x", "primaryKey": ["id"], "foreignKeys": [{}]}, "column"),
    ],
)
def test_a_source_must_be_complete(shared_client: Client, source: Any, parameter: str) -> None:
    refused = shared_client.post("/v2/object-types", json={"type": "t", "source": source, "relations": {}})

    assert refused.json()["code"] == "missing_required_parameter"
    assert refused.json()["parameter"] == parameter


def test_a_null_relation_reads_back_as_an_empty_rule(client: Client) -> None:
    created = client.post("/v2/object-types", json={"type": "t", "relations": {"a": None}})

    assert created.json()["relations"] == {"a": {}}


@pytest.mark.parametrize("name", ["", "a b", "anyOf", "noneOf", "x" * 65, "ä"])
def test_a_relation_needs_a_proper_name(shared_client: Client, name: str) -> None:
    refused = shared_client.post("/v2/object-types", json={"type": "t", "relations": {name: {}}})

    assert refused.status_code == 400
    assert (refused.json()["code"], refused.json()["parameter"]) == ("invalid_parameter", "relations")


def test_a_definition_has_a_limit_in_bytes(database_url: str) -> None:
    def definition(size: int) -> dict[str, Any]:
        names = [f"{number:02}" + "x" * 38 for number in range(21)]
        bare = len(json.dumps({"relations": {name: {} for name in names}}, separators=(",", ":")))
        return {"type": "t", "relations": {name: {} for name in [*names, "y" * (size - bare - 6)]}}

    with running_service(settings_for(database_url, max_definition_bytes=1_024)) as url, Client(url) as client:
        answers = [client.post("/v2/object-types", json=definition(size)) for size in (1_023, 1_024, 1_025)]

    assert [answer.status_code for answer in answers] == [200, 200, 400]
    assert answers[2].json() == {
        "code": "invalid_parameter",
        "message": "must be at most 1024 bytes of JSON",
        "parameter": "relations",
    }


def none_of(relation: str) -> dict[str, Any]:
    return {"inheritIf": "noneOf", "rules": [{"inheritIf": relation}]}


def test_a_relation_that_depends_on_its_own_negation_is_refused_and_the_loop_named(client: Client) -> None:
    relations = {"viewer": none_of("blocked"), "blocked": {"inheritIf": "viewer"}}

    refused = client.post("/v2/object-types", json={"type": "document", "relations": relations})

    assert refused.status_code == 400
    assert refused.json() == {
        "code": "invalid_parameter",
        "message": "a relation depends on its own negation: document#viewer -> not document#blocked -> document#viewer",
        "parameter": "relations",
    }
    assert client.get("/v2/object-types/document").status_code == 404


def test_a_negation_loop_across_types_is_refused_when_it_closes(client: Client) -> None:
    through = {"inheritIf": "open", "ofType": "b", "withRelation": "link"}
    back = {"inheritIf": "noneOf", "rules": [{"inheritIf": "open", "ofType": "a", "withRelation": "link"}]}
    assert client.post("/v2/object-types", json={"type": "a", "relations": {"open": through}}).status_code == 200

    closed = client.post("/v2/object-types", json={"type": "b", "relations": {"open": back}})
    harmless = client.post("/v2/object-types", json={"type": "b", "relations": {"open": {}}})
    updated = client.put("/v2/object-types/b", json={"relations": {"open": back}})

    assert (closed.status_code, updated.status_code, harmless.status_code) == (400, 400, 200)
    assert "b#open -> not a#open -> b#open" in closed.json()["message"]


def test_an_array_of_types_is_judged_as_a_whole(client: Client) -> None:
    looks_at_b = {"inheritIf": "open", "ofType": "b", "withRelation": "link"}
    negates_a = {"inheritIf": "noneOf", "rules": [{"inheritIf": "open", "ofType": "a", "withRelation": "link"}]}
    client.post("/v2/object-types", json={"type": "a", "relations": {"open": looks_at_b}})
    client.post("/v2/object-types", json={"type": "b", "relations": {}})

    batch = [{"type": "b", "relations": {"open": negates_a}}, {"type": "a", "relations": {"open": {}}}]

    assert client.put("/v2/object-types", json=batch).status_code == 200


def test_an_unknown_type_is_not_found_before_its_rules_are_judged(client: Client) -> None:
    missing = client.put("/v2/object-types/unknown", json={"relations": {"a": none_of("a")}})

    assert missing.status_code == 404
