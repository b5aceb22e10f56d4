"""Defines how object types are stored: as JSON text in `definition`."""

import msgspec

from magistrate.engine.model import ObjectType, SourceDefinition, read_object_type
from magistrate.engine.rules.rule import RuleDefinition
from magistrate.engine.terms import TypeName


class Definition(msgspec.Struct, frozen=True, omit_defaults=True):
    """Represents an object type as it is stored in `definition`, without its name."""

    relations: dict[str, RuleDefinition]
    source: SourceDefinition | None = None


_DECODER = msgspec.json.Decoder(Definition)


def read_definition(definition: str) -> Definition:
    return _DECODER.decode(definition)


def parse_definition(name: TypeName, definition: str) -> ObjectType:
    content = read_definition(definition)
    return read_object_type(name, content.source, content.relations)


def render_definition(object_type: ObjectType) -> bytes:
    return msgspec.json.encode(Definition(object_type.render_relations(), object_type.source))
