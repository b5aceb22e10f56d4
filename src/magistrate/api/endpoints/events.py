"""Handles the event lists of v2 and v1 (docs/compatibility.md#events)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Generic, TypeVar

import msgspec

from magistrate.api.calls import Answer, Call
from magistrate.api.endpoints.lists import ListAnswer, render_page
from magistrate.api.endpoints.objects import MetaJson
from magistrate.api.endpoints.warrants import render_limits
from magistrate.api.http.consistency_tokens import token_of
from magistrate.api.http.json_values import render_time
from magistrate.engine.names import Revision
from magistrate.engine.warrants.warrant import warrant_names
from magistrate.operations.history import events
from magistrate.operations.history.events import (
    ACCESS_EVENT_LIST,
    ACCESS_TYPES,
    DEFINITIONS,
    RESOURCE_EVENT_LIST,
    SOURCE,
    event_id,
    read_access_filter,
    read_event_id,
    read_following,
    read_resource_filter,
    render_resource_kind,
)
from magistrate.operations.paging import ListKind, Page, PageRequest, read_page_request
from magistrate.store.contract.events import Event, EventFilter
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.stored_rows import Identity

A = TypeVar("A")

_TYPES = {kind_and_action: name for name, of_type in ACCESS_TYPES.items() for kind_and_action in of_type}


class ResourceEventAnswer(msgspec.Struct, rename="camel", kw_only=True):
    """Represents the creation, update or deletion of an object, an object type or a named policy, or the end of a
    webhook; `meta` is the meta of the object, the definition, or why nothing is sent to the webhook any more. `kind`
    tells objects from definitions, whatever their types are called. `token` names the revision that made the change.
    `actor` says who made it, and `requestId` is the header `Warrant-Request-Id` of the request, if there was one."""

    id: str
    type: str
    source: str = SOURCE
    kind: str
    resource_type: str
    resource_id: str
    meta: MetaJson = msgspec.UNSET
    created_at: str
    token: str
    actor: str | msgspec.UnsetType = msgspec.UNSET
    request_id: str | msgspec.UnsetType = msgspec.UNSET


class AccessEventAnswer(msgspec.Struct, rename="camel", kw_only=True):
    """Represents a warrant that was created, renewed, deleted or checked, or has expired; `meta` has its `policy`,
    `startsAt` and `expiresAt`, as far as it has them, or is the context of the check. `token` names the revision that
    made the change, or at which the check was decided. `actor` and `requestId` are as in ResourceEventAnswer."""

    id: str
    type: str
    source: str = SOURCE
    object_type: str
    object_id: str
    relation: str
    subject_type: str
    subject_id: str
    subject_relation: str | msgspec.UnsetType = msgspec.UNSET
    meta: MetaJson = msgspec.UNSET
    created_at: str
    token: str | msgspec.UnsetType = msgspec.UNSET
    actor: str | msgspec.UnsetType = msgspec.UNSET
    request_id: str | msgspec.UnsetType = msgspec.UNSET


class EventsAnswer(msgspec.Struct, Generic[A], rename="camel", omit_defaults=True):
    """Represents a page of v1. `lastId` is omitted on the last page, unless events are followed with `after`."""

    events: list[A]
    last_id: str | None = None


async def list_resource_events(call: Call[None]) -> Answer[ListAnswer[ResourceEventAnswer]]:
    return await _page(
        call, RESOURCE_EVENT_LIST, read_resource_filter(call.parameters, call.is_limited), _render_resource_event
    )


async def list_access_events(call: Call[None]) -> Answer[ListAnswer[AccessEventAnswer]]:
    return await _page(call, ACCESS_EVENT_LIST, read_access_filter(call.parameters), _render_access_event)


async def list_resource_events_v1(call: Call[None]) -> Answer[EventsAnswer[ResourceEventAnswer]]:
    return await _page_v1(
        call, RESOURCE_EVENT_LIST, read_resource_filter(call.parameters, call.is_limited), _render_resource_event
    )


async def list_access_events_v1(call: Call[None]) -> Answer[EventsAnswer[AccessEventAnswer]]:
    return await _page_v1(call, ACCESS_EVENT_LIST, read_access_filter(call.parameters), _render_access_event)


Shown = Callable[[Identity, Event], A]


async def _page(call: Call[None], kind: ListKind[Event], only: EventFilter, shown: Shown[A]) -> Answer[ListAnswer[A]]:
    identity = call.context.store.identity
    followed = await _follow(call, kind, only, "nextCursor")
    if followed is None:
        bounds = read_page_request(kind, call.parameters, identity)
        followed = await events.list_events(call.context, kind, bounds, only, freshness=call.freshness)
    return Answer(await render_page(followed.value, lambda event: shown(identity, event)), followed.revision)


async def _page_v1(
    call: Call[None], kind: ListKind[Event], only: EventFilter, shown: Shown[A]
) -> Answer[EventsAnswer[A]]:
    identity = call.context.store.identity
    followed = await _follow(call, kind, only, "lastId")
    if followed is None:
        bounds = _read_page_size(call, kind)
        if "lastId" in call.parameters:
            boundary = read_event_id(identity, call.parameters["lastId"])
            bounds = replace(bounds, slice=replace(bounds.slice, boundary=boundary))
        followed = await events.list_events(call.context, kind, bounds, only, freshness=call.freshness)
        last_id = event_id(identity, followed.value.rows[-1]) if followed.value.next_cursor is not None else None
    else:
        last_id = followed.value.next_cursor
    return Answer(EventsAnswer([shown(identity, event) for event in followed.value.rows], last_id), followed.revision)


async def _follow(
    call: Call[None], kind: ListKind[Event], only: EventFilter, cursor: str
) -> Snapshot[Page[Event]] | None:
    """Returns the page of a request that follows the events, whose cursor is in this parameter; None for any other
    request."""
    following = read_following(kind, call.parameters, call.context.store.identity, cursor)
    if following is None:
        return None
    limit = _read_page_size(call, kind).slice.limit
    followed = await events.follow_events(call.context, kind, following, limit, only=only)
    call.freshness.demand(followed.revision)
    return followed


def _read_page_size(call: Call[None], kind: ListKind[Event]) -> PageRequest:
    """Returns the first page, of the size that the request has."""
    limit = {name: text for name, text in call.parameters.items() if name == "limit"}
    return read_page_request(kind, limit, call.context.store.identity)


def _render_resource_event(identity: Identity, event: Event) -> ResourceEventAnswer:
    of_type, resource_id = event.key if event.kind == "object" else (DEFINITIONS[event.kind], *event.key)
    return ResourceEventAnswer(
        id=event_id(identity, event),
        type=event.action,
        kind=render_resource_kind(event),
        resource_type=of_type,
        resource_id=resource_id,
        meta=msgspec.UNSET if event.content is None else msgspec.Raw(event.content),
        created_at=render_time(event.at),
        token=_render_token(identity, event),
        actor=event.actor or msgspec.UNSET,
        request_id=event.request_id or msgspec.UNSET,
    )


def _render_access_event(identity: Identity, event: Event) -> AccessEventAnswer:
    names = warrant_names(*event.key[:6])
    return AccessEventAnswer(
        id=event_id(identity, event),
        type=_TYPES[event.kind, event.action],
        object_type=names.object_type,
        object_id=names.object_id,
        relation=names.relation,
        subject_type=names.subject_type,
        subject_id=names.subject_id,
        subject_relation=names.subject_relation or msgspec.UNSET,
        meta=_access_meta(event),
        created_at=render_time(event.at),
        token=msgspec.UNSET if event.revision is None else _render_token(identity, event),
        actor=event.actor or msgspec.UNSET,
        request_id=event.request_id or msgspec.UNSET,
    )


def _render_token(identity: Identity, event: Event) -> str:
    """Returns the token of the revision that made a change, or at which a decision was made."""
    return token_of(identity, RevisionId(Revision(event.revision or 0), event.bits))


def _access_meta(event: Event) -> msgspec.Raw | msgspec.UnsetType:
    if event.kind != "warrant":
        return msgspec.UNSET if event.content is None else msgspec.Raw(event.content)
    meta = {} if event.content is None else {"policy": event.content}
    meta |= render_limits(event)
    return msgspec.Raw(msgspec.json.encode(meta)) if meta else msgspec.UNSET
