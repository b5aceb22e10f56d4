"""Handles the batches of checks of OpenFGA's API (docs/openfga.md#checks)."""

import string
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from magistrate.api.calls import Answer, Call, Deferred
from magistrate.api.http.openfga_errors import INVALID, describe_openfga_error
from magistrate.api.openfga.checks import (
    MAX_ATTEMPTS,
    ReadCheck,
    decide_checks,
    find_live,
    read_check,
    read_decision,
    read_key,
)
from magistrate.api.openfga.tuples import (
    MODEL_ID,
    ContextualTuplesBody,
    TupleKeyBody,
    read_model_id,
    with_consistency,
)
from magistrate.engine.evaluation.check import Check, Decision
from magistrate.engine.names import Revision
from magistrate.engine.openfga.documents import OpenFgaDocument
from magistrate.engine.openfga.plain_checks import read_plain_checks
from magistrate.engine.openfga.tuples import NamedTupleKey
from magistrate.errors import BudgetExceeded, HistoryReplaced, MagistrateError, NotFound, OpenFgaRefusal
from magistrate.operations.openfga.checks import build_pending
from magistrate.operations.openfga.documents import UsedModel

MAX_BATCH_CHECKS = 50
MAX_CORRELATION_ID = 36
_CORRELATION_CHARACTERS = (string.ascii_letters + string.digits + "_-").encode()


class BatchItemBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """Represents a check of a batch."""

    tuple_key: TupleKeyBody | None = None
    contextual_tuples: ContextualTuplesBody | None = None
    context: dict[str, Any] | None = None
    correlation_id: str | None = None


class BatchCheckBody(msgspec.Struct, frozen=True, omit_defaults=True):
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

    result: Mapping[str, BatchItemAnswer]


_ANSWERS = {is_allowed: BatchItemAnswer(is_allowed) for is_allowed in (True, False)}


def answer_batch(call: Call[BatchCheckBody]) -> Answer[BatchCheckAnswer] | Deferred[BatchCheckAnswer]:
    """Returns the answer if the graph cache has all that the checks need, and none of them is wrong, otherwise what
    reads the rest. They are decided together, as those of `/v2/check` are, but for those with contextual tuples, and
    of usersets."""
    body, openfga = call.body, call.context.caches.openfga
    items = body.checks or []
    if not 1 <= len(items) <= MAX_BATCH_CHECKS:
        raise OpenFgaRefusal(INVALID, f"checks must be 1 to {MAX_BATCH_CHECKS}")
    ids = _read_ids(items)
    if body.consistency is not None:
        call = with_consistency(call, body.consistency)
    newest = find_live(openfga, body.authorization_model_id)
    checks = None if newest is None else _read_together(call, newest.compiled.document, items)
    if newest is not None and checks is not None:
        decided = build_pending(call.context, checks, call.freshness, call.origin, ()).decide_at_once()
        if decided is not None and openfga.current is newest:
            answer = BatchCheckAnswer(dict(zip(ids, map(_render_decision, decided.value), strict=True)))
            return Answer(answer, decided.revision, {MODEL_ID: newest.compiled.id})
    return Deferred(partial(_answer_later, call, ids, [read_key(item.tuple_key) for item in items]))


def _read_together(
    call: Call[BatchCheckBody], document: OpenFgaDocument, items: Sequence[BatchItemBody]
) -> list[Check] | None:
    """Returns the checks of a model, None if one of them has to be decided by itself, or is wrong: a newer model may
    have what it names."""
    keys = []
    for item in items:
        if item.tuple_key is None or item.contextual_tuples is not None or item.context:
            break
        keys.append(item.tuple_key)
    else:
        if (checks := read_plain_checks(document, keys)) is not None:
            return checks
    try:
        read = [read_check(call, document, read_key(item.tuple_key), item) for item in items]
    except OpenFgaRefusal:
        return None
    return None if any(item.is_alone for item in read) else [item.check for item in read]


async def _answer_later(
    call: Call[BatchCheckBody], ids: Sequence[str], keys: Sequence[NamedTupleKey]
) -> Answer[BatchCheckAnswer]:
    call = with_consistency(call, call.body.consistency)  # this runs later, with other context variables
    items, openfga = call.body.checks or [], call.context.caches.openfga
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
    call: Call[BatchCheckBody], used: UsedModel, keys: Sequence[NamedTupleKey], bodies: Sequence[BatchItemBody]
) -> tuple[list[BatchItemAnswer], Revision]:
    """Returns the answers in their order, and a revision at which some were made, 0 if all are errors."""
    answers: dict[int, BatchItemAnswer] = {}
    together: dict[int, ReadCheck] = {}
    alone: dict[int, ReadCheck] = {}
    for place, (key, body) in enumerate(zip(keys, bodies, strict=True)):
        try:
            item = read_check(call, used.compiled.document, key, body)
        except OpenFgaRefusal as error:
            answers[place] = _render_error(error)
        else:
            (alone if item.is_alone else together)[place] = item
    revision = Revision(0)
    if together:
        try:
            decided = await decide_checks(call, used, [item.check for item in together.values()], ())
        except BudgetExceeded:
            alone |= together  # each may take as much work as a check by itself
        else:
            revision = decided.revision
            answers |= zip(together, map(_render_decision, decided.value), strict=True)
    for place, item in alone.items():
        try:
            decided = await decide_checks(call, used, [item.check], item.contextual)
        except (OpenFgaRefusal, BudgetExceeded) as error:
            answers[place] = _render_error(error)
        else:
            answers[place], revision = _render_decision(decided.value[0]), decided.revision
    return [answers[place] for place in range(len(bodies))], revision


def _read_ids(items: Sequence[BatchItemBody]) -> list[str]:
    """Returns the ids of the checks of a batch, which are looked at together. Raises OpenFgaRefusal if one is missing
    or used twice."""
    ids = [item.correlation_id or "" for item in items]
    together = "".join(ids).encode("utf-8", "surrogatepass")
    if "" in ids or max(map(len, ids)) > MAX_CORRELATION_ID or together.translate(None, _CORRELATION_CHARACTERS):
        raise OpenFgaRefusal(INVALID, f"correlation_id must have 1 to {MAX_CORRELATION_ID} letters, digits, _ or -")
    if len({*ids}) < len(ids):
        raise OpenFgaRefusal(INVALID, "each correlation_id must be another one")
    return ids


def _render_decision(decision: Decision) -> BatchItemAnswer:
    if not decision.is_unknown:
        return _ANSWERS[decision.is_authorized]
    try:
        return BatchItemAnswer(read_decision(decision))
    except OpenFgaRefusal as error:
        return _render_error(error)


def _render_error(error: MagistrateError) -> BatchItemAnswer:
    _, described = describe_openfga_error(error, has_header=True)
    return BatchItemAnswer(error=BatchErrorAnswer(described["code"], described["message"]))
