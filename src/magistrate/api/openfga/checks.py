"""Handles the single checks of OpenFGA's API (docs/openfga.md#checks)."""

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol
from weakref import ref

import msgspec

from magistrate.api.calls import Answer, Call, Deferred
from magistrate.api.http.openfga_errors import INVALID
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
from magistrate.engine.openfga.documents import OpenFgaDocument
from magistrate.engine.openfga.tuples import NamedTupleKey
from magistrate.errors import HistoryReplaced, NotFound, OpenFgaRefusal
from magistrate.operations.checks.check_batch import Decisions
from magistrate.operations.openfga.checks import UNKNOWN_CONDITION, build_check, build_pending, decide_by_model
from magistrate.operations.openfga.documents import NewestDocument, OpenFgaModels, UsedModel
from magistrate.store.contract.new_rows import NewWarrant

MAX_ATTEMPTS = 3
"""Limits how often a check is decided again because a newer model was written meanwhile."""
REFUSED_BY_MODEL = (OpenFgaRefusal, NotFound)
"""Lists the errors of names that a newer model may have."""
_LAST_CHECK = "last_check"


class OpenFgaCheckBody(msgspec.Struct, frozen=True, dict=True, omit_defaults=True):
    """Represents a check. Bodies that come again are kept, with what was read of them."""

    tuple_key: TupleKeyBody | None = None
    contextual_tuples: ContextualTuplesBody | None = None
    authorization_model_id: str | None = None
    context: dict[str, Any] | None = None
    consistency: Any = None

    @cached_property
    def key(self) -> NamedTupleKey:
        """Holds the names in the check. Raises OpenFgaRefusal."""
        return read_key(self.tuple_key)

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


_ANSWERS = {is_allowed: OpenFgaCheckAnswer(is_allowed) for is_allowed in (True, False)}


def answer_check(call: Call[OpenFgaCheckBody]) -> Answer[OpenFgaCheckAnswer] | Deferred[OpenFgaCheckAnswer]:
    """Returns the answer if the graph cache has all that the check needs, otherwise what reads the rest."""
    body, openfga = call.body, call.context.caches.openfga
    key = body.key
    if body.consistency is not None:
        call = with_consistency(call, body.consistency)
    newest = find_live(openfga, body.authorization_model_id)
    if newest is not None and not key.user.relation and body.contextual_tuples is None:
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
            return Answer(_ANSWERS[read_decision(decided.value[0])], decided.revision, headers)
    return Deferred(partial(_answer_later, call, key))


async def _answer_later(call: Call[OpenFgaCheckBody], key: NamedTupleKey) -> Answer[OpenFgaCheckAnswer]:
    body, openfga = call.body, call.context.caches.openfga
    call = with_consistency(call, body.consistency)  # this runs later than `answer_check`, with other context variables
    named = read_model_id(body.authorization_model_id)
    for attempt in range(MAX_ATTEMPTS):
        used = await openfga.find_used(named, may_be_known=not attempt)
        try:
            read = read_check(call, used.compiled.document, key, body)
            decided = await decide_checks(call, used, [read.check], read.contextual)
        except REFUSED_BY_MODEL:
            if attempt:
                raise
            continue
        if openfga.was_used_rightly(used, named):
            is_allowed = read_decision(decided.value[0])
            return Answer(_ANSWERS[is_allowed], decided.revision, {MODEL_ID: used.compiled.id})
    raise HistoryReplaced


def find_live(openfga: OpenFgaModels, named: str | None) -> NewestDocument | None:
    """Returns the newest model if it is known, is the model of the store, and is the one that a request names."""
    newest = openfga.current
    if newest is None or not newest.is_live or (named and named != newest.compiled.id):
        return None
    return newest


async def decide_checks(
    call: Call[Any], used: UsedModel, checks: Sequence[Check], contextual: Sequence[NewWarrant]
) -> Decisions:
    """Returns the decisions by a model, like `decide_by_model`."""
    return await decide_by_model(call.context, used, checks, call.freshness, call.origin, contextual)


def read_decision(decision: Decision) -> bool:
    """Returns whether a check is allowed. Raises OpenFgaRefusal if that depends on a condition that could not be
    evaluated."""
    if decision.is_unknown:
        raise OpenFgaRefusal(INVALID, UNKNOWN_CONDITION)
    return decision.is_authorized


def read_key(body: TupleKeyBody | None) -> NamedTupleKey:
    """Returns the names in a check. Raises OpenFgaRefusal."""
    if body is None:
        raise OpenFgaRefusal(INVALID, "tuple_key is missing")
    return body.read()


class WrittenCheck(Protocol):
    """Holds what decides a check besides its names."""

    @property
    def contextual_tuples(self) -> ContextualTuplesBody | None: ...

    @property
    def context(self) -> dict[str, Any] | None: ...


class ReadCheck(NamedTuple):
    """Holds a check and its contextual tuples."""

    check: Check
    contextual: Sequence[NewWarrant]

    @property
    def is_alone(self) -> bool:
        """Returns whether the check cannot be decided together with others."""
        return bool(self.contextual or self.check.subject.relation)


def read_check(call: Call[Any], document: OpenFgaDocument, key: NamedTupleKey, body: WrittenCheck) -> ReadCheck:
    """Returns a check of a model. Raises OpenFgaRefusal."""
    check = _build_check(call, document, key, body.context)
    return ReadCheck(check, read_contextual(body.contextual_tuples, document))


def _build_check(
    call: Call[Any], document: OpenFgaDocument, key: NamedTupleKey, context: dict[str, Any] | None
) -> Check:
    """Returns the check of a model. Raises OpenFgaRefusal."""
    return build_check(document, key, read_context(context, document, call.context.max_context_bytes))
