"""/v2/explain (docs/explain.md): the request, its errors, and who may send it."""

from typing import Any

import pytest

from tests.running import Client
from tests.scenario_files import warrant_body

TYPES: dict[str, Any] = {
    "user": {},
    "report": {"editor": {}, "viewer": {"inheritIf": "editor"}},
}


@pytest.fixture
def granted(client: Client) -> Client:
    client.define(TYPES)
    client.grant("report:a#editor@user:ann")
    return client


def test_an_allowed_check_has_the_path_of_a_check_with_debug_and_no_suggestions(granted: Client) -> None:
    body = warrant_body("report:a#viewer@user:ann")

    explained = granted.post("/v2/explain", json=body)
    checked = granted.post("/v2/check", json={"warrants": [body], "debug": True}).json()

    assert explained.status_code == 200
    assert explained.headers["service-token"]
    assert (explained.json()["decision"], explained.json()["path"]) == ("allowed", *checked["decisionPath"].values())
    assert explained.json().keys() == {"decision", "check", "because", "path", "unknown"}


def test_a_denied_check_has_suggestions_that_can_be_written_as_they_are(granted: Client) -> None:
    body = warrant_body("report:a#viewer@user:bob")

    explained = granted.post("/v2/explain", json=body).json()

    assert explained.keys() == {"decision", "check", "because", "wouldAllow", "unknown"}
    [first, *_] = explained["wouldAllow"]
    assert first["delete"] == []
    granted.post("/v2/warrants", json=first["create"]).raise_for_status()
    assert granted.post("/v2/explain", json=body).json()["decision"] == "allowed"


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({"objectType": None}, "objectType"),
        ({"objectId": ""}, "objectId"),
        ({"relation": "anyOf"}, "relation"),
        ({"subject": None}, "subject"),
        ({"context": 5}, "context"),
        ({"context": {"x": "y" * 70_000}}, "context"),
        ({"strict": "yes"}, "strict"),
    ],
)
def test_a_body_that_cannot_be_read_is_refused(granted: Client, change: dict[str, Any], parameter: str) -> None:
    refused = granted.post("/v2/explain", json=warrant_body("report:a#viewer@user:ann") | change)

    assert (refused.status_code, refused.json()["parameter"]) == (400, parameter)


def test_an_undefined_name_is_named_or_with_strict_refused(granted: Client) -> None:
    body = warrant_body("report:a#veiwer@user:ann")

    named = granted.post("/v2/explain", json=body).json()
    refused = granted.post("/v2/explain", json=body | {"strict": True})

    message = "relation veiwer is not defined on report; did you mean viewer?"
    assert (named["decision"], named["unknown"], named["wouldAllow"]) == ("denied", [message], [])
    assert (refused.status_code, refused.json()["message"]) == (400, message)


def test_a_bearer_token_cannot_explain_because_others_would_be_named(granted: Client) -> None:
    token = granted.post("/v2/sessions", json={"type": "sess", "userId": "ann"}).json()["token"]

    headers = {"authorization": f"Bearer {token}"}
    refused = granted.post("/v2/explain", json=warrant_body("report:a#viewer@user:ann"), headers=headers)

    assert refused.status_code in (401, 403)
    assert "ann" not in refused.text


TENANTS: dict[str, Any] = {
    "user": {},
    "group": {"member": {}},
    "organization": {"member": {}, "suspended": {}},
    "project": {
        "organization": {},
        "viewer": {"inheritIf": "member", "ofType": "organization", "withRelation": "organization"},
        "closed": {"inheritIf": "suspended", "ofType": "organization", "withRelation": "organization"},
        "reader": {
            "inheritIf": "allOf",
            "rules": [{"inheritIf": "viewer"}, {"inheritIf": "noneOf", "rules": [{"inheritIf": "closed"}]}],
        },
    },
}


def proposed(client: Client, suggestion: dict[str, Any]) -> list[dict[str, Any]]:
    """All rows that a suggestion would make."""
    deleted = [
        {key: one[key] for key in ("objectType", "objectId", "relation", "subject")} for one in suggestion["delete"]
    ]
    body: dict[str, Any] = {"proposal": {"create": suggestion["create"], "delete": deleted}, "limit": 1_000}
    rows = []
    while True:
        page = client.post("/v2/difference", json=body).json()
        rows += page["results"]
        if "nextCursor" not in page:
            return rows
        body["nextCursor"] = page["nextCursor"]


def test_effects_are_the_rows_of_the_difference_for_others(client: Client) -> None:
    client.define(TENANTS)
    client.grant(
        "project:site#organization@organization:acme",
        "organization:acme#suspended@group:late#member",
        *(f"organization:acme#member@user:u{number}" for number in range(25)),
        *(f"group:late#member@user:u{number}" for number in range(5)),
    )

    answer = client.post("/v2/explain", json=warrant_body("project:site#reader@user:u0")).json()

    assert answer["wouldAllow"][0]["effects"] == {"gained": 0, "lost": 0, "complete": True}
    for suggestion in answer["wouldAllow"]:
        others = [row for row in proposed(client, suggestion) if row["subject"]["objectId"] != "u0"]
        gained = sum(row["change"] == "gained" for row in others)
        assert suggestion["effects"] == {"gained": gained, "lost": len(others) - gained, "complete": True}
        assert {one["relation"] for one in suggestion["delete"]}.isdisjoint({"organization"})


def test_no_more_than_a_thousand_rows_are_counted(client: Client) -> None:
    client.define({"user": {}, "group": {"member": {}}, "document": {"blocked": {}, "reader": READER}})
    members = [f"group:all#member@user:m{number}" for number in range(1_100)]
    client.grant("document:plan#blocked@group:all#member", *members[:500])
    exactly = effects_of_unblocking(client)
    client.grant(*members[500:])
    more = effects_of_unblocking(client)

    # All others lose `blocked`, which comes first, and gain `reader`.
    assert exactly == {"gained": 499, "lost": 499, "complete": True}
    assert more == {"gained": 0, "lost": 1_000, "complete": False}


READER = {"inheritIf": "noneOf", "rules": [{"inheritIf": "blocked"}]}


def effects_of_unblocking(client: Client) -> Any:
    answer = client.post("/v2/explain", json=warrant_body("document:plan#reader@user:m0")).json()
    return next(
        one["effects"] for one in answer["wouldAllow"] if one["delete"] and one["delete"][0]["relation"] == "blocked"
    )
