"""Stores with rows of all kinds to back up, and what two stores must have in common."""

from pathlib import Path
from typing import Any

from click.testing import Result

from magistrate.cli.commands import main
from tests.cli.runner import CommandRunner
from tests.running import Client, running_service, settings_for
from tests.scenario_files import warrant_body

MODEL = {
    "document": {
        "parent": {},
        "owner": {},
        "editor": {"inheritIf": "owner"},
        "viewer": {
            "inheritIf": "anyOf",
            "rules": [{"inheritIf": "editor"}, {"inheritIf": "viewer", "ofType": "folder", "withRelation": "parent"}],
        },
        "reader": {"inheritIf": "noneOf", "rules": [{"inheritIf": "viewer"}]},
    },
    "folder": {"viewer": {"policy": "office"}},
    "team": {"member": {}},
}
WARRANTS = (
    "document:plan#owner@user:ann",
    "document:plan#parent@folder:plans",
    "document:plan#viewer@team:eng#member",
    'document:plan#viewer@user:bob[network == "office"]',
    "document:*#viewer@user:root",
    "folder:plans#viewer@user:*",
    "team:eng#member@user:kim",
    "team:eng#member@team:all#member",
    "team:all#member@user:zoë",
)
CHECKS = tuple(
    f"{on}#{relation}@user:{user}"
    for on, relation in (
        ("document:plan", "owner"),
        ("document:plan", "editor"),
        ("document:plan", "viewer"),
        ("document:plan", "reader"),
        ("document:spare", "viewer"),
        ("folder:plans", "viewer"),
        ("team:eng", "member"),
    )
    for user in ("ann", "bob", "kim", "zoë", "root", "new")
)
LISTS = (
    "/v2/object-types?limit=1000",
    "/v2/object-types?limit=1000&sortBy=createdAt",
    "/v2/policies?limit=1000",
    "/v2/objects?limit=1000",
    "/v2/objects?limit=1000&sortBy=createdAt&sortOrder=DESC",
    "/v2/warrants?limit=1000",
    "/v2/warrants?limit=1000&objectType=document",
    "/v2/warrants?limit=1000&state=expired",
    "/v2/query?q=select%20document%20where%20user:kim%20is%20viewer",
    "/v2/query?q=select%20viewer%20of%20type%20user%20for%20document:plan",
)


def magistrate(*arguments: str | Path, typed: bytes | None = None) -> Result:
    return CommandRunner().invoke(main, [*map(str, arguments)], input=typed, env={}, prog_name="magistrate")


def done(*arguments: str | Path, typed: bytes | None = None) -> Result:
    ran = magistrate(*arguments, typed=typed)
    assert ran.exit_code == 0, ran.output
    return ran


def fill(client: Client, prefix: str = "") -> None:
    """Everything that a store may have: what ended or expired since as well."""
    client.post(f"{prefix}/v2/policies", json=OFFICE).raise_for_status()
    for name, relations in MODEL.items():
        object_type = {"type": name, "relations": relations, "description": f"the {name}"}
        client.post(f"{prefix}/v2/object-types", json=object_type).raise_for_status()
    meta = {"title": "Plan é \U0001f600", "n": [1, 2.50, None, {"a": {}}], "e": 1e20}
    for body in ({"objectType": "document", "objectId": "plan", "meta": meta}, {"objectType": "user", "objectId": "x"}):
        client.post(f"{prefix}/v2/objects", json=body).raise_for_status()
    for text in WARRANTS:
        client.post(f"{prefix}/v2/warrants", json=warrant_body(text)).raise_for_status()
    limits: list[dict[str, Any]] = [
        {"startsAt": "2024-01-01T00:00:00.000001Z", "expiresAt": "2090-12-31T23:59:59.5Z"},
        {"startsAt": "2080-01-01T00:00:00Z"},
    ]
    for number, limit in enumerate(limits):
        warrant = warrant_body(f"document:timed#owner@user:u{number}")
        client.post(f"{prefix}/v2/warrants", json=warrant | limit).raise_for_status()
    spare = warrant_body("document:spare#owner@user:ann")
    client.post(f"{prefix}/v2/warrants", json=spare).raise_for_status()
    client.delete_json(f"{prefix}/v2/warrants", spare).raise_for_status()
    client.post(f"{prefix}/v2/warrants", json=spare).raise_for_status()
    client.put(f"{prefix}/v2/objects/user/x", json={"meta": {"changed": True}}).raise_for_status()


OFFICE = {"name": "office", "parameters": {"network": "string"}, "expression": 'network == "office"'}


def fill_database(url: str) -> None:
    with running_service(settings_for(url)) as service, Client(service) as client:
        fill(client)


def read_answers(client: Client, prefix: str = "") -> dict[str, Any]:
    """What a store answers, without its tokens and cursors."""
    answers: dict[str, Any] = {}
    for path in LISTS:
        answer = client.get(f"{prefix}{path}")
        assert answer.status_code == 200, answer.text
        answers[path] = answer.json()["results"]
    for text in CHECKS:
        body = {"warrants": [warrant_body(text) | {"context": {"network": "office"}}]}
        answers[text] = client.post(f"{prefix}/v2/check", json=body).json()
    return answers


def answers_of(url: str) -> dict[str, Any]:
    with running_service(settings_for(url)) as service, Client(service) as client:
        return read_answers(client)


def export(url: str, *options: str) -> bytes:
    return done("export", "--database-url", url, *options).stdout_bytes
