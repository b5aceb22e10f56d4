"""Defines the bodies and handlers of /v2/object-types (docs/compatibility.md#object-types,
docs/compatibility.md#lists-and-cursors and docs/compatibility.md#rules)."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec

from magistrate.api.calls import Answer, Call
from magistrate.api.endpoints.lists import ListAnswer, render_page
from magistrate.api.http.json_values import render_time
from magistrate.api.http.request_values import read_batch, read_boolean, read_elements
from magistrate.engine.model.object_types import ObjectType, SourceDefinition, TypeAdditions, read_object_type
from magistrate.engine.names import TypeName
from magistrate.engine.rules.rule import RuleDefinition
from magistrate.engine.terms import type_name
from magistrate.errors import InvalidParameter, NotFound
from magistrate.operations.history.points_in_time import pin_page
from magistrate.operations.models import object_types
from magistrate.operations.models.definitions import read_definition
from magistrate.operations.models.object_types import OBJECT_TYPE_LIST, WrittenTypes
from magistrate.operations.paging import read_page_request, read_search
from magistrate.operations.scheduling import offload
from magistrate.store.contract.lists import ObjectTypeFilter, Snapshot
from magistrate.store.contract.stored_rows import StoredObjectType

B = TypeVar("B")
T = TypeVar("T")


class ObjectTypeBody(TypeAdditions, frozen=True, omit_defaults=True, kw_only=True):
    """Represents an object type to create or replace. `allowedTypes` names by relation the subjects that warrants may
    give it to: `user`, `user:*`, `team#member` or `team:*#member`; none of them if the list is empty, and all if the
    relation is absent. `actions` maps names of actions, such as `tools/call`, to relations (AuthZEN). `description` is
    that of the type, `descriptions` are those of relations."""

    type: str | None = None
    source: SourceDefinition | None = None
    relations: dict[str, RuleDefinition | None] | None = None


class ObjectTypeAnswer(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """Represents a stored object type."""

    type: str
    source: SourceDefinition | None = None
    relations: dict[str, RuleDefinition]
    allowed_types: dict[str, tuple[str, ...]] = {}
    actions: dict[str, str] = {}
    description: str = ""
    descriptions: dict[str, str] = {}
    created_at: str


async def create(call: Call[ObjectTypeBody]) -> Answer[ObjectTypeAnswer]:
    new = await _offload(call.body, _read)
    return _answer_one(await _put(call, [new]))


async def apply(call: Call[list[ObjectTypeBody]]) -> Answer[list[ObjectTypeAnswer]]:
    types = await _offload(call.body, lambda bodies: read_batch(bodies, _read))
    applied = await _put(call, types, is_whole_model=read_boolean(call.parameters, "replace"))
    rows = [_render_object_type(row) for row in applied.value.rows]
    return Answer(rows, applied.revision, render_warnings(applied.value.warnings))


async def get(call: Call[None]) -> Answer[ObjectTypeAnswer]:
    name = _read_type_name(call.path["type"])
    stored = await object_types.get_object_type(call.context, name, call.freshness, call.as_of)
    return Answer(_render_object_type(stored.value), stored.revision)


async def update(call: Call[ObjectTypeBody]) -> Answer[ObjectTypeAnswer]:
    name = _read_type_name(call.path["type"])
    new = await _offload(call.body, lambda body: read_object_type(name, body.source, body.relations, body))
    return _answer_one(await _put(call, [new], must_exist=True))


async def _put(
    call: Call[Any], types: Sequence[ObjectType], must_exist: bool = False, is_whole_model: bool = False
) -> Snapshot[WrittenTypes]:
    stamp, keeps = call.stamp(), keeps_orphaned(call)
    return await object_types.put_object_types(
        call.context,
        types,
        stamp,
        keeps_orphaned=keeps,
        visible=call.visible_types,
        must_exist=must_exist,
        is_whole_model=is_whole_model,
    )


async def delete(call: Call[None]) -> Answer[None]:
    name = _read_type_name(call.path["type"])
    return Answer(None, await object_types.delete_object_type(call.context, name, call.stamp()))


async def list_page(call: Call[None]) -> Answer[ListAnswer[ObjectTypeAnswer]]:
    text = read_search(call.parameters)
    bounds = read_page_request(OBJECT_TYPE_LIST, call.parameters, call.context.store.identity)
    bounds = await pin_page(call.context, bounds, call.as_of, call.freshness)
    page = await object_types.list_object_types(call.context, bounds, ObjectTypeFilter(text), call.freshness)
    return Answer(await render_page(page.value, _render_object_type), page.revision)


def keeps_orphaned(call: Call[B]) -> bool:
    """Returns whether stored warrants that the new types forbid are kept without effect."""
    return read_boolean(call.parameters, "keepExisting")


async def read_bodies(bodies: Sequence[ObjectTypeBody], name: str) -> Sequence[ObjectType]:
    """Returns the object types that the elements of this array describe. Raises InvalidParameter."""
    return await _offload(bodies, lambda bodies: read_elements(bodies, _read, name))


def _answer_one(written: Snapshot[WrittenTypes]) -> Answer[ObjectTypeAnswer]:
    [row] = written.value.rows
    return Answer(_render_object_type(row), written.revision, render_warnings(written.value.warnings))


def render_warnings(warnings: Sequence[str]) -> Mapping[str, str]:
    """Returns the header that carries the warnings (RFC 7234, section 5.5). They contain no quotation marks."""
    return {"Warning": ", ".join(f'299 - "{warning}"' for warning in warnings)} if warnings else {}


async def _offload(body: B, read: Callable[[B], T]) -> T:
    return await offload(partial(read, body), len(msgspec.json.encode(body)))


def _read(body: ObjectTypeBody) -> ObjectType:
    return read_object_type(body.type, body.source, body.relations, body)


def _read_type_name(text: str) -> TypeName:
    """Returns the type in the path. Raises NotFound for an invalid name, as for a type that does not exist."""
    try:
        return type_name(text, "type")
    except InvalidParameter:
        raise NotFound("ObjectType", text) from None


def _render_object_type(row: StoredObjectType) -> ObjectTypeAnswer:
    definition = read_definition(row.definition)
    return ObjectTypeAnswer(
        type=row.name,
        source=definition.source,
        relations=definition.relations,
        allowed_types=dict(definition.allowed_types.items()),
        actions=dict(definition.actions.items()),
        description=definition.description,
        descriptions=dict(definition.descriptions.items()),
        created_at=render_time(row.created_at),
    )
