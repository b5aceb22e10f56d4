"""Defines the bodies and handlers of /v2/warrants (docs/compatibility.md#warrants)."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated

import msgspec
from msgspec.structs import replace

from magistrate.api.calls import Answer, Call
from magistrate.api.endpoints.lists import ListAnswer, render_page
from magistrate.api.endpoints.objects import TypeText
from magistrate.api.http.json_values import render_time
from magistrate.api.http.request_values import INVALID_BODY, MAX_BATCH, document_pattern, read_batch, read_boolean
from magistrate.engine.id_characters import ID_CHARACTER, MAX_ID_LENGTH
from magistrate.engine.names import RelationName
from magistrate.engine.policy.policy import (
    LONG_POLICY,
    is_kept,
    keep_policy,
    parse_policy,
    policy_of_context,
    read_new_policy,
)
from magistrate.engine.subjects import Subject
from magistrate.engine.terms import ObjectRef, object_id_or_wildcard, relation_name, type_name, userset_relation
from magistrate.engine.warrants.overlay import NO_CHANGES
from magistrate.engine.warrants.warrant import Warrant
from magistrate.errors import InvalidParameter, InvalidRequest, MissingParameter
from magistrate.operations.history.points_in_time import pin_page
from magistrate.operations.history.times import TIME_MESSAGE, TimeText, read_time
from magistrate.operations.models.undefined_names import UsedName, require_defined_names
from magistrate.operations.paging import read_page_request
from magistrate.operations.scheduling import checkpoint
from magistrate.operations.writes import warrants
from magistrate.operations.writes.warrants import list_kind, read_filter
from magistrate.store.contract.events import Event
from magistrate.store.contract.new_rows import NewWarrant, write_outcome


def read_limits(starts_at: str | None, expires_at: str | None) -> tuple[int | None, int | None]:
    """Returns both limits in microseconds since 1970 UTC. Raises InvalidParameter for the first fault."""
    start, end = _read_limit(starts_at, "startsAt"), _read_limit(expires_at, "expiresAt")
    if start is not None and end is not None and end <= start:
        raise InvalidParameter("expiresAt", "must be after startsAt")
    return start, end


def _read_limit(text: str | None, parameter: str) -> int | None:
    if text is None:
        return None
    limit = read_time(text, parameter)
    if limit <= 0:
        raise InvalidParameter(parameter, f"{TIME_MESSAGE}, after 1970-01-01T00:00:00Z")
    return limit


def render_limits(limited: NewWarrant | Event) -> dict[str, str]:
    """Returns the members of an answer: those that there are."""
    limits = {"startsAt": limited.starts_at, "expiresAt": limited.expires_at}
    return {name: render_time(limit) for name, limit in limits.items() if limit is not None}


IdOrWildcard = Annotated[str, document_pattern(rf"^({ID_CHARACTER}{{0,{MAX_ID_LENGTH}}}|\*)$")]
RelationText = Annotated[str, document_pattern(r"^[a-zA-Z0-9_-]{0,64}$")]


WARRANTS_AT_ONCE = 500
"""Limits the warrants of a path that are rendered before a yield, which takes a millisecond or two."""


class SubjectBody(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True, gc=False):
    """Represents the subject of a warrant: an object; with a relation, the userset of all that have it; with the id
    `*`, every object of the type."""

    object_type: TypeText | None = None
    object_id: IdOrWildcard | None = None
    relation: RelationText | None = None


class WarrantBody(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True, gc=False):
    """Represents a warrant to create or delete. `context` is the legacy form of a policy: variables that must be
    equal. `startsAt` and `expiresAt` are the times between which it counts; they have no effect when it is deleted."""

    object_type: TypeText | None = None
    object_id: IdOrWildcard | None = None
    relation: RelationText | None = None
    subject: SubjectBody | None = None
    policy: str | None = None
    context: dict[str, str] | None = None
    starts_at: TimeText | None = None
    expires_at: TimeText | None = None


class SubjectAnswer(msgspec.Struct, rename="camel", omit_defaults=True):
    """Represents the subject of a stored warrant."""

    object_type: str
    object_id: str
    relation: str = ""


class WarrantAnswer(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """Represents a stored warrant; `policy`, `startsAt` and `expiresAt` are omitted when there is none."""

    object_type: str
    object_id: str
    relation: str
    subject: SubjectAnswer
    policy: str = ""
    created_at: str
    starts_at: TimeText | msgspec.UnsetType = msgspec.UNSET
    expires_at: TimeText | msgspec.UnsetType = msgspec.UNSET


OUTCOME_HEADER = "Warrant-Outcome"
"""Names the header that says, for each warrant of a request, whether it was created, existed and was updated, which
renews its access, or existed unchanged."""

WarrantOrBatch = WarrantBody | list[WarrantBody]


async def create(call: Call[WarrantOrBatch]) -> Answer[WarrantAnswer | list[WarrantAnswer]]:
    is_batch = isinstance(call.body, list)
    policies = await read_warrant_policies(call.body[:MAX_BATCH] if isinstance(call.body, list) else [call.body])
    new = _read_all(call.body, partial(read_warrant, policies))
    created = await warrants.create_warrants(
        call.context, new, call.stamp(), (lambda place: f"[{place}].") if is_batch else (lambda place: "")
    )
    answers = [render_warrant(row) for row in created.value]
    outcomes = [write_outcome(row, created.revision) for row in created.value]
    return Answer(answers if is_batch else answers[0], created.revision, {OUTCOME_HEADER: ", ".join(outcomes)})


async def delete(call: Call[WarrantOrBatch]) -> Answer[None]:
    named = _read_all(call.body, read_named_warrant)
    return Answer(None, await warrants.delete_warrants(call.context, named, call.stamp()))


async def list_page(call: Call[None]) -> Answer[ListAnswer[WarrantAnswer]]:
    is_expired = read_boolean(call.parameters, "expired", default=False)
    is_stranded = read_boolean(call.parameters, "stranded", default=False)
    if is_expired and is_stranded:
        raise InvalidParameter("stranded", "cannot be combined with expired")
    bounds = read_page_request(list_kind(is_expired, is_stranded), call.parameters, call.context.store.identity)
    is_strict = call.is_strict
    bounds = await pin_page(call.context, bounds, call.as_of, call.freshness)
    now = call.context.now() if bounds.now is None else bounds.now
    only = read_filter(call.parameters, now, is_expired)
    find = warrants.list_orphaned if is_stranded else warrants.list_warrants
    page = await find(call.context, bounds, only, call.freshness)
    if is_strict and not page.value.rows:
        names = _collect_names(call.parameters)
        is_past = bounds.now is not None
        await require_defined_names(
            call.context, names, page.revision, NO_CHANGES, is_past=is_past, visible=call.visible_types
        )
    return Answer(await render_page(page.value, render_warrant), page.revision)


def _collect_names(parameters: Mapping[str, str]) -> Iterator[UsedName]:
    yield UsedName(parameters.get("objectType") or None, parameters.get("relation") or None)
    subject_type, group = parameters.get("subjectType") or None, parameters.get("subjectRelation") or None
    yield UsedName(subject_type, group, "subjectType", "subjectRelation", is_subject=True)


def read_check(
    object_type: str | None, object_id: str | None, relation: str | None, subject: SubjectBody | None
) -> tuple[ObjectRef, RelationName, Subject]:
    """Returns the object, relation and subject of a warrant; raises for the first error, in the order of members."""
    ref = ObjectRef(type_name(object_type, "objectType"), object_id_or_wildcard(object_id, "objectId"))
    name = relation_name(relation, "relation")
    if subject is None:
        raise MissingParameter("subject")
    of_type = type_name(subject.object_type, "objectType")
    subject_id = object_id_or_wildcard(subject.object_id, "objectId")
    return ref, name, Subject(of_type, subject_id, userset_relation(subject.relation, "relation"))


def render_warrant(row: Warrant) -> WarrantAnswer:
    return WarrantAnswer(
        object_type=row.object_type,
        object_id=row.object_id,
        relation=row.relation,
        subject=SubjectAnswer(row.subject_type, row.subject_id, row.subject_relation),
        policy=row.policy,
        created_at=render_time(row.created_at),
        starts_at=msgspec.UNSET if row.starts_at is None else render_time(row.starts_at),
        expires_at=msgspec.UNSET if row.expires_at is None else render_time(row.expires_at),
    )


async def render_path(path: Sequence[Warrant]) -> list[WarrantAnswer]:
    """Returns the warrants of a path, of which there may be tens of thousands, and lets other requests run between
    WARRANTS_AT_ONCE."""
    answers: list[WarrantAnswer] = []
    for start in range(0, len(path), WARRANTS_AT_ONCE):
        if start:
            await checkpoint()
        answers += map(render_warrant, path[start : start + WARRANTS_AT_ONCE])
    return answers


def _read_all(body: WarrantOrBatch, read: Callable[[WarrantBody], NewWarrant]) -> list[NewWarrant]:
    return read_batch(body, read) if isinstance(body, list) else [read(body)]


ReadPolicies = Mapping[str, InvalidParameter | int | None]
"""Maps the text of a policy to its error, or to its lifetime (see Policy). The policy itself may not be cached for as
long as the request takes."""


async def read_warrant_policies(bodies: Iterable[WarrantBody]) -> ReadPolicies:
    """Reads every policy once: long ones in a thread, and other requests can run between two short ones. Errors are
    raised later, in the order of the elements."""
    policies: dict[str, InvalidParameter | int | None] = {}
    for body in bodies:
        if not (body.policy or body.context):
            continue
        try:
            text = _policy_text(body)
        except InvalidRequest:
            continue  # it will be refused for that
        if text and text not in policies:
            was_kept = is_kept(text)
            if len(text) >= LONG_POLICY and not was_kept:
                parsed = await asyncio.to_thread(parse_policy, text)
                if isinstance(parsed, InvalidParameter):
                    policies[text] = parsed
                    continue
                keep_policy(parsed)
            policies[text] = _read_policy(text)
            if not was_kept:
                await checkpoint()
    return policies


def _read_policy(text: str) -> InvalidParameter | int | None:
    try:
        return read_new_policy(text).lifetime
    except InvalidParameter as fault:
        return fault


def read_warrant(policies: ReadPolicies, body: WarrantBody) -> NewWarrant:
    """Returns a warrant to create. Raises the error of its policy, too."""
    new = read_named_warrant(body)
    if not new.policy:
        return new
    policy = policies[new.policy] if new.policy in policies else _read_policy(new.policy)
    if isinstance(policy, InvalidParameter):
        raise policy
    return new if policy is None else replace(new, lifetime=policy)


def read_new_warrant(body: WarrantBody) -> NewWarrant:
    new = read_named_warrant(body)
    if new.policy:
        read_new_policy(new.policy)
    return new


def read_named_warrant(body: WarrantBody) -> NewWarrant:
    """Returns a warrant that is stored, or not: its policy is not read."""
    obj, relation, subject = read_check(body.object_type, body.object_id, body.relation, body.subject)
    policy = _policy_text(body) if body.policy or body.context else ""
    if body.starts_at is None and body.expires_at is None:  # most have no limits, and a request may have 1,000
        return NewWarrant(obj, relation, subject, policy)
    starts_at, expires_at = read_limits(body.starts_at, body.expires_at)
    return NewWarrant(obj, relation, subject, policy, starts_at=starts_at, expires_at=expires_at)


def _policy_text(body: WarrantBody) -> str:
    if body.policy and body.context is not None:
        raise InvalidRequest(INVALID_BODY)
    return body.policy or (policy_of_context(body.context) if body.context else "")
