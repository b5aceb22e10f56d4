"""Defines the bodies and handlers of /v2/writes, which changes warrants and objects together, and of
/v2/warrants/delete, which deletes warrants by filter (docs/api.md#writes and docs/api.md#deleting-by-filter).

Unknown members are refused in them, except within warrants and objects: a misspelled precondition would not be
looked at, and a misspelled member of a filter would delete more than was meant."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, TypeVar

import msgspec

from magistrate.api.calls import Answer, Call
from magistrate.api.endpoints.objects import ObjectBody, ObjectRefBody, TypeText
from magistrate.api.endpoints.warrant_bodies import read_plain_bodies
from magistrate.api.endpoints.warrants import (
    IdOrWildcard,
    RelationText,
    WarrantBody,
    read_named_warrant,
    read_warrant,
    read_warrant_policies,
)
from magistrate.api.http.request_values import read_elements
from magistrate.engine.terms import ObjectRef, object_ref
from magistrate.errors import InvalidParameter, InvalidRequest, MissingParameter
from magistrate.operations.consistency import read_revision
from magistrate.operations.context import Context
from magistrate.operations.scheduling import checkpoint
from magistrate.operations.writes import warrants
from magistrate.operations.writes.objects import render_meta
from magistrate.operations.writes.warrants import FILTERS, read_exact_filter
from magistrate.store.contract.new_rows import NewObject, NewWarrant
from magistrate.store.contract.store import AtomicWrite, Precondition

B = TypeVar("B")
T = TypeVar("T")

MAX_ELEMENTS = 1_000
"""Limits what a write deletes and creates, taken together, and separately its preconditions."""
READ_TOGETHER = 250
"""Limits the elements that are read before other requests may run; each takes up to ten microseconds, or one if it is a
plain warrant."""
MAX_DELETED = 10_000
"""Limits the warrants that one request deletes by filter."""
DEFAULT_DELETED = 1_000

_LIMITS = msgspec.Meta(extra_json_schema={"minimum": 1, "maximum": MAX_DELETED, "default": DEFAULT_DELETED})
_AT_MOST_ELEMENTS = msgspec.Meta(extra_json_schema={"maxItems": MAX_ELEMENTS})


class StoredRefBody(WarrantBody, frozen=True, omit_defaults=True):
    """Represents what a precondition names: a warrant, as in a request that deletes it, or with `objectType` and
    `objectId` alone an object."""


class PreconditionBody(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Represents one precondition: exactly one of the members. `revision` is a token."""

    exists: StoredRefBody | None = None
    absent: StoredRefBody | None = None
    revision: str | None = None


class DeletionsBody(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Represents what a write deletes."""

    warrants: Annotated[list[WarrantBody], _AT_MOST_ELEMENTS] | None = None
    objects: Annotated[list[ObjectRefBody], _AT_MOST_ELEMENTS] | None = None


class NamedObjectBody(ObjectBody, frozen=True):
    """Represents an object to create or replace. It needs an id, because the answer could not report a generated
    one."""


class CreationsBody(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Represents what a write creates."""

    warrants: Annotated[list[WarrantBody], _AT_MOST_ELEMENTS] | None = None
    objects: Annotated[list[NamedObjectBody], _AT_MOST_ELEMENTS] | None = None


class WriteBody(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Represents a write: all of it is done if all preconditions hold, deletions first."""

    preconditions: Annotated[list[PreconditionBody], _AT_MOST_ELEMENTS] | None = None
    delete: DeletionsBody | None = None
    create: CreationsBody | None = None


class WriteAnswer(msgspec.Struct):
    """Counts the elements that created or replaced something, that deleted something, and that changed nothing."""

    created: int
    deleted: int
    unchanged: int


class WarrantFilterBody(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Represents the values that a warrant must have; an id of `*` matches only `*`."""

    object_type: TypeText | None = None
    object_id: IdOrWildcard | None = None
    relation: RelationText | None = None
    subject_type: TypeText | None = None
    subject_id: IdOrWildcard | None = None
    subject_relation: RelationText | None = None


class FilteredDeletionBody(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Represents a delete by filter. With `dryRun` nothing is deleted."""

    filter: WarrantFilterBody | None = None
    limit: Annotated[int | None, _LIMITS] = None
    dry_run: bool | None = None


class FilteredDeletionAnswer(msgspec.Struct):
    """Counts the warrants that were deleted; `more` says that more matched than the limit allowed."""

    deleted: int
    more: bool


async def write(call: Call[WriteBody]) -> Answer[WriteAnswer]:
    atomic_write = await _read_write(call.context, call.body)
    written = await warrants.write(call.context, atomic_write, call.stamp(), lambda place: f"create.warrants[{place}].")
    counts = written.value
    return Answer(WriteAnswer(counts.created, counts.deleted, counts.unchanged), written.revision)


async def delete_matching(call: Call[FilteredDeletionBody]) -> Answer[FilteredDeletionAnswer]:
    body = call.body
    if body.filter is None:
        raise MissingParameter("filter")
    filters = {parameter: getattr(body.filter, column) for parameter, (column, _) in FILTERS.items()}
    equal = read_exact_filter(filters)
    limit = DEFAULT_DELETED if body.limit is None else body.limit
    if not 1 <= limit <= MAX_DELETED:
        raise InvalidParameter("limit", f"must be between 1 and {MAX_DELETED}")
    deleted = await warrants.delete_matching(call.context, equal, limit, call.stamp, is_dry_run=bool(body.dry_run))
    return Answer(FilteredDeletionAnswer(deleted.value.deleted, deleted.value.has_more), deleted.revision)


async def _read_write(ctx: Context, body: WriteBody) -> AtomicWrite:
    """Reads the members in their order. Raises InvalidRequest and InvalidParameter."""
    preconditions = body.preconditions or []
    deletions, creations = body.delete or DeletionsBody(), body.create or CreationsBody()
    ended, deleted = deletions.warrants or [], deletions.objects or []
    new, objects = creations.warrants or [], creations.objects or []
    elements = len(ended) + len(deleted) + len(new) + len(objects)
    if len(preconditions) > MAX_ELEMENTS:
        raise InvalidRequest(f"a write can have at most {MAX_ELEMENTS} preconditions, not {len(preconditions)}")
    if not 1 <= elements <= MAX_ELEMENTS:
        raise InvalidRequest(f"a write must delete and create 1 to {MAX_ELEMENTS} elements in all, not {elements}")
    policies = await read_warrant_policies(new)
    return AtomicWrite(
        await read_in_steps("preconditions", preconditions, partial(_read_precondition, ctx)),
        await read_in_steps("delete.warrants", ended, read_named_warrant, read_plain_bodies),
        await read_in_steps("delete.objects", deleted, lambda body: object_ref(body.object_type, body.object_id)),
        warrants=await read_in_steps("create.warrants", new, partial(read_warrant, policies), read_plain_bodies),
        objects=await read_in_steps("create.objects", objects, partial(_read_object, ctx)),
    )


async def read_in_steps(
    name: str,
    bodies: Sequence[B],
    read: Callable[[B], T],
    read_together: Callable[[Sequence[B]], Sequence[T] | None] = lambda bodies: None,
) -> list[T]:
    """Reads the elements of the array of this name, and yields to other requests in between. Elements for which
    `read_together` returns None are read one by one."""
    values: list[T] = []
    for start in range(0, len(bodies), READ_TOGETHER):
        some = bodies[start : start + READ_TOGETHER]
        values += read_together(some) or read_elements(some, read, name, start)
        await checkpoint()
    return values


def _read_object(ctx: Context, body: NamedObjectBody) -> NewObject:
    ref = object_ref(body.object_type, body.object_id)
    return NewObject(ref.type, ref.id, render_meta(ctx, body.meta))


def _read_precondition(ctx: Context, body: PreconditionBody) -> Precondition:
    members = [member for member in (body.exists, body.absent, body.revision) if member is not None]
    if len(members) != 1:
        raise InvalidParameter("exists", "a precondition has exactly one of exists, absent and revision")
    if body.revision is not None:
        return Precondition(read_revision(ctx.store.identity, "revision", body.revision))
    if body.exists is not None:
        return Precondition(_read_stored_ref(body.exists))
    assert body.absent is not None
    return Precondition(_read_stored_ref(body.absent), is_absent=True)


def _read_stored_ref(body: StoredRefBody) -> ObjectRef | NewWarrant:
    if (body.relation, body.subject, body.policy, body.context) == (None, None, None, None):
        return object_ref(body.object_type, body.object_id)
    return read_named_warrant(body)
