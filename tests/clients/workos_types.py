"""The object types with which the client libraries of WorkOS are tested."""

from typing import Any

TYPES: list[dict[str, Any]] = [
    {"type": "user"},
    {"type": "team", "relations": {"member": {"allowed_types": ["user"]}}},
    {"type": "report", "relations": {"owner": {}, "reader": {"inherit_if": "owner"}}},
]
