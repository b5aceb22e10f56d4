"""A model that all tests of /fga/v1 share, in a store that they share, too."""

from typing import Any

import pytest

from tests.running import Client

TYPES: list[dict[str, Any]] = [
    {"type": "user"},
    {"type": "team", "relations": {"member": {"allowed_types": ["user", "team#member"]}}},
    {"type": "folder", "relations": {"viewer": {"allowed_types": ["user", "team"]}}},
    {
        "type": "document",
        "relations": {
            "parent": {"allowed_types": ["folder"]},
            "owner": {},
            "blocked": {},
            "viewer": {
                "inherit_if": "any_of",
                "rules": [
                    {"inherit_if": "owner"},
                    {"inherit_if": "viewer", "of_type": "folder", "with_relation": "parent"},
                ],
            },
            "can_read": {
                "allowed_types": [],
                "inherit_if": "all_of",
                "rules": [
                    {"inherit_if": "viewer"},
                    {"inherit_if": "none_of", "rules": [{"inherit_if": "blocked"}]},
                ],
            },
            "can_print": {"allowed_types": [], "policy": "in_office"},
        },
    },
]
POLICY = {
    "name": "in_office",
    "description": "Where printers are.",
    "language": "expr",
    "parameters": [{"name": "network", "type": "string"}],
    "expression": 'network == "office"',
}


@pytest.fixture(scope="module")
def fga(shared_client: Client) -> Client:
    """A client of a service with the model."""
    shared_client.post("/fga/v1/policies", json=POLICY).raise_for_status()
    shared_client.put("/fga/v1/resource-types", json=TYPES).raise_for_status()
    return shared_client
