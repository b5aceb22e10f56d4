"""Defines the six object types of a new store (docs/compatibility.md#object-types).

Clients compare this list, including the order of rules.
"""

from magistrate.engine.model import ObjectType, read_object_type
from magistrate.engine.rules.rule import RuleForm


def _member_of(of_type: str) -> RuleForm:
    return RuleForm(inherit_if="member", of_type=of_type, with_relation="member")


def _member_of_any(*of_types: str) -> RuleForm:
    return RuleForm(inherit_if="anyOf", rules=[_member_of(of_type) for of_type in of_types])


_RELATIONS: dict[str, dict[str, RuleForm | None]] = {
    "feature": {"member": _member_of_any("feature", "pricing-tier", "tenant")},
    "permission": {"member": _member_of_any("permission", "role")},
    "pricing-tier": {"member": _member_of_any("pricing-tier", "tenant")},
    "role": {"member": _member_of("role")},
    "tenant": {
        "admin": RuleForm(),
        "manager": RuleForm(inherit_if="admin"),
        "member": RuleForm(inherit_if="manager"),
    },
    "user": {"parent": RuleForm(inherit_if="parent", of_type="user", with_relation="parent")},
}

PREDEFINED_TYPES: tuple[ObjectType, ...] = tuple(
    read_object_type(name, None, relations) for name, relations in _RELATIONS.items()
)
"""Lists the predefined types in alphabetical order."""
