"""Answers of /v2 say what OpenFGA calls the names in them (docs/openfga.md#in-answers-of-v2)."""

import json
from typing import Any

import pytest

from tests.openfga.conversation import OpenFga, computed, define, model, this, union
from tests.openfga.requests import delete, v2, write
from tests.running import Client
from tests.scenario_files import warrant_body
from tests.shown_blocks import read_blocks

FOREIGN = {
    **model(
        define("user"),
        define(
            "Paper",
            viewer=(this(), ["user"]),
            **{"can.read": (union(computed("viewer"), this()), ["user with is.below"])},
        ),
    ),
    "conditions": {
        "is.below": {
            "name": "is.below",
            "expression": "level < 3",
            "parameters": {"level": {"type_name": "TYPE_NAME_INT", "generic_types": []}},
        }
    },
}
"""Is a model with names that none of ours can be."""


PLAN = "plan-0123456789ab"
"""Is a type of ours that looks like one of OpenFGA."""


@pytest.fixture
def filled(openfga: OpenFga) -> OpenFga:
    openfga.write_model(FOREIGN)
    conditional = {"object": "Paper:b", "relation": "can.read", "user": "user:ann", "condition": {"name": "is.below"}}
    openfga.post("write", {"writes": {"tuple_keys": [conditional]}}).raise_for_status()
    write(openfga, "Paper:a* viewer user:ann").raise_for_status()
    return openfga


def find_type(openfga: OpenFga) -> str:
    """Returns what the type Paper is called here."""
    rows = v2(openfga, "GET", "object-types").json()["results"]
    [name] = [row["type"] for row in rows if row["type"].startswith("paper-")]
    return str(name)


def explain(openfga: OpenFga, written: str, **others: Any) -> Any:
    return v2(openfga, "POST", "explain", json={**warrant_body(written), **others}).json()


def test_an_explanation_of_an_allowed_check_has_the_names_of_openfga(filled: OpenFga) -> None:
    paper = find_type(filled)

    explained = explain(filled, f"{paper}:a%2A#viewer@user:ann")

    assert explained["decision"] == "allowed"
    assert explained["path"][0]["relation"] == "direct_viewer"
    assert explained["names"] == {
        "types": {paper: "Paper"},
        "relations": {"direct_viewer": "viewer"},
        "ids": {"a%2A": "a*"},
    }


def test_an_explanation_of_a_denial_names_relations_and_conditions_and_suggests_what_can_be_sent(
    filled: OpenFga,
) -> None:
    paper = find_type(filled)
    [can_read] = [
        row["relation"].removeprefix("direct_")
        for row in v2(filled, "GET", "warrants").json()["results"]
        if row["objectId"] == "b"
    ]

    explained = explain(filled, f"{paper}:b#{can_read}@user:ann", context={"level": 7})

    assert explained["decision"] == "denied"
    relations = {f"direct_{can_read}": "can.read", can_read: "can.read", "direct_viewer": "viewer"}
    assert explained["names"]["relations"] == relations
    assert list(explained["names"]["conditions"].values()) == ["is.below"]
    created = [key["relation"] for change in explained["wouldAllow"] for key in change["create"]]
    assert "direct_viewer" in created
    assert not {"viewer", "can.read"} & {*created}


def test_names_of_former_models_are_given_as_long_as_something_has_them(filled: OpenFga) -> None:
    paper = find_type(filled)
    filled.write_model(model(define("user"), define("plan", viewer=(this(), ["user"]))))

    explained = explain(filled, f"{paper}:a%2A#viewer@user:ann")

    assert explained["decision"] == "denied"
    assert explained["names"]["types"] == {paper: "Paper"}


def test_lists_have_the_names_of_their_rows(filled: OpenFga) -> None:
    paper = find_type(filled)
    names = {"types": {paper: "Paper"}, "relations": {"direct_viewer": "viewer"}, "ids": {"a%2A": "a*"}}
    before = v2(filled, "GET", "warrants").headers["Warrant-Token"]
    write(filled, "Paper:a* viewer user:bob").raise_for_status()
    select = f"select {paper} where user:bob is viewer"

    for path, others in [
        ("warrants", {"params": {"subjectId": "bob"}}),
        ("query", {"params": {"q": select}}),
        ("query", {"params": {"q": select}}),  # from what was kept of the first
        ("access-events", {"params": {"subjectId": "bob"}}),
    ]:
        assert v2(filled, "GET", path, **others).json()["names"] == names, path
    assert v2(filled, "POST", "query", json={"q": select}).json()["names"] == names
    assert v2(filled, "GET", "objects", params={"objectType": paper}).json()["names"]["ids"] == {"a%2A": "a*"}
    gained = v2(filled, "GET", "difference", params={"from": before}).json()
    relations = {row["relation"] for row in gained["results"]} - {"viewer"}
    assert relations == gained["names"]["relations"].keys()
    assert gained["names"]["types"] == {paper: "Paper"}
    key = warrant_body(f"{paper}:a%2A#direct_viewer@user:zoe")
    proposed = v2(filled, "POST", "difference", json={"proposal": {"create": [key], "delete": []}}).json()
    assert proposed["names"]["types"] == {paper: "Paper"}


def test_the_example_in_the_documentation_is_the_answer_to_a_list(filled: OpenFga) -> None:
    [example] = [block for block in read_blocks() if block.document == "docs/openfga.md" and block.language == "json"]

    assert v2(filled, "GET", "warrants").json()["names"] == json.loads(example.text)["names"]


def test_answers_have_no_names_where_none_differs(filled: OpenFga) -> None:
    assert "names" not in explain(filled, "user:ann#viewer@user:bob")
    assert "names" not in v2(filled, "GET", "warrants", params={"subjectId": "nobody"}).json()


def test_what_is_deleted_is_named_in_its_event(filled: OpenFga) -> None:
    delete(filled, "Paper:a* viewer user:ann").raise_for_status()

    rows = v2(filled, "GET", "access-events", params={"type": "access_revoked"}).json()

    assert rows["names"]["relations"] == {"direct_viewer": "viewer"}


def test_other_stores_have_no_names_whatever_their_relations_are_called(shared_client: Client) -> None:
    relations = {"direct_viewer": {}, "viewer": {"inheritIf": "direct_viewer"}}
    types = [{"type": "user", "relations": {}}, {"type": PLAN, "relations": relations}]
    shared_client.put("/v2/object-types", json=types).raise_for_status()
    stored = warrant_body(f"{PLAN}:a%2A#direct_viewer@user:ann")
    shared_client.post("/v2/warrants", json=stored).raise_for_status()

    explained = shared_client.post("/v2/explain", json=warrant_body(f"{PLAN}:a%2A#viewer@user:ann")).json()
    listed = shared_client.get("/v2/warrants").json()

    assert explained["decision"] == "allowed"
    assert "names" not in explained
    assert "names" not in listed


def test_a_store_has_names_from_its_first_authorization_model_on(openfga: OpenFga) -> None:
    relations = {"direct_viewer": {}, "viewer": {"inheritIf": "direct_viewer"}}
    types = [{"type": "user", "relations": {}}, {"type": "plan", "relations": relations}]
    v2(openfga, "PUT", "object-types", json=types)
    v2(openfga, "POST", "warrants", json=warrant_body("plan:a#direct_viewer@user:ann"))
    assert "names" not in explain(openfga, "plan:a#viewer@user:ann")

    openfga.write_model(model(define("user"), define("plan", viewer=(this(), ["user"]))))

    assert explain(openfga, "plan:a#viewer@user:ann")["names"] == {"relations": {"direct_viewer": "viewer"}}
