"""Defines the bodies and handlers of /v2/saved-queries (docs/query-language.md#saved-queries)."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from magistrate.api.calls import Answer, Call
from magistrate.api.endpoints.lists import ListAnswer, render_page
from magistrate.api.endpoints.objects import MetaJson
from magistrate.api.endpoints.policies import check_context_size
from magistrate.api.http.json_values import render_time
from magistrate.engine.lists.language import MAX_QUERY_LENGTH, read_query
from magistrate.engine.terms import MAX_DESCRIPTION_LENGTH, read_description
from magistrate.errors import InvalidParameter, MissingParameter
from magistrate.operations.lists import saved_queries
from magistrate.operations.lists.saved_queries import SAVED_QUERY_LIST, SavedQueryChange, SavedQueryDraft
from magistrate.operations.paging import read_page_request
from magistrate.store.contract.saved_queries import SavedQuery

MAX_NAME_LENGTH = 100
MAX_CONTEXT_BYTES = 4_096
"""Limits the context of a saved query in bytes of compact JSON (4 KiB); a page of a list has many."""

NameText = Annotated[str, msgspec.Meta(extra_json_schema={"maxLength": MAX_NAME_LENGTH})]
QueryText = Annotated[str, msgspec.Meta(extra_json_schema={"maxLength": MAX_QUERY_LENGTH})]
SavedDescriptionText = Annotated[str, msgspec.Meta(extra_json_schema={"maxLength": MAX_DESCRIPTION_LENGTH})]


class SavedQueryBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Represents a query to save: `q` and `context` are those of `/v2/query`."""

    name: NameText | None = None
    q: QueryText | None = None
    context: dict[str, Any] | None = None
    description: SavedDescriptionText | None = None


class SavedQueryChangeBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Represents what is to be changed of a saved query: each member replaces the whole, and null removes it."""

    name: NameText | UnsetType = UNSET
    q: QueryText | UnsetType = UNSET
    context: dict[str, Any] | UnsetType | None = UNSET
    description: SavedDescriptionText | UnsetType | None = UNSET


class SavedQueryAnswer(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """Represents a saved query. `q` and `context` are members of the body of `POST /v2/query`."""

    id: str
    name: str
    q: str
    context: MetaJson = UNSET
    description: str | None = None
    created_at: str
    created_by: str


async def create(call: Call[SavedQueryBody]) -> Answer[SavedQueryAnswer]:
    body = call.body
    for name in ("name", "q"):
        if not getattr(body, name):
            raise MissingParameter(name)
    draft = SavedQueryDraft(
        _read_name(body.name or ""),
        read_description(body.description, "description"),
        _read_text(body.q or ""),
        _encode_context(call, body.context),
    )
    created = await saved_queries.create_saved_query(call.context, draft, call.caller.actor)
    return Answer(_render(created.value), created.revision)


async def get(call: Call[None]) -> Answer[SavedQueryAnswer]:
    stored = await saved_queries.get_saved_query(call.context, call.path["id"], call.freshness)
    return Answer(_render(stored.value), stored.revision)


async def list_page(call: Call[None]) -> Answer[ListAnswer[SavedQueryAnswer]]:
    bounds = read_page_request(SAVED_QUERY_LIST, call.parameters, call.context.store.identity)
    page = await saved_queries.list_saved_queries(call.context, bounds, call.freshness)
    return Answer(await render_page(page.value, _render), page.revision)


async def update(call: Call[SavedQueryChangeBody]) -> Answer[SavedQueryAnswer]:
    body = call.body
    change = SavedQueryChange(
        None if body.name is UNSET else _read_name(body.name),
        None if body.description is UNSET else read_description(body.description, "description"),
        None if body.q is UNSET else _read_text(body.q),
        UNSET if body.context is UNSET else _encode_context(call, body.context),
    )
    changed = await saved_queries.update_saved_query(call.context, call.path["id"], change)
    return Answer(_render(changed.value), changed.revision)


async def delete(call: Call[None]) -> Answer[None]:
    return Answer(None, await saved_queries.delete_saved_query(call.context, call.path["id"]))


def _read_name(text: str) -> str:
    if not 1 <= len(text) <= MAX_NAME_LENGTH or not text.isprintable() or text != text.strip():
        message = f"must be 1 to {MAX_NAME_LENGTH} printable characters, without blanks at its beginning and end"
        raise InvalidParameter("name", message)
    return text


def _read_text(text: str) -> str:
    """Returns the text of a query as it is written. Raises InvalidParameter if it is none."""
    read_query(text)
    return text


def _encode_context(call: Call[Any], context: Mapping[str, Any] | None) -> str | None:
    """Returns the text of a context, None for an empty one. Raises InvalidParameter if it is too large."""
    if not context:
        return None
    check_context_size(context, min(call.context.max_context_bytes, MAX_CONTEXT_BYTES))
    return msgspec.json.encode(context).decode()


def _render(row: SavedQuery) -> SavedQueryAnswer:
    return SavedQueryAnswer(
        id=row.id,
        name=row.name,
        q=row.q,
        context=UNSET if row.context is None else msgspec.Raw(row.context),
        description=row.description or None,
        created_at=render_time(row.created_at),
        created_by=row.created_by,
    )
