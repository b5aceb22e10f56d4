"""Handles the reads of OpenFGA's API (docs/openfga.md#tuples)."""

from collections.abc import Mapping
from typing import Any

import msgspec

from magistrate.api.calls import Answer, Call
from magistrate.api.http.json_values import render_time
from magistrate.api.http.openfga_errors import INVALID
from magistrate.api.openfga.tokens import INVALID_TOKEN, read_continuation, read_page_size, write_continuation
from magistrate.api.openfga.tuples import TupleKeyBody, with_consistency
from magistrate.engine.importers.names import STABLE
from magistrate.engine.names import Revision
from magistrate.engine.openfga.tuples import TYPE, read_object, read_relation, read_user
from magistrate.engine.openfga.validation import convert_object, convert_user
from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import OpenFgaRefusal
from magistrate.operations.openfga.names import ForeignNames, find_names, is_tuple
from magistrate.store.contract.lists import Slice, WarrantFilter

_ROWS_AT_ONCE = 200
_MAX_SLICES = 100
"""Limits how many slices are read for one page, in which there are no tuples: the page then is a short one."""


class ReadBody(msgspec.Struct, frozen=True):
    """Represents which tuples are read."""

    tuple_key: TupleKeyBody | None = None
    page_size: Any = None
    continuation_token: Any = None
    consistency: Any = None


class StoredConditionAnswer(msgspec.Struct, frozen=True):
    """Represents the condition of a tuple, with the values that the tuple gives it."""

    name: str
    context: Mapping[str, Any]


class StoredKeyAnswer(msgspec.Struct, frozen=True):
    """Represents a tuple."""

    user: str
    relation: str
    object: str
    condition: StoredConditionAnswer | None = None


class StoredTupleAnswer(msgspec.Struct, frozen=True):
    """Represents a tuple and when it was written."""

    key: StoredKeyAnswer
    timestamp: str


class ReadAnswer(msgspec.Struct, frozen=True):
    """Represents a page of tuples, the oldest first."""

    tuples: list[StoredTupleAnswer]
    continuation_token: str


async def read(call: Call[ReadBody]) -> Answer[ReadAnswer]:
    call = with_consistency(call, call.body.consistency)
    body, ctx = call.body, call.context
    equal = {} if body.tuple_key is None else _read_filter(body.tuple_key)
    size = read_page_size(body.page_size)
    of_list = f"read {msgspec.json.encode(equal).decode()}"
    boundary = _read_boundary(read_continuation(ctx.store.identity, of_list, body.continuation_token))
    only = WarrantFilter(equal, unexpired_at=ctx.now())
    rows: list[Warrant] = []
    revision, has_more = Revision(0), True
    for _ in range(_MAX_SLICES):
        part = Slice("createdAt", _ROWS_AT_ONCE, boundary=boundary)
        listed = await ctx.store.list_warrants(part, only)
        revision = listed.revision
        for warrant in listed.value.rows:
            if is_tuple(warrant) and len(rows) <= size:
                rows.append(warrant)
        has_more = len(rows) > size or listed.value.follows
        if len(rows) > size or not listed.value.follows:
            break
        boundary = _place(listed.value.rows[-1])
    call.freshness.demand(revision)
    page = rows[:size]
    end = _place(page[-1]) if len(rows) > size else boundary
    token = write_continuation(ctx.store.identity, of_list, " ".join(map(str, end or ()))) if has_more else ""
    names = await find_names(ctx, page)
    return Answer(ReadAnswer([_render_tuple(row, names) for row in page], token), revision)


def _render_tuple(warrant: Warrant, names: ForeignNames) -> StoredTupleAnswer:
    return StoredTupleAnswer(render_key(warrant, names), render_time(warrant.created_at))


def render_key(warrant: Warrant, names: ForeignNames) -> StoredKeyAnswer:
    """Returns the tuple that a warrant is."""
    condition = names.describe_condition(warrant)
    return StoredKeyAnswer(*names.describe(warrant), None if condition is None else StoredConditionAnswer(*condition))


def _place(warrant: Warrant) -> tuple[int, int]:
    return warrant.created_at, warrant.number


def _read_boundary(position: str) -> tuple[int, ...] | None:
    if not position:
        return None
    try:
        created_at, number = map(int, position.split(" "))
    except ValueError:
        raise OpenFgaRefusal(INVALID_TOKEN, "the continuation token is not one of this list") from None
    return created_at, number


def _read_filter(key: TupleKeyBody) -> Mapping[str, str]:
    """Returns the columns and values that a key selects by. Raises OpenFgaRefusal for other forms than those of
    OpenFGA: an object, with or without the rest, or a type with a user."""
    of_type, colon, object_id = (key.object or "").partition(":")
    if not colon or (not object_id and not key.user):
        raise OpenFgaRefusal(INVALID, "object must have the form type:id, or type: if there is a user")
    equal: dict[str, str] = {}
    if object_id:
        on_object = convert_object(read_object(key.object))
        equal |= {"object_type": on_object.type, "object_id": on_object.id}
    elif TYPE.fullmatch(of_type):
        equal["object_type"] = STABLE.name_type(of_type)
    else:
        raise OpenFgaRefusal(INVALID, "object must begin with the name of a type")
    if key.relation:
        equal["relation"] = STABLE.name_link(read_relation(key.relation))
    if key.user:
        subject = convert_user(read_user(key.user))
        names = {"subject_type": subject.type, "subject_id": subject.id, "subject_relation": subject.relation}
        equal |= names
    return equal
