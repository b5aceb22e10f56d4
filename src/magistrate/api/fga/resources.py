"""Defines the bodies and handlers of /fga/v1/resources, which are the objects of v2 (docs/fga-v1.md#resources)."""

from typing import Any, cast

import msgspec

from magistrate.api.calls import Answer, Call
from magistrate.api.endpoints import objects
from magistrate.api.endpoints.objects import (
    IdText,
    MetaBody,
    MetaJson,
    ObjectAnswer,
    ObjectBody,
    ObjectRefBody,
    TypeText,
)
from magistrate.api.fga.views import FgaListAnswer, FgaListMetadata, fga_list, translate_call
from magistrate.api.http.request_values import read_batch
from magistrate.engine.terms import ObjectRef, object_ref
from magistrate.errors import InvalidParameter

CREATE, DELETE = "create", "delete"

_FILTERS = {"resource_type": "objectType", "search": "q"}


class FgaResourceBody(msgspec.Struct, frozen=True):
    """Represents a resource to create or replace. A resource without an id gets a UUIDv7."""

    resource_type: TypeText | None = None
    resource_id: IdText | None = None
    meta: dict[str, Any] | None = None


class FgaBatchBody(msgspec.Struct, frozen=True):
    """Represents resources to create, or to delete, all or none. `op` is `create` or `delete`."""

    op: str | None = None
    resources: list[FgaResourceBody] | None = None


class FgaResourceAnswer(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Represents a stored resource; `meta` is omitted when empty. One that was deleted has neither that nor
    `created_at`."""

    resource_type: str
    resource_id: str
    meta: MetaJson = msgspec.UNSET
    created_at: str = ""


async def create(call: Call[FgaResourceBody]) -> Answer[FgaResourceAnswer]:
    answer = await objects.create(translate_call(call, _read(call.body)))
    return answer.with_value(_render(cast(ObjectAnswer, answer.value)))


async def get(call: Call[None]) -> Answer[FgaResourceAnswer]:
    return _render_one(await objects.get(_rename_path(call)))


async def update(call: Call[MetaBody]) -> Answer[FgaResourceAnswer]:
    return _render_one(await objects.update(_rename_path(call)))


async def delete(call: Call[None]) -> Answer[None]:
    return await objects.delete(_rename_path(call))


async def write_batch(call: Call[FgaBatchBody]) -> Answer[FgaListAnswer[FgaResourceAnswer]]:
    """Answers with what was created or deleted, in the order of the request."""
    bodies = call.body.resources or []
    if call.body.op == CREATE:
        created = await objects.create(translate_call(call, read_batch(bodies, _read)))
        revision, rows = created.revision, [*map(_render, cast(list[ObjectAnswer], created.value))]
    elif call.body.op == DELETE:
        refs = read_batch(bodies, lambda ref: ObjectRefBody(ref.resource_type, ref.resource_id))
        revision = (await objects.delete_batch(translate_call(call, refs))).revision
        rows = [FgaResourceAnswer(resource_type=ref.type, resource_id=ref.id) for ref in map(_read_ref, refs)]
    else:
        raise InvalidParameter("op", f"must be {CREATE} or {DELETE}")
    page = FgaListAnswer(object="list", data=rows, list_metadata=FgaListMetadata(None, None))
    return Answer(page, revision)


def _read_ref(body: ObjectRefBody) -> ObjectRef:
    return object_ref(body.object_type, body.object_id)


def _render(row: ObjectAnswer) -> FgaResourceAnswer:
    return FgaResourceAnswer(
        resource_type=row.object_type, resource_id=row.object_id, meta=row.meta, created_at=row.created_at
    )


list_page = fga_list(objects.list_page, _FILTERS, "createdAt", _render)


def _render_one(answer: Answer[ObjectAnswer]) -> Answer[FgaResourceAnswer]:
    return answer.with_value(_render(answer.value))


def _read(body: FgaResourceBody) -> ObjectBody:
    return ObjectBody(body.resource_type, body.resource_id, body.meta)


def _rename_path(call: Call[Any]) -> Call[Any]:
    path = {"objectType": call.path["resource_type"], "objectId": call.path["resource_id"]}
    return translate_call(call, call.body, path)
