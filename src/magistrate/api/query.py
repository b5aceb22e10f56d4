"""The handler of /v2/query (contract section 6)."""

from typing import Annotated

import msgspec

from magistrate.api.lists import list_answer
from magistrate.api.policy_context import read_context
from magistrate.api.service import Answer, Call
from magistrate.api.warrants import WarrantAnswer, shown_warrant
from magistrate.engine.query import read_query
from magistrate.operations import query
from magistrate.operations.paging import read_wanted
from magistrate.operations.query import QUERY_LIST, Asked, FoundRow


class FoundAnswer(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """An object or a subject that was found. `warrant` is null where it was found because others do not hold."""

    object_type: str
    object_id: str
    relation: str
    warrant: WarrantAnswer | None
    is_implicit: bool
    meta: Annotated[msgspec.Raw, msgspec.Meta(extra_json_schema={"type": "object"})] | msgspec.UnsetType = msgspec.UNSET


async def list_page(call: Call[None]) -> Answer:
    asked = read_query(call.parameters.get("q", ""))
    wanted = read_wanted(QUERY_LIST, call.parameters, call.context.store.identity)
    context = read_context(call.parameters.get("context"), call.context.max_context_bytes)
    found = await query.list_page(call.context, Asked(asked, context), wanted, call.freshness)
    return Answer(list_answer(found.value, _shown), found.revision)


def _shown(found: FoundRow) -> FoundAnswer:
    row = found.row
    return FoundAnswer(
        object_type=row.type,
        object_id=row.id,
        relation=row.relation,
        warrant=None if row.warrant is None else shown_warrant(row.warrant),
        is_implicit=row.is_implicit,
        meta=msgspec.UNSET if found.meta is None else msgspec.Raw(found.meta),
    )
