"""Handles /access/v1/evaluation and /access/v1/evaluations (docs/authzen.md#evaluations): a check, and a batch of
checks at one revision."""

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from operator import attrgetter
from typing import Annotated, Any

import msgspec

from magistrate.api.authzen.requests import (
    ContextReader,
    EvaluationBody,
    SingleEvaluationBody,
    UnknownName,
    read_evaluation,
    read_plain_checks,
)
from magistrate.api.calls import Answer, Call, Deferred
from magistrate.api.endpoints.check import MAX_CHECKS
from magistrate.api.endpoints.warrants import WarrantAnswer, render_path
from magistrate.api.http.error_bodies import ERROR_TABLE
from magistrate.api.http.json_values import build_decoder
from magistrate.api.http.request_values import decode_element
from magistrate.engine.evaluation.check import Check, Decision
from magistrate.errors import InvalidParameter, InvalidRequest, MissingParameter
from magistrate.operations.authzen.actions import replace_actions_at_once
from magistrate.operations.authzen.evaluations import PendingEvaluations, describe_undefined, may_have_undefined
from magistrate.operations.checks.check import PendingChecks
from magistrate.operations.checks.check_batch import ALL_NEEDED, UNTIL_AUTHORIZED, UNTIL_DENIED, Decisions, StopAt
from magistrate.store.contract.lists import Snapshot

SEMANTICS = {"execute_all": ALL_NEEDED, "deny_on_first_deny": UNTIL_DENIED, "permit_on_first_permit": UNTIL_AUTHORIZED}

_ITEM = build_decoder(SingleEvaluationBody)


class OptionsBody(msgspec.Struct, frozen=True):
    """Represents how evaluations are made: all of them, or up to the first that is denied or allowed."""

    evaluations_semantic: Annotated[str, msgspec.Meta(extra_json_schema={"enum": [*SEMANTICS]})] | None = None


class EvaluationsBody(EvaluationBody, frozen=True):
    """Represents several evaluations. The members beside them are defaults: an evaluation that has a member of its own
    uses that instead, as a whole. Without any evaluation, the defaults are the one that is requested."""

    evaluations: Annotated[list[msgspec.Raw], msgspec.Meta(extra_json_schema={"items": {"type": "object"}})] | None = (
        None
    )
    options: OptionsBody | None = None


class TypedEvaluationsBody(EvaluationBody, frozen=True, omit_defaults=True):
    """Represents several evaluations of which none has a member of the wrong JSON type. It is decoded in a third of the
    time."""

    evaluations: list[SingleEvaluationBody] | None = None
    options: OptionsBody | None = None

    @cached_property
    def plain_evaluations(self) -> Sequence[Check] | None:
        """Holds the checks that the evaluations mean, or None if `read_plain_checks` does not read them."""
        return read_plain_checks(self.evaluations or (), self)


class EvaluationFault(msgspec.Struct, frozen=True):
    """Represents what is wrong with one of several evaluations."""

    status: int
    message: str


class EvaluationDetails(msgspec.Struct, frozen=True, omit_defaults=True):
    """Represents what there is to say about a decision: `reason`, if it was requested or a name is not defined; `path`,
    the warrants that it depends on from the subject to the resource, if it was requested; `error`, if the evaluation
    could not be made."""

    reason: str | msgspec.UnsetType = msgspec.UNSET
    path: list[WarrantAnswer] | msgspec.UnsetType = msgspec.UNSET
    error: EvaluationFault | msgspec.UnsetType = msgspec.UNSET


class EvaluationAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Represents a decision: true for allowed."""

    decision: bool
    context: EvaluationDetails | msgspec.UnsetType = msgspec.UNSET


class EvaluationsAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Represents decisions in the order of the evaluations, up to the last that was needed. A request without
    evaluations gets the other members instead, which are those of an EvaluationAnswer."""

    evaluations: list[EvaluationAnswer] | msgspec.UnsetType = msgspec.UNSET
    decision: bool | msgspec.UnsetType = msgspec.UNSET
    context: EvaluationDetails | msgspec.UnsetType = msgspec.UNSET


PLAIN_ANSWERS = DENIED, ALLOWED = EvaluationAnswer(False), EvaluationAnswer(True)
"""Holds the answers without details, by whether the evaluation is allowed."""

_IS_AUTHORIZED = attrgetter("is_authorized")


class Item(msgspec.Struct, frozen=True):
    """Represents one evaluation of a request: its check, or the answer if it needs none."""

    check: Check | None
    answer: EvaluationAnswer = DENIED
    is_explained: bool = False


class ReadRequest(msgspec.Struct, frozen=True):
    """Represents a request: its evaluations, of which the last ones may be left out if they cannot be needed."""

    items: Sequence[Item]
    reads: set[str]
    stop_at: StopAt = ALL_NEEDED
    is_single: bool = True

    @property
    def checks(self) -> list[Check]:
        return [item.check for item in self.items if item.check is not None]


def answer_evaluation(call: Call[Any]) -> Answer[EvaluationAnswer] | Deferred[EvaluationAnswer]:
    """Returns the answer to an EvaluationBody if the graph cache has all that it needs, otherwise what reads
    the rest."""
    answer = _answer_known(call, call.body.plain_checks, ALL_NEEDED, is_single=True)
    if answer is not None:
        return answer
    contexts = ContextReader(call.context.max_context_bytes)
    return _decide(call, ReadRequest([_read_item(call.body, contexts)], contexts.reads))


def answer_evaluations(
    call: Call[EvaluationsBody] | Call[TypedEvaluationsBody],
) -> Answer[Any] | Deferred[Any]:
    """Returns the answer like `answer_evaluation`. Raises InvalidParameter for an unknown semantic or too many
    evaluations."""
    body = call.body
    semantic = None if body.options is None else body.options.evaluations_semantic
    if semantic is not None and semantic not in SEMANTICS:
        raise InvalidParameter("options.evaluations_semantic", f"must be one of {', '.join(SEMANTICS)}")
    if not body.evaluations:
        return answer_evaluation(call)
    if len(body.evaluations) > MAX_CHECKS:
        raise InvalidParameter("evaluations", f"must be at most {MAX_CHECKS}")
    stop_at = ALL_NEEDED if semantic is None else SEMANTICS[semantic]
    if isinstance(body, TypedEvaluationsBody):
        answer = _answer_known(call, body.plain_evaluations, stop_at, is_single=False)
        if answer is not None:
            return answer
    contexts = ContextReader(call.context.max_context_bytes)
    items = list(_read_items(body, contexts, stop_at))
    return _decide(call, ReadRequest(items, contexts.reads, stop_at, is_single=False))


def list_in_evaluation(call: Call[Any]) -> Sequence[str | None]:
    """Returns the type of the resource. An evaluation without one is refused when it is validated."""
    resource = call.body.resource
    return [resource.type] if resource is not None and resource.type else []


def list_in_evaluations(call: Call[EvaluationsBody] | Call[TypedEvaluationsBody]) -> Sequence[str | None]:
    """Returns the types of all resources, those of defaults included."""
    types = [*list_in_evaluation(call)]
    for element in call.body.evaluations or ():
        try:
            item = _decode_evaluation(element)
        except InvalidRequest:
            continue  # it is answered with an error
        types += [item.resource.type] if item.resource is not None and item.resource.type else []
    return types


def _decode_evaluation(element: msgspec.Raw | SingleEvaluationBody) -> SingleEvaluationBody:
    return decode_element(element, _ITEM) if isinstance(element, msgspec.Raw) else element


def _read_items(
    body: EvaluationsBody | TypedEvaluationsBody, contexts: ContextReader, stop_at: StopAt
) -> Iterator[Item]:
    """Yields the evaluations. After one that is denied for a fault, none may be needed."""
    has_defaults = any((body.subject, body.action, body.resource, body.context))
    for element in body.evaluations or ():
        try:
            own = _decode_evaluation(element)
            item = _read_item(_merge_defaults(own, body) if has_defaults else own, contexts)
        except InvalidRequest as error:
            item = Item(None, EvaluationAnswer(False, EvaluationDetails(error=_render_fault(error))))
        yield item
        if item.check is None and stop_at is UNTIL_DENIED:
            return


def _render_fault(error: InvalidRequest) -> EvaluationFault:
    where = ""
    if isinstance(error, InvalidParameter) and not isinstance(error, MissingParameter):
        where = f"{error.parameter or 'the evaluation'} "
    return EvaluationFault(ERROR_TABLE[type(error)].status, where + error.message)


def _merge_defaults(item: SingleEvaluationBody, defaults: EvaluationBody) -> SingleEvaluationBody:
    return SingleEvaluationBody(
        defaults.subject if item.subject is None else item.subject,
        defaults.action if item.action is None else item.action,
        defaults.resource if item.resource is None else item.resource,
        defaults.context if item.context is None else item.context,
    )


def _read_item(body: SingleEvaluationBody, contexts: ContextReader) -> Item:
    try:
        return Item(read_evaluation(body, contexts), DENIED, body.is_explained)
    except UnknownName as error:
        return Item(None, EvaluationAnswer(False, EvaluationDetails(reason=str(error))))


def _answer_known(
    call: Call[Any], checks: Sequence[Check] | None, stop_at: StopAt, is_single: bool
) -> Answer[Any] | Deferred[Any] | None:
    """Returns the answer to plain checks if their decisions are cached, otherwise None. No decision that is cached
    depends on what a policy read."""
    if checks is None:
        return None
    related = replace_actions_at_once(call.context, checks, call.freshness)
    pending = PendingChecks(call.context, related, stop_at, call.freshness, origin=call.origin)
    decided = pending.decide_at_once(may_walk=False)
    if decided is None:
        return None
    if may_have_undefined(call.context, checks, decided.value):
        request = ReadRequest([*map(Item, checks)], set(), stop_at, is_single)
        return Deferred(partial(_answer_with_details, call, request, checks, decided=decided))
    answers = [*map(PLAIN_ANSWERS.__getitem__, map(_IS_AUTHORIZED, decided.value))]
    return Answer(answers[0] if is_single else EvaluationsAnswer(answers), decided.revision)


def _decide(call: Call[Any], request: ReadRequest) -> Answer[Any] | Deferred[Any]:
    checks = request.checks
    if not checks:
        return Deferred(partial(_answer_without_checks, call, request))
    with_path = not call.is_limited and any(item.is_explained for item in request.items)
    checks_pending = PendingChecks(call.context, checks, request.stop_at, call.freshness, with_path, origin=call.origin)
    pending = PendingEvaluations(checks_pending, request.reads)
    decided = pending.attempt()
    if decided is None:
        return Deferred(partial(_answer_later, call, request, checks, pending=pending))
    if may_have_undefined(call.context, checks, decided.value):
        return Deferred(partial(_answer_with_details, call, request, checks, decided=decided))
    return _build_answer(request, decided, [None] * len(decided.value), [[]] * len(decided.value))


async def _answer_without_checks(call: Call[Any], request: ReadRequest) -> Answer[Any]:
    newest = await call.context.store.check()
    call.freshness.demand(newest)
    return _build_answer(request, Snapshot(newest, []), [], [])


async def _answer_later(
    call: Call[Any], request: ReadRequest, checks: Sequence[Check], pending: PendingEvaluations
) -> Answer[Any]:
    return await _answer_with_details(call, request, checks, await pending.complete())


async def _answer_with_details(
    call: Call[Any], request: ReadRequest, checks: Sequence[Check], decided: Decisions
) -> Answer[Any]:
    undefined = await describe_undefined(
        call.context, checks, decided.value, decided.revision, visible=call.visible_types
    )
    paths = [await render_path(decision.path) for decision in decided.value]
    return _build_answer(request, decided, undefined, paths)


def _build_answer(
    request: ReadRequest, decided: Decisions, undefined: Sequence[str | None], paths: Sequence[list[WarrantAnswer]]
) -> Answer[Any]:
    """Returns the answer of these decisions, which go with the checks of the request, and of their paths; `undefined`
    is as from `describe_undefined`."""
    if request.is_single:
        [answer] = _list_answers(request, decided, undefined, paths)
        return Answer(answer, decided.revision)
    return Answer(EvaluationsAnswer(list(_list_answers(request, decided, undefined, paths))), decided.revision)


def _list_answers(
    request: ReadRequest, decided: Decisions, undefined: Sequence[str | None], paths: Sequence[list[WarrantAnswer]]
) -> Iterator[EvaluationAnswer]:
    decisions = zip(decided.value, undefined, paths, strict=True)
    for item in request.items:
        if item.check is None:
            yield item.answer
            continue
        details = next(decisions, None)
        if details is None:
            return  # the last one made the others unnecessary
        decision, reason, path = details
        yield _render_decision(item.check, decision, reason, path if item.is_explained else None)
        if decision.is_authorized is request.stop_at:
            return


def _render_decision(
    check: Check, decision: Decision, reason: str | None, path: list[WarrantAnswer] | None
) -> EvaluationAnswer:
    """Returns the answer, with details if it is to be explained: then there is a path, which may be empty."""
    if path is None and reason is None:
        return ALLOWED if decision.is_authorized else DENIED
    details = EvaluationDetails(
        reason=_describe(check, decision) if reason is None else reason,
        path=path or msgspec.UNSET,
    )
    return EvaluationAnswer(decision.is_authorized, details)


def _describe(check: Check, decision: Decision) -> str:
    subject, obj = f"{check.subject.type}:{check.subject.id}", f"{check.object.type}:{check.object.id}"
    if not decision.is_authorized:
        return f"no warrant and no rule gives {subject} the relation {check.relation} on {obj}"
    if decision.is_implicit:
        return f"rules give {subject} the relation {check.relation} on {obj}"
    return f"a warrant gives {subject} the relation {check.relation} on {obj}"
