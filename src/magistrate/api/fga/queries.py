"""Defines the answers and the handler of /fga/v1/query (docs/fga-v1.md#queries)."""

from functools import partial

import msgspec

from magistrate.api.calls import Answer, Call, answer_call
from magistrate.api.endpoints import query
from magistrate.api.endpoints.objects import MetaJson
from magistrate.api.endpoints.query import QueryRowAnswer
from magistrate.api.fga.views import FgaListAnswer, fga_list
from magistrate.api.fga.warrants import FgaSubjectAnswer, FgaWarrantAnswer, render_fga_warrant
from magistrate.engine.lists.language import Query, SubjectsQuery, read_query
from magistrate.engine.names import ObjectId, TypeName
from magistrate.engine.terms import ObjectRef


class FgaQueryRowAnswer(msgspec.Struct, kw_only=True):
    """Represents a resource or a subject that was found. `warrant` is one that it depends on, or if it depends on none
    the one that would say the same."""

    resource_type: str
    resource_id: str
    subject_relation: str | msgspec.UnsetType = msgspec.UNSET
    relation: str
    warrant: FgaWarrantAnswer
    is_implicit: bool
    meta: MetaJson = msgspec.UNSET


async def list_page(call: Call[None]) -> Answer[FgaListAnswer[FgaQueryRowAnswer]]:
    parsed = read_query(call.parameters.get("q", ""))
    page = fga_list(query.list_page, {"q": "q", "context": "context"}, "createdAt", partial(_render, parsed))
    return await answer_call(page, call)


def _render(parsed: Query, row: QueryRowAnswer) -> FgaQueryRowAnswer:
    return FgaQueryRowAnswer(
        resource_type=row.object_type,
        resource_id=row.object_id,
        subject_relation=row.subject_relation,
        relation=row.relation,
        warrant=_equivalent_warrant(parsed, row) if row.warrant is None else render_fga_warrant(row.warrant),
        is_implicit=row.is_implicit,
        meta=row.meta,
    )


def _equivalent_warrant(parsed: Query, row: QueryRowAnswer) -> FgaWarrantAnswer:
    """Returns the warrant that would give the relation directly: clients need one in every row."""
    row_object = ObjectRef(TypeName(row.object_type), ObjectId(row.object_id))
    obj = parsed.object if isinstance(parsed, SubjectsQuery) else row_object
    subject = row_object if isinstance(parsed, SubjectsQuery) else parsed.subject
    userset = "" if row.subject_relation is msgspec.UNSET else row.subject_relation
    return FgaWarrantAnswer(
        resource_type=obj.type,
        resource_id=obj.id,
        relation=row.relation,
        subject=FgaSubjectAnswer(subject.type, subject.id, userset),
    )
