"""Defines the bodies and handlers of /v2/query and /v1/query (docs/compatibility.md#query)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, NamedTuple, cast

import msgspec

from magistrate.api.endpoints.lists import ListAnswer, render_page
from magistrate.api.endpoints.policies import check_context_size, read_context
from magistrate.api.endpoints.warrant_bodies import (
    DOCUMENTED_LIMIT,
    decode_contextual_warrants,
    judge_contextual_warrants,
)
from magistrate.api.endpoints.warrants import WarrantAnswer, WarrantBody, render_warrant
from magistrate.api.http.request_values import read_boolean
from magistrate.api.service import Answer, Call, Deferred, answer_call
from magistrate.api.v1 import query as legacy_query
from magistrate.engine.lists.language import MAX_QUERY_LENGTH, Query, SubjectsQuery, hide_undefined_types, read_query
from magistrate.engine.names import split_subject_type
from magistrate.errors import InvalidParameter, NotFound
from magistrate.operations.history.points_in_time import AsOf, pin_page, read_as_of
from magistrate.operations.keys.callers import Caller
from magistrate.operations.lists import query
from magistrate.operations.lists.bitmap_listings import StoredRow
from magistrate.operations.lists.paging import MAX_LIMIT, Page, Wanted, read_wanted
from magistrate.operations.lists.query import QueryRequest, query_kind
from magistrate.operations.models.undefined_names import UsedName, describe_missing_type, require_defined_names
from magistrate.operations.readers.contextual_warrants import CONTEXTUAL_WARRANTS, build_contextual_warrants
from magistrate.store.contract.lists import Snapshot
from magistrate.store.contract.new_rows import NewWarrant

V1_CURSORS = ("afterId", "lastId")
TOTAL = "total"


class QueryRowAnswer(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """Represents an object or a subject that was found. `warrant` is null for a result of an exclusion, which rests on
    the absence of warrants."""

    object_type: str
    object_id: str
    subject_relation: Annotated[
        str | msgspec.UnsetType, msgspec.Meta(description="the relation of a userset, if the query selects usersets")
    ] = msgspec.UNSET
    relation: str
    warrant: WarrantAnswer | None
    is_implicit: bool
    meta: Annotated[msgspec.Raw, msgspec.Meta(extra_json_schema={"type": "object"})] | msgspec.UnsetType = msgspec.UNSET


class QueryAnswer(ListAnswer[QueryRowAnswer], rename="camel", omit_defaults=True):
    """Represents a page of rows. `total` counts those of all pages, if the request asked for it."""

    total: int | None = None


class V1QueryAnswer(msgspec.Struct, rename="camel", omit_defaults=True):
    """Represents a page of v1. `lastId` is present if more rows follow; passed as `afterId` or `lastId`, it selects the
    next page."""

    results: list[QueryRowAnswer]
    last_id: str | None = None


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
    as_of: Annotated[str | None, msgspec.Meta(description="a token or a time: the answer is that of then")] = None
    strict: bool | None = None
    total: Annotated[bool | None, msgspec.Meta(description="whether the rows of all pages are counted")] = None


class _WantedPage(NamedTuple):
    """Holds the page that a request asks for, and how it is to be answered."""

    query: QueryRequest
    wanted: Wanted
    as_of: AsOf | None
    is_strict: bool
    is_counted: bool


def list_page(call: Call[None]) -> Answer | Deferred:
    """Answers at once with a page that is kept and rendered."""
    parsed = read_query(call.parameters.get("q", ""))
    if CONTEXTUAL_WARRANTS in call.parameters:
        return Deferred(partial(_list_with_contextual_warrants, call, parsed))
    wanted_page = _read_wanted_page(call, parsed, ())
    return _answer_kept_page(call, wanted_page) or Deferred(partial(_answer_query, call, wanted_page))


async def _list_with_contextual_warrants(call: Call[None], parsed: Query) -> Answer:
    bodies = decode_contextual_warrants(call.parameters.get(CONTEXTUAL_WARRANTS))
    return await _answer_query(call, _read_wanted_page(call, parsed, await judge_contextual_warrants(bodies)))


def _read_wanted_page(call: Call[None], parsed: Query, contextual: Sequence[NewWarrant]) -> _WantedPage:
    wanted = read_wanted(query_kind(contextual), call.parameters, call.context.store.identity)
    context = read_context(call.parameters.get("context"), call.context.max_context_bytes)
    is_counted = read_boolean(call.parameters, TOTAL)
    return _WantedPage(
        QueryRequest(parsed, context, contextual), wanted, call.as_of, call.is_strict, is_counted=is_counted
    )


def _answer_kept_page(call: Call[None], wanted_page: _WantedPage) -> Answer | None:
    if wanted_page.as_of is not None:
        return None
    found = query.find_kept_page(call.context, wanted_page.query, wanted_page.wanted, call.freshness)
    if found is None or (wanted_page.is_strict and not found.value.rows):
        return None
    rendered = found.value.rendering.find(call.caller.object_types)
    return None if rendered is None else _build_answer(found, rendered, wanted_page)


async def list_page_of_body(call: Call[QueryBody]) -> Answer:
    """Answers like `list_page`. Parameters in the query string have no effect."""
    body = call.body
    parsed = read_query(body.q or "")
    contextual = await judge_contextual_warrants(body.contextual_warrants)
    given = {
        "limit": None if body.limit is None else str(body.limit),
        "sortBy": body.sort_by,
        "sortOrder": body.sort_order,
        "nextCursor": body.next_cursor,
        "prevCursor": body.prev_cursor,
    }
    parameters = {name: text for name, text in given.items() if text is not None}
    wanted = read_wanted(query_kind(contextual), parameters, call.context.store.identity)
    context = check_context_size(body.context or {}, call.context.max_context_bytes)
    is_strict = call.context.is_strict if body.strict is None else body.strict
    as_of = None if body.as_of is None else read_as_of(call.context.store.identity, body.as_of)
    request = QueryRequest(parsed, context, contextual)
    return await _answer_query(call, _WantedPage(request, wanted, as_of, is_strict, is_counted=bool(body.total)))


async def _answer_query(call: Call[Any], wanted_page: _WantedPage) -> Answer:
    request = replace(wanted_page.query, query=hide_undefined_types(wanted_page.query.query, call.visible_types))
    wanted = await pin_page(call.context, wanted_page.wanted, wanted_page.as_of, call.freshness)
    request = request if wanted.now is None else replace(request, now=wanted.now)
    try:
        found = await query.list_page(call.context, request, wanted, call.freshness)
    except NotFound as missing:
        if not wanted_page.is_strict:
            raise
        raise await describe_missing_type(call.context, missing, "q", call.visible_types) from None
    if wanted_page.is_strict and not found.value.rows:
        names, is_past = _collect_names(request.query), wanted.now is not None
        overlay = build_contextual_warrants(request.contextual, call.context.now()).overlay
        await require_defined_names(
            call.context, names, found.revision, overlay, is_past=is_past, visible=call.visible_types
        )
    rendering, types = found.value.rendering, call.caller.object_types
    if (rendered := rendering.find(types)) is None:
        rendered = await render_page(found.value, partial(_render_row, call.caller))
        rendering.keep(types, rendered)
    return _build_answer(found, rendered, wanted_page)


def _build_answer(
    found: Snapshot[Page[StoredRow]], rendered: ListAnswer[QueryRowAnswer], wanted_page: _WantedPage
) -> Answer:
    total = found.value.total if wanted_page.is_counted else None
    return Answer(QueryAnswer(rendered.results, rendered.prev_cursor, rendered.next_cursor, total), found.revision)


def _collect_names(parsed: Query) -> Iterator[UsedName]:
    """Yields the relations in a query, and the type of the subject that it asks about; other undefined types are not
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


async def list_page_v1(call: Call[None]) -> Answer:
    known = {name: text for name, text in call.parameters.items() if name not in (CONTEXTUAL_WARRANTS, TOTAL)}
    call = msgspec.structs.replace(call, parameters=known)
    if "q" not in call.parameters and "select" in call.parameters:
        return await legacy_query.list_page(call)
    given = next((name for name in V1_CURSORS if name in call.parameters), None)
    try:
        answer = await answer_call(list_page, call if given is None else _translate_cursor(call, given))
    except InvalidParameter as error:
        if given is not None and error.parameter == "nextCursor":
            raise InvalidParameter(given, f"invalid {given}") from None
        raise
    page = cast(ListAnswer[QueryRowAnswer], answer.value)
    return Answer(V1QueryAnswer(page.results, page.next_cursor), answer.revision)


def _translate_cursor(call: Call[None], given: str) -> Call[None]:
    others = {name: text for name, text in call.parameters.items() if name not in V1_CURSORS}
    return msgspec.structs.replace(call, parameters={**others, "nextCursor": call.parameters[given]})


def _render_row(caller: Caller, found: StoredRow) -> QueryRowAnswer:
    """Renders a row without the meta and the warrant of an object of a type that the caller may not use."""
    row, stored, warrant = found.row, found.stored, found.row.warrant
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
