"""Named policies over HTTP (docs/policies.md#named-policies)."""

from typing import Any

import pytest

from tests.running import Client
from tests.scenario_files import warrant_body

HOURS: dict[str, Any] = {
    "name": "business_hours",
    "parameters": {"hour": "integer", "days": "array"},
    "expression": "hour >= 9 && hour < 17",
    "description": "From nine to five.",
}
TYPES = {
    "user": {},
    "document": {
        "owner": {},
        "viewer": {"inheritIf": "allOf", "rules": [{"inheritIf": "owner"}, {"policy": "business_hours"}]},
        "closed": {"inheritIf": "noneOf", "rules": [{"policy": "business_hours"}]},
    },
}
VIEWER = "document:plan#viewer@user:ann"
AT_TEN = {"hour": 10, "days": []}


def allowed(client: Client, written: str = VIEWER, **members: Any) -> bool:
    return bool(client.ask(written, **members).json()["result"] == "Authorized")


@pytest.fixture
def opened(client: Client) -> Client:
    client.post("/v2/policies", json=HOURS).raise_for_status()
    client.define(TYPES)
    client.grant("document:plan#owner@user:ann")
    return client


def test_a_policy_is_created_read_listed_replaced_and_deleted(client: Client) -> None:
    created = client.post("/v2/policies", json=HOURS)
    found = client.get("/v2/policies/business_hours")
    replaced = client.put("/v2/policies/business_hours", json={"expression": "true"})
    listed = client.get("/v2/policies").json()["results"]
    deleted = client.delete("/v2/policies/business_hours")
    missing = client.get("/v2/policies/business_hours")

    assert created.status_code == found.status_code == 200
    assert created.json() == found.json()
    assert {name: found.json()[name] for name in HOURS} == HOURS
    assert created.headers["Service-Token"]
    assert replaced.json() == {
        "name": "business_hours",
        "parameters": {},
        "expression": "true",
        "createdAt": found.json()["createdAt"],
    }
    assert listed == [replaced.json()]
    assert deleted.status_code == 200
    assert (missing.status_code, missing.json()["message"]) == (404, "Policy business_hours not found")


def test_a_policy_can_be_sent_back_as_it_is_read(client: Client) -> None:
    client.post("/v2/policies", json=HOURS).raise_for_status()
    row = client.get("/v2/policies/business_hours").json()
    listed = client.get("/v2/policies").json()["results"]

    assert client.put("/v2/policies/business_hours", json=row).json() == row
    assert client.put("/v2/policies?replace=true", json=listed).status_code == 200
    assert client.get("/v2/policies/business_hours").json() == row


def test_policies_are_listed_in_pages_and_an_array_may_be_all_of_them(client: Client) -> None:
    names = [f"p{number}" for number in range(5)]
    client.put("/v2/policies", json=[{"name": name, "expression": "true"} for name in names]).raise_for_status()
    first = client.get("/v2/policies", params={"limit": 3}).json()
    second = client.get("/v2/policies", params={"limit": 3, "nextCursor": first["nextCursor"]}).json()
    client.put("/v2/policies?replace=true", json=[{"name": "p1", "expression": "false"}]).raise_for_status()

    assert [row["name"] for row in first["results"] + second["results"]] == names
    assert [row["name"] for row in client.get("/v2/policies").json()["results"]] == ["p1"]


def test_a_rule_holds_as_its_policy_does(opened: Client) -> None:
    assert allowed(opened, context=AT_TEN)
    assert not allowed(opened, context={"hour": 20, "days": []})
    assert allowed(opened, "document:plan#closed@user:eve", context={"hour": 20, "days": []})


@pytest.mark.parametrize("context", [{}, {"hour": 10}, {"hour": "10", "days": []}, {"hour": None, "days": []}])
def test_a_parameter_that_is_missing_or_of_another_type_grants_and_excludes_nothing(
    opened: Client, context: dict[str, Any]
) -> None:
    assert not allowed(opened, context=context)
    assert not allowed(opened, "document:plan#closed@user:eve", context=context)


def test_a_policy_counts_from_its_revision_on(opened: Client) -> None:
    before = opened.ask(VIEWER, context=AT_TEN)

    opened.put("/v2/policies/business_hours", json={"expression": "false"}).raise_for_status()
    changed = allowed(opened, context=AT_TEN)
    opened.delete("/v2/policies/business_hours").raise_for_status()

    assert not changed
    assert not allowed(opened, context=AT_TEN)
    assert not allowed(opened, "document:plan#closed@user:eve", context=AT_TEN)
    assert allowed(opened, context=AT_TEN, asOf=before.headers["Service-Token"])
    past = opened.get("/v2/policies/business_hours", params={"asOf": before.headers["Service-Token"]})
    assert past.json()["expression"] == HOURS["expression"]


def test_queries_and_explanations_evaluate_it(opened: Client) -> None:
    query = {"q": "select document where user:ann is viewer", "context": AT_TEN}
    rows = opened.post("/v2/query", json=query).json()["results"]
    denied = opened.post("/v2/explain", json=warrant_body(VIEWER) | {"context": {"hour": 20, "days": []}}).json()
    [rule] = denied["because"]["children"]
    named = next(one for one in rule["children"] if one.get("rule") == "policy business_hours")

    assert [row["objectId"] for row in rows] == ["plan"]
    assert named["holds"] is False
    assert named["policy"]["text"] == HOURS["expression"]
    assert named["policy"]["values"] == {"hour": 20, "days": []}
    assert any(one["context"].get("different") == ["hour"] for one in denied["wouldAllow"])


def test_a_rule_that_names_no_policy_is_warned_of(client: Client) -> None:
    written = client.post("/v2/object-types", json={"type": "file", "relations": {"a": {"policy": "gone"}}})

    assert written.status_code == 200
    assert written.headers["Warning"] == '299 - "file#a: policy gone is not defined"'


@pytest.mark.parametrize(
    ("members", "parameter", "reason"),
    [
        ({"name": "a b"}, "name", "can only contain"),
        ({"name": None}, "name", "Missing"),
        ({"expression": ""}, "expression", "Missing"),
        ({"expression": "hour >"}, "expression", "unexpected token"),
        ({"expression": "minute > 3"}, "expression", "minute is not one of the parameters (1:1)"),
        ({"expression": "warrant.relation == 'x'"}, "expression", "warrant is for the policies of warrants"),
        ({"expression": "expiresIn('1h')"}, "expression", "expiresIn is for the policies of warrants"),
        ({"expression": "hour == 'nine'"}, "expression", "does not take float64 and string (1:6)"),
        ({"parameters": {"hour": "number"}}, "parameters", "the type of 'hour' is none of string"),
        ({"parameters": {"a b": "string"}}, "parameters", "'a b' cannot be the name of a variable"),
        ({"parameters": {"warrant": "map"}}, "parameters", "'warrant' cannot be the name of a variable"),
        ({"parameters": {f"p{number}": "map" for number in range(51)}}, "parameters", "must be at most 50"),
    ],
)
def test_policies_that_cannot_be_are_refused(
    client: Client, members: dict[str, Any], parameter: str, reason: str
) -> None:
    refused = client.post("/v2/policies", json=HOURS | members)

    assert refused.status_code == 400, refused.text
    assert refused.json()["parameter"] == parameter
    assert reason in refused.json()["message"]
    assert client.get("/v2/policies").json()["results"] == []
