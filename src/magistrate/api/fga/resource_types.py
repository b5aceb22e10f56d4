"""Defines the answers and handlers of /fga/v1/resource-types, which are the object types of v2
(docs/fga-v1.md#resource-types)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec

from magistrate.api.calls import Answer, Call
from magistrate.api.endpoints import object_types
from magistrate.api.endpoints.models import COST
from magistrate.api.endpoints.object_types import ObjectTypeAnswer, ObjectTypeBody
from magistrate.api.fga.schemas import FgaRelationDefinition, FgaTypeBody, read_document, render_fga_type
from magistrate.api.fga.views import fga_list, render_rows, translate_call
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


async def create(call: Call[FgaTypeBody]) -> Answer[FgaTypeAnswer]:
    [body] = await _read(call, [call.body], await _list_relations(call))
    return await _render_one(await object_types.create(translate_call(call, body)))


async def update(call: Call[FgaTypeBody]) -> Answer[FgaTypeAnswer]:
    name = call.path["type"]
    [body] = await _read(call, [FgaTypeBody(name, call.body.relations)], await _list_relations(call))
    return await _render_one(await object_types.update(translate_call(call, body)))


async def apply(call: Call[list[FgaTypeBody]]) -> Answer[list[FgaTypeAnswer]]:
    """Makes these the resource types of the model: all others are deleted."""
    bodies = await _read(call, call.body, {})
    answer = await object_types.apply(translate_call(call, bodies, parameters={"replace": "true"}))
    return answer.with_value(await render_rows(answer.value, _render))


async def get(call: Call[None]) -> Answer[FgaTypeAnswer]:
    return await _render_one(await object_types.get(translate_call(call, None)))


async def delete(call: Call[None]) -> Answer[None]:
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
        return msgspec.convert(msgspec.to_builtins([exact[body.type or ""] for body in bodies]), list[ObjectTypeBody])

    return await offload(read, len(msgspec.json.encode(bodies)) * COST)


def _render(answer: ObjectTypeAnswer) -> FgaTypeAnswer:
    body = render_fga_type(msgspec.convert(msgspec.to_builtins(answer), TypeBody))
    relations = cast(dict[str, FgaRelationDefinition], body.relations)
    return FgaTypeAnswer(type=answer.type, relations=relations, created_at=answer.created_at)


async def _render_one(answer: Answer[ObjectTypeAnswer]) -> Answer[FgaTypeAnswer]:
    [row] = await render_rows([answer.value], _render)
    return answer.with_value(row)


list_page = fga_list(object_types.list_page, {}, "createdAt", _render)
