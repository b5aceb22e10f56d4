"""Builds the object types and named policies that a document declares, validated like those that are written."""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec

from magistrate.engine.model import ObjectType, SourceDefinition, TypeAdditions, read_object_type
from magistrate.engine.model_text.document import ModelDocument
from magistrate.engine.model_text.json_bodies import PolicyBody, TypeBody
from magistrate.engine.model_text.json_rendering import render_body
from magistrate.engine.named_policy import NamedPolicy, read_named_policy
from magistrate.engine.rules.rule import RuleDefinition
from magistrate.errors import InvalidParameter

S = TypeVar("S")


class ModelContent(NamedTuple):
    """Holds what a model consists of, in the order of the document."""

    types: list[ObjectType]
    policies: list[NamedPolicy]


def build_content(document: ModelDocument) -> ModelContent:
    """Returns the types and policies of a document. Raises InvalidParameter, with the path of the fault in the JSON of
    the model, for the first that could not be written."""
    body = render_body(document)
    content = ModelContent([], [])
    for place, type_body in enumerate(body.object_types):
        try:
            content.types.append(_build_type(type_body))
        except InvalidParameter as fault:
            raise fault.within(f"objectTypes[{place}].") from None
    for place, policy in enumerate(body.policies):
        try:
            content.policies.append(_build_policy(policy))
        except InvalidParameter as fault:
            raise fault.within(f"policies[{place}].") from None
    return content


def _build_type(body: TypeBody) -> ObjectType:
    source = None if body.source is None else _convert(body.source, SourceDefinition, "source")
    rules = _convert(msgspec.to_builtins(body.relations), dict[str, RuleDefinition | None], "relations")
    allowed = {relation: tuple(texts) for relation, texts in (body.allowed_types or {}).items()}
    return read_object_type(
        body.type, source, rules, TypeAdditions(allowed or None, body.description, body.descriptions)
    )


def _build_policy(body: PolicyBody) -> NamedPolicy:
    return read_named_policy(body.name, body.parameters, body.expression, body.description)


def _convert(value: Mapping[str, Any], kind: type[S], parameter: str) -> S:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise InvalidParameter(parameter, str(error)) from None
