"""Handles recorded decisions and their replay (docs/history.md#replaying-a-decision)."""

from typing import Any, Literal

import msgspec

from magistrate.api.calls import Answer, Call
from magistrate.api.endpoints.explain import ExplainAnswer, render_explained
from magistrate.api.endpoints.warrants import SubjectAnswer, SubjectBody, WarrantBody, render_limits
from magistrate.api.http.consistency_tokens import token_of
from magistrate.api.http.json_values import render_time
from magistrate.operations.history import decisions
from magistrate.operations.history.decisions import RecordedDecision
from magistrate.store.contract.new_rows import NewWarrant
from magistrate.store.contract.revisions import RevisionId
from magistrate.store.contract.stored_rows import Identity


class DecisionAnswer(msgspec.Struct, rename="camel", kw_only=True):
    """Represents a recorded decision: the check with its context and contextual warrants, what was decided, for which
    time, and `token`, which names the revision it was decided at. `complete` is false if the context or the contextual
    warrants were too long to be kept."""

    id: str
    decision: Literal["allowed", "denied"]
    object_type: str
    object_id: str
    relation: str
    subject: SubjectAnswer
    context: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    contextual_warrants: list[WarrantBody] | msgspec.UnsetType = msgspec.UNSET
    actor: str | msgspec.UnsetType = msgspec.UNSET
    request_id: str | msgspec.UnsetType = msgspec.UNSET
    decided_at: str
    token: str | msgspec.UnsetType = msgspec.UNSET
    complete: bool | msgspec.UnsetType = msgspec.UNSET


class ReplayAnswer(msgspec.Struct, rename="camel", kw_only=True):
    """Represents a decision made again as of its time: `agrees` says whether it is the same, `explanation` why."""

    recorded: DecisionAnswer
    agrees: bool
    explanation: ExplainAnswer


async def get(call: Call[None]) -> Answer[DecisionAnswer]:
    recorded = await decisions.find_decision(call.context, call.path["id"], call.freshness)
    return Answer(_render_decision(call.context.store.identity, recorded.value), recorded.revision)


async def replay(call: Call[None]) -> Answer[ReplayAnswer]:
    result = await decisions.replay_decision(call.context, call.path["id"], call.freshness)
    replayed = result.value
    answer = ReplayAnswer(
        recorded=_render_decision(call.context.store.identity, replayed.recorded),
        agrees=replayed.agrees,
        explanation=render_explained(replayed.explained),
    )
    return Answer(answer, result.revision)


def _render_decision(identity: Identity, recorded: RecordedDecision) -> DecisionAnswer:
    record, check, at = recorded.record, recorded.check, recorded.record.revision
    return DecisionAnswer(
        id=recorded.id,
        decision="allowed" if record.is_authorized else "denied",
        object_type=check.object.type,
        object_id=check.object.id,
        relation=check.relation,
        subject=SubjectAnswer(check.subject.type, check.subject.id, check.subject.relation),
        context={**check.context} if check.context else msgspec.UNSET,
        contextual_warrants=[_render_contextual(warrant) for warrant in recorded.contextual] or msgspec.UNSET,
        actor=record.actor or msgspec.UNSET,
        request_id=record.request_id or msgspec.UNSET,
        decided_at=render_time(record.at),
        token=msgspec.UNSET if at is None else token_of(identity, RevisionId(at, record.bits)),
        complete=False if record.is_partial else msgspec.UNSET,
    )


def _render_contextual(warrant: NewWarrant) -> WarrantBody:
    limits = render_limits(warrant)
    return WarrantBody(
        object_type=warrant.object.type,
        object_id=warrant.object.id,
        relation=warrant.relation,
        subject=SubjectBody(warrant.subject.type, warrant.subject.id, warrant.subject.relation or None),
        policy=warrant.policy or None,
        starts_at=limits.get("startsAt"),
        expires_at=limits.get("expiresAt"),
    )
