"""Handles the lists of users of OpenFGA's API (docs/openfga.md#lists)."""

from typing import Any

import msgspec

from magistrate.api.calls import Answer, Call
from magistrate.api.http.openfga_errors import INVALID
from magistrate.api.openfga.tuples import (
    MODEL_ID,
    TupleKeyBody,
    read_context,
    read_contextual_list,
    read_model_id,
    with_consistency,
)
from magistrate.engine.openfga.ids import decode_id
from magistrate.engine.openfga.tuples import read_object, read_relation, read_type
from magistrate.engine.openfga.validation import OF_LISTS, convert_object, find_relation, find_type
from magistrate.errors import OpenFgaRefusal
from magistrate.operations.openfga.users import UserResults, UserSearch, list_users


class UsersObjectBody(msgspec.Struct, frozen=True):
    """Represents the object whose users are listed."""

    type: str | None = None
    id: str | None = None


class UserFilterBody(msgspec.Struct, frozen=True):
    """Represents which users are listed: those of a type, or usersets."""

    type: str | None = None
    relation: str | None = None


class ListUsersBody(msgspec.Struct, frozen=True):
    """Represents a list of the users who have a relation on an object."""

    object: UsersObjectBody | None = None
    relation: str | None = None
    user_filters: list[UserFilterBody] | None = None
    contextual_tuples: list[TupleKeyBody] | None = None
    context: dict[str, Any] | None = None
    authorization_model_id: str | None = None
    consistency: Any = None


class UserObjectAnswer(msgspec.Struct, frozen=True):
    """Represents a user."""

    type: str
    id: str


class UsersetAnswer(msgspec.Struct, frozen=True):
    """Represents a userset."""

    type: str
    id: str
    relation: str


class WildcardAnswer(msgspec.Struct, frozen=True):
    """Represents all users of a type."""

    type: str


class UserAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Represents an element of the list, which has one of the members."""

    object: UserObjectAnswer | msgspec.UnsetType = msgspec.UNSET
    userset: UsersetAnswer | msgspec.UnsetType = msgspec.UNSET
    wildcard: WildcardAnswer | msgspec.UnsetType = msgspec.UNSET


class ListUsersAnswer(msgspec.Struct, frozen=True):
    """Represents all users."""

    users: list[UserAnswer]


async def answer_users(call: Call[ListUsersBody]) -> Answer[ListUsersAnswer]:
    call = with_consistency(call, call.body.consistency)
    body, ctx = call.body, call.context
    if body.object is None:
        raise OpenFgaRefusal(INVALID, "object is missing")
    named = read_object(f"{body.object.type or ''}:{body.object.id or ''}")
    relation, only = read_relation(body.relation), _read_filter(body.user_filters)
    used = await ctx.caches.openfga.find_used(read_model_id(body.authorization_model_id))
    document = used.compiled.document
    described = find_relation(document, named.type, relation, OF_LISTS)
    searched = find_type(document, only.type, OF_LISTS).name
    userset = find_relation(document, only.type, only.relation, OF_LISTS).name if only.relation else ""
    context = read_context(body.context, document, ctx.max_context_bytes)
    contextual = read_contextual_list(body.contextual_tuples or (), document)
    search = UserSearch(convert_object(named), described.name, searched, userset, context, contextual)
    listed = await list_users(ctx, used, search, call.freshness)
    return Answer(ListUsersAnswer(_render(only, listed.value)), listed.revision, {MODEL_ID: used.compiled.id})


class _Filter(msgspec.Struct, frozen=True):
    type: str
    relation: str


def _read_filter(filters: list[UserFilterBody] | None) -> _Filter:
    """Returns the one filter. Raises OpenFgaRefusal."""
    if filters is None or len(filters) != 1:
        raise OpenFgaRefusal(INVALID, "user_filters must have exactly one element")
    only = filters[0]
    return _Filter(read_type(only.type), read_relation(only.relation) if only.relation else "")


def _render(only: _Filter, listed: UserResults) -> list[UserAnswer]:
    if only.relation:
        ids = map(decode_id, listed.ids)
        return [UserAnswer(userset=UsersetAnswer(only.type, each, only.relation)) for each in ids]
    users = [UserAnswer(object=UserObjectAnswer(only.type, decode_id(each))) for each in listed.ids]
    if listed.has_wildcard:
        users.append(UserAnswer(wildcard=WildcardAnswer(only.type)))
    return users
