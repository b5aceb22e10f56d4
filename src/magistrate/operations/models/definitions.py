"""Defines how object types are stored: as JSON text in `definition`."""

from collections.abc import Mapping, Sequence

import msgspec

from magistrate.engine.model.object_types import (
    AllowedType,
    ObjectType,
    SourceDefinition,
    TypeAdditions,
    read_object_type,
)
from magistrate.engine.names import PolicyName, RelationName, TypeName
from magistrate.engine.policy.named_policies import NamedPolicy, read_named_policy
from magistrate.engine.rules.rule import RuleDefinition


class Definition(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """Represents an object type as it is stored in `definition`, without its name."""

    relations: dict[str, RuleDefinition]
    source: SourceDefinition | None = None
    allowed_types: dict[RelationName, tuple[AllowedType, ...]] = {}
    actions: dict[str, RelationName] = {}
    description: str = ""
    descriptions: dict[RelationName, str] = {}

    def find_allowed_types(self, relation: RelationName) -> Sequence[AllowedType] | None:
        return self.allowed_types.get(relation)

    @property
    def additions(self) -> TypeAdditions:
        return TypeAdditions(
            dict(self.allowed_types.items()),
            dict(self.actions.items()),
            description=self.description,
            descriptions=dict(self.descriptions.items()),
        )


_DECODER = msgspec.json.Decoder(Definition)


def read_definition(definition: str) -> Definition:
    return _DECODER.decode(definition)


def parse_definition(name: TypeName, definition: str) -> ObjectType:
    content = read_definition(definition)
    return read_object_type(name, content.source, content.relations, content.additions)


def render_definition(object_type: ObjectType) -> bytes:
    allowed_types = {relation: tuple(texts) for relation, texts in object_type.allowed_types.items()}
    definition = Definition(
        relations=object_type.render_relations(),
        source=object_type.source,
        allowed_types=allowed_types,
        actions={**object_type.actions},
        description=object_type.description,
        descriptions={**object_type.descriptions},
    )
    return msgspec.json.encode(definition)


class PolicyDefinition(msgspec.Struct, frozen=True, omit_defaults=True):
    """Represents a named policy as it is stored in `definition`, without its name."""

    parameters: dict[str, str]
    expression: str
    description: str = ""


_POLICY_DECODER = msgspec.json.Decoder(PolicyDefinition)


def read_policy_definition(definition: str) -> PolicyDefinition:
    return _POLICY_DECODER.decode(definition)


def parse_policies(definitions: Mapping[PolicyName, str]) -> Mapping[PolicyName, NamedPolicy]:
    """Returns the policies of a model."""
    policies: dict[PolicyName, NamedPolicy] = {}
    for name, definition in definitions.items():
        content = read_policy_definition(definition)
        policies[name] = read_named_policy(name, content.parameters, content.expression, content.description)
    return policies


def render_policy_definition(policy: NamedPolicy) -> str:
    parameters = {name: str(of_type) for name, of_type in policy.parameters.items()}
    return msgspec.json.encode(PolicyDefinition(parameters, policy.expression, policy.description)).decode()
