"""Defines the bodies and the handler of /fga/v1/check (docs/fga-v1.md#checks)."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, Literal, cast

import msgspec

from magistrate.api.calls import Answer, Call, answer_call
from magistrate.api.endpoints import check
from magistrate.api.endpoints.check import ALLOWED, MAX_CHECKS, STOP_AT, CheckAnswer, CheckBody, SingleCheckBody
from magistrate.api.endpoints.objects import TypeText
from magistrate.api.endpoints.warrants import IdOrWildcard, RelationText
from magistrate.api.fga.decision_tree import ExplainedDecision, FgaDebugAnswer, FgaWarningAnswer, explain_decisions
from magistrate.api.fga.names import translate_call
from magistrate.api.fga.warrants import FgaSubjectBody
from magistrate.api.http.consistency_tokens import find_token
from magistrate.errors import InvalidParameter
from magistrate.operations.keys.callers import Scope

OPERATORS = {"any_of": "anyOf", "all_of": "allOf", "batch": "batch"}
"""Maps the operators of checks to those of v2."""

MAX_ATTEMPTS = 3
"""Limits how often an explanation is made again that comes to another decision, because others wrote meanwhile."""


class FgaSingleCheckBody(msgspec.Struct, frozen=True):
    """Represents a check of one relation of a subject on a resource."""

    resource_type: TypeText | None = None
    resource_id: IdOrWildcard | None = None
    relation: RelationText | None = None
    subject: FgaSubjectBody | None = None
    context: dict[str, Any] | None = None


class FgaCheckBody(msgspec.Struct, frozen=True):
    """Represents one check, or several with an operator: `any_of`, `all_of`, or `batch` for an answer to each."""

    op: str | None = None
    checks: list[FgaSingleCheckBody] | None = None
    debug: bool | None = None


class FgaCheckAnswer(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Represents the answer to a check. With `debug`, it has `debug_info`, and `warnings` if there are any."""

    result: Literal["authorized", "not_authorized"]
    is_implicit: bool
    warrant_token: str
    debug_info: FgaDebugAnswer | None = None
    warnings: list[FgaWarningAnswer] = []


async def answer_check(call: Call[FgaCheckBody]) -> Answer:
    body = call.body
    if body.op and body.op not in OPERATORS:
        raise InvalidParameter("op", f"must be one of {', '.join(OPERATORS)}")
    op = OPERATORS[body.op] if body.op else None
    checks = [*map(_read, (body.checks or [])[: MAX_CHECKS + 1])]
    v2_call = translate_call(call, CheckBody(op, checks))
    if not body.debug or call.is_limited or Scope.READ not in call.caller.scopes:
        return await _build_answer(call, op, await answer_call(check.answer_check, v2_call), [])
    for _ in range(MAX_ATTEMPTS):
        answer = await answer_call(check.answer_check, v2_call)
        explained = await explain_decisions(call, checks, STOP_AT[op])
        compared = explained if op == "batch" else explained[-1:]
        if [decision.is_authorized for decision in compared] == [
            _is_authorized(decision) for decision in _list_answers(answer)
        ]:
            return await _build_answer(call, op, answer, compared)
    return await _build_answer(call, op, answer, [])


def _list_answers(answer: Answer) -> Sequence[CheckAnswer]:
    return answer.value if isinstance(answer.value, list) else [cast(CheckAnswer, answer.value)]


def _is_authorized(answer: CheckAnswer) -> bool:
    return answer.code == ALLOWED[0]


def _read(body: FgaSingleCheckBody) -> SingleCheckBody:
    subject = None if body.subject is None else body.subject.to_subject_body()
    return SingleCheckBody(body.resource_type, body.resource_id, body.relation, subject, context=body.context)


async def _build_answer(
    call: Call[Any], op: str | None, answer: Answer, explained: Sequence[ExplainedDecision]
) -> Answer:
    token = await find_token(call.context.store, answer.revision)
    answers = [_render(decision, token, how) for decision, how in zip_longest(_list_answers(answer), explained)]
    return Answer(answers if op == "batch" else answers[0], answer.revision)


def _render(answer: CheckAnswer, token: str, explained: ExplainedDecision | None) -> FgaCheckAnswer:
    return FgaCheckAnswer(
        result="authorized" if _is_authorized(answer) else "not_authorized",
        is_implicit=answer.is_implicit,
        warrant_token=token,
        debug_info=None if explained is None else explained.debug,
        warnings=[] if explained is None else explained.warnings,
    )
