"""Handles the checks of OpenFGA's API, single and in batches (docs/openfga.md#checks)."""

import re
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any
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
)
from magistrate.engine.evaluation.check import Check
from magistrate.engine.names import Revision
from magistrate.engine.openfga.documents import OpenFgaDocument
from magistrate.engine.openfga.tuples import NamedTupleKey
from magistrate.engine.openfga.validation import convert_object, convert_user, find_relation, require_user
from magistrate.engine.subjects import Subject
from magistrate.errors import HistoryReplaced, MagistrateError, OpenFgaRefusal
from magistrate.operations.checks.check_batch import Decisions
from magistrate.operations.openfga.checks import NOBODY, UNKNOWN_CONDITION, build_pending, decide_by_document
from magistrate.store.contract.lists import Snapshot

MAX_BATCH_CHECKS = 50
MAX_ATTEMPTS = 3
"""Limits how often a check is decided again because a newer model was written meanwhile."""
_LAST_CHECK = "last_check"
_CORRELATION_ID = re.compile(r"[A-Za-z0-9_-]{1,36}")


class OpenFgaCheckBody(msgspec.Struct, frozen=True, dict=True):
    """Represents a check. Bodies that come again are kept, with what was read of them."""

    tuple_key: TupleKeyBody | None = None
    contextual_tuples: ContextualTuplesBody | None = None
    authorization_model_id: str | None = None
    context: dict[str, Any] | None = None

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
    newest = openfga.current
    is_plain = not key.user.relation and body.contextual_tuples is None and not body.authorization_model_id
    if newest is not None and newest.is_live and is_plain:
        document = newest.compiled.document
        check = None if body.context else body.find_check(document)
        if check is None:
            check = _build_check(call, document, key, body.context)
            body.keep_check(document, check)
        decided = build_pending(call.context, [check], call.freshness, call.origin, ()).decide_at_once()
        if decided is not None and openfga.current is newest:
            headers = {MODEL_ID: newest.compiled.id}
            return Answer(_ANSWERS[_read_decision(decided).value], decided.revision, headers)
    return Deferred(partial(_answer_later, call, key))


async def _answer_later(call: Call[OpenFgaCheckBody], key: NamedTupleKey) -> Answer[OpenFgaCheckAnswer]:
    body = call.body
    model_id, decided = await _decide(call, key, body, read_model_id(body.authorization_model_id))
    return Answer(_ANSWERS[decided.value], decided.revision, {MODEL_ID: model_id})


async def _decide(
    call: Call[Any], key: NamedTupleKey, body: OpenFgaCheckBody | BatchItemBody, named: str | None
) -> tuple[str, Snapshot[bool]]:
    """Returns the id of the model that decided, and the decision. Raises OpenFgaRefusal."""
    ctx = call.context
    for _ in range(MAX_ATTEMPTS):
        compiled, is_live = await ctx.caches.openfga.find_used(named)
        check = _build_check(call, compiled.document, key, body.context)
        contextual = read_contextual(body.contextual_tuples, compiled.document)
        # A contextual tuple counts instead of a stored one with another condition, which the graph cache cannot do.
        if not is_live or key.user.relation or (contextual and compiled.document.conditions):
            decided = await decide_by_document(ctx, compiled, check, call.freshness, call.origin, contextual)
            return compiled.id, _read_decision(decided)
        pending = build_pending(ctx, [check], call.freshness, call.origin, contextual)
        decided = pending.decide_at_once() or await pending.decide()
        if ctx.caches.openfga.is_current(compiled):
            return compiled.id, _read_decision(decided)
    raise HistoryReplaced


def _read_decision(decided: Decisions) -> Snapshot[bool]:
    """Returns whether the only check is allowed. Raises OpenFgaRefusal if that depends on a condition that could not be
    evaluated."""
    [decision] = decided.value
    if decision.is_unknown:
        raise OpenFgaRefusal(INVALID, UNKNOWN_CONDITION)
    return Snapshot(decided.revision, decision.is_authorized)


def _read_key(body: TupleKeyBody | None) -> NamedTupleKey:
    if body is None:
        raise OpenFgaRefusal(INVALID, "tuple_key is missing")
    return body.read()


def _build_check(
    call: Call[Any], document: OpenFgaDocument, key: NamedTupleKey, context: dict[str, Any] | None
) -> Check:
    """Returns the check of a model. Raises OpenFgaRefusal."""
    relation = find_relation(document, key.object.type, key.relation)
    require_user(document, key.user)
    subject = convert_user(key.user)
    if key.user.is_wildcard:
        subject = Subject(subject.type, NOBODY, "")
    limit = call.context.max_context_bytes
    return Check(convert_object(key.object), relation.name, subject, read_context(context, document, limit))


async def answer_batch(call: Call[BatchCheckBody]) -> Answer[BatchCheckAnswer]:
    items = call.body.checks or []
    if not 1 <= len(items) <= MAX_BATCH_CHECKS:
        raise OpenFgaRefusal(INVALID, f"checks must be 1 to {MAX_BATCH_CHECKS}")
    ids = _read_ids(items)
    keys = [_read_key(item.tuple_key) for item in items]
    compiled, _ = await call.context.caches.openfga.find_used(read_model_id(call.body.authorization_model_id))
    answers: dict[str, BatchItemAnswer] = {}
    revision = Revision(0)
    for correlation_id, key, item in zip(ids, keys, items, strict=True):
        try:
            _, decided = await _decide(call, key, item, compiled.id)
        except OpenFgaRefusal as error:
            answers[correlation_id] = _render_error(error)
        else:
            answers[correlation_id] = BatchItemAnswer(decided.value)
            revision = decided.revision
    revision = revision or await call.context.store.check()
    return Answer(BatchCheckAnswer(answers), revision, {MODEL_ID: compiled.id})


def _read_ids(items: Sequence[BatchItemBody]) -> list[str]:
    """Returns the ids of the checks of a batch. Raises OpenFgaRefusal if one is missing or used twice."""
    ids = [item.correlation_id or "" for item in items]
    for correlation_id in ids:
        if not _CORRELATION_ID.fullmatch(correlation_id):
            raise OpenFgaRefusal(INVALID, "correlation_id must have 1 to 36 letters, digits, _ or -")
    if len({*ids}) < len(ids):
        raise OpenFgaRefusal(INVALID, "each correlation_id must be another one")
    return ids


def _render_error(error: MagistrateError) -> BatchItemAnswer:
    _, described = describe_openfga_error(error, has_header=True)
    return BatchItemAnswer(error=BatchErrorAnswer(described["code"], described["message"]))
