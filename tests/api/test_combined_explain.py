"""Explanations with contextual warrants, with time limits and as of the past, over HTTP."""

from typing import Any

import httpx
import pytest

from tests.running import Client
from tests.scenario_files import warrant_body

MODEL: dict[str, Any] = {"team": {"member": {}}, "document": {"owner": {}, "viewer": {"inheritIf": "owner"}}}
TEAM, ANN_IN_TEAM = "document:plan#owner@team:eng#member", "team:eng#member@user:ann"
ANN = "document:plan#viewer@user:ann"
FUTURE = "2999-01-01T00:00:00Z"


@pytest.fixture
def defined(client: Client) -> Client:
    client.define(MODEL)
    return client


def explain(client: Client, **members: Any) -> Any:
    answer = client.post("/v2/explain", json={**warrant_body(ANN), **members})
    assert answer.status_code == 200, answer.text
    return answer.json()


def token_of(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    return str(answer.headers["Warrant-Token"])


def test_an_explanation_counts_contextual_warrants(defined: Client) -> None:
    defined.grant(TEAM)

    denied = explain(defined)
    assert denied["decision"] == "denied"
    assert denied["wouldAllow"][0]["create"] == [warrant_body(ANN_IN_TEAM)]

    allowed = explain(defined, contextualWarrants=[warrant_body(ANN_IN_TEAM)])
    assert allowed["decision"] == "allowed"
    assert [row["objectId"] for row in allowed["path"]] == ["eng", "plan"]
    assert defined.ask(ANN).json()["result"] == "Not Authorized"


def test_an_explanation_is_as_of_then(defined: Client) -> None:
    defined.grant(ANN_IN_TEAM)
    before = token_of(defined.get("/v2/object-types"))
    granted = token_of(defined.post("/v2/warrants", json=warrant_body(TEAM)))
    defined.delete_json("/v2/warrants", warrant_body(TEAM)).raise_for_status()

    assert [explain(defined, asOf=token)["decision"] for token in (before, granted)] == ["denied", "allowed"]
    assert explain(defined)["decision"] == "denied"
    assert explain(defined, asOf=before, contextualWarrants=[warrant_body(TEAM)])["decision"] == "allowed"
    answer = defined.post("/v2/explain", json={**warrant_body(ANN), "asOf": granted})
    assert answer.headers["Warrant-Token"] == granted


def test_an_explanation_respects_time_limits(defined: Client) -> None:
    defined.post("/v2/warrants", json=warrant_body(TEAM)).raise_for_status()
    defined.post("/v2/warrants", json=warrant_body(ANN_IN_TEAM) | {"startsAt": FUTURE}).raise_for_status()

    denied = explain(defined)
    assert denied["decision"] == "denied"
    for one in denied["wouldAllow"]:
        assert one["create"]
        assert not one["delete"]
        assert explain(defined, contextualWarrants=one["create"])["decision"] == "allowed"


@pytest.mark.parametrize(
    ("members", "parameter"),
    [
        ({"asOf": "tomorrow"}, "asOf"),
        ({"asOf": FUTURE}, "asOf"),
        ({"contextualWarrants": [warrant_body("document:plan#edtor@user:ann")]}, "contextualWarrants[0].relation"),
        ({"contextualWarrants": [warrant_body(ANN)] * 101}, "contextualWarrants"),
    ],
)
def test_what_is_wrong_with_the_members_of_an_explanation_is_reported(
    defined: Client, members: dict[str, Any], parameter: str
) -> None:
    answer = defined.post("/v2/explain", json={**warrant_body(ANN), **members})

    assert (answer.status_code, answer.json()["code"], answer.json()["parameter"]) == (
        400,
        "invalid_parameter",
        parameter,
    )
