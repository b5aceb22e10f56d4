"""Defines the answers and handlers of /fga/v1/resource-types, which are the object types of v2
(docs/fga-v1.md#resource-types)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from magistrate.api.calls import Answer, Call
from magistrate.api.endpoints import object_types
from magistrate.api.endpoints.models import COST
from magistrate.api.endpoints.object_types import ObjectTypeAnswer, ObjectTypeBody
from magistrate.api.fga.lists import fga_list, render_rows
from magistrate.api.fga.names import translate_call
from magistrate.api.fga.schema_json import FgaRelationDefinition, FgaTypeBody, read_document, render_fga_type
from magistrate.engine.text.json_documents import TypeBody, render_body
from magistrate.operations.consistency import NO_DEMAND
from magistrate.operations.models.definitions import read_definition
from magistrate.operations.models.whole_models import read_whole_model
from magistrate.operations.scheduling import offload


class FgaTypeAnswer(msgspec.Struct, kw_only=True):
    """Represents a stored resource type."""

    type: str
    relations: dict[str, FgaRelationDefinition]
    created_at: str


async def create(call: Call[FgaTypeBody]) -> Answer:
    [body] = await _read(call, [call.body], await _list_relations(call))
    return await _render_one(await object_types.create(translate_call(call, body)))


async def update(call: Call[FgaTypeBody]) -> Answer:
    name = call.path["type"]
    [body] = await _read(call, [FgaTypeBody(name, call.body.relations)], await _list_relations(call))
    return await _render_one(await object_types.update(translate_call(call, body)))


async def apply(call: Call[list[FgaTypeBody]]) -> Answer:
    """Makes these the resource types of the model: all others are deleted."""
    bodies = await _read(call, call.body, {})
    answer = await object_types.apply(translate_call(call, bodies, parameters={"replace": "true"}))
    rows = cast(Sequence[ObjectTypeAnswer], answer.value)
    return replace(answer, value=await render_rows(rows, _render))


async def get(call: Call[None]) -> Answer:
    return await _render_one(await object_types.get(translate_call(call, None)))


async def delete(call: Call[None]) -> Answer:
    return await object_types.delete(call)


async def _list_relations(call: Call[Any]) -> Mapping[str, Iterable[str]]:
    """Returns the relations of each stored type."""
    stored = await read_whole_model(call.context, NO_DEMAND)
    definitions = stored.value.definitions

    def read() -> Mapping[str, Iterable[str]]:
        return {name: [*read_definition(definition).relations] for name, definition in definitions.items()}

    return await offload(read, sum(map(len, definitions.values())))


async def _read(
    call: Call[FgaTypeBody] | Call[list[FgaTypeBody]],
    bodies: Sequence[FgaTypeBody],
    others: Mapping[str, Iterable[str]],
) -> list[ObjectTypeBody]:
    paths = [f"[{place}]" for place in range(len(bodies))] if isinstance(call.body, list) else [""]

    def read() -> list[ObjectTypeBody]:
        document = read_document(zip(paths, bodies, strict=True), others=others)
        exact = {of_type.type: of_type for of_type in render_body(document).object_types}
        return [to_object_type_body(exact[body.type or ""]) for body in bodies]

    return await offload(read, len(msgspec.json.encode(bodies)) * COST)


def to_object_type_body(body: TypeBody) -> ObjectTypeBody:
    return msgspec.convert(msgspec.to_builtins(body), ObjectTypeBody)


def _render(answer: ObjectTypeAnswer) -> FgaTypeAnswer:
    body = render_fga_type(msgspec.convert(msgspec.to_builtins(answer), TypeBody))
    relations = cast(dict[str, FgaRelationDefinition], body.relations)
    return FgaTypeAnswer(type=answer.type, relations=relations, created_at=answer.created_at)


async def _render_one(answer: Answer) -> Answer:
    [row] = await render_rows([cast(ObjectTypeAnswer, answer.value)], _render)
    return replace(answer, value=row)


list_page = fga_list(object_types.list_page, {}, "createdAt", _render)
