"""Defines object types and the model they form (docs/compatibility.md#object-types and docs/compatibility.md#rules).

A relation holds for a subject if a matching warrant exists or its rule holds; a rule never takes away what a warrant
grants. The model of a store is the set of all its object types at one revision.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NewType, Protocol

import msgspec

from magistrate.engine.model.actions import Actions, read_actions
from magistrate.engine.names import WILDCARD, RelationName, TypeName
from magistrate.engine.rules import render_rule
from magistrate.engine.rules.direct import Direct
from magistrate.engine.rules.parsing import read_rule
from magistrate.engine.rules.rule import Rule, RuleDefinition
from magistrate.engine.subjects import render_allowed_type
from magistrate.engine.terms import read_description, read_descriptions, relation_name, type_name
from magistrate.engine.warrants.warrant import WarrantNames
from magistrate.errors import InvalidParameter, MissingParameter

AllowedType = NewType("AllowedType", str)

ALLOWED_TYPES = "allowedTypes"
"""Names the member of an object type that has them, by relation."""

AllowedTypes = Mapping[RelationName, Sequence[AllowedType]]
"""Maps relations to their allowed types. A relation that is absent allows every subject; one without any is given by
its rule alone."""

ALLOWED_TYPE_EXAMPLES = "user, user:*, team#member or team:*#member"


def read_allowed_types(
    texts_by_relation: Mapping[str, Sequence[str]] | None, relations: Container[str]
) -> AllowedTypes:
    """Returns the allowed types of an object type with these relations. Raises InvalidParameter for the first fault."""
    allowed_types: dict[RelationName, Sequence[AllowedType]] = {}
    for relation, texts in (texts_by_relation or {}).items():
        if relation not in relations:
            raise InvalidParameter(ALLOWED_TYPES, f"'{relation}' is not a relation of the object type")
        allowed: dict[AllowedType, None] = {}
        for allowed_type in map(_read_allowed_type, texts):
            if allowed_type in allowed:
                raise InvalidParameter(ALLOWED_TYPES, f"'{allowed_type}' is there twice for {relation}")
            allowed[allowed_type] = None
        allowed_types[RelationName(relation)] = tuple(allowed)
    return allowed_types


def _read_allowed_type(text: str) -> AllowedType:
    subject, hash_sign, relation = text.partition("#")
    of_type, colon, object_id = subject.partition(":")
    try:
        type_name(of_type, ALLOWED_TYPES)
        if hash_sign:
            relation_name(relation, ALLOWED_TYPES)
    except InvalidParameter:
        of_type = ""
    if not of_type or (colon and object_id != WILDCARD):
        raise InvalidParameter(ALLOWED_TYPES, f"'{text}' is not of the form {ALLOWED_TYPE_EXAMPLES}") from None
    return AllowedType(text)


def find_allowed(defined: "DefinedType | None", relation: str, subject_type: str) -> Sequence[AllowedType] | None:
    """Returns the allowed types of a relation if they do not have this one; None if it is allowed."""
    allowed = None if defined is None else defined.find_allowed_types(RelationName(relation))
    return allowed if allowed is not None and subject_type not in allowed else None


class DefinedType(Protocol):
    """Represents what is known of an object type when a warrant on one of its objects is written."""

    @property
    def relations(self) -> Container[str]: ...

    def find_allowed_types(self, relation: RelationName) -> Sequence[AllowedType] | None:
        """Returns the allowed types of a relation, or None if it allows every subject."""
        ...


def allows_subject(types: Mapping[TypeName, DefinedType], names: WarrantNames) -> bool:
    """Returns whether the types allow the subject of a warrant or of a pattern."""
    defined = types.get(names.object_type)
    if defined is None:
        return True
    subject_type = render_allowed_type(names.subject_type, names.subject_id, names.subject_relation)
    return find_allowed(defined, names.relation, subject_type) is None


def describe_allowed(object_type: str, relation: str, subject_type: str, allowed: Iterable[str]) -> str:
    """Returns the message for a warrant that is not allowed."""
    texts = ", ".join(allowed)
    if not texts:
        return f"{object_type}#{relation} cannot be given by a warrant: it is given by its rule alone"
    return f"{object_type}#{relation} cannot be given to {subject_type}: it allows {texts}"


class ForeignKeyDefinition(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """Describes how a column of the caller's table represents a relation; stored and echoed, without effect on
    decisions."""

    column: str | None = None
    relation: str | None = None
    type: str | None = None
    subject: str | None = None


class SourceDefinition(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """Describes the caller's table that an object type represents; stored and echoed, without effect on decisions."""

    db_type: str | None = None
    db_name: str | None = None
    table: str | None = None
    primary_key: list[str] | None = None
    foreign_keys: list[ForeignKeyDefinition] | None = None


class TypeAdditions(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """Holds the members of an object type that clients of the Warrant API do not know, with nothing validated but the
    JSON types."""

    allowed_types: dict[str, tuple[str, ...]] | None = None
    actions: dict[str, str] | None = None
    description: str | None = None
    descriptions: dict[str, str] | None = None


NO_ADDITIONS = TypeAdditions()


@dataclass(frozen=True, slots=True)
class ObjectType:
    """Represents an object type, with `relations` in written order. `source` is checked but otherwise opaque.
    `description` is its own, `descriptions` are those of relations; `actions` are names for relations."""

    name: TypeName
    relations: Mapping[RelationName, Rule]
    source: SourceDefinition | None = None
    allowed_types: AllowedTypes = field(default_factory=dict)
    description: str = ""
    descriptions: Mapping[RelationName, str] = field(default_factory=dict)
    actions: Actions = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Returns the number of relations and rules in the type."""
        return sum(1 + rule.size for rule in self.relations.values())

    def render_relations(self) -> dict[str, RuleDefinition]:
        """Returns the relations as JSON, in written order."""
        return {name: render_rule(rule) for name, rule in self.relations.items()}

    def find_allowed_types(self, relation: RelationName) -> Sequence[AllowedType] | None:
        return self.allowed_types.get(relation)

    def without_rules(self) -> "ObjectType":
        return replace(self, relations=dict.fromkeys(self.relations, Direct()))


def read_object_type(
    name: str | None,
    source: SourceDefinition | None,
    relations: Mapping[str, RuleDefinition | None] | None,
    additions: TypeAdditions = NO_ADDITIONS,
) -> ObjectType:
    """Returns the object type that a request body describes.

    Raises InvalidParameter or MissingParameter for the first fault, in the order type, source, relations, additions.
    """
    checked_name = type_name(name, "type")
    _check_source(source)
    if relations is None:
        raise MissingParameter("relations")
    rules = {
        relation_name(key, "relations"): read_rule(definition, relations) for key, definition in _check_names(relations)
    }
    return ObjectType(
        checked_name,
        rules,
        source,
        read_allowed_types(additions.allowed_types, rules),
        description=read_description(additions.description, "description"),
        descriptions=read_descriptions(additions.descriptions, rules),
        actions=read_actions(additions.actions, rules),
    )


def _check_names(relations: Mapping[str, RuleDefinition | None]) -> Iterator[tuple[str, RuleDefinition | None]]:
    for key, definition in relations.items():
        if not key:
            raise InvalidParameter("relations", "the name of a relation must not be empty")
        yield key, definition


def _check_source(source: SourceDefinition | None) -> None:
    if source is None:
        return
    _require(dbType=source.db_type, dbName=source.db_name, table=source.table, primaryKey=source.primary_key)
    for key in source.foreign_keys or ():
        _require(column=key.column, relation=key.relation, type=key.type, subject=key.subject)


def _require(**members: object) -> None:
    for parameter, value in members.items():
        if not value:
            raise MissingParameter(parameter)


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
