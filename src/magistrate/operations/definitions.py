"""Defines how object types are stored: as JSON text in `definition`."""

from collections.abc import Sequence

import msgspec

from magistrate.engine.allowed_types import AllowedType
from magistrate.engine.model import ObjectType, SourceDefinition, TypeAdditions, read_object_type
from magistrate.engine.rules.rule import RuleDefinition
from magistrate.engine.terms import RelationName, TypeName


class Definition(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """Represents an object type as it is stored in `definition`, without its name."""

    relations: dict[str, RuleDefinition]
    source: SourceDefinition | None = None
    allowed_types: dict[RelationName, tuple[AllowedType, ...]] = {}
    description: str = ""
    descriptions: dict[RelationName, str] = {}

    def find_allowed_types(self, relation: RelationName) -> Sequence[AllowedType] | None:
        return self.allowed_types.get(relation)

    @property
    def additions(self) -> TypeAdditions:
        return TypeAdditions(dict(self.allowed_types.items()), self.description, dict(self.descriptions.items()))


_DECODER = msgspec.json.Decoder(Definition)


def read_definition(definition: str) -> Definition:
    return _DECODER.decode(definition)


def parse_definition(name: TypeName, definition: str) -> ObjectType:
    content = read_definition(definition)
    return read_object_type(name, content.source, content.relations, content.additions)


def render_definition(object_type: ObjectType) -> bytes:
    allowed_types = {relation: tuple(texts) for relation, texts in object_type.allowed_types.items()}
    definition = Definition(
        object_type.render_relations(),
        object_type.source,
        allowed_types,
        object_type.description,
        {**object_type.descriptions},
    )
    return msgspec.json.encode(definition)
