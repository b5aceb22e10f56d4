"""Implements the query of v1 (docs/compatibility.md#v1), `GET /v1/query`, in both of its languages: with `q` it is that
of v2; with `select`, `for` and `where` it lists stored or implied warrants under conditions on their object, relation,
subject and context."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from magistrate.api.calls import Answer, Call, answer_call
from magistrate.api.endpoints import query as v2_query
from magistrate.api.endpoints.policies import check_context_size
from magistrate.api.endpoints.query import TOTAL, QueryRowAnswer
from magistrate.api.endpoints.warrants import SubjectAnswer
from magistrate.api.http.json_values import render_time
from magistrate.engine.evaluation.check import Check
from magistrate.engine.lists.language import ObjectsQuery, Query, SubjectsQuery, hide_undefined_types
from magistrate.engine.names import WILDCARD, ObjectId, RelationName, TypeName, unquote_id
from magistrate.engine.policy.policy import policy_of_context
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef, object_id_or_wildcard, relation_name, type_name
from magistrate.engine.warrants.warrant import Warrant, policy_digest
from magistrate.errors import InvalidParameter
from magistrate.operations.checks.check import check_all
from magistrate.operations.history.points_in_time import AS_OF
from magistrate.operations.lists import query
from magistrate.operations.lists.evaluators import QueryRequest
from magistrate.operations.lists.query import QUERY_LIST
from magistrate.operations.models import object_types
from magistrate.operations.models.definitions import read_definition
from magistrate.operations.paging import ListKind, PageRequest, read_page_request
from magistrate.operations.readers.contextual_warrants import CONTEXTUAL_WARRANTS
from magistrate.operations.writes import warrants
from magistrate.operations.writes.warrants import WARRANT_LIST
from magistrate.store.contract.lists import WarrantFilter

IMPLIED, STORED = "warrants", "explicit warrants"

CLAUSES = ("for", "where")
CURSORS = ("afterId", "lastId")
"""Lists the parameters that have the cursor of a query with `q`."""

_CONDITION = re.compile(r"(object|relation|subject|context)=(.*)", re.DOTALL)
_BETWEEN_CONDITIONS = re.compile(r",(?=(?:object|relation|subject|context)=)")
_QUOTED_ID = re.compile(r'((?:^|,)(?:object|subject)=[^:#"]+:)("[^"]*")')
_BETWEEN_VARIABLES = re.compile(r" (?=[^ =]+=)")
_ENTITY = re.compile(r'([^:#]+):("[^"]*"|[^#]+)(?:#([^#]+))?')


class V1WarrantAnswer(msgspec.Struct, rename="camel", kw_only=True):
    """Represents a warrant. `createdAt` and `policy` are present if it is stored."""

    object_type: str
    object_id: str
    relation: str
    subject: SubjectAnswer
    policy: str | msgspec.UnsetType = msgspec.UNSET
    is_implicit: bool
    created_at: str | msgspec.UnsetType = msgspec.UNSET


class V1QueryAnswer(msgspec.Struct, rename="camel", omit_defaults=True):
    """Represents a page of v1. `lastId` is present if more rows follow; passed as `afterId` or `lastId`, it selects the
    next page."""

    results: list[QueryRowAnswer]
    last_id: str | None = None


class LegacyQueryConditions(msgspec.Struct, frozen=True):
    """Holds the conditions on a warrant; None matches anything. An empty `subject_relation` matches a subject that is
    not a userset."""

    object_type: TypeName | None = None
    object_id: ObjectId | None = None
    relation: RelationName | None = None
    subject_type: TypeName | None = None
    subject_id: ObjectId | None = None
    subject_relation: str | None = None
    context: Mapping[str, str] | None = None


async def list_page(call: Call[None]) -> Answer[V1QueryAnswer | list[V1WarrantAnswer]]:
    """Returns a page of v2, or an array of warrants if the request has `select` in place of `q`."""
    parameters = {name: text for name, text in call.parameters.items() if name not in (CONTEXTUAL_WARRANTS, TOTAL)}
    call = replace(call, parameters=parameters)
    if "q" not in parameters and "select" in parameters:
        return await _list_selected(call)
    cursor = next((name for name in CURSORS if name in parameters), None)
    if cursor is not None:
        others = {name: text for name, text in parameters.items() if name not in CURSORS}
        call = replace(call, parameters={**others, "nextCursor": parameters[cursor]})
    try:
        answer = await answer_call(v2_query.list_page, call)
    except InvalidParameter as error:
        if cursor is not None and error.parameter == "nextCursor":
            raise InvalidParameter(cursor, f"invalid {cursor}") from None
        raise
    return answer.with_value(V1QueryAnswer(answer.value.results, answer.value.next_cursor))


async def _list_selected(call: Call[None]) -> Answer[list[V1WarrantAnswer]]:
    """Returns an array of warrants. Raises InvalidParameter for an invalid clause."""
    selected = call.parameters["select"]
    if selected not in (IMPLIED, STORED):
        raise InvalidParameter("select", f"must be '{IMPLIED}' or '{STORED}'")
    clauses = [read_clause(clause, call.parameters.get(clause, "")) for clause in CLAUSES]
    together = {**clauses[0], **clauses[1]}
    conditions = LegacyQueryConditions(**together)
    if any(together[name] != value for name, value in clauses[0].items()):
        _read_page_bounds(call, QUERY_LIST)
        newest = await call.context.store.check()
        call.freshness.demand(newest)
        return Answer([], newest)  # contradictory conditions match nothing
    names_both = conditions.object_id and conditions.subject_id
    if selected == STORED or (conditions.subject_relation and not names_both):
        return await _list_stored(call, conditions)
    return await _list_implied(call, conditions)


async def _list_stored(call: Call[None], conditions: LegacyQueryConditions) -> Answer[list[V1WarrantAnswer]]:
    columns = {name: value for name, value in msgspec.structs.asdict(conditions).items() if value is not None}
    context = columns.pop("context", None)
    if context is not None:
        columns["policy"] = policy_digest(policy_of_context(context))
    bounds = _read_page_bounds(call, WARRANT_LIST)
    matching = WarrantFilter(columns, unexpired_at=call.context.now())
    page = await warrants.list_warrants(call.context, bounds, matching, call.freshness)
    return Answer([_render_stored(row) for row in page.value.rows], page.revision)


async def _list_implied(call: Call[None], conditions: LegacyQueryConditions) -> Answer[list[V1WarrantAnswer]]:
    relations = (conditions.relation,) if conditions.relation else None
    obj = _ref(conditions.object_type, conditions.object_id)
    subject = _ref(conditions.subject_type, conditions.subject_id)
    if obj and subject:
        parsed = Subject(subject.type, subject.id, conditions.subject_relation or "")
        return await _check_each(call, obj, relations, parsed, context=conditions.context or {})
    if subject:
        types = (conditions.object_type,) if conditions.object_type else None
        return await _list_by_query(call, ObjectsQuery(subject, relations, types, is_explicit=False), conditions)
    if obj:
        types = (conditions.subject_type,) if conditions.subject_type else None
        return await _list_by_query(call, SubjectsQuery(obj, relations, types, is_explicit=False), conditions)
    raise InvalidParameter("for", "must name an object or a subject by its id")


async def _list_by_query(
    call: Call[None], parsed: Query, conditions: LegacyQueryConditions
) -> Answer[list[V1WarrantAnswer]]:
    context = check_context_size(conditions.context or {}, call.context.max_context_bytes)
    bounds = _read_page_bounds(call, QUERY_LIST)
    request = QueryRequest(hide_undefined_types(parsed, call.visible_types), context)
    page = await query.list_page(call.context, request, bounds, call.freshness)
    answers = []
    for row in (stored.row for stored in page.value.rows):
        other = ObjectRef(row.type, row.id)
        object_ref, subject = (other, parsed.subject) if isinstance(parsed, ObjectsQuery) else (parsed.object, other)
        answers.append(_render_warrant(object_ref, Subject(subject.type, subject.id), row.relation, row.is_implicit))
    return Answer(answers, page.revision)


async def _check_each(
    call: Call[None],
    obj: ObjectRef,
    relations: Sequence[RelationName] | None,
    subject: Subject,
    context: Mapping[str, str],
) -> Answer[list[V1WarrantAnswer]]:
    limit = _read_page_bounds(call, QUERY_LIST).slice.limit
    if relations is None:
        defined = await object_types.get_object_type(call.context, obj.type, call.freshness)
        relations = [RelationName(name) for name in sorted(read_definition(defined.value.definition).relations)]
    check_context_size(context, call.context.max_context_bytes)
    checks = [Check(obj, name, subject, context) for name in relations]
    decisions = await check_all(call.context, checks, call.freshness, call.visible_types)
    pairs = zip(relations, decisions.value, strict=True)
    allowed = [
        _render_warrant(obj, subject, name, decision.is_implicit) for name, decision in pairs if decision.is_authorized
    ]
    return Answer(allowed[:limit], decisions.revision)


def _render_stored(row: Warrant) -> V1WarrantAnswer:
    return V1WarrantAnswer(
        object_type=row.object_type,
        object_id=row.object_id,
        relation=row.relation,
        subject=SubjectAnswer(row.subject_type, row.subject_id, row.subject_relation),
        policy=row.policy or msgspec.UNSET,
        is_implicit=False,
        created_at=render_time(row.created_at),
    )


def _render_warrant(obj: ObjectRef, subject: Subject, relation: str, is_implicit: bool) -> V1WarrantAnswer:
    return V1WarrantAnswer(
        object_type=obj.type,
        object_id=obj.id,
        relation=relation,
        subject=SubjectAnswer(subject.type, subject.id, subject.relation),
        is_implicit=is_implicit,
    )


def _read_page_bounds(call: Call[None], kind: ListKind[Any]) -> PageRequest:
    """Reads the bounds of the first page. Raises InvalidParameter for a cursor, because this query has none."""
    for name in ("lastId", "nextCursor", "prevCursor"):
        if name in call.parameters:
            raise InvalidParameter(name, "this query has no cursors: use limit for up to 1000 rows, or q")
    if AS_OF in call.parameters:
        raise InvalidParameter(AS_OF, "this query is answered as of now only: use q")
    parameters = {
        name: text for name, text in call.parameters.items() if name not in ("sortBy", "sortOrder", "snapshot")
    }
    return read_page_request(kind, parameters, call.context.store.identity)


def _ref(of_type: TypeName | None, entity_id: ObjectId | None) -> ObjectRef | None:
    return ObjectRef(of_type, entity_id) if of_type and entity_id else None


def read_clause(clause: str, text: str) -> dict[str, Any]:
    """Reads `object=type:id,relation=r,subject=type:id#r,context=k=v k2=v2`, in any order; an id of `*` matches any.

    An id may be in double quotes; one that contains a comma and the name of a condition with `=` must be. Values of a
    context are not escaped: they end where the next name and `=`, or the next condition, begins."""
    conditions: dict[str, Any] = {}
    try:
        for name, value in _conditions(text):
            read = _READERS[name](value)
            if not conditions.keys().isdisjoint(read):
                raise InvalidParameter(clause, f"has {name} twice")
            conditions.update(read)
    except InvalidParameter as error:
        raise InvalidParameter(clause, error.message) from None
    return conditions


def _conditions(text: str) -> Iterable[tuple[str, str]]:
    for part in _split_conditions(text) if text else ():
        matched = _CONDITION.fullmatch(part)
        if matched is None:
            raise InvalidParameter("", f"{part!r} does not read as object=, relation=, subject= or context=")
        yield matched[1], matched[2]


def _split_conditions(text: str) -> Iterable[str]:
    without_ids = _QUOTED_ID.sub(lambda quoted: quoted[1] + "-" * len(quoted[2]), text)
    start = 0
    for comma in _BETWEEN_CONDITIONS.finditer(without_ids):
        yield text[start : comma.start()]
        start = comma.end()
    yield text[start:]


def _read_object(text: str) -> dict[str, Any]:
    of_type, entity_id, relation = _entity(text)
    if relation:
        raise InvalidParameter("", f"{text!r} does not read as type:id")
    return {"object_type": of_type} | ({} if entity_id == WILDCARD else {"object_id": entity_id})


def _read_relation(text: str) -> dict[str, Any]:
    return {} if text == "*" else {"relation": relation_name(text, "relation")}


def _read_subject(text: str) -> dict[str, Any]:
    of_type, entity_id, relation = _entity(text)
    group = relation_name(relation, "relation") if relation else ""
    return {"subject_type": of_type, "subject_relation": group} | (
        {} if entity_id == WILDCARD else {"subject_id": entity_id}
    )


def _read_context(text: str) -> dict[str, Any]:
    variables = [variable.partition("=") for variable in _BETWEEN_VARIABLES.split(text)] if text else []
    if not all(separator for _, separator, _ in variables):
        raise InvalidParameter("", f"{text!r} does not read as name=value name=value")
    return {"context": {name: value for name, _, value in variables}}


_READERS = {
    "object": _read_object,
    "relation": _read_relation,
    "subject": _read_subject,
    "context": _read_context,
}


def _entity(text: str) -> tuple[TypeName, ObjectId, str | None]:
    matched = _ENTITY.fullmatch(text)
    if matched is None:
        raise InvalidParameter("", f"{text!r} does not read as type:id")
    return type_name(matched[1], "objectType"), object_id_or_wildcard(unquote_id(matched[2]), "objectId"), matched[3]
