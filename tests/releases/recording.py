"""What a release stored, and how it answered: recorded once, before its tag, and requested from every later version.

`./run python -m tests.releases.recording` records this version, in a file of this folder. A version that has a
tag is never recorded again: its file is what the databases of its users look like."""

import hashlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

import magistrate
from magistrate.store import migration
from tests.databases import dump
from tests.openfga.conversation import MODEL as OPENFGA_MODEL
from tests.openfga.conversation import OpenFga
from tests.openfga.requests import key, write
from tests.running import KEY, Client, running_service, settings_for
from tests.scenario_files import warrant_body
from tests.waiting import wait_until

FOLDER = Path(__file__).parent
RETENTION = {"retention_hours": 87_600, "event_retention_hours": 87_600}
"""Lets a service of any later day answer as of the time of the recording (ten years)."""
BYTES = "hex:"
"""Begins a text that stands for bytes."""
MODEL = """
version 1.0

type user

type group
    relation member [user, group#member]

type folder
    relation owner [user]
    relation viewer [user, user:*, group#member]
    inherit viewer if
        relation owner

type document
    relation folder [folder]
    relation owner [user]
    relation blocked [user]
    relation viewer [user, user:*]
    inherit viewer if
        any_of
            relation owner
            relation viewer on folder [folder]

    relation can-read []
    inherit can-read if
        all_of
            relation viewer
            none_of
                relation blocked

    relation can-export []
    inherit can-export if
        all_of
            relation can-read
            policy in-region

policy in-region(region string) {
    region == "eu"
}
"""
OBJECTS: list[dict[str, Any]] = [
    {"objectType": "folder", "objectId": "reports"},
    {"objectType": "document", "objectId": "plan", "meta": {"title": "Plan", "pages": 12, "tags": ["a", "ü"]}},
    {"objectType": "document", "objectId": "draft"},
    {"objectType": "user", "objectId": "ann@example.com", "meta": {"name": "Ann"}},
]
WARRANTS = (
    "folder:reports#viewer@group:staff#member",
    "group:staff#member@user:ann@example.com",
    "group:staff#member@user:eve",
    "group:staff#member@user:kim",
    "document:plan#folder@folder:reports",
    "document:plan#blocked@user:eve",
    'document:draft#owner@user:ann@example.com[device == "laptop"]',
    'document:draft#viewer@user:*[region != "us"]',
)
LIMITED = warrant_body("document:draft#viewer@user:bob") | {"expiresAt": "2999-01-01T00:00:00Z"}
SUBJECTS = ("ann@example.com", "eve", "kim", "bob", "new")


class Exchange(msgspec.Struct, frozen=True):
    """Holds a request, and how it was answered."""

    method: str
    path: str
    body: Any
    status: int
    answer: Any


class Recording(msgspec.Struct, frozen=True):
    """Holds what a version stored, the SHA-256 digests of its migrations, in hexadecimal, how it answered, and a backup
    of its store `default`."""

    version: str
    migrations: list[str]
    tables: dict[str, list[list[Any]]]
    exchanges: list[Exchange]
    backup: str

    @property
    def rows(self) -> dict[str, list[tuple[object, ...]]]:
        """Returns the rows of each table, as they are in the database."""
        return {name: [tuple(map(_decode, row)) for row in rows] for name, rows in self.tables.items()}


def record() -> Recording:
    """Lets a service of this version store what the clients of its interfaces write, and sends requests about it."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/magistrate.db"
        settings = settings_for(url, decision_log=100, **RETENTION)
        with running_service(settings) as service_url, Client(service_url, KEY) as client:
            openfga, before = write_all(client)
            requests = list_requests(openfga, before, read_decision_id(client))
            exchanges = [send(client, *request) for request in requests]
            backup = client.get("/v2/backup").raise_for_status().text
        tables = {name: [[*map(_encode, row)] for row in rows] for name, rows in dump(url).items()}
    return Recording(magistrate.__version__, digest_migrations(), tables, exchanges, backup)


def digest_migrations() -> list[str]:
    """Returns the digests of all migrations of this version, in their order."""
    return [hashlib.sha256(each.sql.encode()).hexdigest() for each in migration.migrations()]


def send(client: Client, method: str, path: str, body: Any) -> Exchange:
    """Sends a request, and returns it with its answer."""
    response = client.request(method, path, **({} if body is None else {"json": body}))
    return Exchange(method, path, body, response.status_code, response.json())


def write_all(client: Client) -> tuple[OpenFga, str]:
    """Writes what is kept for long. Returns the store of OpenFGA's API, and the time of a former state."""
    client.put("/v2/model", content=MODEL).raise_for_status()
    client.post("/v2/objects", json=OBJECTS).raise_for_status()
    client.write([*map(warrant_body, WARRANTS), LIMITED])
    before = client.get("/v2/warrants?limit=1&sortBy=createdAt&sortOrder=DESC").json()["results"][0]["createdAt"]
    client.delete_json("/v2/warrants", warrant_body("group:staff#member@user:kim")).raise_for_status()
    client.put("/v2/objects/document/draft", json={"meta": {"title": "Draft"}}).raise_for_status()
    client.post("/v2/keys", json={"name": "reader", "scopes": ["read"]}).raise_for_status()
    client.post("/v2/sessions", json={"type": "sess", "userId": "ann@example.com"}).raise_for_status()
    client.post("/v2/webhooks", json={"url": "https://example.com/changes"}).raise_for_status()
    saved = {"name": "Who reads the plan", "q": "select can-read of type user for document:plan", "description": "é"}
    client.post("/v2/saved-queries", json=saved | {"context": {"region": "eu"}}).raise_for_status()
    client.post("/v2/stores", json={"name": "other"}).raise_for_status()
    openfga = OpenFga.create(client, "files")
    openfga.model_id = openfga.post("authorization-models", OPENFGA_MODEL).json()["authorization_model_id"]
    write(openfga, "file:a owner user:ann", "team:staff member user:bob", "folder:f viewer team:staff#member")
    write(openfga, "file:a folder folder:f", "file:a blocked user:eve")
    openfga.put(
        f"assertions/{openfga.model_id}",
        {"assertions": [{"tuple_key": key("file:a reader user:bob"), "expectation": True}]},
    )
    return openfga, before


def read_decision_id(client: Client) -> str:
    """Returns the ID of a decision that is kept."""
    client.ask("document:plan#can-read@user:ann@example.com").raise_for_status()
    wait_until(lambda: bool(client.get("/v2/access-events?type=access_allowed").json()["results"]))
    return str(client.get("/v2/access-events?type=access_allowed").json()["results"][0]["id"])


def list_requests(openfga: OpenFga, before: str, decision_id: str) -> Iterator[tuple[str, str, Any]]:
    """Returns the requests, none of which changes what is stored."""
    yield "GET", "/v2/model", None
    for path in ("object-types", "policies", "objects", "warrants"):
        yield "GET", f"/v2/{path}?limit=100", None
        yield "GET", f"/v2/{path}?limit=100&asOf={before}", None
    for path in ("resource-events", "keys", "webhooks", "saved-queries", "stores"):
        yield "GET", f"/v2/{path}?limit=100", None
    yield "GET", f"/v2/decisions/{decision_id}", None
    for obj in ("document:plan", "document:draft"):
        for subject in SUBJECTS:
            claim = warrant_body(f"{obj}#can-export@user:{subject}")
            body: dict[str, Any] = {"warrants": [claim | {"context": {"device": "laptop", "region": "eu"}}]}
            yield "POST", "/v2/check", body
            yield "POST", "/v2/check", body | {"asOf": before}
            yield "POST", "/v2/explain", {"warrants": [claim]}
        yield "GET", f"/v2/query?q=select can-read of type user for {obj}&limit=100", None
        yield "GET", f"/v2/query?q=select can-read of type user for {obj}&limit=100&asOf={before}", None
    store = f"/stores/{openfga.store_id}"
    yield "GET", store, None
    yield "GET", f"{store}/authorization-models", None
    yield "GET", f"{store}/changes", None
    yield "GET", f"{store}/assertions/{openfga.model_id}", None
    yield "POST", f"{store}/read", {}
    for user in ("ann", "bob", "eve"):
        yield "POST", f"{store}/check", {"tuple_key": key(f"file:a reader user:{user}")}
        yield "POST", f"{store}/list-objects", {"type": "file", "relation": "reader", "user": f"user:{user}"}


def read_recordings() -> Sequence[Recording]:
    """Returns what was recorded of all versions."""
    return [msgspec.json.decode(path.read_bytes(), type=Recording) for path in sorted(FOLDER.glob("*.json"))]


def render(recording: Recording) -> str:
    """Returns the recording as JSON, a row and an exchange in a line, so that differences can be read."""
    tables = [f'"{name}": {_render_lines(rows)}' for name, rows in recording.tables.items()]
    members = [
        f'"version": {json.dumps(recording.version)}',
        f'"migrations": {_render_lines(recording.migrations)}',
        '"tables": {\n' + ",\n".join(tables) + "\n}",
        f'"exchanges": {_render_lines(msgspec.to_builtins(recording.exchanges))}',
        f'"backup": {json.dumps(recording.backup)}',
    ]
    return "{\n" + ",\n".join(members) + "\n}\n"


def _render_lines(values: Sequence[Any]) -> str:
    return "[\n" + ",\n".join(json.dumps(value, ensure_ascii=False) for value in values) + "\n]" if values else "[]"


def _encode(value: object) -> object:
    return BYTES + value.hex() if isinstance(value, bytes) else value


def _decode(value: object) -> object:
    return bytes.fromhex(value.removeprefix(BYTES)) if isinstance(value, str) and value.startswith(BYTES) else value


if __name__ == "__main__":
    (FOLDER / f"{magistrate.__version__}.json").write_text(render(record()), encoding="utf-8")
