"""Defines the bodies and handlers of /fga/v1/schema: resource types and policies together (docs/fga-v1.md#schemas)."""

from collections.abc import Iterator
from functools import partial
from typing import Literal

import msgspec
from msgspec.structs import replace

from magistrate.api.calls import Answer, Call, answer_call
from magistrate.api.endpoints import models
from magistrate.api.endpoints.models import COST
from magistrate.api.endpoints.object_types import render_warnings
from magistrate.api.fga.names import rename_in_error, translate_call, translate_errors
from magistrate.api.fga.schema_json import (
    FgaPolicyBody,
    FgaTypeBody,
    read_document,
    render_fga_policy,
    render_fga_type,
)
from magistrate.api.http.json_values import build_decoder, decode_json
from magistrate.api.http.request_values import WrittenBody, decode_body
from magistrate.engine.text.document import NEWEST_VERSION, VERSIONS, ModelDocument, exact_document
from magistrate.engine.text.json_documents import (
    ModelBody,
    ModelContent,
    PolicyBody,
    TypeBody,
    build_content,
    render_body,
)
from magistrate.engine.text.lint import lint_document
from magistrate.engine.text.rendering import render_model
from magistrate.errors import InvalidParameter, MissingParameter
from magistrate.operations.models.definitions import read_policy_definition
from magistrate.operations.models.whole_models import put_whole_model, read_whole_model
from magistrate.operations.scheduling import offload
from magistrate.store.contract.stored_rows import StoredModel

DEFAULT_VERSION = "0.3"
MAX_WARNINGS = 100
MAX_LEVELS = 1_000
"""Limits nothing: the depth of a body is checked where it is read first."""


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


async def get(call: Call[None]) -> Answer:
    """Answers with the whole schema in JSON."""
    stored = await read_whole_model(call.context, call.freshness)
    return Answer(await _render_model(stored.value), stored.revision)


async def _render_model(stored: StoredModel) -> FgaSchemaAnswer:
    size = sum(map(len, (*stored.definitions.values(), *stored.policies.values())))
    return await offload(partial(_render_stored, stored), size * COST)


async def apply(call: Call[WrittenBody]) -> Answer:
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


async def _put(call: Call[ModelContent]) -> Answer:
    written = await put_whole_model(call.context, *call.body, call.stamp())
    headers = render_warnings(written.value.warnings)
    return Answer(await _render_model(written.value.stored), written.revision, headers)


async def convert(call: Call[WrittenBody]) -> Answer:
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
    types = [_read_stored_type(name, text) for name, text in sorted(stored.definitions.items())]
    policies = [_read_stored_policy(name, text) for name, text in sorted(stored.policies.items())]
    return _render(ModelBody(types, policies))


def _read_stored_type(name: str, definition: str) -> TypeBody:
    return msgspec.convert({"type": name, **decode_json(definition)}, TypeBody)


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
