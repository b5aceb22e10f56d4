"""Defines the bodies and handlers of /v2/objects (docs/compatibility.md#objects,
docs/compatibility.md#lists-and-cursors and docs/compatibility.md#batches)."""

from typing import Annotated, Any

import msgspec

from magistrate.api.calls import Answer, Call
from magistrate.api.endpoints.lists import ListAnswer, render_page
from magistrate.api.http.json_values import render_time
from magistrate.api.http.request_values import document_pattern, read_batch
from magistrate.engine.id_characters import ID_CHARACTER, MAX_ID_LENGTH
from magistrate.engine.names import TypeName
from magistrate.engine.terms import ObjectRef, object_id, object_ref, type_name
from magistrate.engine.warrants.overlay import NO_CHANGES
from magistrate.errors import InvalidParameter, NotFound
from magistrate.operations.history.points_in_time import pin_page
from magistrate.operations.models.undefined_names import UsedName, require_defined_names
from magistrate.operations.paging import read_page_request, read_search
from magistrate.operations.writes import objects
from magistrate.operations.writes.objects import OBJECT_LIST, ObjectDraft, render_meta
from magistrate.store.contract.lists import ObjectFilter
from magistrate.store.contract.stored_rows import StoredObject

TypeText = Annotated[str, document_pattern(r"^[a-z0-9_-]{1,64}$")]
MetaJson = Annotated[msgspec.Raw, msgspec.Meta(extra_json_schema={"type": "object"})] | msgspec.UnsetType
IdText = Annotated[str, document_pattern(rf"^{ID_CHARACTER}{{0,{MAX_ID_LENGTH}}}$")]


class ObjectBody(msgspec.Struct, rename="camel", frozen=True):
    """Represents an object to create or replace. An object without an id gets a UUIDv7."""

    object_type: TypeText | None = None
    object_id: IdText | None = None
    meta: dict[str, Any] | None = None


class MetaBody(msgspec.Struct, frozen=True):
    """Represents the new meta of an object; empty, null or absent clears it."""

    meta: dict[str, Any] | None = None


class ObjectRefBody(msgspec.Struct, rename="camel", frozen=True):
    """Represents an object to delete."""

    object_type: TypeText | None = None
    object_id: IdText | None = None


class ObjectAnswer(msgspec.Struct, rename="camel", kw_only=True):
    """Represents a stored object; `meta` is omitted when empty."""

    object_type: str
    object_id: str
    meta: MetaJson = msgspec.UNSET
    created_at: str


ObjectOrBatch = ObjectBody | list[ObjectBody]


async def create(call: Call[ObjectOrBatch]) -> Answer[ObjectAnswer | list[ObjectAnswer]]:
    def draft(body: ObjectBody) -> ObjectDraft:
        of_type = type_name(body.object_type, "objectType")
        given_id = object_id(body.object_id, "objectId") if body.object_id else None
        return ObjectDraft(of_type, given_id, render_meta(call.context, body.meta))

    drafts = read_batch(call.body, draft) if isinstance(call.body, list) else [draft(call.body)]
    created = await objects.create_objects(call.context, drafts, call.stamp())
    answers = [_render_object(row) for row in created.value]
    return Answer(answers if isinstance(call.body, list) else answers[0], created.revision)


async def get(call: Call[None]) -> Answer[ObjectAnswer]:
    stored = await objects.get_object(call.context, _read_object_ref(call), call.freshness, call.as_of)
    return Answer(_render_object(stored.value), stored.revision)


async def update(call: Call[MetaBody]) -> Answer[ObjectAnswer]:
    meta = render_meta(call.context, call.body.meta)
    updated = await objects.update_object(call.context, _read_object_ref(call), meta, call.stamp())
    return Answer(_render_object(updated.value), updated.revision)


async def delete(call: Call[None]) -> Answer[None]:
    return Answer(None, await objects.delete_objects(call.context, [_read_object_ref(call)], call.stamp()))


async def delete_batch(call: Call[list[ObjectRefBody]]) -> Answer[None]:
    refs = read_batch(call.body, lambda body: object_ref(body.object_type, body.object_id))
    return Answer(None, await objects.delete_objects(call.context, refs, call.stamp()))


async def list_page(call: Call[None]) -> Answer[ListAnswer[ObjectAnswer]]:
    text = read_search(call.parameters)
    bounds = read_page_request(OBJECT_LIST, call.parameters, call.context.store.identity)
    only = ObjectFilter(_read_type_filter(call.parameters.get("objectType")), text)
    is_strict = call.is_strict
    bounds = await pin_page(call.context, bounds, call.as_of, call.freshness)
    page = await objects.list_objects(call.context, bounds, only, call.freshness)
    if is_strict and not page.value.rows and (of_type := call.parameters.get("objectType")):
        is_past, names = bounds.now is not None, [UsedName(of_type)]
        await require_defined_names(
            call.context, names, page.revision, NO_CHANGES, is_past=is_past, visible=call.visible_types
        )
    return Answer(await render_page(page.value, _render_object), page.revision)


def _read_object_ref(call: Call[Any]) -> ObjectRef:
    """Returns the object in the path. Raises NotFound for an invalid name, as for an object that does not exist."""
    of_type, own_id = call.path["objectType"], call.path["objectId"]
    try:
        return object_ref(of_type, own_id)
    except InvalidParameter:
        raise NotFound(of_type, own_id) from None


def _read_type_filter(text: str | None) -> str | None:
    """Returns the type to filter by, or None for no filter. An invalid name becomes the empty type, which no object
    has."""
    if not text:
        return None
    try:
        return type_name(text, "objectType")
    except InvalidParameter:
        return TypeName("")


def _render_object(row: StoredObject) -> ObjectAnswer:
    meta = msgspec.UNSET if row.meta is None else msgspec.Raw(row.meta)
    return ObjectAnswer(object_type=row.type, object_id=row.id, meta=meta, created_at=render_time(row.created_at))
