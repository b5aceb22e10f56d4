"""Explains checks of /fga/v1/check with `debug` (docs/fga-v1.md#debug)."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from magistrate.api.calls import Call
from magistrate.api.endpoints.check import SingleCheckBody
from magistrate.api.endpoints.policies import check_context_size
from magistrate.api.endpoints.warrants import read_check
from magistrate.api.fga.warrants import FgaSubjectAnswer
from magistrate.engine.evaluation.check import Check
from magistrate.engine.explanation.explanation import Explanation
from magistrate.engine.explanation.tree import ExplanationNode
from magistrate.engine.names import WarrantNames
from magistrate.engine.truth import TRUE
from magistrate.engine.warrants.notation import read_written
from magistrate.errors import InvalidParameter
from magistrate.operations.checks.explain import explain_check

MAX_EXPLAINED = 10
"""Limits the checks of a request with `debug`: an explanation takes much longer than a decision."""


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
