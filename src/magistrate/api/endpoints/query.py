"""Handles /v2/query and /v1/query (docs/compatibility.md#query)."""

from collections.abc import Iterator
from typing import Annotated, cast

import msgspec

from magistrate.api.endpoints.lists import ListAnswer, list_answer
from magistrate.api.endpoints.policy_context import read_context
from magistrate.api.endpoints.warrants import WarrantAnswer, render_warrant
from magistrate.api.service import Answer, Call
from magistrate.api.v1 import query as legacy_query
from magistrate.engine.query import Query, SubjectsQuery, read_query
from magistrate.errors import InvalidParameter
from magistrate.operations import query
from magistrate.operations.history import pin_page
from magistrate.operations.paging import read_wanted
from magistrate.operations.query import QUERY_LIST, QueryRequest, StoredRow
from magistrate.operations.strict import UsedName, require_defined_names

V1_CURSORS = ("afterId", "lastId")


class QueryRowAnswer(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """Represents an object or a subject that was found. `warrant` is null for a result of an exclusion, which rests on
    the absence of warrants."""

    object_type: str
    object_id: str
    relation: str
    warrant: WarrantAnswer | None
    is_implicit: bool
    meta: Annotated[msgspec.Raw, msgspec.Meta(extra_json_schema={"type": "object"})] | msgspec.UnsetType = msgspec.UNSET


class V1QueryAnswer(msgspec.Struct, rename="camel", omit_defaults=True):
    """Represents a page of v1. `lastId` is present if more rows follow; passed as `afterId` or `lastId`, it selects the
    next page."""

    results: list[QueryRowAnswer]
    last_id: str | None = None


async def list_page(call: Call[None]) -> Answer:
    parsed = read_query(call.parameters.get("q", ""))
    wanted = read_wanted(QUERY_LIST, call.parameters, call.context.store.identity)
    context = read_context(call.parameters.get("context"), call.context.max_context_bytes)
    is_strict = call.is_strict
    wanted = await pin_page(call.context, wanted, call.as_of, call.freshness)
    found = await query.list_page(call.context, QueryRequest(parsed, context, wanted.now), wanted, call.freshness)
    if is_strict and not found.value.rows:
        await require_defined_names(call.context, _collect_names(parsed), found.revision, wanted.now is not None)
    return Answer(list_answer(found.value, _render_row), found.revision)


def _collect_names(parsed: Query) -> Iterator[UsedName]:
    """Yields the relations in a query, and the type of the subject that it asks about; other undefined types are not
    found in any case. If a query selects several types of objects, one of them must define the relation."""
    if isinstance(parsed, SubjectsQuery):
        for relation in parsed.relations or ():
            yield UsedName(parsed.object.type, relation, "q", "q")
    else:
        yield UsedName(parsed.subject.type, None, "q", is_subject=True)
        for relation in parsed.relations or ():
            yield UsedName(None, relation, "q", "q", parsed.types or ())


async def list_page_v1(call: Call[None]) -> Answer:
    if "q" not in call.parameters and "select" in call.parameters:
        return await legacy_query.list_page(call)
    given = next((name for name in V1_CURSORS if name in call.parameters), None)
    try:
        answer = await list_page(call if given is None else _translate_cursor(call, given))
    except InvalidParameter as error:
        if given is not None and error.parameter == "nextCursor":
            raise InvalidParameter(given, f"invalid {given}") from None
        raise
    page = cast(ListAnswer[QueryRowAnswer], answer.value)
    return Answer(V1QueryAnswer(page.results, page.next_cursor), answer.revision)


def _translate_cursor(call: Call[None], given: str) -> Call[None]:
    others = {name: text for name, text in call.parameters.items() if name not in V1_CURSORS}
    return msgspec.structs.replace(call, parameters={**others, "nextCursor": call.parameters[given]})


def _render_row(found: StoredRow) -> QueryRowAnswer:
    row = found.row
    meta = found.stored.meta if found.stored is not None else None
    return QueryRowAnswer(
        object_type=row.type,
        object_id=row.id,
        relation=row.relation,
        warrant=None if row.warrant is None else render_warrant(row.warrant),
        is_implicit=row.is_implicit,
        meta=msgspec.UNSET if meta is None else msgspec.Raw(meta),
    )
