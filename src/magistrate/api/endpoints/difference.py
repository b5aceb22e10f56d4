"""Defines the bodies and handlers of /v2/difference (docs/difference.md)."""

from functools import partial
from typing import Annotated, Literal, TypeVar

import msgspec

from magistrate.api.calls import Answer, Call
from magistrate.api.endpoints.lists import ListAnswer, read_page_members, render_page
from magistrate.api.endpoints.object_types import ObjectTypeBody, read_bodies
from magistrate.api.endpoints.policies import NamedPolicyBody, read_policies
from magistrate.api.endpoints.warrants import (
    WarrantBody,
    read_named_warrant,
    read_warrant,
    read_warrant_policies,
)
from magistrate.api.endpoints.writes import read_in_steps
from magistrate.engine.lists.language import MAX_QUERY_LENGTH
from magistrate.errors import InvalidParameter, MissingParameter
from magistrate.operations.difference.filters import OBJECT, OF, SUBJECT, Q, read_narrowing
from magistrate.operations.difference.pages import DifferenceRow
from magistrate.operations.difference.proposal import (
    MAX_PROPOSED_POLICIES,
    MAX_PROPOSED_TYPES,
    MAX_PROPOSED_WARRANTS,
    PROPOSAL,
    Proposal,
    list_proposed_difference,
    proposal_kind,
)
from magistrate.operations.difference.revisions import FROM, TO, RevisionsRequest, list_difference, revisions_kind
from magistrate.operations.difference.rows import AccessSubject, CauseRows, build_cause
from magistrate.operations.paging import MAX_LIMIT, read_page_request

B = TypeVar("B")
T = TypeVar("T")

_WARRANTS = msgspec.Meta(extra_json_schema={"maxItems": MAX_PROPOSED_WARRANTS})
_POLICIES = msgspec.Meta(extra_json_schema={"maxItems": MAX_PROPOSED_POLICIES})
_TYPES = msgspec.Meta(extra_json_schema={"maxItems": MAX_PROPOSED_TYPES})


class ProposalBody(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Represents what is proposed: warrants to delete and then to create, and object types and policies to create or
    replace before. With `replace` the object types are the whole model, and the policies, if they are there, all."""

    create: Annotated[list[WarrantBody], _WARRANTS] | None = None
    delete: Annotated[list[WarrantBody], _WARRANTS] | None = None
    object_types: Annotated[list[ObjectTypeBody], _TYPES] | None = None
    replace: bool | None = None
    policies: Annotated[list[NamedPolicyBody], _POLICIES] | None = None


class DifferenceBody(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Represents a proposal, and the parameters of `GET`."""

    proposal: ProposalBody | None = None
    of: str | None = None
    subject: str | None = None
    object: str | None = None
    q: Annotated[str, msgspec.Meta(extra_json_schema={"maxLength": MAX_QUERY_LENGTH})] | None = None
    limit: Annotated[int, msgspec.Meta(extra_json_schema={"minimum": 1, "maximum": MAX_LIMIT})] | None = None
    next_cursor: str | None = None
    prev_cursor: str | None = None
    sort_order: str | None = None


class DifferenceRowAnswer(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """Represents access that a subject gained or lost. It is `conditional` if it depends on the context."""

    change: Literal["gained", "lost"]
    object_type: str
    object_id: str
    relation: str
    subject: AccessSubject
    conditional: bool = False
    cause: CauseRows


async def list_page(call: Call[None]) -> Answer[ListAnswer[DifferenceRowAnswer]]:
    parameters = call.parameters
    since = parameters.get(FROM)
    if not since:
        raise MissingParameter(FROM)
    narrowing = read_narrowing(*(parameters.get(name) for name in (OF, SUBJECT, OBJECT, Q)))
    request = RevisionsRequest(since, parameters.get(TO) or None, narrowing)
    others = {name: text for name, text in parameters.items() if name != Q}
    bounds = read_page_request(revisions_kind(request), others, call.context.store.identity)
    page = await list_difference(call.context, request, bounds, call.freshness)
    return Answer(await render_page(page.value, _render_row), page.revision)


async def list_page_of_proposal(call: Call[DifferenceBody]) -> Answer[ListAnswer[DifferenceRowAnswer]]:
    body = call.body
    if body.proposal is None:
        raise MissingParameter(PROPOSAL)
    proposal = await _read_proposal(body.proposal)
    narrowing = read_narrowing(body.of, body.subject, body.object, body.q)
    parameters = read_page_members(body)
    bounds = read_page_request(proposal_kind(proposal, narrowing), parameters, call.context.store.identity)
    page = await list_proposed_difference(call.context, proposal, narrowing, bounds, freshness=call.freshness)
    return Answer(await render_page(page.value, _render_row), page.revision)


async def _read_proposal(body: ProposalBody) -> Proposal:
    """Returns the proposal. Raises InvalidParameter for the first fault, in the order delete, create, objectTypes,
    policies."""
    create, delete, types = body.create or [], body.delete or [], body.object_types or []
    if len(create) + len(delete) > MAX_PROPOSED_WARRANTS:
        raise InvalidParameter(PROPOSAL, f"must have at most {MAX_PROPOSED_WARRANTS} warrants")
    if len(types) > MAX_PROPOSED_TYPES:
        raise InvalidParameter(f"{PROPOSAL}.objectTypes", f"must be at most {MAX_PROPOSED_TYPES} object types")
    deleted = await read_in_steps(f"{PROPOSAL}.delete", delete, read_named_warrant)
    read_new = partial(read_warrant, await read_warrant_policies(create))
    created = await read_in_steps(f"{PROPOSAL}.create", create, read_new)
    object_types = await read_bodies(types, f"{PROPOSAL}.objectTypes")
    policies = body.policies
    if policies is not None and len(policies) > MAX_PROPOSED_POLICIES:
        raise InvalidParameter(f"{PROPOSAL}.policies", f"must be at most {MAX_PROPOSED_POLICIES} policies")
    named = None if policies is None else await read_policies(policies, f"{PROPOSAL}.policies")
    return Proposal(created, deleted, object_types, bool(body.replace), policies=named)


def _render_row(row: DifferenceRow) -> DifferenceRowAnswer:
    change = row.change
    return DifferenceRowAnswer(
        change="gained" if change.is_gained else "lost",
        object_type=change.type,
        object_id=change.id,
        relation=change.relation,
        subject=AccessSubject(change.subject_type, change.subject_id),
        conditional=change.is_conditional,
        cause=build_cause(row.cause),
    )
