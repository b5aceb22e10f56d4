"""Speaks the API of OpenFGA with a service, about one store."""

from typing import Any

import httpx

from tests.running import Client


def this() -> dict[str, Any]:
    return {"this": {}}


def computed(relation: str) -> dict[str, Any]:
    return {"computedUserset": {"object": "", "relation": relation}}


def arrow(relation: str, link: str) -> dict[str, Any]:
    tupleset, userset = {"object": "", "relation": link}, {"object": "", "relation": relation}
    return {"tupleToUserset": {"tupleset": tupleset, "computedUserset": userset}}


def union(*children: dict[str, Any]) -> dict[str, Any]:
    return {"union": {"child": [*children]}}


def intersection(*children: dict[str, Any]) -> dict[str, Any]:
    return {"intersection": {"child": [*children]}}


def but_not(base: dict[str, Any], subtract: dict[str, Any]) -> dict[str, Any]:
    return {"difference": {"base": base, "subtract": subtract}}


def form(text: str) -> dict[str, Any]:
    """Returns `user`, `user:*` or `team#member`, or `user with below`, as a model has it."""
    text, _, condition = text.partition(" with ")
    of_type, _, relation = text.partition("#")
    conditional = {"condition": condition} if condition else {}
    if relation:
        return {"type": of_type, "relation": relation, **conditional}
    wildcard: dict[str, Any] = {"wildcard": {}} if of_type.endswith(":*") else {}
    return {"type": of_type.removesuffix(":*"), **wildcard, **conditional}


def define(name: str, **relations: tuple[dict[str, Any], list[str]]) -> dict[str, Any]:
    """Returns a type; each relation has its rewrite, and the users that it may be given to."""
    described = {
        relation: {"directly_related_user_types": [*map(form, forms)]} for relation, (_, forms) in relations.items()
    }
    rewrites = {relation: rewrite for relation, (rewrite, _) in relations.items()}
    return {"type": name, "relations": rewrites, "metadata": {"relations": described} if described else None}


def model(*types: dict[str, Any]) -> dict[str, Any]:
    return {"schema_version": "1.1", "type_definitions": [*types]}


MODEL = model(
    define("user"),
    define("team", member=(this(), ["user", "user:*", "team#member"])),
    define("folder", viewer=(this(), ["user", "user:*", "team#member"])),
    define(
        "file",
        folder=(this(), ["folder"]),
        owner=(this(), ["user"]),
        blocked=(this(), ["user", "team#member"]),
        viewer=(union(this(), computed("owner"), arrow("viewer", "folder")), ["user", "user:*", "team#member"]),
        reader=(but_not(computed("viewer"), computed("blocked")), []),
        signer=(intersection(this(), computed("reader")), ["user"]),
    ),
)


class OpenFga:
    """Sends requests about a store."""

    def __init__(self, client: Client, store_id: str) -> None:
        self.client = client
        self.store_id = store_id
        self.model_id = ""

    @classmethod
    def create(cls, client: Client, name: str = "a store") -> "OpenFga":
        made = client.post("/stores", json={"name": name})
        assert made.status_code == 201, made.text
        return cls(client, made.json()["id"])

    def post(self, path: str, body: Any, **others: Any) -> httpx.Response:
        return self.client.post(f"/stores/{self.store_id}/{path}", json=body, **others)

    def put(self, path: str, body: Any) -> httpx.Response:
        return self.client.put(f"/stores/{self.store_id}/{path}", json=body)

    def get(self, path: str, **parameters: Any) -> httpx.Response:
        return self.client.get(f"/stores/{self.store_id}/{path}", params=parameters)

    def write_model(self, body: Any = MODEL) -> str:
        answer = self.post("authorization-models", body)
        assert answer.status_code == 201, answer.text
        self.model_id = answer.json()["authorization_model_id"]
        return self.model_id
