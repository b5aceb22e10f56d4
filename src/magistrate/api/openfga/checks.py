"""Handles the checks of OpenFGA's API, single and in batches (docs/openfga.md#checks)."""

import re
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple
from weakref import ref

import msgspec

from magistrate.api.calls import Answer, Call, Deferred
from magistrate.api.http.openfga_errors import INVALID, describe_openfga_error
from magistrate.api.openfga.tuples import (
    MODEL_ID,
    ContextualTuplesBody,
    TupleKeyBody,
    read_context,
    read_contextual,
    read_model_id,
    with_consistency,
)
from magistrate.engine.evaluation.check import Check, Decision
from magistrate.engine.names import Revision
from magistrate.engine.openfga.documents import OpenFgaDocument
from magistrate.engine.openfga.tuples import NamedTupleKey
from magistrate.errors import BudgetExceeded, HistoryReplaced, MagistrateError, NotFound, OpenFgaRefusal
from magistrate.operations.checks.check_batch import Decisions
from magistrate.operations.openfga.checks import UNKNOWN_CONDITION, build_check, build_pending, decide_by_model
from magistrate.operations.openfga.documents import UsedModel
from magistrate.store.contract.new_rows import NewWarrant

MAX_BATCH_CHECKS = 50
MAX_ATTEMPTS = 3
"""Limits how often a check is decided again because a newer model was written meanwhile."""
REFUSED_BY_MODEL = (OpenFgaRefusal, NotFound)
"""Lists the errors of names that a newer model may have."""
_LAST_CHECK = "last_check"
_CORRELATION_ID = re.compile(r"[A-Za-z0-9_-]{1,36}")


class OpenFgaCheckBody(msgspec.Struct, frozen=True, dict=True):
    """Represents a check. Bodies that come again are kept, with what was read of them."""

    tuple_key: TupleKeyBody | None = None
    contextual_tuples: ContextualTuplesBody | None = None
    authorization_model_id: str | None = None
    context: dict[str, Any] | None = None
    consistency: Any = None

    @cached_property
    def key(self) -> NamedTupleKey:
        """Holds the names in the check. Raises OpenFgaRefusal."""
        return _read_key(self.tuple_key)

    def find_check(self, document: OpenFgaDocument) -> Check | None:
        """Returns the check of this model if it was the last that was built for the body."""
        last: tuple[ref[OpenFgaDocument], Check] | None = vars(self).get(_LAST_CHECK)
        return last[1] if last is not None and last[0]() is document else None

    def keep_check(self, document: OpenFgaDocument, check: Check) -> None:
        """Keeps the check of a model for `find_check`, and not the model."""
        vars(self)[_LAST_CHECK] = (ref(document), check)


class OpenFgaCheckAnswer(msgspec.Struct, frozen=True):
    """Represents the decision of a check."""

    allowed: bool
    resolution: str = ""


class BatchItemBody(msgspec.Struct, frozen=True):
    """Represents a check of a batch."""

    tuple_key: TupleKeyBody | None = None
    contextual_tuples: ContextualTuplesBody | None = None
    context: dict[str, Any] | None = None
    correlation_id: str | None = None


class BatchCheckBody(msgspec.Struct, frozen=True):
    """Represents a batch of checks."""

    checks: list[BatchItemBody] | None = None
    authorization_model_id: str | None = None
    consistency: Any = None


class BatchErrorAnswer(msgspec.Struct, frozen=True):
    """Represents what is wrong with a check of a batch."""

    input_error: str
    message: str


class BatchItemAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Represents the decision of a check of a batch, or what is wrong with it."""

    allowed: bool | msgspec.UnsetType = msgspec.UNSET
    error: BatchErrorAnswer | msgspec.UnsetType = msgspec.UNSET


class BatchCheckAnswer(msgspec.Struct, frozen=True):
    """Represents the answers to a batch, by the ids that the request gave its checks."""

    result: dict[str, BatchItemAnswer]


_ANSWERS = {is_allowed: OpenFgaCheckAnswer(is_allowed) for is_allowed in (True, False)}


def answer_check(call: Call[OpenFgaCheckBody]) -> Answer[OpenFgaCheckAnswer] | Deferred[OpenFgaCheckAnswer]:
    """Returns the answer if the graph cache has all that the check needs, otherwise what reads the rest."""
    body, openfga = call.body, call.context.caches.openfga
    key = body.key
    if body.consistency is not None:
        call = with_consistency(call, body.consistency)
    newest = openfga.current
    is_plain = not key.user.relation and body.contextual_tuples is None and not body.authorization_model_id
    if newest is not None and newest.is_live and is_plain:
        document = newest.compiled.document
        check = None if body.context else body.find_check(document)
        if check is None:
            try:
                check = _build_check(call, document, key, body.context)
            except OpenFgaRefusal:  # a newer model may have what it names
                return Deferred(partial(_answer_later, call, key))
            body.keep_check(document, check)
        decided = build_pending(call.context, [check], call.freshness, call.origin, ()).decide_at_once()
        if decided is not None and openfga.current is newest:
            headers = {MODEL_ID: newest.compiled.id}
            return Answer(_ANSWERS[_read_decision(decided.value[0])], decided.revision, headers)
    return Deferred(partial(_answer_later, call, key))


async def _answer_later(call: Call[OpenFgaCheckBody], key: NamedTupleKey) -> Answer[OpenFgaCheckAnswer]:
    body, openfga = call.body, call.context.caches.openfga
    call = with_consistency(call, body.consistency)  # this runs later than `answer_check`, with other context variables
    named = read_model_id(body.authorization_model_id)
    for attempt in range(MAX_ATTEMPTS):
        used = await openfga.find_used(named, may_be_known=not attempt)
        try:
            item = _read_item(call, used.compiled.document, key, body)
            decided = await _decide(call, used, [item.check], item.contextual)
        except REFUSED_BY_MODEL:
            if attempt:
                raise
            continue
        if openfga.was_used_rightly(used, named):
            is_allowed = _read_decision(decided.value[0])
            return Answer(_ANSWERS[is_allowed], decided.revision, {MODEL_ID: used.compiled.id})
    raise HistoryReplaced


async def _decide(
    call: Call[Any], used: UsedModel, checks: Sequence[Check], contextual: Sequence[NewWarrant]
) -> Decisions:
    return await decide_by_model(call.context, used, checks, call.freshness, call.origin, contextual)


def _read_decision(decision: Decision) -> bool:
    """Returns whether a check is allowed. Raises OpenFgaRefusal if that depends on a condition that could not be
    evaluated."""
    if decision.is_unknown:
        raise OpenFgaRefusal(INVALID, UNKNOWN_CONDITION)
    return decision.is_authorized


def _read_key(body: TupleKeyBody | None) -> NamedTupleKey:
    if body is None:
        raise OpenFgaRefusal(INVALID, "tuple_key is missing")
    return body.read()


def _build_check(
    call: Call[Any], document: OpenFgaDocument, key: NamedTupleKey, context: dict[str, Any] | None
) -> Check:
    """Returns the check of a model. Raises OpenFgaRefusal."""
    return build_check(document, key, read_context(context, document, call.context.max_context_bytes))


class _BatchItem(NamedTuple):
    """Holds a check of a batch, and its contextual tuples."""

    check: Check
    contextual: Sequence[NewWarrant]

    @property
    def is_alone(self) -> bool:
        """Returns whether the check cannot be decided together with others."""
        return bool(self.contextual or self.check.subject.relation)


def _read_item(
    call: Call[Any], document: OpenFgaDocument, key: NamedTupleKey, body: OpenFgaCheckBody | BatchItemBody
) -> _BatchItem:
    """Raises OpenFgaRefusal."""
    check = _build_check(call, document, key, body.context)
    return _BatchItem(check, read_contextual(body.contextual_tuples, document))


async def answer_batch(call: Call[BatchCheckBody]) -> Answer[BatchCheckAnswer]:
    """Decides the checks together, as those of `/v2/check` are, but for those with contextual tuples, and of
    usersets."""
    call = with_consistency(call, call.body.consistency)
    items, openfga = call.body.checks or [], call.context.caches.openfga
    if not 1 <= len(items) <= MAX_BATCH_CHECKS:
        raise OpenFgaRefusal(INVALID, f"checks must be 1 to {MAX_BATCH_CHECKS}")
    ids = _read_ids(items)
    keys = [_read_key(item.tuple_key) for item in items]
    named = read_model_id(call.body.authorization_model_id)
    for attempt in range(MAX_ATTEMPTS):
        used = await openfga.find_used(named, may_be_known=not attempt)
        try:
            answers, revision = await _answer_items(call, used, keys, items)
        except NotFound:
            if attempt:
                raise
            continue
        is_refused = any(answer.error is not msgspec.UNSET for answer in answers)
        if (attempt or not is_refused) and openfga.was_used_rightly(used, named):
            revision = revision or await call.context.store.check()
            result = dict(zip(ids, answers, strict=True))
            return Answer(BatchCheckAnswer(result), revision, {MODEL_ID: used.compiled.id})
    raise HistoryReplaced


async def _answer_items(
    call: Call[Any], used: UsedModel, keys: Sequence[NamedTupleKey], bodies: Sequence[BatchItemBody]
) -> tuple[list[BatchItemAnswer], Revision]:
    """Returns the answers in their order, and a revision at which some were made, 0 if all are errors."""
    answers: dict[int, BatchItemAnswer] = {}
    together: dict[int, _BatchItem] = {}
    alone: dict[int, _BatchItem] = {}
    for place, (key, body) in enumerate(zip(keys, bodies, strict=True)):
        try:
            item = _read_item(call, used.compiled.document, key, body)
        except OpenFgaRefusal as error:
            answers[place] = _render_error(error)
        else:
            (alone if item.is_alone else together)[place] = item
    revision = Revision(0)
    if together:
        try:
            decided = await _decide(call, used, [item.check for item in together.values()], ())
        except BudgetExceeded:
            alone |= together  # each may take as much work as a check by itself
        else:
            revision = decided.revision
            answers |= zip(together, map(_render_decision, decided.value), strict=True)
    for place, item in alone.items():
        try:
            decided = await _decide(call, used, [item.check], item.contextual)
        except (OpenFgaRefusal, BudgetExceeded) as error:
            answers[place] = _render_error(error)
        else:
            answers[place], revision = _render_decision(decided.value[0]), decided.revision
    return [answers[place] for place in range(len(bodies))], revision


def _read_ids(items: Sequence[BatchItemBody]) -> list[str]:
    """Returns the ids of the checks of a batch. Raises OpenFgaRefusal if one is missing or used twice."""
    ids = [item.correlation_id or "" for item in items]
    for correlation_id in ids:
        if not _CORRELATION_ID.fullmatch(correlation_id):
            raise OpenFgaRefusal(INVALID, "correlation_id must have 1 to 36 letters, digits, _ or -")
    if len({*ids}) < len(ids):
        raise OpenFgaRefusal(INVALID, "each correlation_id must be another one")
    return ids


def _render_decision(decision: Decision) -> BatchItemAnswer:
    try:
        return BatchItemAnswer(_read_decision(decision))
    except OpenFgaRefusal as error:
        return _render_error(error)


def _render_error(error: MagistrateError) -> BatchItemAnswer:
    _, described = describe_openfga_error(error, has_header=True)
    return BatchItemAnswer(error=BatchErrorAnswer(described["code"], described["message"]))
