"""Descriptions of object types and relations over HTTP (docs/api.md#descriptions)."""

from typing import Any

import pytest

from tests.running import Client

DOCUMENT = {
    "type": "document",
    "relations": {"viewer": {}, "owner": {}},
    "description": "A text.\nSeveral people may write it.",
    "descriptions": {"viewer": "May read it.", "owner": "Wrote it."},
}


def test_they_are_returned_as_they_are_written(client: Client) -> None:
    written = client.post("/v2/object-types", json=DOCUMENT)
    found = client.get("/v2/object-types/document").json()

    assert written.json() == found
    assert {name: found[name] for name in DOCUMENT} == DOCUMENT
    assert [*found["descriptions"]] == ["viewer", "owner"]
    assert found["createdAt"]


def test_those_that_are_empty_are_left_out(client: Client) -> None:
    empty = DOCUMENT | {"description": "", "descriptions": {"viewer": ""}}
    written = client.put("/v2/object-types", json=[empty]).json()[0]

    assert written.keys() == {"type", "relations", "createdAt"}


@pytest.mark.parametrize(
    ("members", "parameter", "message"),
    [
        ({"description": "x" * 2_001}, "description", "must be at most 2000 characters long"),
        ({"descriptions": {"viewer": "x" * 2_001}}, "descriptions", "must be at most 2000 characters long"),
        ({"description": "a\0b"}, "description", "must not contain the character NUL"),
        ({"descriptions": {"editor": "x"}}, "descriptions", "'editor' is not a relation of the object type"),
    ],
)
def test_those_that_cannot_be_are_refused(
    client: Client, members: dict[str, Any], parameter: str, message: str
) -> None:
    refused = client.post("/v2/object-types", json=DOCUMENT | members)

    assert refused.status_code == 400
    assert refused.json() == {"code": "invalid_parameter", "parameter": parameter, "message": message}


def test_a_description_may_be_as_long_as_the_limit(client: Client) -> None:
    assert client.post("/v2/object-types", json=DOCUMENT | {"description": "x" * 2_000}).status_code == 200
