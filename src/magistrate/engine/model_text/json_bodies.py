"""Defines the JSON of a whole model, as the service reads and writes it (docs/models.md#json)."""

from typing import Any

import msgspec


class RuleBody(msgspec.Struct, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """Represents a rule: `{}`, or an object with one of the members inheritIf, forAll and policy."""

    inherit_if: str | None = None
    for_all: str | None = None
    of_type: str | None = None
    with_relation: str | None = None
    rules: "list[RuleBody | None] | None" = None
    policy: str | None = None


class TypeBody(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Represents an object type of a model. `created_at`, which answers have, is ignored."""

    type: str
    source: dict[str, Any] | None = None
    relations: dict[str, RuleBody | None]
    allowed_types: dict[str, list[str]] | None = None
    description: str | None = None
    descriptions: dict[str, str] | None = None
    created_at: str | None = None


class PolicyBody(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Represents a named policy of a model. `created_at`, which answers have, is ignored."""

    name: str
    parameters: dict[str, str] | None = None
    expression: str
    description: str | None = None
    created_at: str | None = None


class ModelBody(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Represents a whole model: its object types and its policies, in order."""

    object_types: list[TypeBody] = []
    policies: list[PolicyBody] = []
