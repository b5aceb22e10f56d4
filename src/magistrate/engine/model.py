"""Defines object types and the model they form (docs/compatibility.md#object-types and docs/compatibility.md#rules).

A relation holds for a subject if a matching warrant exists or its rule holds; a rule never takes away what a warrant
grants. The model of a store is the set of all its object types at one revision.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from magistrate.engine.allowed_types import AllowedType, AllowedTypes, read_allowed_types
from magistrate.engine.descriptions import read_description, read_descriptions
from magistrate.engine.rules import render_rule
from magistrate.engine.rules.direct import Direct
from magistrate.engine.rules.parsing import read_rule
from magistrate.engine.rules.rule import Rule, RuleDefinition
from magistrate.engine.terms import RelationName, TypeName, relation_name, type_name
from magistrate.errors import InvalidParameter, MissingParameter


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
    description: str | None = None
    descriptions: dict[str, str] | None = None


NO_ADDITIONS = TypeAdditions()


@dataclass(frozen=True, slots=True)
class ObjectType:
    """Represents an object type, with `relations` in written order. `source` is checked but otherwise opaque.
    `description` is its own, `descriptions` are those of relations."""

    name: TypeName
    relations: Mapping[RelationName, Rule]
    source: SourceDefinition | None = None
    allowed_types: AllowedTypes = field(default_factory=dict)
    description: str = ""
    descriptions: Mapping[RelationName, str] = field(default_factory=dict)

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
        read_description(additions.description, "description"),
        read_descriptions(additions.descriptions, rules),
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
