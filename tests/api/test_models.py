"""/v2/model: whole models are validated and converted, as text and as JSON, without a change in the store."""

import json
from typing import Any

import pytest

from magistrate.api.endpoints.models import MAX_TEXT_CHARACTERS
from magistrate.engine.model_text.faults import MAX_FAULTS
from tests.running import Client

TEXT = """\
version 1.0

/// A person.
type user

type document
    relation editor [user]

    relation can-view []
    inherit can-view if
        relation editor
"""
JSON: dict[str, Any] = {
    "objectTypes": [
        {"type": "user", "relations": {}, "description": "A person."},
        {
            "type": "document",
            "relations": {"editor": {}, "can-view": {"inheritIf": "editor"}},
            "allowedTypes": {"editor": ["user"], "can-view": []},
        },
    ],
    "policies": [],
}
TYPES = ("text/plain", "application/json", "application/x-www-form-urlencoded")


def validated(client: Client, body: str | bytes) -> Any:
    response = client.post("/v2/model/validate", content=body)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize("body", [TEXT, json.dumps(JSON), json.dumps(JSON["objectTypes"])])
@pytest.mark.parametrize("content_type", TYPES)
def test_the_content_says_which_form_a_model_has(client: Client, body: str, content_type: str) -> None:
    response = client.post("/v2/model/validate", content=body, headers={"Content-Type": content_type})

    assert response.json() == {"valid": True, "errors": [], "warnings": []}
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Service-Token"]


def test_all_errors_of_a_text_are_answered_with_their_places(client: Client) -> None:
    answer = validated(client, "version 1.0\n\ntype user\n    relaton owner\n    relation a [User]\n")

    assert answer == {
        "valid": False,
        "errors": [
            {
                "line": 4,
                "column": 5,
                "code": "unknown_keyword",
                "message": "expected relation, inherit, source, found 'relaton'",
                "suggestion": "relation",
            },
            {
                "line": 5,
                "column": 17,
                "code": "invalid_name",
                "message": "the name of a type has lower-case letters, digits, - and _; 'User' has others",
                "suggestion": "user",
            },
        ],
        "warnings": [],
    }


def test_what_lint_finds_are_errors_and_warnings(client: Client) -> None:
    answer = validated(client, TEXT.replace("relation editor\n", "relation editr\n"))

    assert not answer["valid"]
    assert [(one["line"], one["code"], one["suggestion"]) for one in answer["errors"]] == [
        (11, "unknown_relation", "editor")
    ]
    assert [(one["line"], one["code"]) for one in answer["warnings"]] == [(7, "unused_relation")]
    assert validated(client, TEXT + "\npolicy p() {\n    true\n}\n")["valid"]


@pytest.mark.parametrize(
    ("body", "place", "code"),
    [
        ("", (1, 1), "missing_version"),
        ('{\n "objectTypes": [}', (2, 18), "invalid_json"),
        ('{"objectTypes": [], "objectTypes": []}', (1, 1), "invalid_json"),
        ("[" * 1_000, (1, 1), "invalid_json"),
        ('{"objectTypes": 1}', (1, 2), "invalid_member"),
        ('{"types": []}', (1, 2), "invalid_member"),
        ('[\n {"type": "a", "relations": {\n  "b": {"inheritIf": "allOf"}}}]', (3, 3), "invalid_member"),
        ('[\n {"type": "a", "relations": {},\n  "allowedTypes": {"b": []}}]', (3, 3), "invalid_member"),
        ('[\n {"type": "a", "relations": {"b": {}},\n  "allowedTypes": {"b": ["a:b"]}}]', (3, 20), "invalid_member"),
        ('[\n {"type": "a", "relations": {}},\n {"type": "a", "relations": {}}]', (3, 3), "invalid_member"),
        ('{"policies": [\n {"name": "p", "expression": "x }"}]}', (2, 16), "invalid_member"),
        ('{"policies": [\n {"name": "p", "parameters": {"a": "bool"}, "expression": "x"}]}', (2, 31), "invalid_member"),
        ('{"policies": [\n {"name": "p"}]}', (2, 2), "invalid_member"),
    ],
)
def test_what_cannot_be_read_has_its_place(client: Client, body: str, place: tuple[int, int], code: str) -> None:
    answer = validated(client, body)

    assert not answer["valid"]
    assert [((one["line"], one["column"]), one["code"]) for one in answer["errors"]] == [(place, code)]


def test_all_types_of_json_that_have_an_error_are_named(client: Client) -> None:
    types = [{"type": f"T{number}", "relations": {}} for number in range(3)]

    errors = validated(client, json.dumps(types, indent=1))["errors"]

    assert [(one["line"], one["message"].partition(":")[0]) for one in errors] == [
        (3, "objectTypes[0].type"),
        (7, "objectTypes[1].type"),
        (11, "objectTypes[2].type"),
    ]


def test_what_is_not_utf_8_is_refused(client: Client) -> None:
    response = client.post("/v2/model/validate", content=b"version 1.0\n\xff")

    assert (response.status_code, response.json()["code"]) == (400, "invalid_request")


def test_each_form_is_converted_to_the_other(client: Client) -> None:
    converted = client.post("/v2/model/convert", content=TEXT)

    assert converted.json() == JSON
    assert converted.headers["Content-Type"] == "application/json"
    back = client.post("/v2/model/convert", content=converted.content)
    assert back.text == TEXT
    assert back.headers["Content-Type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("body", [TEXT, json.dumps(JSON)])
def test_accept_names_the_form(client: Client, body: str) -> None:
    def convert(accept: str) -> str:
        return client.post("/v2/model/convert", content=body, headers={"Accept": accept}).text

    assert convert("text/plain") == TEXT
    assert json.loads(convert("application/json")) == JSON


def test_a_model_with_errors_is_not_converted(client: Client) -> None:
    response = client.post("/v2/model/convert", content="version 1.0\ntype User\nbanana\n")

    answer = response.json()
    assert (response.status_code, answer["code"]) == (400, "invalid_model")
    assert "2:6: error invalid_name" in answer["message"]
    assert " | type User\n | .....^\nand 1 more" in answer["message"]
    assert [(one["line"], one["code"]) for one in answer["errors"]] == [(2, "invalid_name"), (3, "unknown_keyword")]


def test_nothing_is_written(client: Client) -> None:
    before = client.get("/v2/object-types").text

    assert validated(client, TEXT)["valid"]
    client.post("/v2/model/convert", content=TEXT)

    assert client.get("/v2/object-types").text == before


def test_the_whole_model_is_read_in_either_form(client: Client) -> None:
    types = [
        {"type": "zoo", "relations": {"keeper": {}}},
        {"type": "animal", "relations": {"zoo": {}, "keeper": {"inheritIf": "anyOf", "rules": [
            {"inheritIf": "keeper", "ofType": "zoo", "withRelation": "zoo"}]}},
         "source": {"dbType": "pg", "dbName": "a", "table": "b", "primaryKey": ["c"]}},
    ]  # fmt: skip
    put = client.put("/v2/object-types", json=types, params={"replace": "true"})

    found = client.get("/v2/model")
    as_text = client.get("/v2/model", headers={"Accept": "text/plain"})

    assert found.json() == {"objectTypes": [types[1], types[0]], "policies": []}
    assert found.headers["Service-Token"] == put.headers["Service-Token"]
    assert found.headers["Vary"] == as_text.headers["Vary"] == "Accept"
    assert as_text.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert client.post("/v2/model/convert", content=as_text.text).json() == found.json()
    assert client.put("/v2/object-types", json=found.json()["objectTypes"]).status_code == 200


def test_the_whole_model_is_read_as_of_the_past(client: Client) -> None:
    before = client.get("/v2/model")
    client.put("/v2/object-types", json=[{"type": "zoo", "relations": {}}], params={"replace": "true"})

    past = client.get("/v2/model", params={"asOf": before.headers["Service-Token"]})

    assert [one["type"] for one in client.get("/v2/model").json()["objectTypes"]] == ["zoo"]
    assert past.content == before.content


def test_the_predefined_types_are_a_text_without_findings_but_one(client: Client) -> None:
    text = client.get("/v2/model", headers={"Accept": "text/plain"}).text

    answer = validated(client, text)

    assert answer["valid"]
    assert {one["code"] for one in answer["warnings"]} <= {"unused_relation", "unobtainable_relation"}


def test_a_large_model_with_many_errors_is_answered(client: Client) -> None:
    text = "version 1.0\n" + "type t\n    relation r [\n" * 40_000

    assert len(text) < MAX_TEXT_CHARACTERS

    assert len(validated(client, text)["errors"]) == MAX_FAULTS


def test_too_large_a_model_is_refused_unread(client: Client) -> None:
    comments = "//" * (MAX_TEXT_CHARACTERS // 2)

    assert [one["code"] for one in validated(client, comments + "\n")["errors"]] == ["model_too_large"]
    assert [one["code"] for one in validated(client, comments)["errors"]] == ["missing_version"]
