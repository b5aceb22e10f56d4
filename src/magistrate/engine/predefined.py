"""Defines the six object types of a new store (docs/compatibility.md#object-types).

Clients compare this list, including the order of rules.
"""

from magistrate.engine.model import ObjectType, read_object_type
from magistrate.engine.rules.rule import RuleDefinition


def _member_of(of_type: str) -> RuleDefinition:
    return RuleDefinition(inherit_if="member", of_type=of_type, with_relation="member")


def _member_of_any(*of_types: str) -> RuleDefinition:
    return RuleDefinition(inherit_if="anyOf", rules=[_member_of(of_type) for of_type in of_types])


_RELATIONS: dict[str, dict[str, RuleDefinition | None]] = {
    "feature": {"member": _member_of_any("feature", "pricing-tier", "tenant")},
    "permission": {"member": _member_of_any("permission", "role")},
    "pricing-tier": {"member": _member_of_any("pricing-tier", "tenant")},
    "role": {"member": _member_of("role")},
    "tenant": {
        "admin": RuleDefinition(),
        "manager": RuleDefinition(inherit_if="admin"),
        "member": RuleDefinition(inherit_if="manager"),
    },
    "user": {"parent": RuleDefinition(inherit_if="parent", of_type="user", with_relation="parent")},
}

PREDEFINED_TYPES: tuple[ObjectType, ...] = tuple(
    read_object_type(name, None, relations) for name, relations in _RELATIONS.items()
)
"""Lists the predefined types in alphabetical order."""
