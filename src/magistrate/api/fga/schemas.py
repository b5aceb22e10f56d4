"""Defines the bodies and handlers of /fga/v1/schema: resource types and policies together (docs/fga-v1.md#schemas);
converts their JSON to that of models, and back.

In schemas up to version 0.3, as in texts, `group` in `allowed_types` also allows all usersets of groups if there is
none of them; version 1.0 allows exactly what is written down."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Literal

import msgspec
from msgspec.structs import asdict, replace

from magistrate.api.calls import Answer, Call, answer_call
from magistrate.api.endpoints import models
from magistrate.api.endpoints.models import COST
from magistrate.api.endpoints.object_types import render_warnings
from magistrate.api.fga.views import rename_in_error, translate_call, translate_errors
from magistrate.api.http.json_values import build_decoder, decode_json
from magistrate.api.http.request_values import WrittenBody, decode_body
from magistrate.engine.nesting import fold
from magistrate.engine.rules import RULE_OPERATORS
from magistrate.engine.rules.rule import RuleDefinition
from magistrate.engine.text.document import (
    NEWEST_VERSION,
    VERSIONS,
    ModelDocument,
    NameAt,
    RelationDeclaration,
    TypeDeclaration,
    exact_document,
)
from magistrate.engine.text.json_documents import (
    ModelBody,
    ModelContent,
    ModelMembers,
    PolicyBody,
    TypeBody,
    build_content,
    read_body,
    render_body,
)
from magistrate.engine.text.lint import lint_document
from magistrate.engine.text.rendering import render_model
from magistrate.errors import InvalidParameter, InvalidRequest, MissingParameter
from magistrate.operations.models.definitions import read_policy_definition
from magistrate.operations.models.whole_models import put_whole_model, read_whole_model
from magistrate.operations.scheduling import offload
from magistrate.store.contract.stored_rows import StoredModel

LANGUAGE = "expr"
DEFAULT_VERSION = "0.3"
MAX_WARNINGS = 100
MAX_LEVELS = 1_000
"""Limits nothing: the depth of a body is checked where it is read first."""


class FgaRuleDefinition(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """Represents a rule: `{}`, or an object with one of the members inherit_if, for_all and policy. It has a
    struct of its own because its members are called differently from those of v2."""

    inherit_if: str | None = None
    of_type: str | None = None
    with_relation: str | None = None
    rules: "list[FgaRuleDefinition] | None" = None
    for_all: str | None = None
    policy: str | None = None


class FgaRelationDefinition(FgaRuleDefinition, omit_defaults=True, forbid_unknown_fields=True):
    """Represents a relation: the members of its rule, and with `allowed_types` the subjects that warrants may give it
    to; all subjects if that is absent."""

    allowed_types: list[str] | None = None


class FgaTypeBody(msgspec.Struct, omit_defaults=True):
    """Represents a resource type to create or replace."""

    type: str | None = None
    relations: dict[str, FgaRelationDefinition | None] | None = None


class FgaParameterBody(msgspec.Struct):
    """Represents a parameter of a policy; `type` is string, integer, boolean, float, array, map or any."""

    name: str
    type: str


class FgaPolicyBody(msgspec.Struct, omit_defaults=True):
    """Represents a named policy to create or replace. `language` is always `expr`."""

    name: str | None = None
    description: str | None = None
    language: str | None = None
    parameters: list[FgaParameterBody] | None = None
    expression: str | None = None


class FgaSchemaBody(msgspec.Struct, frozen=True):
    """Represents a schema: its resource types and policies, in arrays or by their names. Up to version 0.3, which is
    the default, an allowed type `group` stands for its usersets, too."""

    version: str | None = None
    resource_types: list[FgaTypeBody] | dict[str, FgaTypeBody] | None = None
    policies: list[FgaPolicyBody] | dict[str, FgaPolicyBody] | None = None


class FgaSchemaWarning(msgspec.Struct):
    """Represents something in a schema that is allowed, and probably a mistake."""

    code: Literal["validation_warning"]
    message: str


class FgaSchemaAnswer(msgspec.Struct, kw_only=True):
    """Represents a schema: as text in `schema`, or in JSON. A conversion has `warnings`."""

    version: str
    schema: str | msgspec.UnsetType = msgspec.UNSET
    resource_types: list[FgaTypeBody] | msgspec.UnsetType = msgspec.UNSET
    policies: dict[str, FgaPolicyBody] | msgspec.UnsetType = msgspec.UNSET
    warnings: list[FgaSchemaWarning] | msgspec.UnsetType = msgspec.UNSET


_DECODER = build_decoder(FgaSchemaBody)


async def get(call: Call[None]) -> Answer[FgaSchemaAnswer]:
    """Answers with the whole schema in JSON."""
    stored = await read_whole_model(call.context, call.freshness)
    return Answer(await _render_model(stored.value), stored.revision)


async def _render_model(stored: StoredModel) -> FgaSchemaAnswer:
    size = sum(map(len, (*stored.definitions.values(), *stored.policies.values())))
    return await offload(partial(_render_stored, stored), size * COST)


async def apply(call: Call[WrittenBody]) -> Answer[FgaSchemaAnswer]:
    """Makes these the resource types and policies of the store, and answers with the schema like `get`."""
    content = await offload(partial(_read_content, call.body), len(call.body.text) * COST)
    return await answer_call(translate_errors(_put), translate_call(call, content))


def _read_content(body: WrittenBody) -> ModelContent:
    if not body.is_json:
        return models.read_content(body)
    document = read_schema(body)
    try:
        return build_content(document)
    except InvalidParameter as error:
        raise rename_in_error(error) from None


async def _put(call: Call[ModelContent]) -> Answer[FgaSchemaAnswer]:
    written = await put_whole_model(call.context, *call.body, call.stamp())
    headers = render_warnings(written.value.warnings)
    return Answer(await _render_model(written.value.stored), written.revision, headers)


async def convert(call: Call[WrittenBody]) -> Answer[FgaSchemaAnswer]:
    """Answers with the schema in the other form: text as JSON, and JSON as text."""
    answer = await offload(partial(_convert, call.body), len(call.body.text) * COST)
    return Answer(answer, await call.context.store.check())


def _convert(body: WrittenBody) -> FgaSchemaAnswer:
    document = read_schema(body)
    exact = exact_document(document)
    warnings = [FgaSchemaWarning("validation_warning", fault.describe()) for fault in lint_document(exact)]
    if body.is_json:
        return FgaSchemaAnswer(version=NEWEST_VERSION, schema=render_model(exact), warnings=warnings[:MAX_WARNINGS])
    return replace(_render(render_body(exact)), warnings=warnings[:MAX_WARNINGS])


def read_schema(body: WrittenBody) -> ModelDocument:
    """Returns the schema in a body, text or JSON. Raises InvalidModel for a text, and for JSON InvalidRequest."""
    if not body.is_json:
        return models.read_document(body)
    if body.fault is not None:
        raise body.fault
    schema = decode_body(body.text.encode(), _DECODER, MAX_LEVELS)
    version = schema.version or DEFAULT_VERSION
    if version not in VERSIONS:
        raise InvalidParameter("version", f"must be one of {', '.join(VERSIONS)}")
    if schema.resource_types is None:  # an empty object would delete all
        raise MissingParameter("resource_types")
    types = _list_types(schema.resource_types)
    return read_document(types, _list_policies(schema.policies or []), version)


def _list_types(bodies: list[FgaTypeBody] | dict[str, FgaTypeBody]) -> Iterator[tuple[str, FgaTypeBody]]:
    """Yields the resource types with their paths; the name of one that is a member counts, not that in it."""
    if isinstance(bodies, list):
        yield from ((f"resource_types[{place}]", body) for place, body in enumerate(bodies))
    else:
        yield from ((f"resource_types.{name}", replace(body, type=name)) for name, body in bodies.items())


def _list_policies(bodies: list[FgaPolicyBody] | dict[str, FgaPolicyBody]) -> Iterator[tuple[str, FgaPolicyBody]]:
    if isinstance(bodies, list):
        yield from ((f"policies[{place}]", body) for place, body in enumerate(bodies))
    else:
        yield from ((f"policies.{name}", replace(body, name=name)) for name, body in bodies.items())


def _render_stored(stored: StoredModel) -> FgaSchemaAnswer:
    definitions = sorted(stored.definitions.items())
    types = [msgspec.convert({"type": name, **decode_json(text)}, TypeBody) for name, text in definitions]
    policies = [_read_stored_policy(name, text) for name, text in sorted(stored.policies.items())]
    return _render(ModelBody(types, policies))


def _read_stored_policy(name: str, definition: str) -> PolicyBody:
    content = read_policy_definition(definition)
    return PolicyBody(
        name=name, parameters=content.parameters, expression=content.expression, description=content.description
    )


def _render(model: ModelBody) -> FgaSchemaAnswer:
    return FgaSchemaAnswer(
        version=NEWEST_VERSION,
        resource_types=[*map(render_fga_type, model.object_types)],
        policies={policy.name: render_fga_policy(policy) for policy in model.policies},
    )


def read_document(
    types: Iterable[tuple[str, FgaTypeBody]],
    policies: Iterable[tuple[str, FgaPolicyBody]] = (),
    version: str = "0.3",
    others: Mapping[str, Iterable[str]] | None = None,
) -> ModelDocument:
    """Returns the document of these types and policies, each of which comes with its path. `others` are relations by
    type that the model has besides. Raises InvalidParameter for the first fault."""
    members = ModelMembers(
        [(path, _convert_type(body)) for path, body in types],
        [(path, _convert_policy(body, path)) for path, body in policies],
        [],
    )
    document, faults = read_body(members, lambda path: (0, 0))
    if faults:
        raise rename_in_error(faults[0])
    document.version = version
    for name, relations in (others or {}).items():
        declared = {relation: RelationDeclaration(NameAt(relation)) for relation in relations}
        document.types.setdefault(name, TypeDeclaration(NameAt(name), declared))
    return document


def render_fga_type(body: TypeBody) -> FgaTypeBody:
    allowed = body.allowed_types or {}
    relations: dict[str, FgaRelationDefinition | None] = {
        name: _render_relation(rule, allowed.get(name)) for name, rule in body.relations.items()
    }
    return FgaTypeBody(type=body.type, relations=relations)


def render_fga_policy(body: PolicyBody) -> FgaPolicyBody:
    parameters = [FgaParameterBody(name, of_type) for name, of_type in (body.parameters or {}).items()]
    return FgaPolicyBody(body.name, body.description, LANGUAGE, parameters, expression=body.expression)


def _convert_type(body: FgaTypeBody) -> TypeBody:
    relations = body.relations or {}
    return TypeBody(
        type=body.type or "",
        relations={
            name: None if definition is None else _convert_relation(definition, relations)
            for name, definition in relations.items()
        },
        allowed_types={
            name: definition.allowed_types
            for name, definition in relations.items()
            if definition is not None and definition.allowed_types is not None
        },
    )


def _convert_relation(definition: FgaRuleDefinition, names: Container[str]) -> RuleDefinition:
    """Returns the rule of a relation; `names` has the relations of its type."""
    body: RuleDefinition = fold(definition, lambda inner: inner.rules or (), partial(_convert_rule, names))
    return body


def _convert_rule(names: Container[str], rule: FgaRuleDefinition, rules: Sequence[RuleDefinition]) -> RuleDefinition:
    inherit_if = None if rule.inherit_if is None else _read_operator(rule.inherit_if)
    # The API of Warrant has relations with these names: without rules, they are no groups.
    if rule.rules is None and (rule.inherit_if in names or rule.with_relation is not None):
        inherit_if = rule.inherit_if
    inner: list[RuleDefinition | None] | None = None if rule.rules is None else [*rules]
    return RuleDefinition(inherit_if, rule.of_type, rule.with_relation, inner, for_all=rule.for_all, policy=rule.policy)


def _read_operator(name: str) -> str:
    """Returns the operator of v2 that a name means here; the name itself if it is that of a relation. Raises
    InvalidParameter for an operator that cannot be said."""
    if name in RULE_OPERATORS and RULE_OPERATORS[name].words.fga is None:
        raise InvalidParameter("inherit_if", f"/fga/v1 cannot say {name}; write the model at /v2/model")
    return next((keyword for keyword, operator in RULE_OPERATORS.items() if operator.words.fga == name), name)


def _render_operator(keyword: str) -> str:
    """Returns the name of an operator here, or the keyword itself if it is the name of a relation. Raises
    InvalidRequest for an operator that cannot be said."""
    operator = RULE_OPERATORS.get(keyword)
    if operator is not None and operator.words.fga is None:
        raise InvalidRequest(f"the model has a rule with {keyword}, which /fga/v1 cannot say; read it at /v2/model")
    return keyword if operator is None or operator.words.fga is None else operator.words.fga


def _convert_policy(body: FgaPolicyBody, path: str) -> PolicyBody:
    if body.language not in (None, LANGUAGE):
        raise InvalidParameter(f"{path}.language", f"can only be {LANGUAGE}")
    if not body.expression:
        raise MissingParameter(f"{path}.expression")
    return PolicyBody(
        name=body.name or "",
        parameters=read_policy_parameters(body, f"{path}.parameters"),
        expression=body.expression,
        description=body.description,
    )


def read_policy_parameters(body: FgaPolicyBody, path: str) -> dict[str, str]:
    """Returns the types of the parameters of a policy. Raises InvalidParameter if one is there twice."""
    types: dict[str, str] = {}
    for parameter in body.parameters or ():
        if parameter.name in types:
            raise InvalidParameter(path, f"'{parameter.name[:64]}' is there twice")
        types[parameter.name] = parameter.type
    return types


def _render_relation(rule: RuleDefinition | None, allowed: list[str] | None) -> FgaRelationDefinition:
    definition: FgaRuleDefinition = fold(rule, _list_rules, _render_rule)
    return FgaRelationDefinition(**asdict(definition), allowed_types=allowed)


def _list_rules(rule: RuleDefinition | None) -> Sequence[RuleDefinition | None]:
    return () if rule is None else rule.rules or ()


def _render_rule(rule: RuleDefinition | None, rules: Sequence[FgaRuleDefinition]) -> FgaRuleDefinition:
    if rule is None:
        return FgaRuleDefinition()
    inherit_if = None if rule.inherit_if is None else _render_operator(rule.inherit_if)
    inner = None if rule.rules is None else [*rules]
    return FgaRuleDefinition(
        inherit_if, rule.of_type, rule.with_relation, inner, for_all=rule.for_all, policy=rule.policy
    )
