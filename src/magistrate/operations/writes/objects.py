"""Creates, reads, updates, deletes and lists objects (docs/compatibility.md#objects,
docs/compatibility.md#lists-and-cursors and docs/compatibility.md#batches)."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from magistrate.engine.names import ObjectId, Revision, TypeName
from magistrate.engine.terms import ObjectRef, object_id
from magistrate.errors import InvalidParameter, NotFound
from magistrate.operations.consistency import Freshness
from magistrate.operations.context import Context
from magistrate.operations.history.points_in_time import AsOf, find_revision
from magistrate.operations.paging import LegacyCursor, ListKind, Page, PageRequest, Sort, Values, read_page
from magistrate.store.contract.lists import ObjectFilter, Snapshot
from magistrate.store.contract.new_rows import NewObject, Stamp
from magistrate.store.contract.stored_rows import StoredObject

ABOVE_ALL_TYPES = "~"
"""Sorts after every valid type name."""


def _read_legacy_values(sort: str, cursor: LegacyCursor) -> Values:
    """Returns the boundary for a legacy cursor. It gives only the id of the row: of several objects with that id, all
    or none lie after it."""
    cursor_id = object_id(cursor.id, cursor.id_parameter)
    of_type = ABOVE_ALL_TYPES if cursor.is_upwards else ""
    if sort == "objectType":
        return (cursor.text() or "", cursor_id)
    return (cursor_id, of_type) if sort == "objectId" else (cursor.time(), cursor_id, of_type)


OBJECT_LIST: ListKind[StoredObject] = ListKind(
    "objects",
    {
        "objectId": Sort("objectId", lambda row: (row.id, row.type)),
        "createdAt": Sort("createdAt", lambda row: (row.created_at, row.id, row.type)),
        "objectType": Sort("objectType", lambda row: (row.type, row.id)),
    },
    legacy_values=_read_legacy_values,
)


class ObjectDraft(msgspec.Struct, frozen=True):
    """Represents an object as requested by a caller; without an id it gets one. `meta` is compact JSON of a non-empty
    object, or None."""

    type: TypeName
    id: ObjectId | None
    meta: str | None


def render_meta(ctx: Context, meta: Mapping[str, Any] | None) -> str | None:
    """Returns meta as it is stored; an empty one counts as none. Raises InvalidParameter above the limit."""
    if not meta:
        return None
    text = msgspec.json.encode(meta)
    if len(text) > ctx.max_meta_bytes:
        raise InvalidParameter("meta", f"must be at most {ctx.max_meta_bytes} bytes of JSON")
    return text.decode()


async def create_objects(
    ctx: Context, drafts: Sequence[ObjectDraft], stamp: Stamp
) -> Snapshot[tuple[StoredObject, ...]]:
    """Creates each object, or replaces its meta; returns one row for each, in the same order. All or nothing."""
    return await ctx.store.put_objects([_new_object(ctx, draft) for draft in drafts], stamp)


async def get_object(
    ctx: Context, ref: ObjectRef, freshness: Freshness, as_of: AsOf | None = None
) -> Snapshot[StoredObject]:
    """Returns the object. Raises NotFound, InvalidParameter if the token is from the future, and what `find_revision`
    raises."""
    stored = await ctx.store.get_object(ref, await find_revision(ctx, as_of, freshness))
    if as_of is None:
        freshness.demand(stored.revision)
    if stored.value is None:
        raise NotFound(ref.type, ref.id)
    return Snapshot(stored.revision, stored.value)


async def update_object(ctx: Context, ref: ObjectRef, meta: str | None, stamp: Stamp) -> Snapshot[StoredObject]:
    """Replaces the whole meta. Raises NotFound."""
    written = await ctx.store.replace_meta(ref, meta, stamp)
    return Snapshot(written.revision, written.value[0])


async def delete_objects(ctx: Context, refs: Sequence[ObjectRef], stamp: Stamp) -> Revision:
    """Deletes the objects. Raises NotFound for the first that does not exist, and then deletes none."""
    return await ctx.store.delete_objects(refs, stamp)


async def list_objects(
    ctx: Context,
    page_request: PageRequest,
    only: ObjectFilter,
    freshness: Freshness,
    kind: ListKind[StoredObject] = OBJECT_LIST,
) -> Snapshot[Page[StoredObject]]:
    read = partial(ctx.store.list_objects, only=only)
    return await read_page(kind, page_request, freshness, ctx.store, read=read)


def _new_object(ctx: Context, draft: ObjectDraft) -> NewObject:
    if draft.id is None:
        return NewObject(draft.type, ObjectId(ctx.new_id()), draft.meta, fresh=True)
    return NewObject(draft.type, draft.id, draft.meta)
