"""Defines the bodies and handlers of /v2/query (docs/compatibility.md#query)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, NamedTuple

import msgspec

from magistrate.api.calls import Answer, Call, Deferred
from magistrate.api.endpoints.lists import ListAnswer, read_page_members, render_page
from magistrate.api.endpoints.objects import MetaJson
from magistrate.api.endpoints.policies import check_context_size, read_context
from magistrate.api.endpoints.warrant_bodies import (
    DOCUMENTED_LIMIT,
    decode_contextual_warrants,
    validate_contextual_warrants,
)
from magistrate.api.endpoints.warrants import WarrantAnswer, WarrantBody, render_warrant
from magistrate.api.http.request_values import read_boolean
from magistrate.engine.lists.language import MAX_QUERY_LENGTH, Query, SubjectsQuery, hide_undefined_types, read_query
from magistrate.engine.subjects import split_subject_type
from magistrate.errors import NotFound
from magistrate.operations.history.points_in_time import AsOf, pin_page, read_as_of
from magistrate.operations.keys.callers import Caller
from magistrate.operations.lists import query
from magistrate.operations.lists.evaluators import QueryRequest
from magistrate.operations.lists.listings import StoredRow
from magistrate.operations.lists.query import query_kind
from magistrate.operations.models.undefined_names import UsedName, describe_missing_type, require_defined_names
from magistrate.operations.paging import MAX_LIMIT, Page, PageRequest, read_page_request
from magistrate.operations.readers.contextual_warrants import CONTEXTUAL_WARRANTS, build_contextual_warrants
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import NewWarrant

TOTAL = "total"


class QueryRowAnswer(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """Represents an object or a subject that was found. `warrant` is null for a result of an exclusion, which depends
    on the absence of warrants."""

    object_type: str
    object_id: str
    subject_relation: Annotated[
        str | msgspec.UnsetType, msgspec.Meta(description="the relation of a userset, if the query selects usersets")
    ] = msgspec.UNSET
    relation: str
    warrant: WarrantAnswer | None
    is_implicit: bool
    meta: MetaJson = msgspec.UNSET


class QueryAnswer(ListAnswer[QueryRowAnswer], rename="camel", omit_defaults=True):
    """Represents a page of rows. `total` counts those of all pages, if it was requested."""

    total: int | None = None


class QueryBody(msgspec.Struct, rename="camel", frozen=True):
    """Represents a query whose parameters are members of the body: those of `GET`, with `context` as an object and
    `contextualWarrants` as an array."""

    q: Annotated[str, msgspec.Meta(extra_json_schema={"maxLength": MAX_QUERY_LENGTH})] | None = None
    context: dict[str, Any] | None = None
    contextual_warrants: Annotated[list[WarrantBody], DOCUMENTED_LIMIT] | None = None
    limit: Annotated[int, msgspec.Meta(extra_json_schema={"minimum": 1, "maximum": MAX_LIMIT})] | None = None
    sort_by: str | None = None
    sort_order: str | None = None
    next_cursor: str | None = None
    prev_cursor: str | None = None
    as_of: Annotated[str | None, msgspec.Meta(description="a token or a time: the answer is as of it")] = None
    strict: bool | None = None
    total: Annotated[bool | None, msgspec.Meta(description="whether the rows of all pages are counted")] = None


class RequestedPage(NamedTuple):
    """Holds the page that is requested, and how it is to be answered."""

    query: QueryRequest
    page_request: PageRequest
    as_of: AsOf | None
    is_strict: bool
    is_counted: bool


def list_page(call: Call[None]) -> Answer[QueryAnswer] | Deferred[QueryAnswer]:
    """Answers at once with a page that is kept and rendered."""
    parsed = read_query(call.parameters.get("q", ""))
    if CONTEXTUAL_WARRANTS in call.parameters:
        return Deferred(partial(_list_with_contextual_warrants, call, parsed))
    requested = _read_requested_page(call, parsed, ())
    return _answer_kept_page(call, requested) or Deferred(partial(_answer_query, call, requested))


async def _list_with_contextual_warrants(call: Call[None], parsed: Query) -> Answer[QueryAnswer]:
    bodies = decode_contextual_warrants(call.parameters.get(CONTEXTUAL_WARRANTS))
    return await _answer_query(call, _read_requested_page(call, parsed, await validate_contextual_warrants(bodies)))


def _read_requested_page(call: Call[None], parsed: Query, contextual: Sequence[NewWarrant]) -> RequestedPage:
    bounds = read_page_request(query_kind(contextual), call.parameters, call.context.store.identity)
    context = read_context(call.parameters.get("context"), call.context.max_context_bytes)
    is_counted = read_boolean(call.parameters, TOTAL)
    return RequestedPage(
        QueryRequest(parsed, context, contextual), bounds, call.as_of, call.is_strict, is_counted=is_counted
    )


def _answer_kept_page(call: Call[None], requested: RequestedPage) -> Answer[QueryAnswer] | None:
    if requested.as_of is not None:
        return None
    page = query.find_kept_page(call.context, requested.query, requested.page_request, call.freshness)
    if page is None or (requested.is_strict and not page.value.rows):
        return None
    rendered = page.value.rendering.find(call.caller.object_types)
    return None if rendered is None else _build_answer(page, rendered, requested)


async def list_page_of_body(call: Call[QueryBody]) -> Answer[QueryAnswer]:
    """Answers like `list_page`. Parameters in the query string have no effect."""
    body = call.body
    parsed = read_query(body.q or "")
    contextual = await validate_contextual_warrants(body.contextual_warrants)
    bounds = read_page_request(query_kind(contextual), read_page_members(body), call.context.store.identity)
    context = check_context_size(body.context or {}, call.context.max_context_bytes)
    is_strict = call.context.is_strict if body.strict is None else body.strict
    as_of = None if body.as_of is None else read_as_of(call.context.store.identity, body.as_of)
    request = QueryRequest(parsed, context, contextual)
    return await _answer_query(call, RequestedPage(request, bounds, as_of, is_strict, is_counted=bool(body.total)))


async def _answer_query(call: Call[Any], requested: RequestedPage) -> Answer[QueryAnswer]:
    request = replace(requested.query, query=hide_undefined_types(requested.query.query, call.visible_types))
    bounds = await pin_page(call.context, requested.page_request, requested.as_of, call.freshness)
    request = request if bounds.now is None else replace(request, now=bounds.now)
    try:
        page = await query.list_page(call.context, request, bounds, call.freshness)
    except NotFound as missing:
        if not requested.is_strict:
            raise
        raise await describe_missing_type(call.context, missing, "q", call.visible_types) from None
    if requested.is_strict and not page.value.rows:
        names, is_past = _collect_names(request.query), bounds.now is not None
        overlay = build_contextual_warrants(request.contextual, call.context.now()).overlay
        await require_defined_names(
            call.context, names, page.revision, overlay, is_past=is_past, visible=call.visible_types
        )
    rendering, types = page.value.rendering, call.caller.object_types
    if (rendered := rendering.find(types)) is None:
        rendered = await render_page(page.value, partial(_render_row, call.caller))
        rendering.keep(types, rendered)
    return _build_answer(page, rendered, requested)


def _build_answer(
    page: Snapshot[Page[StoredRow]], rendered: ListAnswer[QueryRowAnswer], requested: RequestedPage
) -> Answer[QueryAnswer]:
    total = page.value.total if requested.is_counted else None
    shown = QueryAnswer(rendered.results, rendered.prev_cursor, rendered.next_cursor, total=total)
    return Answer(shown, page.revision)


def _collect_names(parsed: Query) -> Iterator[UsedName]:
    """Yields the relations in a query, and the type of the subject that it names; other undefined types are not
    found in any case. If a query selects several types of objects, one of them must define the relation."""
    if isinstance(parsed, SubjectsQuery):
        for relation in parsed.relations or ():
            yield UsedName(parsed.object.type, relation, "q", "q")
        for of_type, userset in map(split_subject_type, parsed.types or ()):
            if userset:
                yield UsedName(of_type, userset, "q", "q")
        return
    for condition in (parsed, *parsed.list_further()):
        among, relations = parsed.types or (), condition.relations or ()
        yield UsedName(condition.subject.type, None, "q", among=among, is_subject=True, relations=relations)
        for relation in relations:
            yield UsedName(None, relation, "q", "q", among=among)


def _render_row(caller: Caller, result: StoredRow) -> QueryRowAnswer:
    """Renders a row without the meta and the warrant of an object of a type that the caller may not use."""
    row, stored, warrant = result.row, result.stored, result.row.warrant
    if caller.object_types is not None:
        stored = stored if row.ref.type in caller.object_types else None
        warrant = warrant if warrant is not None and warrant.object_type in caller.object_types else None
    meta = stored.meta if stored is not None else None
    return QueryRowAnswer(
        object_type=row.ref.type,
        object_id=row.id,
        subject_relation=row.subject_relation or msgspec.UNSET,
        relation=row.relation,
        warrant=None if warrant is None else render_warrant(warrant),
        is_implicit=row.is_implicit,
        meta=msgspec.UNSET if meta is None else msgspec.Raw(meta),
    )
