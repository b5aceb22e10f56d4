"""Handles the assertions of OpenFGA's API: checks with the answers that are expected, stored beside a model and never
made here (docs/openfga.md#assertions)."""

from collections.abc import Sequence
from typing import Any

import msgspec

from magistrate.api.calls import Answer, Call
from magistrate.api.endpoints.policies import check_context_size
from magistrate.api.http.openfga_errors import INVALID, require_ulid
from magistrate.api.openfga.tuples import MODEL_ID, TupleKeyBody, read_contextual_list
from magistrate.engine.openfga.documents import TOO_LARGE, OpenFgaDocument
from magistrate.engine.openfga.validation import find_relation, require_user
from magistrate.errors import OpenFgaRefusal
from magistrate.operations.openfga.documents import UNKNOWN_MODEL

MAX_ASSERTIONS, MAX_TUPLES_OF_AN_ASSERTION = 100, 20
MAX_ASSERTION_BYTES = 262_144
"""Limits the assertions of a model as they are stored (256 KiB)."""
TOO_MANY = "assertions_too_many_items"


class AssertionBody(msgspec.Struct, frozen=True):
    """Represents a check and whether it is expected to be allowed."""

    tuple_key: TupleKeyBody | None = None
    expectation: bool | None = None
    contextual_tuples: list[TupleKeyBody] | None = None
    context: dict[str, Any] | None = None


class AssertionsBody(msgspec.Struct, frozen=True):
    """Represents all assertions of a model."""

    assertions: list[AssertionBody] | None = None


class AssertionKey(msgspec.Struct, frozen=True):
    """Holds what an assertion is about."""

    object: str
    relation: str
    user: str


class AssertionCondition(msgspec.Struct, frozen=True):
    """Holds the condition of a contextual tuple."""

    name: str | None
    context: dict[str, Any] | None


class AssertionTuple(msgspec.Struct, frozen=True):
    """Holds a contextual tuple of an assertion."""

    user: str | None
    relation: str | None
    object: str | None
    condition: AssertionCondition | None


class StoredAssertion(msgspec.Struct, frozen=True):
    """Holds an assertion as it is stored and answered, with members that have no value."""

    tuple_key: AssertionKey
    expectation: bool
    contextual_tuples: list[AssertionTuple]
    context: dict[str, Any] | None


class AssertionsAnswer(msgspec.Struct, frozen=True):
    """Represents the assertions of a model, in the order in which they were written."""

    authorization_model_id: str
    assertions: msgspec.Raw


async def put_assertions(call: Call[AssertionsBody]) -> Answer[None]:
    """Replaces the assertions of a model. Raises OpenFgaRefusal."""
    ctx, model_id = call.context, call.path["model_id"]
    require_ulid(model_id)
    bodies = call.body.assertions or []
    if len(bodies) > MAX_ASSERTIONS:
        raise OpenFgaRefusal(TOO_MANY, f"a model has at most {MAX_ASSERTIONS} assertions")
    document = (await ctx.caches.openfga.find(model_id)).document
    written = await ctx.store.put_openfga_assertions(
        model_id, render_assertions(bodies, document, ctx.max_context_bytes)
    )
    if not written.value:
        raise _build_unknown(model_id)
    return Answer(None, written.revision, {MODEL_ID: model_id})


def render_assertions(bodies: Sequence[AssertionBody], document: OpenFgaDocument, max_context_bytes: int) -> str:
    """Returns the assertions of a model as they are stored. Raises OpenFgaRefusal, and InvalidParameter for a context
    that is too large."""
    text = msgspec.json.encode([_read_assertion(body, document, max_context_bytes) for body in bodies])
    if len(text) > MAX_ASSERTION_BYTES:
        raise OpenFgaRefusal(TOO_LARGE, f"the assertions of a model have at most {MAX_ASSERTION_BYTES} bytes")
    return text.decode()


def _read_assertion(body: AssertionBody, document: OpenFgaDocument, max_context_bytes: int) -> StoredAssertion:
    if body.tuple_key is None:
        raise OpenFgaRefusal(INVALID, "tuple_key is missing")
    key = body.tuple_key.read()
    find_relation(document, key.object.type, key.relation)
    require_user(document, key.user)
    tuples = body.contextual_tuples or []
    _check_tuples(tuples, document)
    if body.context:
        check_context_size(body.context, max_context_bytes)
    names = AssertionKey(body.tuple_key.object or "", body.tuple_key.relation or "", body.tuple_key.user or "")
    return StoredAssertion(names, bool(body.expectation), [*map(_describe_tuple, tuples)], body.context)


def _describe_tuple(body: TupleKeyBody) -> AssertionTuple:
    condition = None if body.condition is None else AssertionCondition(body.condition.name, body.condition.context)
    return AssertionTuple(body.user, body.relation, body.object, condition)


def _check_tuples(tuples: Sequence[TupleKeyBody], document: OpenFgaDocument) -> None:
    if len(tuples) > MAX_TUPLES_OF_AN_ASSERTION:
        raise OpenFgaRefusal(INVALID, f"contextual_tuples must be at most {MAX_TUPLES_OF_AN_ASSERTION}")
    try:
        read_contextual_list(tuples, document)
    except OpenFgaRefusal as refusal:
        raise OpenFgaRefusal(INVALID, refusal.message) from None


async def get_assertions(call: Call[None]) -> Answer[AssertionsAnswer]:
    model_id = call.path["model_id"]
    require_ulid(model_id)
    read = await call.context.store.find_openfga_model(model_id)
    if read.value is None:
        raise _build_unknown(model_id)
    assertions = msgspec.Raw(read.value.assertions)
    return Answer(AssertionsAnswer(model_id, assertions), read.revision, {MODEL_ID: model_id})


def _build_unknown(model_id: str) -> OpenFgaRefusal:
    return OpenFgaRefusal(UNKNOWN_MODEL, f"the store has no authorization model {model_id}")
