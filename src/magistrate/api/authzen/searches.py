"""Handles /access/v1/search/subject, …/resource and …/action (docs/authzen.md#searches)."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, TypeVar

import msgspec

from magistrate.api.authzen.requests import (
    ActionBody,
    ContextReader,
    EntityBody,
    EvaluationBody,
    Text,
    read_action,
    read_entity,
    require_action,
    require_entity,
    require_type,
)
from magistrate.api.calls import Answer, Call, Deferred
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import type_name
from magistrate.errors import InvalidParameter
from magistrate.operations.authzen.properties import RESOURCE, SUBJECT
from magistrate.operations.authzen.searches import (
    ActionSearch,
    EntitySearch,
    action_kind,
    list_actions,
    list_at_once,
    list_entities,
)
from magistrate.operations.lists.query import QUERY_LIST
from magistrate.operations.paging import MAX_LIMIT, ListKind, PageRequest, read_page_request

A = TypeVar("A")


class PageBody(msgspec.Struct, frozen=True):
    """Represents which page is wanted: `token` is the `next_token` of the page before it, and `limit` the number of
    results at most. A page never has more than 1,000."""

    token: str | None = None
    limit: Annotated[int, msgspec.Meta(extra_json_schema={"minimum": 1})] | None = None


class SearchedEntityBody(msgspec.Struct, frozen=True):
    """Represents the type that is searched for. Its `id` is ignored."""

    type: Text | None = None
    properties: dict[str, Any] | None = None


class SubjectSearchBody(msgspec.Struct, frozen=True):
    """Represents a search for the subjects of a type that may take the action on the resource."""

    subject: SearchedEntityBody | None = None
    action: ActionBody | None = None
    resource: EntityBody | None = None
    context: dict[str, Any] | None = None
    page: PageBody | None = None


class ResourceSearchBody(msgspec.Struct, frozen=True):
    """Represents a search for the resources of a type on which the subject may take the action."""

    subject: EntityBody | None = None
    action: ActionBody | None = None
    resource: SearchedEntityBody | None = None
    context: dict[str, Any] | None = None
    page: PageBody | None = None


class ActionSearchBody(msgspec.Struct, frozen=True):
    """Represents a search for the actions that the subject may take on the resource."""

    subject: EntityBody | None = None
    resource: EntityBody | None = None
    context: dict[str, Any] | None = None
    page: PageBody | None = None


class EntityResult(msgspec.Struct, frozen=True):
    """Represents a subject or resource that was found."""

    type: str
    id: str


class ActionResult(msgspec.Struct, frozen=True):
    """Represents an action that was found."""

    name: str


class PageAnswer(msgspec.Struct, frozen=True):
    """Represents the page: `next_token` leads to the next one and is empty on the last; `count` is the number of its
    results."""

    next_token: str
    count: int


class EntitySearchAnswer(msgspec.Struct, frozen=True):
    """Represents a page of subjects or resources, sorted by id."""

    page: PageAnswer
    results: list[EntityResult]


class ActionSearchAnswer(msgspec.Struct, frozen=True):
    """Represents a page of actions, sorted by name."""

    page: PageAnswer
    results: list[ActionResult]


async def search_subjects(call: Call[SubjectSearchBody]) -> Answer[EntitySearchAnswer]:
    body = call.body
    resource, action = require_entity(body.resource, RESOURCE), require_action(body.action)
    searched = require_searched(body.subject, SUBJECT)
    return await _search_entities(call, searched, SUBJECT, resource, known_member=RESOURCE, action=action)


async def search_resources(call: Call[ResourceSearchBody]) -> Answer[EntitySearchAnswer]:
    body = call.body
    subject, action = require_entity(body.subject, SUBJECT), require_action(body.action)
    searched = require_searched(body.resource, RESOURCE)
    return await _search_entities(call, searched, RESOURCE, subject, known_member=SUBJECT, action=action)


def search_actions(call: Call[ActionSearchBody]) -> Answer[ActionSearchAnswer] | Deferred[ActionSearchAnswer]:
    """Returns the answer if the graph cache has all that it needs, otherwise what reads the rest."""
    body = call.body
    subject, resource = require_entity(body.subject, SUBJECT), require_entity(body.resource, RESOURCE)
    contexts = ContextReader(call.context.max_context_bytes)
    context = contexts.read(EvaluationBody(subject, None, resource, body.context))
    limit = _read_limit(body.page)
    try:
        whom = read_entity(subject, SUBJECT)
        search = ActionSearch(read_entity(resource, RESOURCE), Subject(whom.type, whom.id), context, contexts.reads)
    except InvalidParameter:  # nothing is missing, so the name cannot exist
        return Deferred(partial(_answer_nothing, call, ActionSearchAnswer(PageAnswer("", 0), [])))
    if body.page is None or not body.page.token:
        names = list_at_once(call.context, search, call.freshness)
        if names is not None and len(names.value) <= limit:
            return Answer(_render_actions(names.value, ""), names.revision)
    return Deferred(partial(_search_actions_later, call, search))


async def _search_actions_later(call: Call[ActionSearchBody], search: ActionSearch) -> Answer[ActionSearchAnswer]:
    kind = action_kind(f"actions+{_digest(search.object, search.subject, search.context)}")
    bounds = _read_page_request(call, kind)
    with _naming_token():
        page = await list_actions(call.context, search, bounds, call.freshness, kind=kind)
    return Answer(_render_actions(page.value.rows, page.value.next_cursor or ""), page.revision)


def require_searched(body: SearchedEntityBody | None, member: str) -> EntityBody:
    """Returns the entity that is searched for, without an id. Raises MissingParameter."""
    return require_type(None if body is None else EntityBody(body.type, None, body.properties), member)


async def _search_entities(
    call: Call[Any], target: EntityBody, wanted_member: str, fixed: EntityBody, known_member: str, action: ActionBody
) -> Answer[EntitySearchAnswer]:
    wants_subjects = wanted_member == SUBJECT
    subject, resource = (target, fixed) if wants_subjects else (fixed, target)
    contexts = ContextReader(call.context.max_context_bytes)
    context = contexts.read(EvaluationBody(subject, action, resource, call.body.context))
    _read_limit(call.body.page)
    try:
        of_type, relation = type_name(target.type, f"{wanted_member}.type"), read_action(action)
        ref = read_entity(fixed, known_member)
    except InvalidParameter:  # nothing is missing, so the name cannot exist
        return await _answer_nothing(call, EntitySearchAnswer(PageAnswer("", 0), []))
    search = EntitySearch(of_type, relation, ref, wants_subjects, context=context, reads=contexts.reads)
    kind = replace(QUERY_LIST, name=f"search+{_digest(wanted_member, of_type, relation, ref, context)}")
    page_request = _read_page_request(call, kind)
    with _naming_token():
        page_rows = await list_entities(call.context, search, page_request, call.freshness, kind=kind)
    results = [EntityResult(of_type, entity_id) for entity_id in page_rows.value.rows]
    page = PageAnswer(page_rows.value.next_cursor or "", len(results))
    return Answer(EntitySearchAnswer(page, results), page_rows.revision)


async def _answer_nothing(call: Call[Any], value: A) -> Answer[A]:
    newest = await call.context.store.check()
    call.freshness.demand(newest)
    return Answer(value, newest)


def _render_actions(names: Sequence[str], next_token: str) -> ActionSearchAnswer:
    return ActionSearchAnswer(PageAnswer(next_token, len(names)), [*map(ActionResult, names)])


def _read_limit(page: PageBody | None) -> int:
    """Returns the number of results that a page may have. Raises InvalidParameter."""
    if page is None or page.limit is None:
        return MAX_LIMIT
    if page.limit < 1:
        raise InvalidParameter("page.limit", "must be an integer greater than 0")
    return min(page.limit, MAX_LIMIT)


def _read_page_request(call: Call[Any], kind: ListKind[Any]) -> PageRequest:
    """Returns the page that the body describes. Raises InvalidParameter for a token of another search."""
    page = call.body.page
    parameters = {"limit": str(_read_limit(page))}
    if page is not None and page.token:
        parameters["nextCursor"] = page.token
    with _naming_token():
        return read_page_request(kind, parameters, call.context.store.identity)


@contextmanager
def _naming_token() -> Iterator[None]:
    """Gives errors of a cursor the name that it has here."""
    try:
        yield
    except InvalidParameter as error:
        raise InvalidParameter(
            "page.token" if error.parameter == "nextCursor" else error.parameter, error.message
        ) from None


def _digest(*search: object) -> str:
    """Returns what stands for a search in the name of its listing."""
    content = msgspec.json.encode(search, order="deterministic")
    return hashlib.blake2b(content, digest_size=16).hexdigest()
