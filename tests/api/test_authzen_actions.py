"""Actions of AuthZEN requests that stand for relations (docs/authzen.md#actions)."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.running import Client

Body = dict[str, Any]

WEATHER = "https://tools.example/weather?unit=c&lang=de"
ASSISTANT = "https://client.example/assistant"
TEXT = """version 1.0

type identity

type user

type tool
    relation owner [identity, user]

    relation can-call [identity, user]
    inherit can-call if
        relation owner

    relation can-list []
    inherit can-list if
        relation can-call

    action "tools/call" is can-call
    action "tools/list" is can-list

type file
    relation can-read [identity]

    action "resources/read" is can-read
    action "https://files.example/read" is can-read

type template
    relation can-use [identity]

    action "prompts/get" is can-use
"""


@pytest.fixture
def tools(client: Client) -> Client:
    """A service with the names of the profile for the Model Context Protocol."""
    client.put("/v2/model", content=TEXT, headers={"Content-Type": "text/plain"}).raise_for_status()
    client.grant(
        f'tool:{WEATHER}#can-call@identity:ann[agent == "{ASSISTANT}"]',
        f"tool:{WEATHER}#can-call@user:bob",
        "file:https://files.example/plan.txt#can-read@identity:ann",
        "template:greeting#can-use@identity:ann",
    )
    return client


def evaluate(client: Client, subject: str, action: str, resource: str, **members: Any) -> Body:
    types = [text.partition(":")[::2] for text in (subject, resource)]
    whom, what = ({"type": of_type, "id": own_id} for of_type, own_id in types)
    answer = client.post(
        "/access/v1/evaluation", json={"subject": whom, "action": {"name": action}, "resource": what, **members}
    )
    assert answer.status_code == 200, answer.text
    body: Body = answer.json()
    return body


@pytest.mark.parametrize(
    ("subject", "action", "resource", "context", "decision"),
    [
        ("identity:ann", "tools/call", f"tool:{WEATHER}", {"agent": ASSISTANT}, True),
        ("identity:ann", "tools/list", f"tool:{WEATHER}", {"agent": ASSISTANT}, True),
        ("identity:ann", "tools/call", f"tool:{WEATHER}", {"agent": "https://other.example"}, False),
        ("identity:ann", "tools/call", f"tool:{WEATHER}", {}, False),
        ("user:bob", "tools/call", f"tool:{WEATHER}", {"agent": "https://other.example"}, True),
        ("identity:ann", "resources/read", "file:https://files.example/plan.txt", {}, True),
        ("identity:ann", "https://files.example/read", "file:https://files.example/plan.txt", {}, True),
        ("identity:ann", "prompts/get", "template:greeting", {}, True),
        ("identity:ann", "can-use", "template:greeting", {}, True),
        ("identity:ann", "prompts/get", "template:other", {}, False),
    ],
)
def test_the_names_of_the_profile_for_the_model_context_protocol_work(
    tools: Client, subject: str, action: str, resource: str, context: Body, decision: bool
) -> None:
    for members in ({"context": context}, {"context": context}, {} if not context else {"context": context}):
        assert evaluate(tools, subject, action, resource, **members)["decision"] is decision


def test_actions_and_relations_mix_in_one_request(tools: Client) -> None:
    weather, bob = {"type": "tool", "id": WEATHER}, {"type": "user", "id": "bob"}
    names = ["tools/call", "can-call", "owner", "tools/list", "tools/unknown", "two words", "resources/read"]
    body = {"subject": bob, "resource": weather, "evaluations": [{"action": {"name": name}} for name in names]}

    for _ in range(3):  # read, from the cache of the graph, and from that of decisions
        answers = tools.post("/access/v1/evaluations", json=body).json()["evaluations"]

        assert [answer["decision"] for answer in answers] == [True, True, False, True, False, False, False]
        assert answers[2] == {"decision": False}  # defined, and nobody has it
        assert all(answer["context"]["reason"] for answer in answers[4:])


def test_an_action_is_explained_like_its_relation(tools: Client) -> None:
    explained = evaluate(tools, "user:bob", "tools/call", f"tool:{WEATHER}", context={"explain": True})

    assert explained["decision"] is True
    assert [warrant["relation"] for warrant in explained["context"]["path"]] == ["can-call"]


def search(client: Client, what: str, **members: Any) -> Body:
    answer = client.post(f"/access/v1/search/{what}", json=members)
    assert answer.status_code == 200, answer.text
    body: Body = answer.json()
    return body


def test_searches_take_actions_and_return_them(tools: Client) -> None:
    weather, bob = {"type": "tool", "id": WEATHER}, {"type": "user", "id": "bob"}
    call = {"name": "tools/call"}

    resources = search(tools, "resource", subject=bob, action=call, resource={"type": "tool"})
    subjects = search(tools, "subject", subject={"type": "user"}, action=call, resource=weather)
    actions = [search(tools, "action", subject=bob, resource=weather) for _ in range(2)]

    assert resources["results"] == [weather]
    assert subjects["results"] == [bob]
    names = ["can-call", "can-list", "tools/call", "tools/list"]
    assert [[row["name"] for row in answer["results"]] for answer in actions] == [names, names]


def test_pages_of_an_action_are_of_one_revision_whatever_the_action_becomes(tools: Client) -> None:
    tools.grant(*(f"tool:t{number}#can-call@user:kim" for number in range(5)))
    asked: Body = {"subject": {"type": "user", "id": "kim"}, "action": {"name": "tools/call"}}
    asked["resource"] = {"type": "tool"}
    first = search(tools, "resource", **asked, page={"limit": 2})

    replace_action(tools, "tools/call", "owner")
    rest = search(tools, "resource", **asked, page={"limit": 10, "token": first["page"]["next_token"]})

    ids = [row["id"] for row in [*first["results"], *rest["results"]]]
    assert ids == [f"t{number}" for number in range(5)]
    assert search(tools, "resource", **asked)["results"] == []


def replace_action(client: Client, name: str, relation: str | None) -> Mapping[str, str]:
    """Writes the type tool with this action alone, or none; returns the headers of the answer."""
    tool = client.get("/v2/object-types/tool").json()
    body = {key: tool[key] for key in ("type", "relations", "allowedTypes")}
    if relation is not None:
        body["actions"] = {name: relation}
    answer = client.put("/v2/object-types/tool", json=body)
    answer.raise_for_status()
    return answer.headers


def test_an_action_means_what_it_means_at_the_revision_of_the_answer(tools: Client) -> None:
    bob, weather = {"type": "user", "id": "bob"}, {"type": "tool", "id": WEATHER}
    body = {"subject": bob, "action": {"name": "tools/call"}, "resource": weather}
    decisions = []

    for relation in ("can-call", "owner", None, "can-list", "owner"):
        token = replace_action(tools, "tools/call", relation)["Service-Token"]
        for _ in range(2):
            answer = tools.post("/access/v1/evaluation", json=body, headers={"Service-Token": token})
            decisions.append(answer.json()["decision"])

    assert decisions == [True, True, False, False, False, False, True, True, False, False]


def test_the_action_map_is_kept_in_both_forms_of_the_model(tools: Client) -> None:
    stored = tools.get("/v2/object-types/tool").json()
    text = tools.get("/v2/model", headers={"Accept": "text/plain"}).text

    assert stored["actions"] == {"tools/call": "can-call", "tools/list": "can-list"}
    assert '    action "tools/call" is can-call\n' in text
    assert tools.post("/v2/model/plan", content=TEXT, headers={"Content-Type": "text/plain"}).json()["objectTypes"] == {
        "created": [],
        "changed": [],
        "deleted": [],
    }


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ({"tools/call": "can-cal"}, "'can-cal' is not a relation of the object type; did you mean can-call?"),
        ({"can-call": "can-call"}, "'can-call' is a relation of the type"),
        ({"two words": "can-call"}, "it has U+0020 at position 4"),
        ({"": "can-call"}, "must not be empty"),
        ({"x" * 257: "can-call"}, "at most 256 characters"),
    ],
)
def test_an_action_that_means_nothing_is_an_error_of_the_model(
    client: Client, actions: Mapping[str, str], message: str
) -> None:
    body = {"type": "tool", "relations": {"can-call": {}}, "actions": actions}

    answer = client.post("/v2/object-types", json=body)
    reported = client.post("/v2/model/validate", json={"objectTypes": [body]}).json()

    assert answer.status_code == 400, answer.text
    assert answer.json()["parameter"] == "actions"
    assert message in answer.json()["message"]
    assert reported["valid"] is False
    assert client.post("/v2/object-types", json=body | {"actions": {"x" * 256: "can-call"}}).status_code == 200
