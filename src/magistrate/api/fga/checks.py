"""Defines the bodies and the handler of /fga/v1/check (docs/fga-v1.md#checks), and explains
decisions with `debug` (docs/fga-v1.md#debug)."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any, Literal

import msgspec

from magistrate.api.calls import Answer, Call, answer_call
from magistrate.api.endpoints.check import (
    ALLOWED,
    MAX_CHECKS,
    STOP_AT,
    CheckAnswer,
    CheckAnswers,
    CheckBody,
    SingleCheckBody,
)
from magistrate.api.endpoints.check import answer_check as answer_v2_check
from magistrate.api.endpoints.objects import TypeText
from magistrate.api.endpoints.policies import check_context_size
from magistrate.api.endpoints.warrants import IdOrWildcard, RelationText, read_check
from magistrate.api.fga.views import translate_call
from magistrate.api.fga.warrants import FgaSubjectAnswer, FgaSubjectBody
from magistrate.api.http.consistency_tokens import find_token
from magistrate.engine.evaluation.check import Check
from magistrate.engine.explanation.explanation import Explanation
from magistrate.engine.explanation.tree import ExplanationNode
from magistrate.engine.truth import TRUE
from magistrate.engine.warrants.notation import read_written
from magistrate.engine.warrants.warrant import WarrantNames
from magistrate.errors import InvalidParameter
from magistrate.operations.checks.explain import explain_check
from magistrate.operations.keys.callers import Scope

OPERATORS = {"any_of": "anyOf", "all_of": "allOf", "batch": "batch"}
"""Maps the operators of checks to those of v2."""

MAX_ATTEMPTS = 3
"""Limits how often an explanation is made again that comes to another decision, because others wrote meanwhile."""

MAX_EXPLAINED = 10
"""Limits the checks of a request with `debug`: an explanation takes much longer than a decision."""


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


class FgaCheckedAnswer(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Represents what a step of a decision checked; the first step has the context of the check."""

    resource_type: str
    resource_id: str
    relation: str
    subject: FgaSubjectAnswer
    context: dict[str, Any] = {}


class FgaDecisionNode(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Represents a step of a decision, with the steps that it depends on. `policy` is one that was evaluated. The time
    of single steps is not measured, and 0."""

    check: FgaCheckedAnswer
    decision: Literal["matched", "not_matched"]
    processing_time: int
    policy: str | msgspec.UnsetType = msgspec.UNSET
    children: "list[FgaDecisionNode]"


class FgaDebugAnswer(msgspec.Struct):
    """Represents how a check was decided, and in how many milliseconds."""

    processing_time: int
    decision_tree: FgaDecisionNode


class FgaWarningAnswer(msgspec.Struct):
    """Represents a warning: policies could not be evaluated, because the context has no values of these names."""

    code: Literal["missing_context_keys"]
    message: str
    keys: list[str]


class ExplainedDecision(msgspec.Struct, frozen=True):
    """Holds a decision, how it came about, and the warnings about it."""

    is_authorized: bool
    debug: FgaDebugAnswer
    warnings: list[FgaWarningAnswer]


class FgaCheckAnswer(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Represents the answer to a check. With `debug`, it has `debug_info`, and `warnings` if there are any."""

    result: Literal["authorized", "not_authorized"]
    is_implicit: bool
    warrant_token: str
    debug_info: FgaDebugAnswer | None = None
    warnings: list[FgaWarningAnswer] = []


async def answer_check(call: Call[FgaCheckBody]) -> Answer[FgaCheckAnswer | list[FgaCheckAnswer]]:
    body = call.body
    if body.op and body.op not in OPERATORS:
        raise InvalidParameter("op", f"must be one of {', '.join(OPERATORS)}")
    op = OPERATORS[body.op] if body.op else None
    checks = [*map(_read, (body.checks or [])[: MAX_CHECKS + 1])]
    v2_call = translate_call(call, CheckBody(op, checks))
    if not body.debug or call.is_limited or Scope.READ not in call.caller.scopes:
        return await _build_answer(call, op, await answer_call(answer_v2_check, v2_call), [])
    for _ in range(MAX_ATTEMPTS):
        answer = await answer_call(answer_v2_check, v2_call)
        explained = await explain_decisions(call, checks, STOP_AT[op])
        compared = explained if op == "batch" else explained[-1:]
        if [decision.is_authorized for decision in compared] == [
            _is_authorized(decision) for decision in _list_answers(answer)
        ]:
            return await _build_answer(call, op, answer, compared)
    return await _build_answer(call, op, answer, [])


def _list_answers(answer: Answer[CheckAnswers]) -> Sequence[CheckAnswer]:
    return answer.value if isinstance(answer.value, list) else [answer.value]


def _is_authorized(answer: CheckAnswer) -> bool:
    return answer.code == ALLOWED[0]


def _read(body: FgaSingleCheckBody) -> SingleCheckBody:
    subject = None if body.subject is None else body.subject.to_subject_body()
    return SingleCheckBody(body.resource_type, body.resource_id, body.relation, subject, context=body.context)


async def _build_answer(
    call: Call[Any], op: str | None, answer: Answer[CheckAnswers], explained: Sequence[ExplainedDecision]
) -> Answer[FgaCheckAnswer | list[FgaCheckAnswer]]:
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


async def explain_decisions(
    call: Call[Any], bodies: Sequence[SingleCheckBody], stop_at: bool | None
) -> list[ExplainedDecision]:
    """Explains the checks in order, up to the first whose decision is `stop_at`. Raises InvalidParameter if there are
    more than MAX_EXPLAINED."""
    if len(bodies) > MAX_EXPLAINED:
        raise InvalidParameter("warrants", f"must be at most {MAX_EXPLAINED} with debug")
    explained: list[ExplainedDecision] = []
    for check in [_read_check(call, body) for body in bodies]:
        started = call.context.now()
        explanation = await explain_check(call.context, check, call.freshness, is_strict=False, counts_effects=False)
        took = (call.context.now() - started) // 1_000
        explained.append(_render_explained(check, explanation.value.explanation, took))
        if explained[-1].is_authorized is stop_at:
            break
    return explained


def _read_check(call: Call[Any], body: SingleCheckBody) -> Check:
    names = read_check(body.object_type, body.object_id, body.relation, body.subject)
    return Check(*names, check_context_size(body.context or {}, call.context.max_context_bytes))


def _render_explained(check: Check, explanation: Explanation, took: int) -> ExplainedDecision:
    tree = _render_tree(explanation.tree)
    tree.processing_time = took
    tree.check.context = {**check.context}
    return ExplainedDecision(explanation.is_allowed, FgaDebugAnswer(took, tree), _warn(explanation.tree))


def _render_tree(root: ExplanationNode) -> FgaDecisionNode:
    """Returns a tree of checks: a rule within a combination is shown as the check that it belongs to."""
    names = read_written(root.check).names
    top = _render_node(root, names)
    waiting = [(root, top, names)]
    for node, shown, names in waiting:  # grows during the loop
        for child in node.children:
            inner = read_written(child.check).names if child.check else names
            shown.children.append(_render_node(child, inner))
            waiting.append((child, shown.children[-1], inner))
    return top


def _render_node(node: ExplanationNode, names: WarrantNames) -> FgaDecisionNode:
    subject = FgaSubjectAnswer(names.subject_type, names.subject_id, names.subject_relation)
    checked = FgaCheckedAnswer(
        resource_type=names.object_type, resource_id=names.object_id, relation=names.relation, subject=subject
    )
    return FgaDecisionNode(
        check=checked,
        decision="matched" if node.holds is TRUE else "not_matched",
        processing_time=0,
        policy=msgspec.UNSET if node.policy is None else node.policy.text,
        children=[],
    )


def _warn(root: ExplanationNode) -> list[FgaWarningAnswer]:
    """Returns a warning if policies are neither true nor false because the context lacks variables. A warrant outside
    its time limits does not count whatever its policy is."""
    policies = (node.policy for node in _walk(root) if node.policy and not node.out_of_force)
    missing = dict.fromkeys(name for policy in policies for name in policy.missing)
    if not missing:
        return []
    message = f"the context has no value of {', '.join(missing)}, which policies read"
    return [FgaWarningAnswer("missing_context_keys", message, [*missing])]


def _walk(root: ExplanationNode) -> Iterator[ExplanationNode]:
    waiting = [root]
    for node in waiting:  # grows during the loop
        yield node
        waiting += node.children
