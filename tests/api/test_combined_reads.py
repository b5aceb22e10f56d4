"""Contextual warrants, time limits, points in time and atomic writes together, over HTTP."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.running import Client
from tests.scenario_files import warrant_body
from tests.waiting import wait_until

MODEL: dict[str, Any] = {"team": {"member": {}}, "document": {"owner": {}, "viewer": {"inheritIf": "owner"}}}
TEAM, ANN_IN_TEAM = "document:plan#owner@team:eng#member", "team:eng#member@user:ann"
ANN = "document:plan#viewer@user:ann"
PAST, FUTURE = "2001-01-01T00:00:00Z", "2999-01-01T00:00:00Z"
DOCUMENTS = "select document where user:ann is viewer"
USERS = "select viewer of type user for document:plan"
WITHIN_SECONDS = 30


@pytest.fixture
def defined(client: Client) -> Client:
    client.define(MODEL)
    return client


def check(client: Client, **members: Any) -> str:
    answer = client.post("/v2/check", json={"warrants": [warrant_body(ANN)], **members})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["result"])


def rows(client: Client, q: str, **members: Any) -> list[str]:
    answer = client.post("/v2/query", json={"q": q, **members})
    assert answer.status_code == 200, answer.text
    return [f"{row['objectType']}:{row['objectId']}" for row in answer.json()["results"]]


def token_of(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    return str(answer.headers["Warrant-Token"])


def soon() -> str:
    return (datetime.now(UTC) + timedelta(seconds=1)).isoformat().replace("+00:00", "Z")


def test_contextual_warrants_count_on_top_of_what_was_then(defined: Client) -> None:
    granted = token_of(defined.post("/v2/warrants", json=warrant_body(TEAM)))
    defined.delete_json("/v2/warrants", warrant_body(TEAM)).raise_for_status()
    given = {"contextualWarrants": [warrant_body(ANN_IN_TEAM)]}

    assert check(defined, **given) == "Not Authorized"
    assert check(defined, **given, asOf=granted) == "Authorized"
    assert check(defined, asOf=granted) == "Not Authorized"
    for q, found in ((DOCUMENTS, ["document:plan"]), (USERS, ["user:ann"])):
        assert rows(defined, q, **given) == []
        assert rows(defined, q, **given, asOf=granted) == found


def test_contextual_warrants_are_judged_by_the_model_of_then(defined: Client) -> None:
    before = token_of(defined.post("/v2/warrants", json=warrant_body(TEAM)))
    defined.put("/v2/object-types/team", json={"type": "team", "relations": {"member": {}, "lead": {}}})
    given = {"contextualWarrants": [warrant_body("team:eng#lead@user:ann")], "warrants": [warrant_body(ANN)]}

    assert defined.post("/v2/check", json=given).status_code == 200
    answer = defined.post("/v2/check", json={**given, "asOf": before})
    assert (answer.status_code, answer.json()["parameter"]) == (400, "contextualWarrants[0].relation")


@pytest.mark.parametrize(
    ("limits", "result"),
    [
        ({"expiresAt": PAST}, "Not Authorized"),
        ({"startsAt": FUTURE}, "Not Authorized"),
        ({"startsAt": PAST, "expiresAt": FUTURE}, "Authorized"),
    ],
)
def test_contextual_warrants_have_time_limits(defined: Client, limits: dict[str, str], result: str) -> None:
    given = {"contextualWarrants": [warrant_body(ANN) | limits]}

    assert check(defined, **given) == result
    for q, found in ((DOCUMENTS, ["document:plan"]), (USERS, ["user:ann"])):
        assert rows(defined, q, **given) == (found if result == "Authorized" else [])


def test_a_contextual_warrant_counts_instead_of_the_stored_one_that_has_ended(defined: Client) -> None:
    defined.post("/v2/warrants", json=warrant_body(ANN) | {"startsAt": FUTURE}).raise_for_status()

    assert check(defined) == "Not Authorized"
    assert check(defined, contextualWarrants=[warrant_body(ANN)]) == "Authorized"
    assert rows(defined, USERS, contextualWarrants=[warrant_body(ANN)]) == ["user:ann"]


def test_what_has_expired_still_counts_as_of_then(defined: Client) -> None:
    granted = defined.post("/v2/warrants", json=warrant_body(ANN) | {"expiresAt": soon()})
    then = {"asOf": token_of(granted)}
    wait_until(lambda: check(defined) == "Not Authorized")
    wait_until(lambda: bool(defined.get("/v2/warrants", params={"expired": "true"}).json()["results"]))

    assert check(defined, **then) == "Authorized"
    assert rows(defined, USERS, **then) == ["user:ann"]
    assert rows(defined, USERS) == []
    for time_of_then in (then["asOf"], granted.json()["createdAt"]):
        listed = defined.get("/v2/warrants", params={"asOf": time_of_then}).json()["results"]
        assert [row["objectId"] for row in listed] == ["plan"]
        assert defined.get("/v2/warrants", params={"asOf": time_of_then, "expired": "true"}).json()["results"] == []
    assert defined.get("/v2/warrants").json()["results"] == []


def test_a_write_creates_renews_and_requires_warrants_with_time_limits(defined: Client) -> None:
    limited = warrant_body(ANN) | {"expiresAt": FUTURE}
    counts = [
        defined.post("/v2/writes", json={"create": {"warrants": [one]}}).json()
        for one in (limited, limited, warrant_body(ANN))
    ]
    assert counts == [
        {"created": 1, "deleted": 0, "unchanged": 0},
        {"created": 0, "deleted": 0, "unchanged": 1},
        {"created": 1, "deleted": 0, "unchanged": 0},
    ]
    assert "expiresAt" not in defined.get("/v2/warrants").json()["results"][0]

    answer = defined.post("/v2/writes", json={"create": {"warrants": [warrant_body(TEAM) | {"expiresAt": PAST}]}})
    assert (answer.status_code, answer.json()["parameter"]) == (400, "create.warrants[0].expiresAt")


def test_an_expired_warrant_does_not_exist_for_preconditions(defined: Client) -> None:
    defined.post("/v2/warrants", json=warrant_body(ANN) | {"expiresAt": soon()}).raise_for_status()
    required = {"preconditions": [{"exists": warrant_body(ANN)}], "create": {"warrants": [warrant_body(TEAM)]}}
    absent = {"preconditions": [{"absent": warrant_body(ANN)}], "create": {"warrants": [warrant_body(TEAM)]}}

    assert defined.post("/v2/writes", json=required).status_code == 200
    wait_until(lambda: check(defined) == "Not Authorized")

    deleted = [defined.post("/v2/writes", json={"delete": {"warrants": [warrant_body(ANN)]}})]
    deleted.append(defined.delete_json("/v2/warrants", warrant_body(ANN)))
    assert [answer.status_code for answer in deleted] == [404, 404]
    assert defined.post("/v2/writes", json=required).status_code == 409
    assert defined.post("/v2/writes", json=absent).status_code == 200
    assert defined.post("/v2/writes", json={"create": {"warrants": [warrant_body(ANN)]}}).json()["created"] == 1
    assert check(defined) == "Authorized"
