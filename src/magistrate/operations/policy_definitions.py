"""Defines how named policies are stored: as JSON text in `definition`."""

from collections.abc import Mapping

import msgspec

from magistrate.engine.named_policy import NamedPolicy, read_named_policy
from magistrate.engine.names import PolicyName


class PolicyDefinition(msgspec.Struct, frozen=True, omit_defaults=True):
    """Represents a named policy as it is stored in `definition`, without its name."""

    parameters: dict[str, str]
    expression: str
    description: str = ""


_DECODER = msgspec.json.Decoder(PolicyDefinition)


def read_policy_definition(definition: str) -> PolicyDefinition:
    return _DECODER.decode(definition)


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
