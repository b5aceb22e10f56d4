"""Defines the bodies and the handler of /v2/check and its alias /v2/authorize (docs/compatibility.md#check)."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from magistrate.api.auth.callers import Holder
from magistrate.api.endpoints.objects import TypeText
from magistrate.api.endpoints.policy_context import check_context_size, context_bytes
from magistrate.api.endpoints.warrants import (
    IdOrWildcard,
    RelationText,
    SubjectBody,
    WarrantAnswer,
    read_claim,
    render_warrant,
)
from magistrate.api.service import Answer, Call
from magistrate.engine.decision import Decision
from magistrate.engine.evaluation import Question
from magistrate.errors import Forbidden, InvalidParameter
from magistrate.operations.checks import check
from magistrate.store.contract import Snapshot

MAX_CHECKS = 1_000
"""Limits the warrants in one check."""
MAX_CHECKS_BY_TOKEN = 100
"""Limits the warrants in one check with a bearer token, which any browser may hold."""
MOST_CONTEXTS = 128
"""Limits the contexts of warrants that have their own, as a multiple of the maximum context size: 8 MiB by default."""

LAST = {
    None: check.none_is_last,
    "anyOf": check.stop_at_authorized,
    "allOf": check.stop_at_denied,
    "batch": check.none_is_last,
}

ALLOWED, DENIED = (200, "Authorized"), (403, "Not Authorized")


class ClaimBody(msgspec.Struct, rename="camel", frozen=True):
    """Represents a warrant to check. Its `context` is merged over the context of the whole check. With a bearer token,
    `subject` may be omitted."""

    object_type: TypeText | None = None
    object_id: IdOrWildcard | None = None
    relation: RelationText | None = None
    subject: SubjectBody | None = None
    context: dict[str, Any] | None = None


class CheckBody(msgspec.Struct, rename="camel", frozen=True):
    """Represents a check of one warrant, or of several with an operator: `anyOf`, `allOf`, or `batch` for an answer to
    each."""

    op: str | None = None
    warrants: list[ClaimBody] | None = None
    debug: bool | None = None
    context: dict[str, Any] | None = None
    consistent_read: Annotated[bool | None, msgspec.Meta(description="accepted, without effect")] = None


class CheckAnswer(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """Represents the answer to a check. `code` is 200 or 403. With `debug`, it has `processingTime` in milliseconds,
    and for each warrant that holds, keyed by its written form, the warrants it rests on, from the subject to the
    object."""

    code: int
    result: str
    is_implicit: bool
    processing_time: int = 0
    decision_path: dict[str, list[WarrantAnswer]] | msgspec.UnsetType = msgspec.UNSET


async def answer_check(call: Call[CheckBody]) -> Answer:
    if call.holder is not None:  # the warrants that an answer rests on name other users
        call = replace(call, body=replace(call.body, debug=None))
    started = call.context.now()
    op, questions = _read(call.body, call.context.max_context_bytes, call.holder)
    found = await check.check(call.context, questions, LAST[op], call.freshness, bool(call.body.debug))
    return _build_answer(op, questions, found, call, started)


def answer_check_now(call: Call[CheckBody]) -> Answer | None:
    """Answers a check if it can be decided without waiting, and returns None otherwise."""
    if call.body.debug:
        return None
    op, questions = _read(call.body, call.context.max_context_bytes, call.holder)
    found = check.check_now(call.context, questions, LAST[op], call.freshness)
    return None if found is None else _build_answer(op, questions, found, call, started=0)


def _build_answer(
    op: str | None, questions: Sequence[Question], found: Snapshot[list[Decision]], call: Call[CheckBody], started: int
) -> Answer:
    decided = list(zip(questions, found.value, strict=False))
    if op == "batch":
        answers = [_answer([one], one[1].is_authorized, call, started) for one in decided]
        return Answer(answers, found.revision)
    is_authorized = decided[-1][1].is_authorized
    return Answer(_answer(decided, is_authorized, call, started), found.revision)


def _read(body: CheckBody, max_context_bytes: int, holder: Holder | None) -> tuple[str | None, list[Question]]:
    op = body.op or None
    if op not in LAST:
        raise InvalidParameter("op", "must be either anyOf or allOf, or batch")
    claims = body.warrants or []
    if not claims:
        raise InvalidParameter("warrants", "must be greater than or equal to 1")
    limit = MAX_CHECKS if holder is None else MAX_CHECKS_BY_TOKEN
    if len(claims) > limit:
        raise InvalidParameter("warrants", f"must be less than {limit + 1}")
    if op is None and len(claims) > 1:
        raise InvalidParameter("warrants", "must include operator when including multiple warrants")
    contexts = _Contexts(body.context or {}, max_context_bytes, holder)
    return op, [_question(claim, contexts, holder) for claim in claims]


def _question(claim: ClaimBody, contexts: "_Contexts", holder: Holder | None) -> Question:
    """Returns the check that a claim describes. Raises Forbidden if its subject is not the holder."""
    subject = claim.subject
    if holder is not None and subject is None:
        subject = SubjectBody(holder.subject.type, holder.user)
    names = read_claim(claim.object_type, claim.object_id, claim.relation, subject)
    question = Question(*names, contexts.of(claim))
    if holder is not None and question.subject != holder.subject:
        raise Forbidden("a bearer token can only be used to ask about its own user")
    return question


class _Contexts:
    """Merges the contexts of the warrants of one check: their own over the common one, and the token's claims over
    both."""

    __slots__ = ("_common", "_holder", "_laid", "_left", "_limit")

    def __init__(self, common: Mapping[str, Any], limit: int, holder: Holder | None) -> None:
        self._common = check_context_size(common, limit)
        self._laid = common if holder is None else holder.overlay_context(common)
        self._holder = holder
        self._limit = limit
        self._left = MOST_CONTEXTS * limit

    def of(self, claim: ClaimBody) -> Mapping[str, Any]:
        """Returns the context of a warrant. Raises InvalidParameter if it is too large, or if all contexts together
        are: each includes a copy of the common one."""
        if not claim.context:
            return self._laid
        merged = {**self._common, **claim.context}
        self._left -= context_bytes(merged, self._limit)
        if self._left < 0:
            raise InvalidParameter(
                "context", f"must be at most {MOST_CONTEXTS * self._limit} bytes of JSON for all warrants together"
            )
        return merged if self._holder is None else self._holder.overlay_context(merged)


def _answer(
    decided: Sequence[tuple[Question, Decision]], is_authorized: bool, call: Call[CheckBody], started: int
) -> CheckAnswer:
    code, result = ALLOWED if is_authorized else DENIED
    is_implicit = is_authorized and any(decision.is_implicit for _, decision in decided)
    if not call.body.debug:
        return CheckAnswer(code=code, result=result, is_implicit=is_implicit)
    paths = {
        question.render(): [render_warrant(warrant) for warrant in decision.path]
        for question, decision in decided
        if decision.path
    }
    return CheckAnswer(
        code=code,
        result=result,
        is_implicit=is_implicit,
        processing_time=(call.context.now() - started) // 1_000,
        decision_path=paths or msgspec.UNSET,
    )
