"""Recorded decisions and their replay over HTTP (docs/history.md#replaying-a-decision)."""

from typing import Any

import pytest

from tests.api.recorded_events import decisions, logging_client
from tests.running import Client
from tests.scenario_files import warrant_body

__all__ = ["logging_client"]


def recorded(client: Client, decision_id: str) -> dict[str, Any]:
    """The newest decision on this object, as an event."""
    return decisions(client, 1, objectId=decision_id)[0]


@pytest.fixture
def types(logging_client: Client) -> Client:
    logging_client.define({"document": {"viewer": {}, "editor": {}}, "team": {"member": {}}})
    return logging_client


def test_a_decision_is_shown_with_all_that_was_kept(types: Client) -> None:
    member = warrant_body("team:eng#member@user:ann") | {"expiresAt": "2999-01-01T00:00:00Z"}
    types.grant("document:shown#viewer@team:eng#member[x == 1]")
    asked = types.ask("document:shown#viewer@user:ann", context={"x": 1}, contextualWarrants=[member])
    event = recorded(types, "shown")

    shown = types.get(f"/v2/decisions/{event['id']}")

    assert shown.json() == {
        "id": event["id"],
        "decision": "allowed",
        **warrant_body("document:shown#viewer@user:ann"),
        "context": {"x": 1},
        "contextualWarrants": [member],
        "actor": event["actor"],
        "requestId": asked.headers["Warrant-Request-Id"],
        "decidedAt": event["createdAt"],
        "token": asked.headers["Warrant-Token"],
    }


def test_an_evaluation_is_recorded_once_with_the_meta_that_it_rests_on(types: Client) -> None:
    types.grant("document:evaluated#viewer@user:ann[resource.open]")
    types.put("/v2/objects/document/evaluated", json={"meta": {"open": True}}).raise_for_status()
    body = {
        "subject": {"type": "user", "id": "ann"},
        "action": {"name": "viewer"},
        "resource": {"type": "document", "id": "evaluated"},
    }

    answer = types.post("/access/v1/evaluation", json=body).json()

    [event] = decisions(types, 1, objectId="evaluated")
    shown = types.get(f"/v2/decisions/{event['id']}").json()
    assert (answer, shown["decision"]) == ({"decision": True}, "allowed")
    assert shown["context"] == {"subject": {}, "resource": {"open": True}, "action": {}}
    assert types.get(f"/v2/decisions/{event['id']}/replay").json()["agrees"] is True


def test_a_replay_gives_the_explanation_of_the_same_check_as_of_then(types: Client) -> None:
    types.grant("document:again#viewer@user:ann")
    token = types.ask("document:again#viewer@user:ann").headers["Warrant-Token"]
    event = recorded(types, "again")
    types.delete_json("/v2/warrants", warrant_body("document:again#viewer@user:ann")).raise_for_status()

    replayed = types.get(f"/v2/decisions/{event['id']}/replay")
    explained = types.post("/v2/explain", json=warrant_body("document:again#viewer@user:ann") | {"asOf": token})

    assert replayed.headers["Warrant-Token"] == token
    assert replayed.json() == {
        "recorded": types.get(f"/v2/decisions/{event['id']}").json(),
        "agrees": True,
        "explanation": explained.json(),
    }
    assert explained.json()["decision"] == "allowed"


def test_a_decision_can_be_explained_by_sending_what_is_shown(types: Client) -> None:
    """The members are those that /v2/explain takes; the token stands for the time."""
    types.ask("document:sent#viewer@user:ann", context={"x": 1})
    shown = types.get(f"/v2/decisions/{recorded(types, 'sent')['id']}").json()
    names = ("objectType", "objectId", "relation", "subject", "context")
    body = {name: shown[name] for name in names} | {"asOf": shown["token"]}

    assert types.post("/v2/explain", json=body).json()["decision"] == shown["decision"] == "denied"


def test_a_context_that_was_too_long_is_gone(types: Client) -> None:
    types.ask("document:long#viewer@user:ann", context={"x": "y" * 5_000})
    path = f"/v2/decisions/{recorded(types, 'long')['id']}"

    shown, replayed = types.get(path), types.get(path + "/replay")

    assert shown.json()["complete"] is False
    assert "context" not in shown.json()
    assert replayed.status_code == 410
    assert replayed.json() == {
        "code": "gone",
        "message": "the decision cannot be replayed: it was made with more context, or more contextual warrants, than "
        "the 4,096 characters that are kept of either",
    }


def test_an_event_that_is_no_decision_is_not_found(types: Client) -> None:
    types.grant("document:granted#viewer@user:ann")
    [event] = types.get("/v2/access-events?objectId=granted").json()["results"]

    for decision_id in (event["id"], "nothing"):
        for path in (f"/v2/decisions/{decision_id}", f"/v2/decisions/{decision_id}/replay"):
            answer = types.get(path)
            assert answer.status_code == 404
            assert answer.json()["type"] == "Decision"
            assert answer.json()["message"].endswith("is that of an event access_allowed or access_denied")
