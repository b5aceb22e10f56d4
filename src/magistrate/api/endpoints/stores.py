"""Defines the bodies and handlers of /v2/stores (docs/stores.md)."""

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from magistrate.api.calls import Answer, Call
from magistrate.api.endpoints.lists import ListAnswer, render_page
from magistrate.api.http.json_values import render_time
from magistrate.api.http.request_values import document_pattern
from magistrate.errors import InvalidParameter, MissingParameter
from magistrate.operations.paging import read_page_request, read_search
from magistrate.operations.stores import stores
from magistrate.operations.stores.stores import MAX_DESCRIPTION_LENGTH, STORE_LIST, StoreDraft, read_store_name
from magistrate.store.contract.stores import StoredStore, StoreLimits

MAX_LIMIT = 1_000_000_000
"""Limits the limits of a store."""

NameText = Annotated[str, document_pattern(r"^[a-z0-9-]{1,63}$")]
DescriptionText = Annotated[str, msgspec.Meta(extra_json_schema={"maxLength": MAX_DESCRIPTION_LENGTH})]
LimitNumber = Annotated[int, msgspec.Meta(extra_json_schema={"minimum": 1, "maximum": MAX_LIMIT})]


class LimitsBody(msgspec.Struct, rename="camel", frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Represents the limits of a store: how many warrants and objects it holds, and how many requests it gets a second
    in each node. One that is absent or null is no limit."""

    warrants: LimitNumber | None = None
    objects: LimitNumber | None = None
    requests_per_second: LimitNumber | None = None


class StoreBody(msgspec.Struct, rename={"model_of": "from"}, frozen=True, forbid_unknown_fields=True):
    """Represents a store to create. `from` names a store whose model is copied."""

    name: NameText | None = None
    description: DescriptionText | None = None
    limits: LimitsBody | None = None
    model_of: str | None = None


class StoreChangeBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Represents what is to be changed of a store: each member replaces the whole, and null removes it."""

    name: NameText | UnsetType = UNSET
    description: DescriptionText | UnsetType | None = UNSET
    limits: LimitsBody | UnsetType | None = UNSET


class UsageAnswer(msgspec.Struct):
    """Represents how many warrants and objects a store holds."""

    warrants: int
    objects: int


class StoreAnswer(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """Represents a store."""

    id: str
    name: str
    description: str | None = None
    created_at: str
    limits: LimitsBody
    usage: UsageAnswer


async def create(call: Call[StoreBody]) -> Answer[StoreAnswer]:
    body = call.body
    if not body.name:
        raise MissingParameter("name")
    draft = StoreDraft(
        read_store_name(body.name), _read_description(body.description), _read_limits(body.limits), body.model_of
    )
    made = await stores.create_store(call.context, draft, call.caller.actor)
    return Answer(_render_store(made.value), made.revision)


async def get(call: Call[None]) -> Answer[StoreAnswer]:
    stored = await stores.get_store(call.context, call.path["store"], call.freshness)
    return Answer(_render_store(stored.value), stored.revision)


async def list_page(call: Call[None]) -> Answer[ListAnswer[StoreAnswer]]:
    bounds = read_page_request(STORE_LIST, call.parameters, call.context.store.identity)
    prefix = read_search(call.parameters) or ""
    page = await stores.list_stores(call.context, bounds, prefix, call.freshness)
    return Answer(await render_page(page.value, _render_store), page.revision)


async def update(call: Call[StoreChangeBody]) -> Answer[StoreAnswer]:
    body = call.body
    changed = await stores.update_store(
        call.context,
        call.path["store"],
        name=None if body.name is UNSET else read_store_name(body.name),
        description=None if body.description is UNSET else _read_description(body.description),
        limits=None if body.limits is UNSET else _read_limits(body.limits),
    )
    return Answer(_render_store(changed.value), changed.revision)


async def delete(call: Call[None]) -> Answer[None]:
    return Answer(None, await stores.delete_store(call.context, call.path["store"]))


def _read_description(text: str | None) -> str:
    if text is not None and (len(text) > MAX_DESCRIPTION_LENGTH or "\0" in text):
        raise InvalidParameter("description", f"must be at most {MAX_DESCRIPTION_LENGTH} characters, none of them NUL")
    return text or ""


def _read_limits(body: LimitsBody | None) -> StoreLimits:
    limits = StoreLimits() if body is None else StoreLimits(body.warrants, body.objects, body.requests_per_second)
    for name, limit in (("warrants", limits.warrants), ("objects", limits.objects)):
        _require_limit(name, limit)
    _require_limit("requestsPerSecond", limits.requests_per_second)
    return limits


def _require_limit(name: str, limit: int | None) -> None:
    if limit is not None and not 1 <= limit <= MAX_LIMIT:
        raise InvalidParameter(f"limits.{name}", f"must be from 1 to {MAX_LIMIT}, or null for no limit")


def _render_store(stored: StoredStore) -> StoreAnswer:
    limits = stored.limits
    return StoreAnswer(
        id=stored.id,
        name=stored.name,
        description=stored.description or None,
        created_at=render_time(stored.created_at),
        limits=LimitsBody(limits.warrants, limits.objects, limits.requests_per_second),
        usage=UsageAnswer(stored.usage.warrants, stored.usage.objects),
    )
