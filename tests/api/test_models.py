"""/v2/model: whole models are validated, converted, written and read, as text and as JSON."""

import json
import re
import textwrap
from typing import Any

import pytest

from magistrate.api.endpoints.models import MAX_TEXT_CHARACTERS
from magistrate.engine.text.faults import MAX_FAULTS
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
def test_the_content_says_which_form_a_model_has(shared_client: Client, body: str, content_type: str) -> None:
    response = shared_client.post("/v2/model/validate", content=body, headers={"Content-Type": content_type})

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
                "message": "expected relation, inherit, source, action, found 'relaton'",
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
def test_what_cannot_be_read_has_its_place(shared_client: Client, body: str, place: tuple[int, int], code: str) -> None:
    answer = validated(shared_client, body)

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


def test_a_text_that_stays_text_gets_the_usual_layout_and_keeps_its_comments(client: Client) -> None:
    untidy = TEXT.replace("    ", "  ").replace("editor [user]", "editor [ user ]  // people only", 1)

    formatted = client.post("/v2/model/convert", content=untidy, headers={"Accept": "text/plain"})

    assert formatted.text == TEXT.replace("relation editor [user]", "relation editor [user] // people only")
    older = untidy.replace("version 1.0", "version 0.3")
    converted = client.post("/v2/model/convert", content=older, headers={"Accept": "text/plain"})
    assert converted.text == TEXT


def test_a_model_with_errors_is_not_converted(client: Client) -> None:
    response = client.post("/v2/model/convert", content="version 1.0\ntype User\nbanana\n")

    answer = response.json()
    assert (response.status_code, answer["code"]) == (400, "invalid_model")
    assert "2:6: error invalid_name" in answer["message"]
    assert " | type User\n | .....^\nand 1 more" in answer["message"]
    assert [(one["line"], one["code"]) for one in answer["errors"]] == [(2, "invalid_name"), (3, "unknown_keyword")]


OPENFGA = """model
  schema 1.1

type user

type Doc
  relations
    define viewer: [user]
    define canRead: viewer
"""
SPICEDB = """definition user {}

definition doc {
    relation viewer: user
    permission read = viewer
}
"""


def test_a_model_of_another_product_is_converted_with_its_new_names(client: Client) -> None:
    answer = client.post("/v2/model/convert", content=OPENFGA)

    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert "type doc\n" in answer.text
    assert "inherit canRead if\n        relation viewer" in answer.text
    assert re.findall(r'299 - "(\w+) becomes ([\w-]+):', answer.headers["Warning"]) == [("Doc", "doc")]
    as_json = client.post("/v2/model/convert", content=OPENFGA, headers={"Accept": "application/json"})
    assert [row["type"] for row in as_json.json()["objectTypes"]] == ["user", "doc"]
    assert validated(client, answer.text)["valid"]


def test_a_model_of_another_product_in_json_is_converted(client: Client) -> None:
    types = [
        {"type": "user"},
        {
            "type": "doc",
            "relations": {"viewer": {"this": {}}},
            "metadata": {"relations": {"viewer": {"directly_related_user_types": [{"type": "user"}]}}},
        },
    ]
    body = {"schema_version": "1.1", "type_definitions": types}

    for given in (body, {"authorization_model": body}):
        answer = client.post("/v2/model/convert", json=given)
        assert answer.status_code == 200, answer.text
        assert "relation viewer [user]" in answer.text
    refused = client.post("/v2/model/convert", params={"origin": "openfga"}, json={"objectTypes": []})
    assert refused.json()["errors"][0]["message"] == "this is no model of OpenFGA"


def test_a_schema_is_converted_and_its_origin_may_be_said(client: Client) -> None:
    for parameters in ({}, {"origin": "spicedb"}):
        answer = client.post("/v2/model/convert", content=SPICEDB, params=parameters)
        assert answer.status_code == 200, answer.text
        assert "relation read []" in answer.text
        assert "Warning" not in answer.headers
    assert (
        client.post("/v2/model/convert", content=SPICEDB, params={"origin": "text"}).json()["code"] == "invalid_model"
    )
    refused = client.post("/v2/model/convert", content=SPICEDB, params={"origin": "keto"}).json()
    assert (refused["parameter"], refused["message"]) == ("origin", "must be text, json, openfga, spicedb")


STORE_FILE = f"""\
name: documents
model: |
{textwrap.indent(OPENFGA.strip(), "  ")}
tuples:
  - {{user: "user:ann", relation: viewer, object: "Doc:plan"}}
tests:
  - check:
      - {{user: "user:ann", object: "Doc:plan", assertions: {{canRead: true}}}}
"""
VALIDATION_FILE = """\
schema: |
  use expiration
  definition user {}
  definition document {
    relation viewer: user with expiration
  }
relationships: |
  document:plan#viewer@user:ann[expiration:2040-01-01T00:00:00Z]
assertions:
  assertTrue:
    - document:plan#viewer@user:ann
"""


@pytest.mark.parametrize("file", [STORE_FILE, VALIDATION_FILE])
def test_a_file_with_relationships_and_tests_is_converted_to_a_test_file(client: Client, file: str) -> None:
    answer = client.post("/v2/model/convert", content=file, headers={"Accept": "text/plain"})
    as_json = client.post("/v2/model/convert", content=file, headers={"Accept": "application/json"})

    assert answer.status_code == 200, answer.text
    assert len(as_json.json()["setup"]["warrants"]) == 1
    run = client.post("/v2/model/test", content=answer.text)
    assert (run.json()["passed"], run.json()["failed"]) == (1, 0)
    assert client.post("/v2/model/test", json=as_json.json()).json() == run.json()
    assert client.get("/v2/warrants").json()["results"] == []


WRONG_FILES = (
    (STORE_FILE.replace("relation: viewer", "relation: viewr"), "unknown_relation", "viewr"),
    (STORE_FILE.replace("type user", "typ user"), "unknown_keyword", "typ"),
    (STORE_FILE.replace("tuples:", "tuples: ["), "invalid_yaml", None),
    (STORE_FILE.replace("name: documents", "model_file: a.fga"), "invalid_reference", "a.fga"),
    ("tuples: [{user: 'user:ann', relation: viewer, object: 'Doc:plan'}]\n", "invalid_member", "tuples"),
    (VALIDATION_FILE.replace("plan#viewer@user:ann[", "plan#reader@user:ann["), "unknown_relation", "reader"),
    (VALIDATION_FILE.replace("relationships: |", "relationships: ["), "invalid_yaml", None),
)


@pytest.mark.parametrize(("file", "code", "near"), WRONG_FILES)
def test_a_mistake_in_a_file_of_another_product_is_said_with_its_line(
    client: Client, file: str, code: str, near: str | None
) -> None:
    answer = client.post("/v2/model/convert", content=file)

    assert answer.status_code == 400, answer.text
    fault = answer.json()["errors"][0]
    assert fault["code"] == code
    assert near is None or near in file.splitlines()[fault["line"] - 1]


def test_a_mistake_in_the_tests_of_another_product_is_said_with_its_place(client: Client) -> None:
    answer = client.post("/v2/model/convert", content=STORE_FILE.replace("canRead: true", "canRead: maybe"))

    assert answer.status_code == 400
    assert answer.json()["message"] == "tests[0].check[0].assertions: must be true or false"


def test_what_is_wrong_with_a_model_of_another_product_is_said_with_its_line(client: Client) -> None:
    wrong = OPENFGA.replace("canRead: viewer", "canRead: viewr")

    answer = client.post("/v2/model/convert", content=wrong)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_model")
    assert [(one["line"], one["code"]) for one in answer.json()["errors"]] == [(9, "unknown_relation")]
    assert "viewer" in answer.json()["errors"][0]["message"]


def test_what_cannot_be_expressed_is_left_out_only_on_request(client: Client) -> None:
    text = SPICEDB.replace("relation viewer: user", "relation viewer: user\n    relation parent: doc:*").replace(
        "permission read = viewer", "permission read = viewer\n    permission see = parent->read"
    )

    refused = client.post("/v2/model/convert", content=text)
    converted = client.post("/v2/model/convert", content=text, params={"leaveOut": "true"})

    assert [one["code"] for one in refused.json()["errors"]] == ["not_expressible"]
    assert "relation read" in converted.text
    assert "relation see" not in converted.text
    assert "not_expressible" in converted.headers["Warning"]


def test_names_of_any_letters_stand_in_the_header(client: Client) -> None:
    name = "größe" + "x" * 240

    answer = client.post("/v2/model/convert", json={"schema_version": "1.1", "type_definitions": [{"type": name}]})

    assert answer.headers.get("Warning", "").isascii()


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


STORED = """\
version 1.0

/// What people write.
type document
    source {"dbType":"postgresql","dbName":"app","table":"documents","primaryKey":["id"]}

    relation parent [folder]
    /// May change it.
    relation editor [user, team#member, user:*]

    relation can-read []
    inherit can-read if
        all_of
            any_of
                relation editor
                relation viewer on parent [folder]
                policy is_public
            none_of
                relation blocked

    relation blocked

type folder
    relation viewer [team#member]

type team
    relation member [user, team#member]

/// Anybody.
type user

/// Whether everybody may see it.
policy is_public(level integer) {
    level < 2
}
"""


@pytest.mark.parametrize("is_json", [False, True])
def test_a_whole_model_is_written_and_read_in_either_form(client: Client, is_json: bool) -> None:
    as_json = client.post("/v2/model/convert", content=STORED).json()
    body = json.dumps(as_json) if is_json else STORED

    put = client.put("/v2/model", content=body)

    assert (put.status_code, put.json()) == (200, as_json)
    found = client.get("/v2/model")
    assert found.json() == as_json
    assert found.headers["Service-Token"] == put.headers["Service-Token"]
    assert client.get("/v2/model", headers={"Accept": "text/plain"}).text == STORED
    assert client.put("/v2/model", content=body, headers={"Accept": "text/plain"}).text == STORED
    assert client.get("/v2/policies/is_public").json()["description"] == "Whether everybody may see it."


def test_a_whole_model_is_one_revision_and_deletes_what_it_lacks(client: Client) -> None:
    client.put("/v2/model", content=STORED).raise_for_status()
    before = client.get("/v2/model").headers["Service-Token"]

    after = client.put("/v2/model", content=TEXT)

    assert client.get("/v2/model").json() == after.json()
    assert [one["type"] for one in after.json()["objectTypes"]] == ["document", "user"]
    assert client.get("/v2/policies").json()["results"] == []
    past = client.get("/v2/model", params={"asOf": before}, headers={"Accept": "text/plain"})
    assert past.text == STORED


@pytest.mark.parametrize("by_header", [True, False])
def test_a_model_that_has_changed_is_not_overwritten(client: Client, by_header: bool) -> None:
    def put(text: str, token: str) -> Any:
        if by_header:
            return client.put("/v2/model", content=text, headers={"If-Match": f'"{token}"'})
        return client.put("/v2/model", content=text, params={"expectedRevision": token})

    known = client.get("/v2/model").headers["Service-Token"]
    client.define({"document": {"viewer": {}}})
    newer = client.get("/v2/model").headers["Service-Token"]
    client.grant("document:a#viewer@user:ann")

    refused = put(TEXT, known)

    assert (refused.status_code, refused.json()["code"]) == (412, "precondition_failed")
    assert "viewer" in client.get("/v2/object-types/document").json()["relations"]
    assert put(TEXT, newer).status_code == 200  # warrants alone were written since
    client.put("/v2/policies", json=[{"name": "p", "expression": "true"}]).raise_for_status()
    assert put(TEXT, newer).status_code == 412
    assert client.put("/v2/model", content=TEXT, headers={"If-Match": "*"}).status_code == 200


@pytest.mark.parametrize("body", [{}, {"policies": []}])
def test_a_model_without_object_types_does_not_delete_them(client: Client, body: dict[str, Any]) -> None:
    before = client.get("/v2/model").json()

    refused = client.put("/v2/model", json=body)

    assert (refused.status_code, refused.json()["parameter"]) == (400, "objectTypes")
    assert client.get("/v2/model").json() == before
    assert before["objectTypes"]


@pytest.mark.parametrize("token", ["", "abc"])
def test_a_demand_that_is_no_token_is_refused(client: Client, token: str) -> None:
    """An empty one is that of a variable which is not set."""
    unknown = client.put("/v2/model", content=TEXT, headers={"If-Match": token})
    as_parameter = client.put("/v2/model", content=TEXT, params={"expectedRevision": token})

    assert (unknown.status_code, unknown.json()["parameter"]) == (400, "If-Match")
    assert (as_parameter.status_code, as_parameter.json()["parameter"]) == (400, "expectedRevision")


def test_demands_must_agree(client: Client) -> None:
    token = client.get("/v2/model").headers["Service-Token"]
    both = client.put("/v2/model?expectedRevision=x", content=TEXT, headers={"If-Match": token})

    assert (both.status_code, both.json()["code"]) == (400, "invalid_request")


def test_warrants_that_a_model_would_strand_are_listed_unless_they_are_kept(client: Client) -> None:
    client.put("/v2/model", content=TEXT).raise_for_status()
    client.grant("document:a#editor@user:ann")
    narrower = TEXT.replace("editor [user]", "editor [team#member]")

    refused = client.put("/v2/model", content=narrower)
    kept = client.put("/v2/model?keepExisting=true", content=narrower)

    assert (refused.status_code, refused.json()["code"]) == (400, "stranded_warrants")
    assert refused.json()["warrants"] == ["document:a#editor@user:ann"]
    assert kept.status_code == 200
    assert "team" in kept.headers["Warning"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("version 1.0\n\ntype User\n", "invalid_name"),
        ("version 1.0\n\npolicy p() {\n    level < 2\n}\n", "invalid_expression"),
        (
            "version 1.0\n\ntype a\n    relation b\n    inherit b if\n        none_of\n            relation b\n",
            "negation_loop",
        ),
    ],
)
def test_a_model_with_errors_is_not_written(client: Client, text: str, code: str) -> None:
    before = client.get("/v2/model").content

    refused = client.put("/v2/model", content=text)

    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_model")
    assert [one["code"] for one in refused.json()["errors"]] == [code]
    assert refused.json()["errors"][0]["line"] >= 3
    assert client.get("/v2/model").content == before


def test_what_is_no_error_of_the_text_is_refused_with_its_path(client: Client) -> None:
    refused = client.put("/v2/model", content='version 1.0\n\ntype a\n    source {"dbType": "pg"}\n')

    assert (refused.status_code, refused.json()["parameter"]) == (400, "objectTypes[0].dbName")


def test_a_plan_names_what_would_change_and_writes_nothing(client: Client) -> None:
    client.put("/v2/model", content=STORED).raise_for_status()
    client.grant("document:a#editor@user:ann", "document:a#editor@team:eng#member")
    changed = STORED.replace("[user, team#member, user:*]", "[user]").replace("level < 2", "level < 3")
    changed = changed.replace("type folder\n", "type drawer\n").replace("[folder]", "[drawer]")

    planned = client.post("/v2/model/plan", content=changed)

    answer = planned.json()
    assert planned.headers["Service-Token"] == client.get("/v2/model").headers["Service-Token"]
    assert answer["objectTypes"] == {"created": ["drawer"], "changed": ["document"], "deleted": ["folder"]}
    assert answer["policies"] == {"created": [], "changed": ["is_public"], "deleted": []}
    assert [one["subject"]["objectType"] for one in answer["stranded"]] == ["team"]
    assert not answer["more"]
    assert client.get("/v2/model", headers={"Accept": "text/plain"}).text == STORED


def test_a_difference_can_propose_policies(client: Client) -> None:
    client.put("/v2/model", content=STORED).raise_for_status()
    client.grant("document:a#editor@user:ann", "document:b#editor@user:eve")
    always = {"name": "is_public", "expression": "true"}

    found = client.post("/v2/difference", json={"proposal": {"policies": [always]}, "of": "document#can-read@user"})
    refused = client.post("/v2/difference", json={"proposal": {"policies": [{"name": "x", "expression": "=="}]}})

    rows = [(one["change"], one["objectId"], one["subject"]["objectId"]) for one in found.json()["results"]]
    assert [row for row in rows if row[0] == "gained"] == [("gained", "a", "eve"), ("gained", "b", "ann")]
    assert (refused.status_code, refused.json()["parameter"]) == (400, "proposal.policies[0].expression")


def test_a_policy_may_have_the_name_of_an_operator(client: Client) -> None:
    """Whatever is stored is in the text of the model, which would delete it if it were not."""
    client.post("/v2/policies", json={"name": "anyOf", "parameters": {"x": "integer"}, "expression": "x > 3"})
    client.post("/v2/object-types", json={"type": "vault", "relations": {"open": {"policy": "anyOf"}}})
    stored = client.get("/v2/model")
    text = client.get("/v2/model", headers={"Accept": "text/plain"}).text

    for written in (text, stored.text):
        assert client.put("/v2/model", content=written).status_code == 200
        assert client.get("/v2/model").json() == stored.json()
    assert "policy anyOf(x integer)" in text
    assert client.post("/v2/model/test", content="tests: []").status_code == 200
    fga = client.get("/fga/v1/schema").json()
    assert client.post("/fga/v1/schema", json=fga).status_code == 200
