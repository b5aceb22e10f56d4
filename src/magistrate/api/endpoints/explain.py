"""Defines the body and the handler of /v2/explain (docs/explain.md)."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec

from magistrate.api.calls import Answer, Call
from magistrate.api.endpoints.objects import TypeText
from magistrate.api.endpoints.openfga_names import Named
from magistrate.api.endpoints.policies import check_context_size
from magistrate.api.endpoints.warrant_bodies import DOCUMENTED_LIMIT, validate_contextual_warrants
from magistrate.api.endpoints.warrants import (
    IdOrWildcard,
    RelationText,
    SubjectAnswer,
    SubjectBody,
    WarrantAnswer,
    WarrantBody,
    read_check,
    render_warrant,
)
from magistrate.engine.evaluation.check import Check
from magistrate.engine.explanation.changes import Suggestion
from magistrate.engine.explanation.tree import ExplanationNode, OutOfForce, PolicyTrace
from magistrate.engine.nesting import fold
from magistrate.engine.truth import FALSE, TRUE, Truth
from magistrate.engine.warrants.warrant import WarrantNames
from magistrate.operations.checks.explain import ExplainedCheck, explain_check
from magistrate.operations.history.points_in_time import read_as_of

TruthAnswer = bool | Literal["unknown"]


class ExplainBody(msgspec.Struct, rename="camel", frozen=True):
    """Represents the check to explain."""

    object_type: TypeText | None = None
    object_id: IdOrWildcard | None = None
    relation: RelationText | None = None
    subject: SubjectBody | None = None
    context: dict[str, Any] | None = None
    contextual_warrants: Annotated[list[WarrantBody], DOCUMENTED_LIMIT] | None = None
    as_of: Annotated[str | None, msgspec.Meta(description="a token or a time: the answer is as of it")] = None
    strict: Annotated[bool | None, msgspec.Meta(description="whether undefined names are errors")] = None


class PolicyAnswer(msgspec.Struct, rename="camel", omit_defaults=True):
    """Represents what a policy came to, and the variables it has that were sent (`long` has the names of those whose
    value is too long to be repeated). If it is unknown, `missing` has those whose absence is the reason."""

    text: str
    holds: TruthAnswer
    values: dict[str, Any] = {}
    missing: list[str] = []
    long: list[str] = []


class NodeAnswer(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """Represents one step of an explanation: either a `check` or a `rule`. `via` is the warrant by which its parent
    comes to it; `outOfForce` says why it does not count if it is outside its time limits. `cut` counts the branches
    that are not shown; `loop` says that the step depends on itself."""

    check: str = ""
    rule: str = ""
    holds: TruthAnswer
    via: WarrantAnswer | None = None
    out_of_force: OutOfForce | None = None
    policy: PolicyAnswer | None = None
    children: "list[NodeAnswer]" = []
    cut: int = 0
    loop: bool = False


class SuggestedWarrant(msgspec.Struct, rename="camel", omit_defaults=True):
    """Represents a warrant that could be created; `policy` is omitted when it has none."""

    object_type: str
    object_id: str
    relation: str
    subject: SubjectAnswer
    policy: str = ""


class SuggestedContext(msgspec.Struct, rename="camel", omit_defaults=True):
    """Represents the variables of the context that are missing, or need a value that is `different`. With the values in
    `example` the check is allowed; others may do as well."""

    missing: list[str]
    different: list[str] = []
    example: dict[str, Any] = {}


class EffectsAnswer(msgspec.Struct, rename="camel"):
    """Counts the rows of a difference that a suggestion would make, over all relations, without those of the checked
    subject. `complete` is false if there may be more: at most 1,000 are counted."""

    gained: int
    lost: int
    complete: bool


class SuggestionAnswer(msgspec.Struct, rename="camel"):
    """Represents changes that allow the check if all of them are made, and not if only some are."""

    create: list[SuggestedWarrant]
    delete: list[WarrantAnswer]
    context: SuggestedContext
    effects: EffectsAnswer
    note: str


class ExplainAnswer(msgspec.Struct, rename="camel", kw_only=True):
    """Represents an explanation. It has `path`, the warrants from the subject to the object, if the check is allowed,
    and `wouldAllow` if it is denied. `complete` is false if there may be other suggestions. `names` is there if it has
    names that OpenFGA's API writes otherwise."""

    decision: Literal["allowed", "denied"]
    check: str
    because: NodeAnswer
    path: list[WarrantAnswer] | msgspec.UnsetType = msgspec.UNSET
    would_allow: list[SuggestionAnswer] | msgspec.UnsetType = msgspec.UNSET
    unknown: list[str]
    complete: bool | msgspec.UnsetType = msgspec.UNSET
    names: Named = msgspec.UNSET


async def answer_explain(call: Call[ExplainBody]) -> Answer[ExplainAnswer]:
    body = call.body
    context = check_context_size(body.context or {}, call.context.max_context_bytes)
    check = Check(*read_check(body.object_type, body.object_id, body.relation, body.subject), context)
    is_strict = call.is_strict if body.strict is None else body.strict
    contextual = await validate_contextual_warrants(body.contextual_warrants)
    as_of = None if body.as_of is None else read_as_of(call.context.store.identity, body.as_of)
    explained = await explain_check(call.context, check, call.freshness, is_strict, as_of=as_of, contextual=contextual)
    return Answer(render_explained(explained.value), explained.revision)


def render_explained(explained: ExplainedCheck) -> ExplainAnswer:
    explanation = explained.explanation
    answer = ExplainAnswer(
        decision="allowed" if explanation.is_allowed else "denied",
        check=explanation.tree.check,
        because=fold(explanation.tree, lambda node: node.children, _render_node),
        unknown=[*explained.unknown],
    )
    if explanation.is_allowed:
        answer.path = [render_warrant(warrant) for warrant in explanation.path]
    else:
        answer.would_allow = [_render_suggestion(suggestion) for suggestion in explanation.suggestions]
        answer.complete = msgspec.UNSET if explanation.is_complete else False
    return answer


def _render_node(node: ExplanationNode, children: Sequence[NodeAnswer]) -> NodeAnswer:
    return NodeAnswer(
        check=node.check,
        rule=node.rule,
        holds=_render_truth(node.holds),
        via=None if node.via is None else render_warrant(node.via),
        out_of_force=node.out_of_force,
        policy=None if node.policy is None else _render_policy(node.policy),
        children=[*children],
        cut=node.cut,
        loop=node.is_loop,
    )


def _render_policy(policy: PolicyTrace) -> PolicyAnswer:
    return PolicyAnswer(
        policy.text, _render_truth(policy.holds), {**policy.values}, [*policy.missing], long=[*policy.long]
    )


def _render_truth(value: Truth) -> TruthAnswer:
    return value is TRUE if value in (TRUE, FALSE) else "unknown"


def _render_suggestion(suggestion: Suggestion) -> SuggestionAnswer:
    return SuggestionAnswer(
        [_render_key(*key) for key in suggestion.create],
        [render_warrant(warrant) for warrant in suggestion.delete],
        SuggestedContext([*suggestion.missing], [*suggestion.different], {**suggestion.example}),
        EffectsAnswer(suggestion.effects.gained, suggestion.effects.lost, suggestion.effects.is_complete),
        note=suggestion.note,
    )


def _render_key(names: WarrantNames, policy: str) -> SuggestedWarrant:
    subject = SubjectAnswer(names.subject_type, names.subject_id, names.subject_relation)
    return SuggestedWarrant(names.object_type, names.object_id, names.relation, subject, policy=policy)
